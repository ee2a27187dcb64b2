"""The mini engine's own settings and op through every command, each a process; and what a type checker says of it."""

from __future__ import annotations

import builtins
import json
import os
import re
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from confbag import Bag, load
from confbag.backends import make_plan
from confbag.cli import main
from confbag.schema.leaves import leaves
from confbag.testing import published as published

ROOT = Path(__file__).parents[2]
FILES = ("examples/configs/cpu-laptop.yaml", "examples/mini_engine/serve.yaml")
MINI = ("--schema", "mini")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def confbag(tmp_path: Path) -> Run:
    """The command as a process, in the root unless said."""

    def run(*argv: str | Path, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CONFBAG", "PYTHONPATH"))}
        return subprocess.run(
            [str(Path(sys.executable).parent / "confbag"), *map(str, argv)],
            capture_output=True,
            text=True,
            env={**kept, **env},
            cwd=cwd,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("named", "env"),
    [
        (MINI, {}),
        (("--schema", "mini_engine.settings:EngineConfig"), {}),
        ((), {"CONFBAG_SCHEMA": "mini"}),
        (MINI, {"CONFBAG_SCHEMA": "nobody"}),
    ],
)
def test_plan(confbag: Run, named: tuple[str, ...], env: dict[str, str]) -> None:
    ran = confbag("plan", *named, *FILES, "--format", "json", **env)
    assert (ran.returncode, ran.stderr) == (0, "")
    plan = json.loads(ran.stdout)
    jsonschema.validate(plan, json.loads(confbag("schema", "--plan").stdout))
    assert plan["schema"]["name"] == "mini_engine.settings:EngineConfig"
    assert plan["config"]["serve.max_batch"] == {"value": 3, "origin": "examples/mini_engine/serve.yaml:5:3"}
    assert plan["config"]["serve.pages"] == {"value": 64, "origin": "rule serve-pages-cpu"}
    own = next(row for row in plan["bindings"] if row["op"] == "serve.look_up")
    assert (own["provider"], own["target"]) == ("rfind", "mini_engine.look_up.rfind:look_up")


def test_why(confbag: Run) -> None:
    told = confbag("why", "serve.pages", *MINI, *FILES).stdout
    assert told.startswith("serve.pages = 64\n")
    assert "rule serve-pages-cpu" in told
    told = confbag("why", "serve.look_up", *MINI, *FILES).stdout
    assert told.startswith("serve.look_up: rfind\n")
    told = confbag("why", "serve.look_up", *MINI, *FILES, "--set", "spec.algorithm=none").stdout
    assert "spec.algorithm is none, not NGRAM" in told


def test_lock_and_diff(confbag: Run, tmp_path: Path) -> None:
    lock = tmp_path / "mini.lock"
    assert confbag("lock", *MINI, *FILES, "-o", lock).returncode == 0
    text = lock.read_text(encoding="utf-8")
    assert '\nschema: "mini_engine.settings:EngineConfig"\ndigest: ' in text
    assert '  serve.look_up: {provider: rfind, step: priority, target: "mini_engine.look_up.rfind:look_up"}\n' in text
    assert "  serve.max_batch: 3\n" in text
    held = confbag("lock", *MINI, *FILES, "--check", lock)
    assert (held.returncode, held.stderr) == (0, "")
    differs = confbag("lock", *MINI, *FILES, "--check", lock, "--set", "exec.kernels.pin={serve.look_up: reference}")
    assert differs.returncode == 4
    assert (
        "confbag lock examples/configs/cpu-laptop.yaml examples/mini_engine/serve.yaml --schema mini" in differs.stderr
    )
    found = json.loads(confbag("diff", *MINI, FILES[0], lock, "--format", "json").stdout)
    changed = {entry["name"]: (entry["a"]["value"], entry["b"]["value"]) for entry in found["settings"]}
    assert changed == {"serve.max_batch": (4, 3), "serve.context": (1024, 512)}
    locks = json.loads(confbag("diff", *MINI, lock, lock, "--format", "json").stdout)
    assert locks["same"] is True
    assert locks["a"]["schema"]["name"] == "mini_engine.settings:EngineConfig"
    other = confbag("lock", FILES[0], "--check", lock)
    assert other.returncode == 4
    assert re.search(r"schema +A +mini_engine\.settings:EngineConfig\n +B +confbag\n", other.stdout)


def test_schema(confbag: Run) -> None:
    schema = json.loads(confbag("schema", *MINI).stdout)
    jsonschema.validate(yaml.safe_load((ROOT / FILES[1]).read_text(encoding="utf-8")), schema)
    assert "serve" not in json.loads(confbag("schema").stdout)["properties"]


def test_verify(confbag: Run) -> None:
    ran = confbag("verify", "serve.look_up", *MINI, "--config", FILES[0], "--config", FILES[1], "--format", "json")
    assert (ran.returncode, ran.stderr) == (0, "")
    results = json.loads(ran.stdout)["results"]
    rows = {row["provider"]: (row["status"], row["cases"], row["bound"]) for row in results}
    assert rows == {"reference": ("agrees", 27, []), "rfind": ("agrees", 27, ["serve.look_up"])}


def test_catalog_and_doctor(confbag: Run) -> None:
    assert "rfind" in confbag("catalog", *MINI, "--op", "serve.look_up").stdout
    refused = confbag("catalog", "--op", "serve.look_up")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert confbag("doctor", *MINI).returncode == 0


def test_without_the_schema_its_keys_are_unknown_and_say_where_they_are_known(confbag: Run) -> None:
    ran = confbag("plan", *FILES)
    assert ran.returncode == 2
    hint = "unknown key; the schema mini has it; write --schema mini"
    assert ran.stderr == f"examples/mini_engine/serve.yaml:4:1: serve: {hint}\n"
    known = confbag("plan", FILES[0], "--set", "serve.pages=3")
    assert "the schema mini has it; write --schema mini" in known.stderr


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("mnii", "--schema: unknown schema 'mnii'; did you mean mini?"),
        ("nobody", "--schema: unknown schema 'nobody'; installed are mini (or write package.module:Class)"),
        ("mini_engine.settings:EngineConfg", "cannot be loaded: AttributeError"),
        ("mini_engine.nowhere:EngineConfig", "cannot be loaded: ModuleNotFoundError"),
        ("mini_engine.settings:Serve", "is a class, and no Config"),
        ("mini_engine.settings:get_serve", "is a function, not a class made from confbag.Config"),
    ],
)
def test_a_schema_that_cannot_be_had(capsys: pytest.CaptureFixture[str], named: str, told: str) -> None:
    for argv in (("plan",), ("why", "exec.graph"), ("schema",), ("catalog",), ("lock",), ("doctor",), ("verify",)):
        assert main([*argv, "--schema", named]) == 2, argv
        said = capsys.readouterr()
        assert said.out == ""
        assert told in said.err


def test_the_current_folder_names_no_schema(confbag: Run, tmp_path: Path) -> None:
    """A file names no code, and neither does the place where a command is started."""
    (tmp_path / "evil.py").write_text("print('run')\nfrom confbag import Config\nclass Evil(Config):\n    pass\n")
    named = ("--schema", "evil:Evil")
    for ran in (
        confbag("schema", *named, cwd=tmp_path),
        subprocess.run(
            [sys.executable, "-m", "confbag", "schema", *named],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        ),
    ):
        assert (ran.returncode, ran.stdout) == (2, "")
        assert "evil:Evil cannot be loaded: ModuleNotFoundError" in ran.stderr
        assert "put its folder on PYTHONPATH" in ran.stderr
    assert confbag("schema", *named, cwd=tmp_path, PYTHONPATH=str(tmp_path)).returncode == 0
    config = tmp_path / "c.yaml"
    config.write_text("schema: mini\n")
    assert confbag("plan", config).returncode == 2


def test_another_engines_plan_knows_nothing_of_it() -> None:
    plan = make_plan(load(env={}), "cpu:x86_64")
    assert "serve.look_up" not in plan.registry.ops
    assert not plan.registry.failures


# What a type checker says


def checked(path: Path, *flags: str) -> str:
    """mypy of one file, in this project's mode."""
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *flags, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


READS = """
from mini_engine.settings import get_serve

from confbag import {accessors}

"""


def test_what_is_revealed_is_what_is_read(tmp_path: Path, published: Callable[..., Bag]) -> None:
    """Every field of the schema: what the checker reveals of a read, against the value that a process reads."""
    from mini_engine.settings import EngineConfig

    bag = published(make_plan(load(*(ROOT / file for file in FILES), schema=EngineConfig, env={})))
    keys = list(leaves(EngineConfig))
    reads = [f"get_{key.partition('.')[0]}().{key.partition('.')[2]}" for key in keys]
    accessors = sorted({read.partition("(")[0] for read in reads} - {"get_serve"})
    source = tmp_path / "reads.py"
    text = READS.format(accessors=", ".join(accessors)).lstrip()
    source.write_text(text + "".join(f"reveal_type({read})\n" for read in reads), encoding="utf-8")
    revealed = re.findall(r'Revealed type is "(.*)"', checked(source))
    assert len(revealed) == len(keys)
    for key, said in zip(keys, revealed, strict=True):
        value: Any = bag
        for name in key.split("."):
            value = getattr(value, name)
        assert value == bag[key]
        assert fits(value, meant(said)), (key, said, value)


def meant(said: str) -> Any:
    """The type that mypy's text stands for."""
    import confbag

    text = re.sub(r"(?<!\.)\bLiteral\b", "typing.Literal", said).replace("]?", "]")
    return eval(text, {"builtins": builtins, "typing": typing, "confbag": confbag})


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is one of a type, all the way down."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is None or kind is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is typing.Literal:
        return any(value == part and type(value) is type(part) for part in parts)
    if origin is tuple:
        if parts[-1] is Ellipsis:
            return isinstance(value, tuple) and all(fits(item, parts[0]) for item in value)
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(fits, value, parts))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(fits(one, parts[0]) and fits(value[one], parts[1]) for one in value)
    return isinstance(value, kind) and (kind is not int or not isinstance(value, bool))


def test_pyright_finds_nothing_in_the_example() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "examples/mini_engine"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    found = json.loads(ran.stdout)
    assert found["summary"]["filesAnalyzed"] > 15
    assert found["generalDiagnostics"] == []


EVERYTHING = '''
from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Self

from confbag import Auto, Config, Namespace, Secret, accessor, auto


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even; write an even number")
    return value


class Cache(Namespace):
    """cache: nested."""

    blocks: int = 4
    kind: Auto[Literal["lru", "fifo"]] = auto


class Engine(Namespace):
    """engine: one of each kind of thing that a namespace may hold."""

    name: str
    width: Annotated[int, AfterValidator(_even)] = 8
    token: Secret | None = None
    cache: Cache = Field(default_factory=Cache)

    @model_validator(mode="after")
    def fits(self) -> Self:
        if self.cache.blocks > self.width:
            raise ValueError("engine.cache.blocks must not be above engine.width")
        return self

    @property
    def title(self) -> str:
        """A property."""
        return self.name.title()

    def wider(self, by: int) -> int:
        """A method."""
        return self.width + by


class EveryConfig(Config):
    """Its settings."""

    engine: Engine


get_engine = accessor("engine", Engine)
'''
READER = """
from confbag import Bag
from confbag.backends import Plan, make_plan
from confbag import load, publish
from everything import Engine, EveryConfig, get_engine


def start() -> tuple[str, int, int, str, bool]:
    bag: Bag = load({"engine.name": "one", "engine.cache.kind": "lru"}, schema=EveryConfig, env={})
    plan: Plan = make_plan(bag, "cpu:x86_64")
    publish(plan)
    engine = get_engine()
    return engine.title, engine.wider(2), engine.cache.blocks, engine.cache.kind, isinstance(engine, Engine)


if __name__ == "__main__":
    print(*start())
"""


@pytest.fixture
def everything(tmp_path: Path) -> Path:
    """A folder with a schema of everything, and a program that reads it."""
    (tmp_path / "everything.py").write_text(EVERYTHING.lstrip(), encoding="utf-8")
    (tmp_path / "reader.py").write_text(READER.lstrip(), encoding="utf-8")
    return tmp_path


def test_a_schema_of_everything_reaches_the_commands(confbag: Run, everything: Path, tmp_path: Path) -> None:
    asked = ("--schema", "everything:EveryConfig", "--platform", "cpu:x86_64")
    config, lock = tmp_path / "c.yaml", tmp_path / "c.lock"
    config.write_text("engine: {name: one, token: hunter2, cache: {kind: lru}}\n", encoding="utf-8")
    path = {"PYTHONPATH": str(everything)}
    plan = confbag("plan", config, *asked, "--format", "json", **path)
    assert (plan.returncode, plan.stderr) == (0, "")
    assert "hunter2" not in plan.stdout
    assert json.loads(plan.stdout)["config"]["engine.cache.kind"]["value"] == "lru"
    told = confbag("why", "engine.width", config, *asked, **path).stdout
    assert told.startswith("engine.width = 8\n")
    assert confbag("lock", config, *asked, "-o", lock, **path).returncode == 0
    assert "hunter2" not in lock.read_text(encoding="utf-8")
    assert confbag("lock", config, *asked, "--check", lock, **path).returncode == 0
    for words, told in (
        (("exec.graph=false",), "engine.name: expected a text, but nothing sets it"),
        (("engine.name=x", "engine.width=7"), "got the number 7; must be even; write an even number"),
        (("engine.name=x", "engine.cache.blocks=9"), "engine.cache.blocks must not be above engine.width"),
    ):
        ran = confbag("plan", *asked, *(part for word in words for part in ("--set", word)), **path)
        assert (ran.returncode, ran.stdout) == (2, ""), ran.stdout
        assert told in ran.stderr
    undecided = confbag("plan", config, *asked, "--set", "engine.cache.kind=auto", **path)
    assert undecided.returncode == 0


def test_a_schema_of_everything_is_what_the_checkers_say(everything: Path) -> None:
    (everything / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)], "include": ["*.py"]}))
    env = {**os.environ, "PYTHONPATH": str(everything), "MYPYPATH": f"{everything}:{ROOT}"}
    for command, told in (
        (["reader.py"], "One 10 4 lru True"),
        (
            ["-m", "mypy", "--strict", "--explicit-package-bases", "reader.py"],
            "Success: no issues found in 1 source file",
        ),
        (["-m", "pyright", "--pythonpath", sys.executable], "0 errors, 0 warnings, 0 informations"),
    ):
        ran = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, cwd=everything, env=env, check=False
        )
        assert (ran.returncode, ran.stdout.strip()) == (0, told), ran.stderr
