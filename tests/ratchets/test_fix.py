"""What `fix` writes: certain reads only, the import once, and not one other byte."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from confbag.ratchets.codes import RECORD_RULES
from confbag.ratchets.configuration import Configuration, RecordSpec, Replacement
from confbag.ratchets.fix import fix_tree

EXEC = ("from confbag import get_exec",)
FIELDS = {
    "enable_deterministic_inference": Replacement("get_exec().deterministic", EXEC),
    "disable_compile": Replacement("get_exec().compile", EXEC, inverted=True),
    "tp_size": Replacement("get_parallel().tp_size", ("from confbag import get_parallel",)),
}
IMPORT = "from engine.runtime_context import get_server_args\n"


def configured(**options):
    record = RecordSpec(
        "server_args",
        ("engine.runtime_context.get_server_args",),
        ("engine.server_args.ServerArgs",),
        ("server_args",),
        fields=FIELDS,
    )
    return Configuration(root=Path("/tree"), repository=Path("/tree"), codes=RECORD_RULES, records=(record,), **options)


def fixed(source, **options):
    """The new bytes; running it again must change nothing."""
    content = source if isinstance(source, bytes) else source.encode()
    made = content
    for one in fix_tree(configured(**options), ["engine/case.py"], read={"engine/case.py": content}.__getitem__):
        made = one.source
    ast.parse(made)
    again = list(fix_tree(configured(**options), ["engine/case.py"], read={"engine/case.py": made}.__getitem__))
    assert all(one.count == 0 and one.source == made for one in again)
    return made if isinstance(source, bytes) else made.decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            IMPORT + "x = get_server_args().tp_size\n",
            "from confbag import get_parallel\n" + IMPORT + "x = get_parallel().tp_size\n",
        ),
        (
            IMPORT + "x = 1 + get_server_args().disable_compile\n",
            "from confbag import get_exec\n" + IMPORT + "x = 1 + (not get_exec().compile)\n",
        ),
        (
            IMPORT + "if get_server_args().disable_compile and x:\n    y = f(not get_server_args().disable_compile)\n",
            "from confbag import get_exec\n"
            + IMPORT
            + "if not get_exec().compile and x:\n    y = f(not not get_exec().compile)\n",
        ),
        (
            IMPORT + "x = get_server_args().disable_compile == y\nz = -get_server_args().disable_compile\n",
            "from confbag import get_exec\n"
            + IMPORT
            + "x = (not get_exec().compile) == y\nz = -(not get_exec().compile)\n",
        ),
        (
            IMPORT + "x = get_server_args().disable_compile.real\n",
            "from confbag import get_exec\n" + IMPORT + "x = (not get_exec().compile).real\n",
        ),
        (
            '"""Doc."""\n\nfrom __future__ import annotations\n\nimport os\n'
            + IMPORT
            + "x = get_server_args().tp_size\n",
            '"""Doc."""\n\nfrom __future__ import annotations\n\nfrom confbag import get_parallel\nimport os\n'
            + IMPORT
            + "x = get_parallel().tp_size\n",
        ),
        (
            IMPORT + "from confbag import get_parallel\nx = get_server_args().tp_size\n",
            IMPORT + "from confbag import get_parallel\nx = get_parallel().tp_size\n",
        ),
        (
            IMPORT + "x = (  # why\n    get_server_args(\n    )  # here\n    . tp_size\n)  # after\n",
            "from confbag import get_parallel\n"
            + IMPORT
            + "x = (  # why\n    get_parallel().tp_size  # here\n)  # after\n",
        ),
        (
            IMPORT
            + "def f():\n    sa = get_server_args()\n    return sa.tp_size + sa.enable_deterministic_inference\n",
            "from confbag import get_parallel\nfrom confbag import get_exec\n"
            + IMPORT
            + "def f():\n    return get_parallel().tp_size + get_exec().deterministic\n",
        ),
        (
            IMPORT + "def f():\n    sa = get_server_args()  # the record\n    return sa.tp_size\n",
            "from confbag import get_parallel\n"
            + IMPORT
            + "def f():\n    # the record\n    return get_parallel().tp_size\n",
        ),
        (
            IMPORT + "def f():\n    x = 1; sa = get_server_args(); y = 2\n    return sa.tp_size\n",
            "from confbag import get_parallel\n"
            + IMPORT
            + "def f():\n    x = 1; pass; y = 2\n    return get_parallel().tp_size\n",
        ),
        (
            IMPORT + "def f():\n    sa = get_server_args()\n    return sa.tp_size, sa.other\n",
            "from confbag import get_parallel\n"
            + IMPORT
            + "def f():\n    sa = get_server_args()\n    return get_parallel().tp_size, sa.other\n",
        ),
        (
            IMPORT
            + "def f():\n    if get_server_args() is None and not get_server_args():\n"
            + "        return get_server_args() is not None\n",
            "from confbag import is_published\n"
            + IMPORT
            + "def f():\n    if not is_published() and not is_published():\n        return is_published()\n",
        ),
        (
            IMPORT + "def f():\n    sa = get_server_args()\n    if sa and not sa:\n        return 1\n",
            "from confbag import is_published\n"
            + IMPORT
            + "def f():\n    sa = is_published()\n    if sa and not sa:\n        return 1\n",
        ),
        (
            IMPORT.replace("\n", "\r\n") + "x = get_server_args().tp_size\r\n",
            "from confbag import get_parallel\r\n" + IMPORT.replace("\n", "\r\n") + "x = get_parallel().tp_size\r\n",
        ),
        (
            "\x0c" + IMPORT + "\x0cx = get_server_args().tp_size\x0c\n",
            "from confbag import get_parallel\n\x0c" + IMPORT + "\x0cx = get_parallel().tp_size\x0c\n",
        ),
        (
            IMPORT + "x = '日本', get_server_args().tp_size, '語'\n",
            "from confbag import get_parallel\n" + IMPORT + "x = '日本', get_parallel().tp_size, '語'\n",
        ),
        (
            '"""Doc."""; x = 1\n' + IMPORT + "y = get_server_args().tp_size",
            '"""Doc."""; from confbag import get_parallel; x = 1\n' + IMPORT + "y = get_parallel().tp_size",
        ),
    ],
)
def test_rewritten(before, after):
    # The import of the accessor goes with its last use.
    expected = after if "get_server_args(" in after else re.sub(r"from engine[^\r\n]*\r?\n", "", after)
    assert fixed(before) == expected


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("from engine.runtime_context import get_server_args, other\n", "from engine.runtime_context import other\n"),
        ("from engine.runtime_context import other, get_server_args\n", "from engine.runtime_context import other\n"),
        (
            "from engine.runtime_context import (\n    get_server_args,\n    other,\n)\n",
            "from engine.runtime_context import (\n    other,\n)\n",
        ),
        (IMPORT + "__all__ = ['get_server_args']\n", IMPORT + "__all__ = ['get_server_args']\n"),
        (IMPORT + "log(get_server_args)\n", IMPORT + "log(get_server_args)\n"),
        ("if True:\n    " + IMPORT, "if True:\n    pass\n"),
    ],
)
def test_an_import_goes_with_its_last_use(line, left):
    made = fixed(line + "x = get_server_args().tp_size\n")
    assert made.replace("from confbag import get_parallel\n", "").lstrip("\n") == left + "x = get_parallel().tp_size\n"


def test_an_import_that_another_module_takes_stays():
    files = {
        "engine/a.py": IMPORT + "x = get_server_args().tp_size\n",
        "engine/b.py": "from engine.a import get_server_args\nlog(get_server_args)\n",
        "engine/c/__init__.py": IMPORT + "x = get_server_args().tp_size\n",
    }
    for one in fix_tree(configured(), files, read=lambda path: files[path].encode()):
        assert IMPORT.encode() in one.source
        assert b"x = get_parallel().tp_size" in one.source


@pytest.mark.parametrize(
    "source",
    [
        IMPORT + "def f(x):\n    sa = x or get_server_args()\n    return sa.tp_size\n",
        IMPORT + "def f(sa=None):\n    if sa is None:\n        sa = get_server_args()\n    return sa.tp_size\n",
        "def f(server_args):\n    return server_args.tp_size\n",
        IMPORT + "get_server_args().tp_size = 1\nget_server_args().tp_size += 1\ndel get_server_args().tp_size\n",
        IMPORT + "x = getattr(get_server_args(), 'tp_size'), vars(get_server_args())['tp_size']\n",
        IMPORT + "def f():\n    sa = get_server_args()\n    return 1 if sa is None else 2\n",
        IMPORT + "x = get_server_args().unknown\n",
        IMPORT + "def f(get_parallel):\n    return get_server_args().tp_size\n",
        IMPORT + "from other import get_parallel\nx = get_server_args().tp_size\n",
        "import copy\n" + IMPORT + "x = copy.copy(get_server_args()).tp_size\n",
        IMPORT + "def f(g):\n    d = {'a': get_server_args()}\n    g(d)\n    return d['a'].tp_size\n",
        IMPORT + "def f(g):\n    xs = [get_server_args()]\n    g(xs)\n    return [x.tp_size for x in xs]\n",
        IMPORT + "D = {'a': get_server_args()}\ndef h(o):\n    D['a'] = o\ndef f():\n    return D['a'].tp_size\n",
        "from contextvars import ContextVar\n"
        + IMPORT
        + "V = ContextVar('v', default=get_server_args())\ndef f():\n    return V.get().tp_size\n",
        "from dataclasses import dataclass\n"
        + IMPORT
        + "@dataclass\nclass H:\n    sa: object = get_server_args()\ndef f(o):\n    return H(o).sa.tp_size\n",
        IMPORT
        + "def f(xs):\n    sa = None\n    for x in xs:\n        print(sa.tp_size if sa else 0)\n"
        + "        sa = get_server_args()\n",
    ],
)
def test_left_alone(source):
    assert fixed(source) == source


def test_bytes_of_other_encodings_stay():
    source = (
        b"# -*- coding: latin-1 -*-\n" + IMPORT.encode() + "x = 'é', get_server_args().tp_size, 'é'\r".encode("latin-1")
    )
    made = fixed(source)
    assert made == source.replace(b"get_server_args().tp_size", b"get_parallel().tp_size").replace(
        IMPORT.encode(), b"from confbag import get_parallel\n"
    )
    source = b"\xef\xbb\xbf" + IMPORT.encode() + b"x = get_server_args().tp_size\n"
    assert fixed(source) == b"\xef\xbb\xbffrom confbag import get_parallel\nx = get_parallel().tp_size\n"


def test_a_large_file_is_not_fixed():
    source = IMPORT + "x = get_server_args().tp_size\n"
    assert fixed(source, max_bytes=20) == source


def test_many_reads_in_one_pass():
    reads = "".join(f"    x{number} = get_server_args().tp_size\n" for number in range(500))
    made = fixed(f"{IMPORT}def f():\n{reads}")
    assert made.count("get_parallel().tp_size") == 500
    assert made.count("import get_parallel") == 1


def test_what_is_left_is_said():
    source = IMPORT + "def f(get_parallel):\n    return get_server_args().tp_size\n"
    (one,) = fix_tree(configured(), ["engine/case.py"], read={"engine/case.py": source.encode()}.__getitem__)
    assert one.count == 0
    assert one.left == ("engine/case.py:3:30: the name get_parallel is bound to something else in this file",)


def test_alias_from_another_file():
    files = {
        "engine/base.py": IMPORT + "def current():\n    return get_server_args()\n",
        "engine/case.py": "from engine.base import current\nx = current().tp_size\n",
    }
    made = list(fix_tree(configured(), files, read=lambda path: files[path].encode()))
    assert [one.path for one in made] == ["engine/case.py"]
    assert made[0].source.endswith(b"x = get_parallel().tp_size\n")
