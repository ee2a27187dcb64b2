"""Plug-ins: found by their entry point, fatal when named, visible when only discovered, and never half-registered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]

PLUGINS = {
    "good": "from confbag.backends import Platform\n"
    "def register(registry):\n"
    "    registry.platform('good:one', Platform(device='good', arch='one', packages={'torch': '2.13.0'}))\n"
    "    registry.implement('kvcache.last_loc', 'good', 'good_kernels:last_loc', priority=50)\n",
    "broken": "import nowhere_to_be_found\n",
    "half": "def register(registry):\n"
    "    registry.implement('kvcache.last_loc', 'half', 'half_kernels:last_loc', priority=60)\n"
    "    raise RuntimeError('the second half is missing')\n",
    "tie": "def register(registry):\n    registry.implement('kvcache.last_loc', 'tie', 'tie:last_loc', priority=20)\n",
    "taker": "def register(registry):\n"
    "    registry.implement('kvcache.last_loc', 'taker', 'taker:last_loc', priority=60)\n"
    "    registry.fact('model.kind', {'model.kind': 'mha'})\n",
    "late": "def register(registry):\n    registry.ops['kvcache.last_loc'].implement('late', 'late:last_loc')\n",
    "confbag": "def register(registry):\n    raise SystemError('not ours')\n",
    "data": "DATA = {'defaults': {'memory.page_size': 'huge'}, 'environment': ['CONFBAG__DATA__X']}\n",
    # Words that only the registry knows; the first hides what the second says
    "data_word": "DATA = {'defaults': {'exec.sampling_backend': 'zed', 'exec.compile': True}}\n",
    "data_phase": "DATA = {'defaults': {'exec.attention.decode': 'trton'}}\n",
    "data_pin": "DATA = {'defaults': {'exec.kernels.pin': {'kvcache.last_loc': 'nope'}, 'exec.compile': True}}\n",
    "data_place": "DATA = {'defaults': {'exec.kernels.pin': {'kvcache.last_locc': None}}}\n",
    "data_prefer": "DATA = {'defaults': {'exec.kernels.prefer': {'attention': 'nope'}}}\n",
    "data_sound": "DATA = {'defaults': {'exec.kernels.reference_only': ['kvcache.last_loc']}}\n",
    "data_hangs": "import time\ntime.sleep(10)\n",
    "data_exits": "import os\nos._exit(3)\n",
    # Ways to take a process along, at import and while registering
    "hangs": "import time\ntime.sleep(10)\n",
    "exits": "import os\nos._exit(3)\n",
    "exits_well": "import os\nos._exit(0)\n",
    "exits_late": "import os\ndef register(registry):\n    os._exit(3)\n",
    "dies": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "interrupts": "raise KeyboardInterrupt\n",
    "quits": "import sys\ndef register(registry):\n    sys.exit('no licence')\n",
    "unspeakable": "class Odd(BaseException):\n    def __str__(self):\n        raise ValueError\nraise Odd\n",
    "chatty": "import os\nprint('{ hello')\nos.write(1, b'{ again')\ndef register(registry):\n    print('{')\n",
    "curious": "from confbag.backends.declare.plugins import installed\n"
    "def register(registry):\n"
    "    registry.implement('kvcache.last_loc', 'curious', 'c:last_loc')\n"
    "    assert 'curious' not in installed().providers('kvcache.last_loc')\n",
    "recursive": "import subprocess, sys\n"
    "def register(registry):\n"
    "    code = 'from confbag.backends.declare.plugins import installed; installed()'\n"
    "    subprocess.run([sys.executable, '-c', code], check=True)\n",
    "moody": "import os, pathlib\n"
    "with open(os.path.join(os.path.dirname(__file__), 'loads'), 'a') as file:\n"
    "    file.write('x')\n"
    "if os.environ.get('MOOD') == 'bad':\n"
    "    os._exit(3)\n"
    "def register(registry):\n"
    "    registry.implement('kvcache.last_loc', 'moody', 'm:last_loc')\n",
}

PLAN = """
from confbag import load
from confbag.backends import Platform, make_plan
from confbag.errors import ConfbagError
try:
    cuda = Platform(device="cuda", arch="sm90", packages={"torch": "2.13.0", "triton": "3.6.0"})
    plan = make_plan(load(), cuda)
    print(plan["kvcache.last_loc"].provider, sorted(plan.registry.providers("kvcache.last_loc")))
    for warning in plan.warnings:
        print("WARNING", warning)
except ConfbagError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Install plug-ins as bare dist-info folders on the path of a child, and print what it plans."""

    def run(
        *names: str,
        named: str | None = None,
        env: dict[str, str] | None = None,
        seconds: str = "30",
        loud: bool = False,
    ) -> str:
        for name in names:
            module = f"plugin_{name}"
            group, value = ("settings", "DATA") if name.startswith("data") else ("backends", "register")
            (tmp_path / f"{module}.py").write_text(PLUGINS[name])
            info = tmp_path / f"{name}_dist-1.0.dist-info"
            info.mkdir(exist_ok=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(f"[confbag.{group}]\n{name} = {module}:{value}\n")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        environment |= {"CONFBAG_PLUGIN_SECONDS": seconds, **(env or {})}
        environment.pop("CONFBAG_PLUGINS", None)
        if named is not None:
            environment["CONFBAG_PLUGINS"] = named
        done = subprocess.run([sys.executable, "-c", PLAN], capture_output=True, text=True, env=environment, check=True)
        if not loud and not any(name.startswith(("chatty", "data_")) for name in (*names, named or "")):
            assert done.stderr == ""
        return done.stdout

    return run


def test_a_plugin_that_was_discovered_and_fails_is_a_visible_row(run: Run) -> None:
    """vllm#48277: a plug-in raised while registering, and the engine ran on the CPU without a word."""
    out = run("good", "broken")
    assert "WARNING plug-in broken (broken-dist) FAILED and is left out: ModuleNotFoundError" in out
    assert "'good'" in out


@pytest.mark.parametrize(
    "command", [["why", "attention"], ["lock"], ["diff", "cuda:sm90", "cuda:sm80"], ["catalog"], ["plan"], ["doctor"]]
)
def test_every_command_tells_of_a_plugin_that_failed(run: Run, command: list[str], tmp_path: Path) -> None:
    run("broken")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    machine = ["--platform", "cuda:sm90"] if command[0] in ("why", "lock", "plan") else []
    words = [sys.executable, "-m", "confbag", *command, *machine]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = " ".join(f"{done.stdout} {done.stderr}".split())
    assert told.count("plug-in broken (broken-dist) FAILED and is left out: ModuleNotFoundError") == 1


def test_a_plugin_that_was_named_and_fails_is_fatal(run: Run) -> None:
    assert run("good", "broken", named="broken").startswith(
        "PluginError plug-in broken (broken-dist) cannot be loaded: ModuleNotFoundError"
    )
    assert run("good", named="good, absent").startswith(
        "PluginError CONFBAG_PLUGINS names absent, which is not installed"
    )


def test_only_named_plugins_are_loaded(run: Run) -> None:
    assert "'good'" in run("good", "half", named="good")
    assert "half" not in run("good", "half", named="good")
    assert "'good'" not in run("good", named="")


@pytest.mark.parametrize("name", ["half", "tie", "taker", "late"])
@pytest.mark.parametrize("seconds", ["30", "0"], ids=["tried first", "tried here"])
def test_a_plugin_that_fails_leaves_nothing_behind(run: Run, name: str, seconds: str) -> None:
    out = run(name, seconds=seconds)
    assert out.startswith("triton ['reference', 'triton', 'triton_int32_safe']")
    assert f"WARNING plug-in {name} ({name}-dist) FAILED" in out
    assert run(named=name, seconds=seconds).startswith(f"PluginError plug-in {name} ({name}-dist) cannot be loaded: ")


def test_nobody_replaces_us_by_taking_our_name(run: Run) -> None:
    out = run("confbag")
    assert out.startswith("triton")
    assert (
        "WARNING plug-in confbag (confbag-dist) FAILED and is left out: confbag declares a plug-in of this name too"
        in out
    )


# A plug-in that takes its process along


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("hangs", "hung for 0.7 s while it was loaded (CONFBAG_PLUGIN_SECONDS allows it more)"),
        ("exits", "exited with status 3 while it was loaded"),
        ("exits_well", "exited with status 0 while it was loaded"),
        ("exits_late", "exited with status 3 while it was loaded"),
        ("dies", "killed by signal 11 while it was loaded"),
        ("interrupts", "raised KeyboardInterrupt while it was loaded"),
        ("quits", "SystemExit: no licence (plugin_quits.py:3)"),
        ("unspeakable", "Odd: its text cannot be read (plugin_unspeakable.py:4)"),
    ],
)
def test_a_plugin_that_takes_its_process_along_is_a_visible_row(run: Run, name: str, why: str) -> None:
    seconds = "0.7" if name == "hangs" else "30"
    beside = ["good"] if name != "hangs" else []  # a busy machine takes longer than that for a good one
    first, again = (run(*beside, name, seconds=seconds) for _ in range(2))
    assert first.startswith(f"triton {[*beside, 'reference', 'triton', 'triton_int32_safe']}")
    assert f"WARNING plug-in {name} ({name.replace('_', '-')}-dist) FAILED and is left out: {why}" in first
    assert again == first
    named = run(name, named=name, seconds=seconds)
    assert named.startswith(f"PluginError plug-in {name} ({name.replace('_', '-')}-dist) cannot be loaded: {why}")


def test_what_a_plugin_prints_is_no_answer(run: Run) -> None:
    assert run("chatty").startswith("triton [")


@pytest.mark.parametrize("name", ["curious", "recursive"])
def test_a_plugin_that_asks_for_plugins_while_it_is_loaded_gets_ours(run: Run, name: str) -> None:
    out = run(name)
    assert "FAILED" not in out
    assert ("'curious'" in out) is (name == "curious")


def test_a_plugin_is_tried_once_for_each_state_of_it(run: Run, tmp_path: Path) -> None:
    def loads() -> int:
        return len((tmp_path / "loads").read_text())

    assert "'moody'" in run("moody")
    assert loads() == 2
    assert "'moody'" in run()
    assert loads() == 3  # not tried again
    assert "exited with status 3" in run(env={"MOOD": "bad"})
    assert loads() == 4
    assert "'moody'" in run(env={"MOOD": "good"})
    assert loads() == 6
    with open(tmp_path / "plugin_moody.py", "a") as file:
        file.write("raise RuntimeError('edited')\n")
    assert "RuntimeError: edited" in run(env={"MOOD": "good"})


def test_a_refusal_is_remembered_until_it_is_named(run: Run, tmp_path: Path) -> None:
    assert "CONFBAG_PLUGINS=exits tries it again" in run("exits")
    for path in (tmp_path / "cache" / "confbag" / "plugins").iterdir():
        kept = json.loads(path.read_text())
        path.write_text(json.dumps({**kept, "refused": "it was tired"}))
    assert "FAILED and is left out: it was tired" in run()
    assert "exited with status 3" in run(named="exits")
    for path in (tmp_path / "cache" / "confbag" / "plugins").iterdir():
        kept = json.loads(path.read_text())
        path.write_text(json.dumps({**kept, "refused": "it was tired", "tried": kept["tried"] - 3601}))
    assert "exited with status 3" in run()


def test_a_damaged_verdict_is_no_verdict(run: Run, tmp_path: Path) -> None:
    run("good", "exits")
    for content in (b"", b'{"refused": 7}', b"\xff\x00"):
        for path in (tmp_path / "cache" / "confbag" / "plugins").iterdir():
            path.write_bytes(content)
        out = run()
        assert "'good'" in out
        assert "plug-in exits (exits-dist) FAILED and is left out: exited with status 3" in out


def test_nowhere_to_keep_a_verdict(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    assert "'good'" in run("good", "exits")
    assert "'good'" in run(env={"XDG_CACHE_HOME": "not/absolute"})


def test_the_time_limit_is_a_number_and_0_tries_nothing(run: Run, tmp_path: Path) -> None:
    assert run("good", seconds="soon").startswith("PluginError CONFBAG_PLUGIN_SECONDS is 'soon'; write a number")
    assert "'moody'" in run("moody", seconds="0")
    assert (tmp_path / "loads").read_text() == "x"


@pytest.mark.parametrize(("name", "why"), [("data_hangs", "hung for 0.7 s"), ("data_exits", "exited with status 3")])
def test_settings_that_take_their_process_along_are_a_visible_row(run: Run, name: str, why: str) -> None:
    out = run(name, seconds="0.7" if name == "data_hangs" else "30")
    assert out.startswith("triton [")
    assert f"WARNING plug-in {name} ({name.replace('_', '-')}-dist) FAILED and is left out: its settings: {why}" in out
    assert run(named=name, seconds="0.7" if name == "data_hangs" else "30").startswith("ConfigError plugin data_")


def test_a_default_of_a_plugin_that_is_wrong_names_the_plugin(run: Run) -> None:
    """sglang#34683: a hook's default was reported as something that the user had explicitly specified."""
    out = run("good", "data", loud=True)
    assert "WARNING plug-in data (data-dist) FAILED and is left out: its settings: memory.page_size: expected" in out
    assert "'good'" in out
    assert "specified" not in out
    assert run(named="data").startswith("ConfigError plugin data: memory.page_size: expected")


def test_a_variable_that_a_plugin_declares_is_no_unknown_one(run: Run) -> None:
    """vllm-ascend#9986: a plug-in's own variables were flagged as unknown."""
    assert "CONFBAG__DATA__X" not in run("data", env={"CONFBAG__DATA__X": "1"}, loud=True)
    assert "CONFBAG__DATA__Y" in run(env={"CONFBAG__DATA__Y": "1"}, loud=True)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("data_word", "exec.sampling_backend: unknown sampling backend 'zed'; write one of"),
        ("data_phase", "exec.attention.decode: unknown attention backend 'trton'; did you mean triton?"),
        ("data_pin", "exec.kernels.pin: unknown provider of kvcache.last_loc 'nope'; write one of"),
        ("data_place", "exec.kernels.pin: unknown op 'kvcache.last_locc'; did you mean kvcache.last_loc?"),
        ("data_prefer", "exec.kernels.prefer: unknown provider of attention 'nope'; write one of"),
    ],
)
def test_a_default_that_nobody_answers_to_is_a_visible_row(run: Run, name: str, told: str) -> None:
    """Words that only the registry knows: the plug-in's settings are left out whole, and the others' stand."""
    out = run(name)
    assert out.startswith("triton [")
    assert f"WARNING plug-in {name} ({name.replace('_', '-')}-dist) FAILED and is left out: its settings: {told}" in out
    assert out.count("WARNING") == 1
    assert run("data_sound").startswith("reference [")
    assert run(named=name).startswith(f"ConfigError plugin {name}: {told}")
    assert "FAILED" not in run(named="data_sound")


def test_what_somebody_else_says_wrongly_is_theirs(run: Run) -> None:
    """A plug-in beneath it changes nothing: what a user wrote is a fault, and what covers the plug-in's word stands."""
    run("data_word", "data_phase")
    out = run(env={"CONFBAG__EXEC__SAMPLING_BACKEND": "zedd"})
    assert out.startswith("ConfigError env CONFBAG__EXEC__SAMPLING_BACKEND: exec.sampling_backend: unknown")
    out = run(env={"CONFBAG__EXEC__SAMPLING_BACKEND": "pytorch", "CONFBAG__EXEC__ATTENTION__BACKEND": "triton"})
    assert "FAILED" not in out


def test_the_command_shows_the_row_and_plans(run: Run, tmp_path: Path) -> None:
    run("data_word")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "confbag", "plan", "--platform", "cuda:sm90", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "plug-in data_word (data-word-dist) FAILED" in done.stdout
    named = subprocess.run(
        command, capture_output=True, text=True, env={**env, "CONFBAG_PLUGINS": "data_word"}, check=False
    )
    assert (named.returncode, named.stdout) == (2, "")
    assert named.stderr.startswith("plugin data_word: exec.sampling_backend: unknown sampling backend 'zed'")
