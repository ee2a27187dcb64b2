"""The hook, as `pre-commit try-repo` runs it on a real repository, in an environment that has no torch."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from conftest import Engine

ROOT = Path(__file__).resolve().parents[2]
# A second hook of the same environment, which says what is in it.
WHAT_IS_THERE = """\
- id: what-is-there
  name: what is there
  entry: >-
    python -c "from importlib.util import find_spec;
    [print(name, 'is here:', bool(find_spec(name))) for name in ('libcst', 'torch')]"
  language: python
  always_run: true
  pass_filenames: false
"""
READ = "def f():\n    return get_server_args().tp_size\n"


@pytest.fixture(scope="session")
def pre_commit() -> Path:
    """pre-commit in an environment of its own, kept between runs; a fetch that fails fails the test."""
    folder = ROOT / ".venvs" / f"pre-commit-{sys.implementation.cache_tag}"
    folder.parent.mkdir(exist_ok=True)
    program = folder / "bin" / "pre-commit"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.is_file():
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=False, symlinks=True)
            pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
            options = ["--disable-pip-version-check", "--no-input", "--quiet"]
            done = subprocess.run(
                [*pip, *options, "install", "pre-commit"], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"pre-commit could not be fetched:\n{done.stderr}"
    return program


def test_one_process_at_a_time() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["id"], hook["require_serial"], hook["language"]) == ("confbag-ratchet", True, "python")


def test_try_repo(engine: Engine, pre_commit: Path, tmp_path: Path) -> None:
    ours = tmp_path / "confbag"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    for name in filter(None, map(os.fsdecode, listed.split(b"\0"))):
        if os.path.lexists(ROOT / name):
            (ours / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, ours / name, follow_symlinks=False)
    with (ours / ".pre-commit-hooks.yaml").open("a", encoding="utf-8") as hooks:
        hooks.write(WHAT_IS_THERE)
    hook = type(engine)(ours)
    hook.git("init", "-q")
    hook.commit("as it stands")

    def attempt(*argv: str) -> tuple[int, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON", "VIRTUAL_"))
        }
        ran = subprocess.run(
            [str(pre_commit), "try-repo", str(ours), "--verbose", *argv],
            cwd=engine.folder,
            env={**kept, "PRE_COMMIT_HOME": str(tmp_path / "home"), "PRE_COMMIT_COLOR": "never"},
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr

    status, said = attempt("--files", "engine/server_args.py")
    assert status == 0, said
    assert "Passed" in said
    engine.write("engine/a.py", READ)
    engine.write("engine/b.py", "x = 1\n")
    engine.git("add", "-A")
    status, said = attempt()
    assert status == 1, said
    assert "- exit code: 1" in said
    assert "engine/a.py:3:30: CB101" in said
    assert "libcst is here: True" in said
    assert "torch is here: False" in said


def test_init_leaves_a_hook_that_works(engine: Engine, pre_commit: Path, tmp_path: Path) -> None:
    """What `init` writes blocks a commit that brings a read, and no other."""
    (engine.folder / "ratchets.toml").unlink()
    engine.write("engine/old.py", READ)
    assert engine.run("init", "--yes").status == 0
    engine.commit("adopted")

    def commit(path: str, text: str) -> tuple[int, str]:
        engine.write(path, text)
        engine.git("add", "-A")
        # The confbag of the environment that commits.
        commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
        ran = subprocess.run(
            [str(pre_commit), "run"],
            cwd=engine.folder,
            env={**kept, "PATH": commands, "PRE_COMMIT_HOME": str(tmp_path / "home"), "PRE_COMMIT_COLOR": "never"},
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr

    assert commit("engine/old.py", READ + "\n# the same\n")[0] == 0
    status, said = commit("engine/new.py", READ)
    assert status == 1, said
    assert "engine/new.py:3:30: CB101" in said
