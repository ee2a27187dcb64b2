"""What `fix` must not change: meaning, names, imports in a circle, bytes; and what it leaves with a reason."""

from __future__ import annotations

import ast
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confbag.ratchets.codes import RECORD_RULES
from confbag.ratchets.configuration import Configuration, RecordSpec, Replacement
from confbag.ratchets.fix import fix_tree

EXEC = ("from engine.bag import get_exec",)
SIZE = ("from engine.bag import get_size",)
FIELDS = {
    "flag": Replacement("get_exec().flag", EXEC),
    "off": Replacement("get_exec().on", EXEC, inverted=True),
    "size": Replacement("get_size()", SIZE),
    "text": Replacement("get_exec()['text']", EXEC),
    "computed": Replacement("get_exec().computed", EXEC),
}
ACCESSOR = "from engine.rc import get_server_args\n"
NEEDED = "from engine.bag import get_exec\n"
RECORD = """\
class Base:
    @property
    def computed(self):
        return 1
class ServerArgs(Base):
    flag: bool = True
"""


def configured() -> Configuration:
    record = RecordSpec(
        "server_args",
        ("engine.rc.get_server_args",),
        ("engine.record.ServerArgs",),
        ("server_args",),
        ("engine/rc.py", "engine/record.py"),
        fields=FIELDS,
    )
    root = Path("/tree")
    return Configuration(root=root, repository=root, codes=RECORD_RULES, records=(record,))


def fixed(source: str, files: dict[str, str] | None = None) -> tuple[str, tuple[str, ...]]:
    """A module after `fix`, and what was left; a second run changes nothing."""
    tree = {"engine/record.py": RECORD, **(files or {}), "engine/case.py": source}
    left: tuple[str, ...] = ()
    for one in fix_tree(configured(), tree, read=lambda path: tree[path].encode()):
        if one.path == "engine/case.py":
            left = one.left
            source = one.source.decode()
    again = {**tree, "engine/case.py": source}
    assert all(one.count == 0 for one in fix_tree(configured(), again, read=lambda path: again[path].encode()))
    return source, left


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = get_server_args().off ** 2", "x = (not get_exec().on) ** 2"),
        ("x = 2 ** get_server_args().off", "x = 2 ** (not get_exec().on)"),
        ("x = ~get_server_args().off", "x = ~(not get_exec().on)"),
        ("x = a < get_server_args().off < b", "x = a < (not get_exec().on) < b"),
        ("x = a in (get_server_args().off)", "x = a in (not get_exec().on)"),
        ("x = a is not get_server_args().off", "x = a is not (not get_exec().on)"),
        ("x = get_server_args().off.real", "x = (not get_exec().on).real"),
        ("x = get_server_args().off[0]", "x = (not get_exec().on)[0]"),
        ("x = a[get_server_args().off]", "x = a[not get_exec().on]"),
        ("x = [*get_server_args().off]", "x = [*(not get_exec().on)]"),
        ("x = f(*get_server_args().off)", "x = f(*(not get_exec().on))"),
        ("x = f(**get_server_args().off)", "x = f(**not get_exec().on)"),
        ("x = {**get_server_args().off}", "x = {**(not get_exec().on)}"),
        ("x = f'{get_server_args().off!r:>9}'", "x = f'{not get_exec().on!r:>9}'"),
        ("x = f'{get_server_args().flag}{get_server_args().off}'", "x = f'{get_exec().flag}{not get_exec().on}'"),
        ("x = not get_server_args().off", "x = not not get_exec().on"),
        ("x = a and get_server_args().off or b", "x = a and not get_exec().on or b"),
        (
            "x = get_server_args().off if get_server_args().off else 0",
            "x = not get_exec().on if not get_exec().on else 0",
        ),
        ("x = lambda: get_server_args().off", "x = lambda: not get_exec().on"),
        ("def g(a=get_server_args().off): pass", "def g(a=not get_exec().on): pass"),
        ("async def g():\n    await get_server_args().off", "async def g():\n    await (not get_exec().on)"),
        (
            "x = [get_server_args().flag for _ in a if get_server_args().off]",
            "x = [get_exec().flag for _ in a if not get_exec().on]",
        ),
        ("@d(get_server_args().flag)\ndef g(): pass", "@d(get_exec().flag)\ndef g(): pass"),
        ("if get_server_args().flag: x = 1; y = 2", "if get_exec().flag: x = 1; y = 2"),
        ("x = a + \\\n    get_server_args().flag", "x = a + \\\n    get_exec().flag"),
        ("x = get_server_args().flag.a.b(get_server_args().flag)", "x = get_exec().flag.a.b(get_exec().flag)"),
        ("x = get_server_args(\n    # why\n).flag", "x = get_exec().flag  # why"),
    ],
)  # fmt: skip
def test_in_every_place(line: str, expected: str) -> None:
    made, left = fixed(f"{ACCESSOR}{line}\n")
    assert made == f"{NEEDED}{chr(10) * (not expected.startswith('from'))}{expected}\n".replace("\n\n", "\n", 1)
    assert left == ()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = f'{get_server_args().flag=}'\n", "prints the expression itself"),
        ('x = f"{get_server_args().text}"\n', "cannot stand in an f-string"),
        ("x = (sa := get_server_args()).flag\ny = sa.flag\n", "does more than read"),
        ("x = get_server_args(\n    # why\n).flag + 1\n", "a comment stands in the middle"),
        ("x = get_server_args().computed\n", "a method or a property"),
        ("def f(get_exec):\n    return get_server_args().flag\n", "bound to something else"),
        ("def f():\n    return [get_server_args().flag for get_exec in ()]\n", "bound to something else"),
        ("get_exec = 1\nx = get_server_args().flag\n", "bound to something else"),
        ("def f():\n    global get_exec\n    get_exec = 1\nx = get_server_args().flag\n", "bound to something else"),
        ("x = get_server_args().flag\ndel get_exec\n", "bound to something else"),
        ("class A:\n    get_exec = 1\n    x = get_server_args().flag\n", "bound to something else"),
        (
            "try:\n    from engine.bag import get_exec\nexcept ImportError:\n    get_exec = None\n"
            "x = get_server_args().flag\n",
            "bound to something else",
        ),
        (
            "def f():\n    x = get_server_args().flag\n    from engine.bag import get_exec\n"
            "    return x, get_exec\n",
            "may not be bound there yet",
        ),
        (
            "def f(a):\n    if a:\n        from engine.bag import get_exec\n"
            "    return get_server_args().flag\n",
            "may not be bound there yet",
        ),
        ("x = get_server_args().flag\nfrom engine.other import *\n", "everything is imported"),
        ("if a:\n    from engine.other import *\nx = get_server_args().flag\n", "everything is imported"),
    ],
)  # fmt: skip
def test_left_with_a_reason(source: str, reason: str) -> None:
    source = ACCESSOR + source
    made, left = fixed(source)
    assert any(reason in one for one in left), left
    assert made.count("get_server_args()") + made.count("get_server_args(\n") >= 1
    assert "get_exec().flag" not in made or "sa.flag" in source


@pytest.mark.parametrize(
    "source",
    [
        "def f(get_exec):\n    pass\ndef g():\n    return get_server_args().flag\n",
        "class A:\n    def get_exec(self):\n        return get_server_args().flag\n",
        "x = [get_exec for get_exec in ()]\ny = get_server_args().flag\n",
        "def f():\n    from engine.bag import get_exec\n    return get_server_args().flag\n",
        "def f(a):\n    from engine.bag import get_exec\n    if a:\n        return get_server_args().flag\n",
    ],
)
def test_names_of_other_scopes_do_not_matter(source: str) -> None:
    made, left = fixed(ACCESSOR + source)
    assert left == ()
    assert "get_exec().flag" in made
    assert made.count("import get_exec") == 1


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from engine.bag import get_exec\n", 2),
        ("from engine.other import *\n", 1),
        ("from engine.bag import get_exec as bag_of\n", 1),
        ("from engine.bag import other, get_exec\n", 1),
        ("import engine.bag\n", 1),
    ],
)
def test_the_import_is_there_once_and_before_its_use(imports: str, expected: int) -> None:
    made, left = fixed(imports + ACCESSOR + "def f():\n    return get_server_args().flag\n")
    assert left == ()
    tree = ast.parse(made)
    top = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    given = [alias.name for node in top for alias in node.names if (alias.asname or alias.name) == "get_exec"]
    assert given == ["get_exec"]
    assert (
        sum(isinstance(node, ast.alias) and node.name == "get_exec" and not node.asname for node in ast.walk(tree))
        == expected
    )
    stars = [node.lineno for node in top if node.names[0].name == "*"]
    assert all(line < node.lineno for line in stars for node in top if node.names[0].name == "get_exec")


def test_an_import_in_a_circle_is_refused() -> None:
    source = ACCESSOR + "def f():\n    return get_server_args().flag\n"
    circle = {
        "engine/bag.py": "from engine import middle\ndef get_exec(): ...\n",
        "engine/middle.py": "if True:\n    from .case import f\n",
    }
    made, left = fixed(source, circle)
    assert made == source
    assert "engine.bag imports this module" in left[0]
    for late in ("def late():\n    from .case import f\n", "if TYPE_CHECKING:\n    from .case import f\n"):
        made, left = fixed(source, {**circle, "engine/middle.py": late})
        assert "get_exec().flag" in made
    # What is imported from it already has found its way round.
    made, left = fixed("from engine.bag import other\n" + source, circle)
    assert left == ()
    assert "get_exec().flag" in made


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("    sa = get_server_args()\n    tb = sa\n    return tb.flag\n", "    return get_exec().flag\n"),
        ("    sa: ServerArgs = get_server_args()\n    return sa.flag\n", "    return get_exec().flag\n"),
        (
            "    if a:\n        sa = get_server_args()\n    else:\n        sa = get_server_args()\n"
            "    return sa.flag\n",
            "    if a:\n        pass\n    else:\n        pass\n    return get_exec().flag\n",
        ),
        (
            "    sa = get_server_args()\n    def g():\n        return sa.flag\n    return g\n",
            "    def g():\n        return get_exec().flag\n    return g\n",
        ),
        ("    if a: sa = get_server_args(); return sa.flag\n", "    if a: pass; return get_exec().flag\n"),
        ("    sa = get_server_args();\n    return sa.flag\n", "    return get_exec().flag\n"),
        (
            "    if a: \\\n        sa = get_server_args()\n    else:\n        sa = get_server_args()\n"
            "    return sa.flag\n",
            "    if a: \\\n        pass\n    else:\n        pass\n    return get_exec().flag\n",
        ),
        (
            "    try:\n        sa = get_server_args()\n    except ValueError:\n        return None\n"
            "    return sa.flag\n",
            "    try:\n        sa = get_server_args()\n    except ValueError:\n        return None\n"
            "    return get_exec().flag\n",
        ),
        (
            "    try:\n        sa = get_server_args()\n        return sa.flag\n    finally:\n"
            "        pass\n",
            "    try:\n        return get_exec().flag\n    finally:\n        pass\n",
        ),
        (
            "    sa = get_server_args()\n    x = sa.flag\n    return locals(), x\n",
            "    sa = get_server_args()\n    x = get_exec().flag\n    return locals(), x\n",
        ),
        (
            "    sa = get_server_args()\n    x = sa.flag\n    return sa, x\n",
            "    sa = get_server_args()\n    x = get_exec().flag\n    return sa, x\n",
        ),
    ],
)  # fmt: skip
def test_an_alias_goes_where_nothing_else_asks_for_it(body: str, left: str) -> None:
    made, _ = fixed(f"{ACCESSOR}def f(a):\n{body}")
    assert made.partition("def f(a):\n")[2] == left


@pytest.mark.parametrize(
    "line",
    [
        "try:\n    from engine.rc import get_server_args\nexcept ImportError:\n    HAVE = False\n",
        "from engine.rc import get_server_args  # noqa: F401\n",
    ],
)
def test_an_import_that_is_a_probe_or_handed_on_stays(line: str) -> None:
    made, _ = fixed(line + "def f():\n    return get_server_args().flag\n")
    assert line in made
    assert "get_exec().flag" in made


# Executed before and after

BAG = (
    "class Exec:\n    flag, on, computed = 3, False, 1\n"
    "def get_exec():\n    return Exec\ndef get_size():\n    return 7\n"
)
RUNTIME = (
    "class ServerArgs:\n    flag, off, size, other = 3, True, 7, 'other'\n_it = ServerArgs()\n"
    "def get_server_args():\n    return _it\n"
)
READS = st.sampled_from(["flag", "off", "size", "other"])
RECEIVERS = st.sampled_from(["get_server_args()", "sa", "(get_server_args())", "get_server_args(\n)", "helper()"])
READ = st.builds(lambda receiver, name: f"{receiver}.{name}", RECEIVERS, READS)
EXPRESSION = st.recursive(
    READ | st.sampled_from(["a", "1", "None"]),
    lambda inner: st.one_of(
        st.builds("({} == {})".format, inner, inner),
        st.builds("{} == {}".format, READ, READ),
        st.builds("({} and {} or {})".format, inner, inner, inner),
        st.builds("not {}".format, READ),
        st.builds("str({})".format, inner),
        st.builds("[{} for sa in [get_server_args()] if {}]".format, inner, inner),
        st.builds("(lambda a: {})(1)".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("{{**{{'k': {}}}}}".format, inner),
        st.builds("-{}".format, READ.filter(lambda read: "other" not in read)),
        st.builds("f'{{{}!r}}'".format, READ.filter(lambda read: "\n" not in read)),
        st.builds("(w := {})".format, inner),
    ),
    max_leaves=6,
)
STATEMENT = st.one_of(
    st.builds("out.append({})".format, EXPRESSION),
    st.builds("sa = get_server_args(); out.append({})".format, EXPRESSION),
    st.builds("if {}: out.append({})".format, EXPRESSION, EXPRESSION),
    st.builds(
        "try:\n    sa = get_server_args()\n    out.append({})\nfinally:\n    out.append({})".format,
        EXPRESSION,
        EXPRESSION,
    ),
    st.builds("for a in range(2):\n    out.append({})  # each\n    sa = get_server_args()".format, EXPRESSION),
    st.builds("def inner(a={}):\n    return {}\nout.append(inner())".format, EXPRESSION, EXPRESSION),
    st.sampled_from(["get_size = str", "from engine.bag import get_exec", "sa = get_server_args()", "pass"]),
)  # fmt: skip


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("\n"))


@st.composite
def modules(draw: st.DrawFn) -> str:
    body = draw(st.lists(STATEMENT, min_size=1, max_size=5))
    head = draw(st.sampled_from(["", '"""Doc."""\n', "from __future__ import annotations\n", "# a comment\n"]))
    alias = draw(st.sampled_from(["sa = get_server_args()", "sa = get_server_args()  # the record"]))
    made = (
        f"{head}{ACCESSOR}def helper():\n    return get_server_args()\n"
        f"def f(a, out):\n    {alias}\n{''.join(map(indented, body))}    return out\n"
    )
    return made if draw(st.booleans()) else made.rstrip("\n")


def executed(source: str) -> object:
    """What the module's function gives with a fake record and a fake bag."""
    held = {name: types.ModuleType(name) for name in ("engine", "engine.rc", "engine.bag")}
    exec(RUNTIME, held["engine.rc"].__dict__)
    exec(BAG, held["engine.bag"].__dict__)
    before = {name: sys.modules.get(name) for name in held}
    sys.modules.update(held)
    try:
        namespace: dict[str, object] = {}
        exec(compile(source, "case.py", "exec", dont_inherit=True), namespace)
        try:
            return repr(namespace["f"](1, []))  # type: ignore[operator]
        except Exception as error:
            return type(error)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


@settings(max_examples=150, deadline=None)
@given(modules())
def test_a_fixed_module_does_what_it_did(source: str) -> None:
    try:
        compile(source, "case.py", "exec", dont_inherit=True)
    except SyntaxError:
        return
    made, _ = fixed(source, {"engine/bag.py": BAG})
    assert executed(made) == executed(source)
