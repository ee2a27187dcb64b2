"""Ways to reach the record that no rule's own cases show: each is seen through."""

from __future__ import annotations

import pytest

from confbag.ratchets.rules.case import complete

SHAPES = [
    (
        "simplenamespace",
        """\
from types import SimpleNamespace
def f():
    ns = SimpleNamespace(sa=get_server_args())
    return ns.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "contextvar",
        """\
from contextvars import ContextVar
CV = ContextVar('x')
def s():
    CV.set(get_server_args())
def f():
    return CV.get().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "tls",
        """\
import threading
_t = threading.local()
def s():
    _t.sa = get_server_args()
def f():
    return _t.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "weakref",
        """\
import weakref
def f():
    return weakref.ref(get_server_args())().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "varsmod",
        """\
from engine import runtime_context as rc
def f():
    return vars(rc)['get_server_args']().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dictmod",
        """\
from engine import runtime_context as rc
def f():
    return rc.__dict__['get_server_args']().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "namedtuple",
        """\
from typing import NamedTuple
class H(NamedTuple):
    sa: object
def f():
    h = H(get_server_args())
    return h.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "namedtuple2",
        """\
from collections import namedtuple
H = namedtuple('H', 'sa n')
def f():
    h = H(get_server_args(), 1)
    return h.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "selfdict",
        """\
class A:
    def __init__(self):
        self.__dict__['sa'] = get_server_args()
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "funcattr",
        """\
def f():
    return f.sa.tp_size
f.sa = get_server_args()
""",
        ("CB101 record.tp_size",),
    ),
    (
        "lrucall",
        """\
_c = functools.lru_cache(get_server_args)
def f():
    return _c().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "listcall",
        """\
def f():
    return [get_server_args][0]().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dispatch",
        """\
D = {'g': get_server_args}
def f():
    return D['g']().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "condacc",
        """\
def f(x, y):
    return (get_server_args if x else y)().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dcall",
        """\
def f():
    return get_server_args.__call__().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "iife",
        """\
def f():
    return (lambda: get_server_args())().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "asyncrun",
        """\
import asyncio
async def h():
    return get_server_args()
def f():
    return asyncio.run(h()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "awaithelper",
        """\
async def h():
    return get_server_args()
async def f():
    return (await h()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "tothread",
        """\
import asyncio
async def f():
    return (await asyncio.to_thread(get_server_args)).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "chain",
        """\
import itertools
def f():
    for sa in itertools.chain([get_server_args()]):
        print(sa.tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "reduce",
        """\
def f():
    return functools.reduce(getattr, ['tp_size'], get_server_args())
""",
        ("CB101 record.tp_size",),
    ),
    (
        "whilewalrus",
        """\
def f():
    while sa := get_server_args():
        print(sa.tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "param default lambda",
        """\
def f():
    return (lambda sa=get_server_args(): sa.tp_size)()
""",
        ("CB101 record.tp_size",),
    ),
    (
        "genexp",
        """\
def f():
    return next(sa for sa in [get_server_args()]).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dictcomp",
        """\
def f():
    return {k: get_server_args() for k in 'a'}['a'].tp_size
""",
        ("CB103 record.tp_size",),
    ),
    (
        "setlit",
        """\
def f():
    for sa in {get_server_args()}:
        print(sa.tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "nested tuple",
        """\
def f():
    (a, (sa, b)) = (1, (get_server_args(), 2))
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "swap",
        """\
def f(b):
    a = get_server_args()
    a, b = b, a
    return b.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "augor",
        """\
def f(sa):
    sa = sa or get_server_args()
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "classvar",
        """\
class A:
    SA = get_server_args()
def f():
    return A.SA.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "classvarself",
        """\
class A:
    SA = get_server_args()
    def f(self):
        return self.SA.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "classbody read",
        """\
class A:
    SA = get_server_args()
    n = SA.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "inner class",
        """\
class A:
    class B:
        sa = get_server_args()
    def f(self):
        return self.B.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "return tuple",
        """\
def h():
    return get_server_args(), 1
def f():
    sa, n = h()
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "return dict",
        """\
def h():
    return {'sa': get_server_args()}
def f():
    return h()['sa'].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "inherit property",
        """\
class A:
    @property
    def sa(self):
        return get_server_args()
class B(A):
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "__getattr__ mod",
        """\
def __getattr__(name):
    return get_server_args()
def f():
    return 1
""",
        (),
    ),
    (
        "__call__",
        """\
class A:
    def __call__(self):
        return get_server_args()
def f():
    return A()().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "instance method alias",
        """\
class A:
    def g(self):
        return get_server_args()
def f():
    m = A().g
    return m().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "decorator returning",
        """\
def deco(fn):
    def w():
        return fn()
    return w
@deco
def h():
    return get_server_args()
def f():
    return h().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "wraps",
        """\
def deco(fn):
    @functools.wraps(fn)
    def w(*a):
        return fn(*a)
    return w
@deco
def h():
    return get_server_args()
def f():
    return h().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "closure factory",
        """\
def make():
    def inner():
        return get_server_args()
    return inner
def f():
    return make()().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "closure capture param",
        """\
def make(sa):
    def inner():
        return sa.tp_size
    return inner
def f():
    return make(get_server_args())()
""",
        ("CB104 record->make(tp_size)",),
    ),
    (
        "class init super",
        """\
class A:
    def __init__(self, cfg):
        self.cfg = cfg
class B(A):
    def __init__(self):
        super().__init__(get_server_args())
    def f(self):
        return self.cfg.tp_size
""",
        ("CB104 record->A(tp_size)",),
    ),
    (
        "dataclass inst",
        """\
@dataclasses.dataclass
class H:
    sa: object
def f():
    return H(get_server_args()).sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "global from other func",
        """\
def s():
    global X
    X = get_server_args()
def f():
    return X.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "del alias of field",
        """\
def f():
    sa = get_server_args()
    del sa.tp_size
""",
        ("CB111 record.tp_size",),
    ),
    (
        "try import else",
        """\
try:
    from engine.runtime_context import get_server_args as g
except ImportError:
    def g():
        return None
def f():
    return g().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "import in if",
        """\
import sys
if sys.version_info > (3,):
    from engine.runtime_context import get_server_args as g
else:
    g = None
def f():
    return g().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "importlib getattr",
        """\
def f():
    return getattr(importlib.import_module('engine.runtime_context'), 'get_server_args')().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dunder import",
        """\
def f():
    return __import__('engine.runtime_context').runtime_context.get_server_args().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "import_module const",
        """\
NAME = 'engine.runtime_context'
rc = importlib.import_module(NAME)
def f():
    return rc.get_server_args().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "from import_module import",
        """\
from importlib import import_module as im
rc = im('engine.runtime_context')
def f():
    return rc.get_server_args().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "attrgetter imported",
        """\
from operator import attrgetter as ag
def f():
    return ag('tp_size')(get_server_args())
""",
        ("CB101 record.tp_size",),
    ),
    (
        "map attrgetter",
        """\
def f():
    return list(map(operator.attrgetter('tp_size'), [get_server_args()]))
""",
        ("CB101 record.tp_size",),
    ),
    (
        "max key",
        """\
def f():
    return max([get_server_args()], key=lambda s: s.tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "sorted key",
        """\
def f():
    return sorted([get_server_args()], key=lambda s: s.tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "filter",
        """\
def f():
    return list(filter(lambda s: s.tp_size, [get_server_args()]))
""",
        ("CB101 record.tp_size",),
    ),
    (
        "sort key",
        """\
def f():
    xs = [get_server_args()]
    xs.sort(key=lambda s: s.tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "comp nested",
        """\
def f():
    return [sa.tp_size for xs in [[get_server_args()]] for sa in xs]
""",
        ("CB101 record.tp_size",),
    ),
    (
        "comp cond",
        """\
def f():
    return [1 for sa in [get_server_args()] if sa.tp_size]
""",
        ("CB101 record.tp_size",),
    ),
    (
        "comp closure",
        """\
def f():
    sa = get_server_args()
    return [sa.tp_size for _ in range(3)]
""",
        ("CB101 record.tp_size",),
    ),
    (
        "lambda closure",
        """\
def f():
    sa = get_server_args()
    return lambda: sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "default arg closure",
        """\
def f():
    sa = get_server_args()
    def g(x=sa):
        return x.tp_size
    return g
""",
        ("CB101 record.tp_size",),
    ),
    (
        "with as self",
        """\
class A:
    def __enter__(self):
        return self
    def __exit__(self, *a): pass
    def __init__(self):
        self.sa = get_server_args()
def f():
    with A() as a:
        return a.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "exitstack",
        """\
def f():
    with contextlib.ExitStack() as st:
        sa = st.enter_context(contextlib.nullcontext(get_server_args()))
        return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "yield from",
        """\
def g():
    yield from [get_server_args()]
def f():
    for sa in g():
        return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "async gen",
        """\
async def g():
    yield get_server_args()
async def f():
    async for sa in g():
        return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "pop",
        """\
def f():
    xs = [get_server_args()]
    return xs.pop().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "setdefault",
        """\
def f():
    d = {}
    return d.setdefault('sa', get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dict get default",
        """\
def f(d):
    return d.get('sa', get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "getattr default",
        """\
def f(o):
    return getattr(o, 'sa', get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "next default",
        """\
def f(it):
    return next(it, get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "ternary chain",
        """\
def f(a, b):
    return (a if a else b if b else get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "and",
        """\
def f(a):
    return (a and get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "unpack star mid",
        """\
def f():
    a, *b, sa = 1, 2, 3, get_server_args()
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "fstring",
        """\
def f():
    return f'{get_server_args().tp_size}'
""",
        ("CB101 record.tp_size",),
    ),
    (
        "subscript key",
        """\
def f(t):
    return t[get_server_args().tp_size]
""",
        ("CB101 record.tp_size",),
    ),
    (
        "annotation assign",
        """\
def f():
    sa: object = get_server_args()
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "raise",
        """\
def f():
    raise ValueError(get_server_args().tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "assert",
        """\
def f():
    assert get_server_args().tp_size, get_server_args().msg
""",
        ("CB101 record.tp_size", "CB101 record.msg"),
    ),
    (
        "dec arg",
        """\
@d(get_server_args().tp_size)
def f(): pass
""",
        ("CB101 record.tp_size",),
    ),
    (
        "class kw",
        """\
class A(metaclass=m(get_server_args().tp_size)): pass
""",
        ("CB101 record.tp_size",),
    ),
    (
        "star arg",
        """\
def f():
    g(*get_server_args().tp_size, **get_server_args().kw)
""",
        ("CB101 record.tp_size", "CB101 record.kw"),
    ),
    (
        "slice",
        """\
def f(x):
    return x[get_server_args().tp_size:]
""",
        ("CB101 record.tp_size",),
    ),
    (
        "compare chain",
        """\
def f(x):
    return 0 < get_server_args().tp_size < x
""",
        ("CB101 record.tp_size",),
    ),
    (
        "global then rebound",
        """\
X = get_server_args()
log(X)
X = 1
def f():
    return X.real
""",
        (),
    ),
    (
        "except star",
        """\
def f():
    try:
        sa = get_server_args()
    except E:
        raise
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "hasattr walrus",
        """\
def f():
    return hasattr(sa := get_server_args(), 'tp_size')
""",
        ("CB101 record.tp_size",),
    ),
    (
        "str concat",
        """\
def f():
    return getattr(get_server_args(), 'tp' + '_size')
""",
        ("CB101 record.tp_size",),
    ),
    (
        "getattr static",
        """\
import inspect
def f():
    return inspect.getattr_static(get_server_args(), 'tp_size')
""",
        ("CB101 record.tp_size",),
    ),
    (
        "typing cast alias",
        """\
from typing import cast as c
def f():
    return c(int, get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "assert_type",
        """\
from typing import assert_type
def f():
    return assert_type(get_server_args(), object).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "copy import",
        """\
from copy import deepcopy
def f():
    return deepcopy(get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "asdict alias",
        """\
from dataclasses import asdict as ad
def f():
    return ad(get_server_args())['tp_size']
""",
        ("CB101 record.tp_size",),
    ),
    (
        "vars pop",
        """\
def f():
    return dict(vars(get_server_args()))['tp_size']
""",
        ("CB103 record.*",),
    ),
    (
        "module fn alias through class",
        """\
class A:
    f = get_server_args
A.f().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "nonlocal",
        """\
def f():
    sa = 1
    def g():
        nonlocal sa
        sa = get_server_args()
    g()
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "loop else",
        """\
def f(xs):
    for x in xs:
        sa = x
        break
    else:
        sa = get_server_args()
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "return in branch",
        """\
def h(x):
    if x:
        return None
    return get_server_args()
def f():
    return h(1).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "recursion",
        """\
def h(n):
    return h(n-1) if n else get_server_args()
def f():
    return h(1).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "mutual",
        """\
def a(n):
    return b(n)
def b(n):
    return a(n) if n else get_server_args()
def f():
    return a(1).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "partial method",
        """\
class A:
    def g(self, k):
        return get_server_args()
    h = functools.partialmethod(g, 1)
    def f(self):
        return self.h().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "singleton",
        """\
class A:
    _i = None
    @classmethod
    def get(cls):
        if cls._i is None:
            cls._i = cls()
        return cls._i
    def __init__(self):
        self.sa = get_server_args()
def f():
    return A.get().sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "__new__",
        """\
class A:
    def __new__(cls):
        self = super().__new__(cls)
        self.sa = get_server_args()
        return self
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "enum none",
        """\
def f():
    sa = get_server_args()
    if sa is None:
        return 0
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "isinst",
        """\
def f():
    sa = get_server_args()
    assert isinstance(sa, object)
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "slots",
        """\
class A:
    __slots__ = ('sa',)
    def __init__(self):
        self.sa = get_server_args()
def f(a):
    return a.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "type alias unpack dict",
        """\
def f():
    def g(sa):
        return sa.tp_size
    return g(**{'sa': get_server_args()})
""",
        ("CB104 record->f.g(tp_size)",),
    ),
]


@pytest.mark.parametrize(("name", "code", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_shape(judge_files, name, code, expected):
    judged = judge_files({"engine/case.py": complete(code)})
    assert judged.symbols() == list(expected)
    assert judged.analysis.unanalysed == ()
