"""`make test-transfer`: fetches a real transfer engine into an environment of its own and runs this folder's tests.

The wheel comes from where pip looks; the system libraries that it links come from apt, if this is root. Where they
cannot be had, the number of tests that were not run is printed and why, and that is no failure. Everything else is.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = "tests/transfer"
ENVIRONMENT = ROOT / ".venvs" / f"transfer-{sys.implementation.cache_tag}"
PYTHON = ENVIRONMENT / "bin" / "python"
DISTRIBUTION = "mooncake-transfer-engine-non-cuda"
LIBRARIES = {
    "libibverbs.so.1": "libibverbs1",
    "librdmacm.so.1": "librdmacm1",
    "libnuma.so.1": "libnuma1",
    "libcurl.so.4": "libcurl4",
}
PACKAGE_TIME = 300
"""Seconds that apt may take, and pip."""


class CannotBeHadError(Exception):
    """What the tests need and this machine cannot get."""


def main() -> int:
    """0 when the tests passed or could not be run at all; else pytest's status."""
    try:
        environment()
        libraries()
        engine()
    except CannotBeHadError as error:
        print(f"{count()} transfer tests not run: {error}")
        return 0
    # The engine's log is long, and would otherwise listen on every address of this machine.
    settings = {**os.environ, "MC_TCP_BIND_ADDRESS": "127.0.0.1", "MC_LOG_LEVEL": "WARNING"}
    return subprocess.run([PYTHON, "-m", "pytest", "-q", TESTS], cwd=ROOT, env=settings).returncode


def environment() -> None:
    """This environment's packages, and the engine's wheel beside them; kept until one of the two changes."""
    requirement = pinned()
    ours = sysconfig.get_path("purelib")
    stamp, wanted = ENVIRONMENT / "stamp", f"{sys.prefix}\n{sys.version}\n{ours}\n{requirement}\n"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    ENVIRONMENT.parent.mkdir(exist_ok=True)
    venv.create(ENVIRONMENT, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(PYTHON), "--disable-pip-version-check", "--no-input"]
    done = told([*pip, "install", "--quiet", "--only-binary", ":all:", "--no-deps", requirement])
    if done.returncode != 0:
        raise CannotBeHadError(f"{requirement} cannot be installed ({last_line(done)})")
    own = Path(next((ENVIRONMENT / "lib").glob("python*/site-packages")))
    # addsitedir, and not the bare path: confbag itself is found through a .pth file there.
    (own / "this_environment.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    stamp.write_text(wanted)


def pinned() -> str:
    """The engine's requirement, at the version that constraints.txt names."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith(f"{DISTRIBUTION}=="))


def libraries() -> None:
    """The system libraries that the engine links, from apt where they are missing and this is root."""
    missing = sorted(LIBRARIES[name] for name in LIBRARIES if not loads(name))
    if not missing:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise CannotBeHadError(f"missing libraries; as root: {' '.join(command)}")
    print(f"installing {' '.join(missing)}")
    for step in (["apt-get", "update", "--quiet"], command):
        done = told(step)
        if done.returncode != 0:
            raise CannotBeHadError(f"{' '.join(step)} failed ({last_line(done)})")
    still = sorted(LIBRARIES[name] for name in LIBRARIES if not loads(name))
    if still:
        raise CannotBeHadError(f"{', '.join(still)} cannot be loaded although apt-get installed it")


def loads(name: str) -> bool:
    """Whether the loader finds a library."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def engine() -> None:
    """The engine is imported in its environment; a library that is still missing there is one that cannot be had."""
    done = told([PYTHON, "-c", "import mooncake.engine"])
    if "cannot open shared object file" in done.stderr:
        raise CannotBeHadError(last_line(done))
    if done.returncode != 0:
        sys.exit(f"the transfer engine cannot be imported:\n{done.stderr}")


def count() -> int:
    """How many tests there are; the engine is not needed to know."""
    done = told([sys.executable, "-m", "pytest", "--collect-only", "-q", TESTS])
    if done.returncode != 0:
        sys.exit(f"{TESTS} cannot be collected:\n{done.stdout}{done.stderr}")
    return sum("::" in line for line in done.stdout.splitlines())


def told(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without a question, and return what it said."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PACKAGE_TIME,
        )
    except subprocess.TimeoutExpired:
        raise CannotBeHadError(f"{command[0]} took more than {PACKAGE_TIME} seconds") from None


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The last thing that a failed command said."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else f"status {done.returncode}"


if __name__ == "__main__":
    sys.exit(main())
