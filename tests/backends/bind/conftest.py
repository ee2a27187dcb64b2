"""What the binder's tests share: native libraries built once, torch.library ops taken back, modules, children."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

TORCH_OPS = """
#include <ATen/core/Tensor.h>
#include <torch/library.h>
static at::Tensor scaled(const at::Tensor& x, double eps) { return x.mul(2).add(eps); }
TORCH_LIBRARY(confbag_t, m) {
  m.def("scaled(Tensor x, float eps=1e-6) -> Tensor");
  m.def("bare(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(confbag_t, CPU, m) { m.impl("scaled", scaled); }
"""

# torch's C interface, as its stable C++ header uses it: what is refused ends the process.
AGAIN = """
#include <stdint.h>
#include <stdlib.h>
extern int aoti_torch_library_init_fragment(const char*, const char*, uint32_t, void**);
extern int aoti_torch_library_def(void*, const char*);
__attribute__((constructor)) static void again(void) {
  void* library;
  if (aoti_torch_library_init_fragment("confbag_t", __FILE__, __LINE__, &library) ||
      aoti_torch_library_def(library, "scaled(Tensor x, float eps=1e-5) -> Tensor"))
    abort();
}
"""

PLAIN = {
    "dies": "#include <unistd.h>\n__attribute__((constructor)) static void die(void) { _exit(1); }\n",
    "crashes": "#include <signal.h>\n__attribute__((constructor)) static void crash(void) { raise(SIGSEGV); }\n",
    "hangs": "#include <unistd.h>\n__attribute__((constructor)) static void hang(void) { for (;;) sleep(1); }\n",
    "undefined": "extern int _ZN3c106detail14torchCheckFailEPKcS2_jS2_(void);\n"
    "int use(void) { return _ZN3c106detail14torchCheckFailEPKcS2_jS2_(); }\n",
    "empty": "int nothing(void) { return 0; }\n",
}


def _compile(command: list[str | Path]) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="session")
def native_libraries(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Paths of the .so files by name: `ops` registers confbag_t, `again` one of its ops again, the rest do harm."""
    torch = pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("native")
    base = Path(torch.__file__).parent
    (folder / "ops.cpp").write_text(TORCH_OPS)
    (folder / "again.c").write_text(AGAIN)
    flags = ["-O0", "-std=c++20", "-shared", "-fPIC", f"-I{base}/include", f"-I{base}/include/torch/csrc/api/include"]
    link = [f"-L{base}/lib", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{base}/lib"]
    jobs: list[list[str | Path]] = [
        ["g++", *flags, folder / "ops.cpp", "-o", folder / "ops.so", *link],
        ["gcc", "-shared", "-fPIC", folder / "again.c", "-o", folder / "again.so", *link],
    ]
    for name, source in PLAIN.items():
        (folder / f"{name}.c").write_text(source)
        jobs.append(["gcc", "-shared", "-fPIC", folder / f"{name}.c", "-o", folder / f"{name}.so", "-Wl,-z,now"])
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(_compile, jobs))
    return SimpleNamespace(folder=folder, **{name: folder / f"{name}.so" for name in ("ops", "again", *PLAIN)})


@pytest.fixture
def torch_namespace() -> Iterator[Callable[[str], Any]]:
    """A torch.library namespace by name, taken back after the test."""
    torch = pytest.importorskip("torch")
    made: list[Any] = []

    def make(name: str) -> Any:
        made.append(torch.library.Library(name, "DEF"))
        return made[-1]

    yield make
    for library in made:
        library._destroy()


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str, str], str]]:
    """An importable module with the given source, forgotten after the test; its name comes back."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def make(name: str, source: str) -> str:
        assert name not in sys.modules, f"choose another name than {name}"
        (tmp_path / f"{name}.py").write_text(source)
        made.append(name)
        return name

    yield make
    for name in made:
        sys.modules.pop(name, None)


@pytest.fixture
def in_child() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python source in a fresh interpreter: what it does to the process ends with it."""

    def run(source: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", source, *arguments],
            capture_output=True,
            text=True,
            timeout=240,
            env={**os.environ, **environment},
        )

    return run
