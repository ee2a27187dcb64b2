"""`init`: adoption in one command, asked on a terminal or guessed from trees of every layout."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Engine

READ = "def f():\n    return get_server_args().tp_size\n"
LINE = "engine/a.py\tf\trecord.tp_size"
WRITTEN = (".ratchets/CB101.tsv", ".github/workflows/ratchets.yml", ".pre-commit-config.yaml", "ratchets.toml")


@pytest.fixture
def bare(engine: Engine) -> Engine:
    """An engine with findings, and without ratchets."""
    (engine.folder / "ratchets.toml").unlink()
    engine.write("engine/a.py", READ)
    return engine


def nothing_written(engine: Engine) -> bool:
    return not any((engine.folder / path).exists() for path in WRITTEN)


def test_it_is_adoption_in_one_command(bare: Engine) -> None:
    bare.commit("before")
    ran = bare.run("init", "--yes")
    assert (ran.status, ran.err) == (0, "")
    assert 'accessors = ["engine.runtime_context.get_server_args"]' in bare.read("ratchets.toml")
    assert 'types = ["engine.server_args.ServerArgs"]' in bare.read("ratchets.toml")
    assert LINE in bare.entries()
    assert bare.run("check").status == 0
    attributes = bare.git("check-attr", "merge", "text", "eol", "--", ".ratchets/CB101.tsv")
    assert re.findall(r": (\S+): (\S+)$", attributes, re.MULTILINE) == [
        ("merge", "union"),
        ("text", "set"),
        ("eol", "lf"),
    ]
    workflow = bare.read(".github/workflows/ratchets.yml")
    assert "fetch-depth: 0" in workflow
    assert "branches: [main]" in workflow
    assert "CODEOWNERS" in ran.out
    bare.commit("adopt")
    assert bare.run("check", "--against", "HEAD~1").status == 0
    bare.write("engine/b.py", READ)
    assert bare.run("check").status == 1


def test_it_adds_to_what_is_there_and_overwrites_nothing(bare: Engine) -> None:
    before = '[project]\r\nname = "engine"'
    bare.write("pyproject.toml", before)
    bare.write(".github/workflows/ratchets.yml", "ours\n")
    bare.write(".pre-commit-config.yaml", "repos: []\n")
    bare.git("checkout", "-q", "-b", "trunk")
    ran = bare.run("init", "--yes")
    assert ran.status == 0
    text = bare.read("pyproject.toml")
    assert text.startswith(before + "\r\n\r\n[tool.confbag.ratchets]\r\n")
    assert text.count("\n") == text.count("\r\n")
    assert bare.read(".github/workflows/ratchets.yml") == "ours\n"
    assert bare.read(".pre-commit-config.yaml") == "repos: []\n"
    assert "entry: confbag ratchet check" in ran.out
    assert bare.run("check").status == 0


def test_it_takes_what_it_is_told(bare: Engine) -> None:
    argv = ["--accessor", "engine.runtime_context.get_server_args", "--name", "args", "--holder", "args"]
    assert bare.run("init", "--yes", *argv, "--root", "engine", "--owner", "engine/runtime_context.py").status == 0
    text = bare.read("ratchets.toml")
    assert 'name = "args"' in text
    assert 'holders = ["args"]' in text


def test_it_refuses_a_second_time_and_writes_nothing_that_is_wrong(bare: Engine) -> None:
    bare.write("pyproject.toml", "[project]\n")
    ran = bare.run("init", "--yes", "--accessor", "engine.nowhere.get")
    assert ran.status == 8
    assert "engine.nowhere.get is not there" in ran.err
    assert bare.read("pyproject.toml") == "[project]\n"
    assert bare.run("init", "--yes").status == 0
    ran = bare.run("init", "--yes", within="engine")
    assert (ran.status, ran.err[:20]) == (8, "../pyproject.toml: c")


def test_a_configuration_is_taken_back_where_the_first_run_ends_early(
    bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would stand without a baseline, fail every check, and refuse a second `init`."""
    from confbag.ratchets import session

    def stopped(*given: object, **how: object) -> None:
        raise KeyboardInterrupt

    bare.write("pyproject.toml", "[project]\n")
    with monkeypatch.context() as patch:
        patch.setattr(session, "run", stopped)
        with pytest.raises(KeyboardInterrupt):
            bare.run("init", "--yes")
    assert bare.read("pyproject.toml") == "[project]\n"
    assert nothing_written(bare)
    assert bare.run("init", "--yes").status == 0


def test_it_asks_for_what_it_cannot_guess(new_engine: Callable[[str], Engine]) -> None:
    empty = new_engine("empty")
    empty.write("engine/a.py", "x = 1\n")
    ran = empty.run("init", "--yes")
    assert ran.status == 8
    assert "--accessor" in ran.err


# Trees

USE = "from {module} import get_server_args\n\n\ndef f():\n    return get_server_args().tp_size\n"
LAYOUTS = {
    "at the top": ("engine", "engine.context", "", '["engine"]'),
    "below src": ("src/engine", "engine.context", "", '["src/engine"]'),
    "below another folder": ("python/engine/core", "engine.core.context", '["python"]', '["python/engine"]'),
    "below a package of the same name": ("engine/engine", "engine.context", '["engine"]', '["engine/engine"]'),
    "in no package": ("lib", "context", '["lib"]', '["lib"]'),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_where_modules_start_is_seen_from_the_imports_of_the_tree(
    layout: str, engine: Engine, new_engine: Callable[[str], Engine]
) -> None:
    folder, module, source, roots = LAYOUTS[layout]
    made = new_engine("made")
    context = engine.read("engine/runtime_context.py")
    made.write(f"{folder}/context.py", context.replace("engine.server_args", module.replace("context", "server_args")))
    made.write(f"{folder}/server_args.py", engine.read("engine/server_args.py"))
    made.write(f"{folder}/use.py", USE.format(module=module))
    made.write("tests/test_it.py", USE.format(module=module))
    made.git("init", "-q", "-b", "main")
    assert made.run("init", "--yes").status == 0
    text = made.read("ratchets.toml")
    assert f'accessors = ["{module}.get_server_args"]' in text
    assert re.findall(r"^source = (.*)$", text, re.MULTILINE) == ([source] if source else [])
    assert re.findall(r"^roots = (.*)$", text, re.MULTILINE) == [roots]
    assert made.entries() == [f"{folder}/use.py\tf\trecord.tp_size"]
    assert made.run("check").status == 0


def test_where_modules_start_follows_from_an_accessor_that_is_named(new_engine: Callable[[str], Engine]) -> None:
    made = new_engine("made")
    made.write("python/engine/state.py", "def current():\n    return None\n")
    made.write("python/engine/use.py", "from . import state\n\n\ndef f():\n    return state.current().tp_size\n")
    assert made.run("init", "--yes", "--accessor", "engine.state.current").status == 0
    assert made.entries() == ["python/engine/use.py\tf\trecord.tp_size"]


def test_the_accessor_that_is_called_most_is_taken(bare: Engine) -> None:
    bare.write("engine/zz.py", "class Options: ...\n\n\ndef get_options() -> Options:\n    return Options()\n")
    for number in range(40):
        bare.write(f"engine/m{number}.py", "from engine.zz import get_options\n\nx = get_options()\n")
    assert bare.run("init", "--yes").status == 0
    assert 'accessors = ["engine.zz.get_options"]' in bare.read("ratchets.toml")


# On a terminal


def on_terminal(folder: Path, *answers: str) -> tuple[int, str]:
    """Run `init` on a terminal of its own, and type an answer whenever it waits for one; then end the input."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "confbag", "ratchet", "init"],
        cwd=folder, env=_environment(), stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        preexec_fn=_terminal,
    )  # fmt: skip
    os.close(slave)
    left = list(answers)
    out = b""
    answered = 0
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        ready, _, _ = select.select([master], [], [], 0.2)
        if ready:
            try:
                out += os.read(master, 65536)
            except OSError:
                break
        elif out[answered:].endswith(b"]: "):
            answered = len(out)
            os.write(master, (left.pop(0) if left else "\x04").encode())
        elif process.poll() is not None:
            break
    else:
        process.kill()
    os.close(master)
    return process.wait(), out.decode()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def _terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_enter_takes_what_is_guessed(bare: Engine) -> None:
    status, said = on_terminal(bare.folder, *["\n"] * 7)
    assert status == 0, said
    assert "the record's name in findings [server_args]: " in said
    assert LINE in bare.entries()


@pytest.mark.parametrize(("answers", "status"), [(["\n", "\x03"], 130), (["\n", "\n"], 8), ([], 8)])
def test_whoever_stops_answering_gets_nothing(bare: Engine, answers: list[str], status: int) -> None:
    found, said = on_terminal(bare.folder, *answers)
    assert found == status, said
    assert "Traceback" not in said
    assert "internal error" not in said
    assert nothing_written(bare)


def test_wrong_answers_are_said_all_at_once_and_asked_again(bare: Engine) -> None:
    wrong = ["my record\n", "engine.nothing.get\n", "\n", "\n", "nowhere/\n", "\n", "\n"]
    right = ["args\n", "engine.runtime_context.get_server_args\n", "-\n", "\n", "engine/runtime_context.py\n"]
    status, said = on_terminal(bare.folder, *wrong, *right, "\n", "\n")
    assert status == 0, said
    for words in ("'my record' is no name", "engine.nothing.get is not there", "owner 'nowhere/' matches nothing"):
        assert words in said
    text = bare.read("ratchets.toml")
    assert 'name = "args"' in text
    assert "types" not in text
    assert 'owners = ["engine/runtime_context.py"]' in text
