"""The quick look at what a function gives back: it errs only towards saying that it may."""

from __future__ import annotations

from textwrap import dedent

import pytest

from confbag.ratchets.source.returning import silent

SILENT = [
    "def f(c): pass",
    "def f(c): return c.tp_size",
    "def f(c): return c.tp_size + c.dp_size > 2",
    "def f(c): return f'{c}'",
    "def f(c):\n    n = c.tp_size\n    return n",
    "def f(c): return c is None",
    "def f(c):\n    g(c)",
    "def f(c):\n    log(c.tp_size, c)",
    "async def f(c):\n    await g(c)",
    "def f(c):\n    if c.tp_size > 1:\n        raise ValueError(c.tp_size)",
    "def f(): return STATE",
    "def f(\n    c: int,\n) -> int:\n    n = c.tp_size\n\n# a comment\n    return n\nX = 1\n",
    "@wrapped\ndef g(c):\n    return c\n\n\ndef f(c):\n    return c.tp_size",
    "x = g(\n    1,\n)\n\n\ndef f(c):\n    return c.tp_size",
    "X = 1\nif X:\n    def f(c):\n        return c.tp_size\nelse:\n    pass\n",
    "class f:\n    def __init__(self, c):\n        self.c = c",
]
TELLING = [
    "def f(c): return c",
    "def f(c): return c, 1",
    "def f(c): return {'c': c}",
    "def f(c): return g(c)",
    "def f(c): return c or 1",
    "def f(c): return 1 if c.x else c",
    "def f(c): yield c",
    "def f(c): yield from [c]",
    "def f(c):\n    a = c\n    b = [a]\n    return b",
    "def f(c):\n    for a in [c]:\n        return a",
    "def f(c):\n    with g(c) as a:\n        return a",
    "def f(c):\n    if (a := c):\n        return a",
    "def f(c): return lambda: c",
    "def f(c):\n    def g():\n        return c\n    return g",
    "def f(c, d):\n    d.append(c)",
    "def f(c, d):\n    d['c'] = c",
    "def f(c, d):\n    d.c = c",
    "def f(c, d):\n    g(d, c)",
    "def f(c): return c.copy()",
    "def f(c):\n    raise Taken(c)",
    "def f(c):\n    match c:\n        case d:\n            return d",
    "@wrapped\ndef f(c): pass",
    "def f(c): return [a for a in [c]]",
    "def f(*c): return c",
    "def f(**c): return c['a']",
    'def f(c):\n    X = """\nno block\n"""\n    return c',
    "@wrapped(\n    1,\n)\ndef f(c):\n    pass",
    "@wrapped(1,\n         2)\ndef f(c):\n    pass",
    "@wrapped\n# why\n\ndef f(c):\n    pass",
    "class A:\n    @wrapped([\n        1,\n    ])\n    def f(c):\n        pass",
    "f = other",
    "class f:\n    def __new__(cls, c):\n        return c",
    "def f(c): pass\nif X:\n    def f(c): return c",
]


@pytest.mark.parametrize("source", SILENT)
def test_what_gives_nothing_back(source):
    assert silent(dedent(source).encode(), {"f"}) == {"f"}


@pytest.mark.parametrize("source", TELLING)
def test_what_may_give_something_back(source):
    assert silent(dedent(source).encode(), {"f"}) == frozenset()


def test_methods():
    source = """
    class A:
        def __init__(self, c):
            self.c = c
        def read(self, c):
            return self.x + c.tp_size
        def keep(self, c):
            self.held = c
        def tell(self, c):
            self.rows.append(c)
        def get(self):
            return self.held
    """
    names = {f"A.{name}" for name in ("__init__", "read", "keep", "tell", "get")}
    assert silent(dedent(source).encode(), names) == {"A.__init__", "A.read", "A.get"}
