"""Importing torch for bind: with an extension that cannot load, with one that fails, and without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
IMPORT = "from confbag.backends.bind.torch_import import import_torch"


def run(code: str, python: str = sys.executable, *, cwd: Path, **environ: str) -> str:
    """What the code prints; it must end well and complain of nothing."""
    kept = {name: value for name, value in os.environ.items() if name not in (AUTOLOAD, "PYTHONPATH")}
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, env={**kept, **environ}, cwd=cwd, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def fake_torch(tmp_path: Path) -> Path:
    """A search path whose torch fails as torch does when a backend extension cannot load."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(
        "import sys, types\n"
        "sys.modules['torch._C'] = types.ModuleType('torch._C')\n"
        "try:\n"
        "    raise ImportError('libfoo.so: cannot open shared object file')\n"
        "except ImportError as error:\n"
        "    raise RuntimeError('Failed to load the backend extension: torch_foo. You can disable ...') from error\n"
    )
    return tmp_path


FAILING = f"""
{IMPORT}
from confbag.errors import BindError
for _ in range(2):
    try:
        import_torch()
    except BindError as error:
        print(error)
"""


def test_a_failed_extension_is_our_error_with_its_cause_and_no_retry(fake_torch: Path) -> None:
    first, second = run(FAILING, cwd=fake_torch, PYTHONPATH=str(fake_torch)).splitlines()
    assert "libfoo.so: cannot open shared object file" in first
    assert f"{AUTOLOAD}=0" in first
    assert "an earlier `import torch` failed in this process" in second


def test_a_torch_that_is_not_there_says_how_to_install_it(tmp_path: Path) -> None:
    code = f"import sys\nsys.modules['torch'] = None\n{IMPORT}\nfrom confbag.errors import BindError\n"
    code += "del sys.modules['torch']\nimport importlib.abc\n"
    code += "class Hide(importlib.abc.MetaPathFinder):\n"
    code += "    def find_spec(self, name, path, target=None):\n"
    code += "        if name == 'torch': raise ModuleNotFoundError('no torch', name='torch')\n"
    code += "sys.meta_path.insert(0, Hide())\n"
    code += "try:\n    import_torch()\nexcept BindError as error:\n    print(error)\n"
    assert "pip install 'confbag[torch]'" in run(code, cwd=tmp_path)


def test_the_torch_that_is_imported_is_the_answer() -> None:
    import torch

    from confbag.backends.bind.torch_import import import_torch

    before = dict(os.environ)
    assert import_torch() is torch
    assert dict(os.environ) == before


RESTORED = f"""
import os, subprocess, sys
{IMPORT}
before = dict(os.environ)
torch = import_torch()
assert dict(os.environ) == before, "the environment changed"
assert import_torch() is torch
ask = "import os; print(os.environ.get({AUTOLOAD!r}))"
child = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
print(float(torch.ones(3).sum()), child.stdout.strip())
"""


@pytest.mark.parametrize("value", [None, "1", "true"])
def test_torch_imports_beside_torch_npu_without_cann(npu_environment: Path, tmp_path: Path, value: str | None) -> None:
    environ = {} if value is None else {AUTOLOAD: value}
    assert run(RESTORED, str(npu_environment), cwd=tmp_path, **environ) == f"3.0 {value}"


def test_importing_torch_plainly_fails_there(npu_environment: Path, tmp_path: Path) -> None:
    # What makes the tests above mean something: in this environment a plain import is the failure that they survive.
    code = "try:\n    import torch\nexcept RuntimeError as error:\n    print(str(error)[:37], error.__cause__)\n"
    said = run(code, str(npu_environment), cwd=tmp_path)
    assert said.startswith("Failed to load the backend extension: libhccl.so")
