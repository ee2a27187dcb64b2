"""Whose record it is: functions of the record's own class, and objects of which only another module can tell.

A class of the tree declares the holder's name as something else, so that the name alone says nothing.
"""

from __future__ import annotations

import pytest

from confbag.ratchets.codes import RECORD_RULES

OTHER = "class Other:\n    def __init__(self, server_args: dict):\n        self.server_args = server_args\n"
OWNER = """\
class ServerArgs:
    def __init__(self, a):
        self.tp_size = a
    @classmethod
    def from_cli_args(cls, a):
        return cls(**vars(a))
    @classmethod
    def from_dict(cls, a) -> "ServerArgs":
        return load(a)
    @classmethod
    def from_other(cls, a):
        return cls.from_dict(a)
    @staticmethod
    def count(a) -> int:
        return a
    def with_defaults(self):
        return self
    def copied(self) -> "ServerArgs":
        return load(self)
    @property
    def twin(self) -> "ServerArgs":
        return load(self)
    def size(self):
        return 3
"""
GENERATOR = """\
from engine.server_args import ServerArgs
class Generator:
    def __init__(self, server_args: ServerArgs):
        self.server_args = server_args
    @classmethod
    def from_pretrained(cls, a) -> "Generator":
        return build(a)
    @classmethod
    def from_args(cls, a):
        return cls(a)
    @classmethod
    async def later(cls, a) -> "Generator":
        return build(a)
    @staticmethod
    def count(a) -> int:
        return a
class Special(Generator):
    pass
def made(a) -> Generator:
    return build(a)
def made_there(a):
    return Generator.from_args(a)
"""
CONTEXT = """\
class Hook:
    def __init__(self, generator: "Generator"):
        self.generator = generator
    @property
    def current(self) -> "Generator":
        return pick(self)
class Context:
    number: int
    def __init__(self, hook: Hook):
        self.hook = hook
        self.generator = hook.generator
from engine.generator import Generator
"""
FILES = {
    "engine/server_args.py": OWNER,
    "engine/generator.py": GENERATOR,
    "engine/context.py": CONTEXT,
    "engine/__init__.py": "",
    "engine/short.py": "from engine.generator import Generator, made\nfrom engine.context import Context\n",
    "engine/other.py": OTHER,
}
OF_CLASS = "from engine.server_args import ServerArgs\n"
OF_GENERATOR = "from engine.generator import Generator, Special, made, made_there\nfrom engine.other import Other\n"
OF_CONTEXT = "from engine.context import Context, Hook\n"
READ = ["CB102 record.tp_size"]


def judged(judge_files, code: str, files: dict[str, str] | None = None, **options: object) -> list[str]:
    """The findings of the case; whether handoffs are looked at makes no difference to the others."""
    told = []
    for codes in (RECORD_RULES, tuple(code for code in RECORD_RULES if code != "CB104")):
        given = judge_files({**FILES, **(files or {}), "engine/case.py": code}, codes=codes, options=options)
        assert given.analysis.unanalysed == ()
        told.append([f"{each.code} {each.symbol}" for each in given.analysis.findings if each.path == "engine/case.py"])
    assert told[0] == told[1]
    return told[0]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(a):\n    sa = ServerArgs.from_cli_args(a)\n    return sa.tp_size\n", READ),
        ("def f(a):\n    return ServerArgs.from_dict(a).tp_size\n", READ),
        ("def f(a):\n    return ServerArgs.from_other(a).tp_size\n", READ),
        ("make = ServerArgs.from_cli_args\ndef f(a):\n    return make(a).tp_size\n", READ),
        ("def f(a, b: ServerArgs):\n    return type(b).from_cli_args(a).tp_size\n", READ),
        ("def f(a):\n    return ServerArgs.count(a).tp_size\n", []),
        ("def f(a):\n    return ServerArgs.unheard(a).tp_size\n", []),
        ("class Mine(ServerArgs):\n    pass\ndef f(a):\n    return Mine.from_cli_args(a).tp_size\n", READ),
        (
            "class Mine(ServerArgs):\n    @classmethod\n    def mine(cls, a):\n        return cls(a)\n"
            "def f(a):\n    return Mine.mine(a).tp_size\n",
            READ,
        ),
        (
            "class Mine(ServerArgs):\n    @classmethod\n    def from_dict(cls, a):\n        return 3\n"
            "def f(a):\n    return Mine.from_dict(a).tp_size\n",
            [],
        ),
        ("def f(a: ServerArgs):\n    return a.with_defaults().tp_size\n", ["CB102 record.with_defaults", *READ]),
        ("def f(a: ServerArgs):\n    return a.copied().tp_size\n", ["CB102 record.copied", *READ]),
        ("def f(a: ServerArgs):\n    return a.twin.tp_size\n", ["CB102 record.twin", *READ]),
        ("def f(a: ServerArgs):\n    return a.size().tp_size\n", ["CB102 record.size"]),
        ("def f():\n    sa = ServerArgs.__new__(ServerArgs)\n    sa.tp_size = 2\n", ["CB111 record.tp_size"]),
        ("def f():\n    sa = object.__new__(ServerArgs)\n    sa.tp_size = 2\n", ["CB111 record.tp_size"]),
    ],
)
def test_the_records_own_class(judge_files, code, expected):
    assert judged(judge_files, OF_CLASS + code) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("Generator(a)", READ),
        ("Generator.from_pretrained(a)", READ),
        ("Generator.from_args(a)", READ),
        ("Special.from_args(a)", READ),
        ("made(a)", READ),
        ("made_there(a)", READ),
        ("here(a)", READ),
        ("optional(a)", READ),
        ("Generator.count(a)", []),
        ("Generator.unheard(a)", []),
        ("other(a)", []),
        ("unknown(a)", []),
    ],
)
def test_an_object_that_a_function_gives(judge_files, made, expected):
    here = (
        "def here(a) -> Generator:\n    return pool.get(a)\n"
        "def optional(a) -> 'Generator | None':\n    return pool.get(a)\n"
        "def other(a) -> Other:\n    return pool.get(a)\n"
    )
    code = f"{OF_GENERATOR}{here}def f(a):\n    g = {made}\n    return g.server_args.tp_size\n"
    assert judged(judge_files, code) == expected


def test_an_object_that_a_coroutine_gives(judge_files):
    code = f"{OF_GENERATOR}async def f(a):\n    return (await Generator.later(a)).server_args.tp_size\n"
    assert judged(judge_files, code) == READ


def test_by_a_module_that_imports_it(judge_files):
    code = (
        "from engine import short\ndef f(a):\n    g = short.Generator.from_args(a)\n    h = short.made(a)\n"
        "    return g.server_args.tp_size + h.server_args.tp_size\n"
    )
    assert judged(judge_files, code) == READ * 2


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("context.generator", READ),
        ("context.hook.generator", READ),
        ("context.hook.current", READ),
        ("hook.generator", READ),
        ("context.number", []),
        ("context.unheard", []),
    ],
)
@pytest.mark.parametrize("module", ["engine.context", "engine.short"])
def test_a_chain_of_attributes(judge_files, read, expected, module):
    given = f"from {module} import Context\nfrom engine.context import Hook\ndef f(context: Context, hook: Hook):\n"
    assert judged(judge_files, f"{given}    return {read}.server_args.tp_size\n") == expected
    assert (
        judged(judge_files, f"{given}    one = {read}\n    sa = one.server_args\n    return sa.tp_size\n") == expected
    )


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("Generator.from_pretrained(a)", READ),
        ("Generator(a)", READ),
        ("here(a)", READ),
        ("unknown(a)", []),
        ("Other(a)", []),
        ("bare(a)", []),
    ],
)
def test_where_names_say_nothing_a_class_does(judge_files, made, expected):
    functions = (
        "def here(a) -> Generator:\n    return pool.get(a)\n"
        "def bare(a) -> Generator:\n    g = object.__new__(Generator)\n    g.server_args = Mock()\n    return g\n"
    )
    functions = functions if made == "bare(a)" else functions.split("def bare")[0]
    code = f"{OF_GENERATOR}{functions}def f(a):\n    return {made}.server_args.tp_size\n"
    assert judged(judge_files, code, holders_in=("engine/generator.py",)) == expected


def test_a_property_that_gives_the_record_declares_it(judge_files):
    context = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from engine.server_args import ServerArgs\n"
        "class RuntimeContext:\n    @property\n    def server_args(self) -> ServerArgs:\n"
        "        return self._server_args\n"
    )
    code = "def f(case):\n    return case.server_args.tp_size\n"
    files = {"engine/runtime_context.py": context, "engine/other.py": ""}
    assert judged(judge_files, code, files) == READ
    assert judged(judge_files, code) == []
