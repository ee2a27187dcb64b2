# `make plan` and `make test` are the whole of it: each makes .venv when it is missing, and neither needs it activated.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CONFIG := examples/configs/cpu-laptop.yaml examples/mini_engine/serve.yaml

# PyPI's Linux wheels of torch are CUDA builds of several GB. `+cpu` never matches one of them: it is found where pip is
# configured to look, else in PyTorch's own index of CPU builds. Elsewhere PyPI's wheel is the CPU build.
TORCH_VERSION := $(shell sed -n 's/^torch==//p' constraints.txt)
TORCH := torch==$(TORCH_VERSION)$(if $(filter Linux,$(shell uname -s)),+cpu)
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

.PHONY: plan test test-transfer links clean
.DEFAULT_GOAL := plan

plan: links $(STAMP)
	$(BIN)/confbag plan --schema mini $(CONFIG)
	$(BIN)/python -m mini_engine $(CONFIG)

# COVERAGE=1 counts what the tests reach, in every process that they start, at half the speed.
test: links $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/confbag ratchet check
	$(if $(COVERAGE),$(BIN)/coverage erase)
	$(if $(COVERAGE),$(BIN)/coverage run )$(BIN)/pytest -n 2 --dist loadgroup
	$(if $(COVERAGE),$(BIN)/coverage combine --quiet && $(BIN)/coverage report)

# Between two processes over loopback TCP, with an engine that it fetches; prints how many were not run where it cannot.
test-transfer: links $(STAMP)
	$(BIN)/python tests/transfer/run.py

links:
	@for name in backends kernels ratchets; do \
		test -f confbag/$$name/__init__.py || { \
			echo "confbag/$$name is not a link to ../$$name: whatever unpacked this tree does not make symbolic links;" \
				"unpack it with tar or unzip, or clone it with 'git clone -c core.symlinks=true'." >&2; \
			exit 1; \
		}; \
	done
	@echo "The links are there: confbag/backends, confbag/kernels, confbag/ratchets."

$(STAMP): pyproject.toml setup.py constraints.txt examples/mini_engine/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q -c constraints.txt setuptools
	$(PIP) install -q -c constraints.txt '$(TORCH)' 2>/dev/null || \
		$(PIP) install -q -c constraints.txt --index-url $(TORCH_INDEX) '$(TORCH)' || { \
		echo "No CPU build of torch $(TORCH_VERSION) for $$($(PYTHON) --version): name another Python (make PYTHON=python3.11)" \
			"or where its wheel is (PIP_FIND_LINKS=FOLDER make ...)." >&2; \
		exit 1; \
	}
	$(PIP) install -q -c constraints.txt --no-build-isolation -e '.[dev,torch,triton]' -e examples/mini_engine
	touch $@

clean:
	rm -rf $(VENV) .venvs build dist *.egg-info .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
