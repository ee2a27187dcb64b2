"""A clean copy of the tree, the wheel and the sdist built from it, and environments to install them in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Build = Callable[["Path | str", Path], Path]


def _run(*argv: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
    argv = tuple(str(part) for part in argv)
    settings = {"timeout": 600, "check": False, **settings}
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, **settings)


def _git(*argv: str | Path, cwd: Path) -> str:
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    author = {f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    # GIT_DIR and its like, set by a hook that runs the tests, would send these commands to the checkout itself.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ran = _run("git", *argv, cwd=cwd, env={**outside, **alone, **author})
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def run() -> Run:
    """Run a command to its end, with nothing on its standard input, and return what it said and how it ended."""
    return _run


@pytest.fixture(scope="session")
def git() -> Callable[..., str]:
    """Run git without the machine's own settings and return what it printed."""
    return _git


@pytest.fixture(scope="session")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Every file that git does not ignore, relative to the root; a link is one entry and is not followed."""
    # Asked of an empty repository beside the checkout: a tree that was unpacked, and is no clone, is listed as well.
    empty = tmp_path_factory.mktemp("empty") / "git"
    _git("init", "-q", "--bare", empty, cwd=ROOT)
    beside = (f"--git-dir={empty}", f"--work-tree={ROOT}")
    listed = _git(*beside, "ls-files", "-z", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    return [Path(name) for name in sorted(filter(None, listed)) if os.path.lexists(ROOT / name)]


@pytest.fixture(scope="session")
def tree(tracked: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository of one commit that holds the checkout's files as they are now, links included."""
    copy = tmp_path_factory.mktemp("tree") / "confbag"
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    _git("init", "-q", "-b", "main", cwd=copy)
    _git("add", "-A", cwd=copy)
    _git("commit", "-q", "-m", "the tree under test", cwd=copy)
    return copy


@pytest.fixture(scope="session")
def build_wheel() -> Build:
    """Build a wheel from a tree, an sdist or a git address, with nothing from the network."""

    def build(source: Path | str, into: Path) -> Path:
        offline = ("-q", "--no-index", "--no-build-isolation", "--no-deps")
        ran = _run(sys.executable, "-m", "pip", "wheel", *offline, "-w", into, source, cwd=into)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        (built,) = into.glob("*.whl")
        return built

    return build


@pytest.fixture(scope="session")
def wheel(build_wheel: Build, tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the tree."""
    return build_wheel(tree, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist built from the tree."""
    into = tmp_path_factory.mktemp("sdist")
    script = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    ran = _run(sys.executable, "-c", script, into, cwd=tree)
    assert ran.returncode == 0, ran.stderr
    (built,) = into.glob("*.tar.gz")
    return built


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Install a wheel in a new environment and return its bin folder; dependencies come from the running one."""

    def make(built: Path) -> Path:
        folder = tmp_path_factory.mktemp("environment")
        venv.create(folder, symlinks=True)
        python = folder / "bin" / "python"
        offline = ("-q", "--no-index", "--no-deps")
        ran = _run(sys.executable, "-m", "pip", "--python", python, "install", *offline, built, cwd=folder)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        site = _run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).stdout.strip()
        dependencies = folder / "dependencies"
        dependencies.mkdir()
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            # What is ours stays out, and how an editable install of it is found.
            if not entry.name.startswith(("confbag", "__editable__")):
                (dependencies / entry.name).symlink_to(entry)
        Path(site, "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
        return python.parent

    return make


@pytest.fixture(scope="session")
def installed(install: Callable[[Path], Path], wheel: Path) -> Path:
    """The bin folder of an environment with the wheel installed."""
    return install(wheel)
