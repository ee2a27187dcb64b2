"""What every test shares: one thread, SIGINT that arrives, hypothesis without clocks, notes, torch_npu without CANN."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Tensors of tests are slower on many threads, and more so beside another worker. Children of a test have it too.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A suite in the background of a script runs with SIGINT ignored, and so would every child that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of the code under test. CI runs the same examples each time; elsewhere new ones are sought.
settings.register_profile(
    "confbag",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    print_blob=True,
)
settings.load_profile("confbag")

# Transfers need an engine that `make test-transfer` fetches; named on the command line the folder is collected.
collect_ignore = ["transfer"]

RAW = re.compile(
    r"object is not|has no attribute|unhashable|not iterable|subscriptable|expected str|must be str|NoneType|PathLike|"
    r"positional|keyword argument|unpack|invalid literal|instance of|validation error|pydantic"
)
"""What Python itself and pydantic say of an argument of another kind."""

ENVIRONMENTS = Path(__file__).parents[1] / ".venvs"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print each `record_property("note", text)` once, whichever worker recorded it."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    notes = {text for report in reports for name, text in getattr(report, "user_properties", ()) if name == "note"}
    if notes:
        terminalreporter.section("notes")
        for note in sorted(notes):
            terminalreporter.write_line(note)


@pytest.fixture(scope="session")
def refused() -> Callable[[Callable[[], Any], type[Exception], str], None]:
    """Asserts that a call raises exactly this error, in words of ours that match."""

    def check(call: Callable[[], Any], kind: type[Exception], says: str) -> None:
        with pytest.raises(Exception) as caught:  # noqa: PT011 -- which one it is, the next line asks
            call()
        assert type(caught.value) is kind, repr(caught.value)
        assert re.search(says, str(caught.value)), str(caught.value)
        assert not RAW.search(str(caught.value)), str(caught.value)

    return check


@pytest.fixture(scope="session")
def npu_environment() -> Path:
    """The Python of an environment that has torch_npu beside this one's packages, and no CANN; built once.

    torch and everything else come from this environment; only torch_npu's wheel is fetched. A fetch that fails
    fails the test.
    """
    release = importlib.metadata.version("torch").partition("+")[0]
    requirement = f"torch_npu=={release}"
    ours = sysconfig.get_path("purelib")
    wanted = f"{sys.prefix}\n{sys.version}\n{ours}\n{requirement}\n"
    folder = ENVIRONMENTS / f"torch-npu-{sys.implementation.cache_tag}"
    stamp, python = folder / "stamp", folder / "bin" / "python"
    ENVIRONMENTS.mkdir(exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the workers of one run, and two runs, share it
        if not stamp.is_file() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=False, symlinks=True)
            pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
            done = subprocess.run(
                [*pip, "install", "--quiet", "--no-input", "--no-deps", requirement], capture_output=True, text=True
            )
            assert done.returncode == 0, f"{requirement} could not be fetched:\n{done.stderr}"
            own = Path(next((folder / "lib").glob("python*/site-packages")))
            # addsitedir, and not the bare path: confbag itself is found through a .pth file there.
            (own / "this_environment.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
            stamp.write_text(wanted)
    return python
