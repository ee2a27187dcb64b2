"""libcst's tree, lowered, is the tree that `ast` gives: the same nodes at the same places."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import confbag.ratchets
from confbag.ratchets.codes import RECORD_RULES, RULES
from confbag.ratchets.source.lowering.module import lower

OURS = sorted(Path(confbag.ratchets.__file__).parent.glob("binder/**/*.py"))
SHAPES = '''\
"""Every kind of node."""
from __future__ import annotations
import a.b.c as d, e
from . import f
from ..g import (h as i, j)
from k import *

x: int = 1; y: list[int]; (z) = w = 2
x += 1; x **= 2; x //= 3; x @= y; x <<= 1; x >>= 1; x &= 1; x |= 1; x ^= 1; x %= 1; x -= 1; x /= 2; x *= 3
del x, (y, z), a[0], b.c

@d(1)
@e.f
async def function(a, b=1, /, c: int = 2, *args: int, d, e=3, **kwargs: str) -> None:
    global g, h
    async for i in j:
        await k
    else:
        pass
    async with m as n, o:
        yield
    return [p async for p in q if r if s]

class Class(Base, *bases, metaclass=Meta, **kw):
    "doc" 'joined' """more"""
    def method(self): nonlocal_ = lambda a, *b, c=1, **d: (yield a); yield from nonlocal_
    def outer(self):
        v = 1
        def inner():
            nonlocal v
            v = 2

if (a := 1) < 2 <= 3 != 4 and not b or c is not None and d not in e or -f + ~g ** +h:
    pass
elif a: pass
else:
    while b:
        break
    else:
        continue_ = 1

for a, *b in (1, 2), [3]: continue
try:
    raise A from B
except (C, D) as e:
    raise
except E: assert f, "g"
else: ...
finally:
    pass
with (open(a)) as b, (c): pass
{**a, 'b': c}, {d, *e}, {f: g for h in i}, {j for j in k}, (l for l in m if n for o in p), [], (), {}
q[1], q[1:2], q[1:2:3], q[:, ::2], q[...], q[a, b], q[r](s, *t, u=v, **w)
f"{a}{b!r:>{c}}{d=}" "tail" rb"bytes"[0], b"x" b"y", 1_0, 1.5, 2j, 0x1f, None, True, -1 if a else (b)
match a, b:
    case [1, *_, "x"] | (2, *rest): pass
    case {"k": v, **others}: pass
    case Point(x=0, y=y) as p if p: pass
    case a.b | None | True | -1 | 1 + 2j: pass
    case (str() as s) | [s]: pass
    case _: pass
'''


def plain(tree):
    """Without what only `ast` says: kinds of strings, comments, and how text in f-strings is cut."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
        if isinstance(node, ast.JoinedStr):
            node.values = [value for value in node.values if isinstance(value, ast.FormattedValue)]
    return tree


def places(tree):
    kinds = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.stmt, ast.MatchClass)
    inside = {inner for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for inner in ast.walk(node)}
    return sorted(
        (type(node).__name__, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        for node in ast.walk(tree)
        if isinstance(node, kinds) and node not in inside
    )


def same(source):
    expected, made = plain(ast.parse(source)), plain(lower(source)[0])
    assert ast.dump(made) == ast.dump(expected)
    assert places(made) == places(expected)


@pytest.mark.parametrize("path", OURS, ids=[path.name for path in OURS])
def test_our_own_files(path):
    same(path.read_bytes())


@pytest.mark.parametrize("code", RECORD_RULES)
def test_the_cases_of_the_rules(code):
    for case in import_module(f"confbag.ratchets.rules.{RULES[code]}").CASES:
        same(case.complete().encode())


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_kind_of_node(newline):
    same(
        SHAPES.replace('f"{a}{b!r:>{c}}{d=}" "tail" rb"bytes"[0]', 'f"{a}{b!r:>{c}}{d=}" "tail"')
        .replace("\n", newline)
        .encode()
    )


def test_wide_characters_and_a_form_feed():
    same("x = '日本', a.b; größe = c.d\n".encode())
    same(b"\x0cx = a.b\n\x0cif c.d:\n    y = e.f\n\x0c\nz = g.h\n")
    same(b"# -*- coding: latin-1 -*-\nx = '\xe9', a.b\n")


def test_it_says_what_a_file_needs():
    assert lower(b"x = 1\n")[1] < (3, 10)
    assert lower(b"type A = int\n")[1] == (3, 12)
    assert lower(b"class A[T = int]: pass\n")[1] == (3, 13)
    assert lower(b"try:\n    pass\nexcept A, B:\n    pass\n")[1] == (3, 14)
