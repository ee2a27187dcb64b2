"""Objects and copies that hold the record: protocols, fields, subclasses, and writes to them."""

from __future__ import annotations

import pytest

from confbag.ratchets.rules.case import complete

SHAPES = [
    (
        "aenter class",
        """\
class Use:
    async def __aenter__(self):
        return get_server_args()
    async def __aexit__(self, *a):
        pass
async def f():
    async with Use() as sa:
        return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "getitem dunder record",
        """\
class A:
    def __getitem__(self, k):
        return get_server_args()
def f():
    return A()["x"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "iter dunder record",
        """\
class A:
    def __iter__(self):
        yield get_server_args()
def f():
    for sa in A():
        return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "call dunder self",
        """\
class A:
    def __call__(self):
        return get_server_args()
    def f(self):
        return self().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "getattr dunder returns record",
        """\
class A:
    def __getattr__(self, name):
        return get_server_args()
def f():
    return A().anything.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "descriptor get",
        """\
class D:
    def __get__(self, obj, owner):
        return get_server_args()
class A:
    sa = D()
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "generic base",
        """\
from typing import Generic, TypeVar
T = TypeVar("T")
class A(Generic[T]):
    def __init__(self):
        self.sa = get_server_args()
class B(A[int]):
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dataclass default factory",
        """\
@dataclasses.dataclass
class H:
    sa: object = dataclasses.field(default_factory=get_server_args)
def f():
    return H().sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dataclass default factory lambda",
        """\
from dataclasses import dataclass, field
@dataclass
class H:
    sa: object = field(default_factory=lambda: get_server_args())
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dataclass field default",
        """\
from dataclasses import dataclass, field
@dataclass
class H:
    sa: object = field(default=get_server_args())
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "attr dict update",
        """\
class A:
    def __init__(self):
        self.__dict__.update(sa=get_server_args())
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "attr vars self",
        """\
class A:
    def __init__(self):
        vars(self)["sa"] = get_server_args()
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "attr super setattr",
        """\
class A:
    def __init__(self):
        super().__setattr__("sa", get_server_args())
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "cached property call",
        """\
from functools import cached_property
class A:
    args = cached_property(lambda self: get_server_args())
    def f(self):
        return self.args.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "contextvar default",
        """\
from contextvars import ContextVar
CV = ContextVar("x", default=get_server_args())
def f():
    return CV.get().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "w method unbound list",
        """\
def f(server_args: "ServerArgs"):
    list.append(server_args.l, 1)
""",
        ("CB111 record.l",),
    ),
    (
        "w method unbound dict",
        """\
def f(server_args: "ServerArgs"):
    dict.update(server_args.d, x=1)
""",
        ("CB111 record.d",),
    ),
    (
        "w operator setitem field",
        """\
def f(server_args: "ServerArgs"):
    operator.setitem(server_args.d, "x", 1)
""",
        ("CB111 record.d",),
    ),
    (
        "w operator delitem field",
        """\
def f(server_args: "ServerArgs"):
    operator.delitem(server_args.d, "x")
""",
        ("CB111 record.d",),
    ),
    (
        "w operator iadd",
        """\
def f(server_args: "ServerArgs"):
    operator.iadd(server_args.l, [1])
""",
        ("CB111 record.l",),
    ),
    (
        "w getattr computed then set",
        """\
def f(server_args: "ServerArgs", k):
    getattr(server_args, k).on = 1
""",
        ("CB111 record.*",),
    ),
    (
        "w asdict nested item",
        """\
def f(server_args: "ServerArgs"):
    d = dataclasses.asdict(server_args)
    d["graph"]["on"] = 1
""",
        ("CB102 record.graph",),
    ),
    (
        "copy assigned field read",
        """\
def f():
    sa = copy.copy(get_server_args())
    sa.tp_size = 2
    return sa.tp_size
""",
        (),
    ),
    (
        "w copy then rebound nested",
        """\
def f(server_args: "ServerArgs", g):
    c = copy.copy(server_args)
    c.graph = g
    c.graph.on = True
""",
        (),
    ),
    (
        "mixin two bases",
        """\
class M:
    def f(self):
        return self._sa.tp_size
class P:
    def __init__(self):
        self._sa = get_server_args()
class A(M, P):
    pass
""",
        ("CB101 record.tp_size",),
    ),
    (
        "abstract property child",
        """\
import abc
class A(abc.ABC):
    @property
    @abc.abstractmethod
    def sa(self): ...
    def f(self):
        return self.sa.tp_size
class B(A):
    @property
    def sa(self):
        return get_server_args()
""",
        ("CB101 record.tp_size",),
    ),
    (
        "override method parent calls",
        """\
class A:
    def args(self):
        raise NotImplementedError
    def f(self):
        return self.args().tp_size
class B(A):
    def args(self):
        return get_server_args()
""",
        ("CB101 record.tp_size",),
    ),
    (
        "attr set by function",
        """\
def boot(a):
    a.sa = get_server_args()
class A:
    def __init__(self):
        boot(self)
    def f(self):
        return self.sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "vars returned helper const",
        """\
def h():
    return vars(get_server_args())
def f():
    return h()["tp_size"]
""",
        ("CB103 record.*",),
    ),
    (
        "boolop and first",
        """\
def f(o):
    return (get_server_args() and o).width
""",
        ("CB105 record",),
    ),
    (
        "w copy aug",
        """\
def f(server_args: "ServerArgs"):
    c = copy.copy(server_args)
    c.tp_size += 1
""",
        ("CB102 record.tp_size",),
    ),
    (
        "attrgetter position",
        """\
def f():
    return operator.attrgetter("tp_size")(get_server_args())
""",
        ("CB101 record.tp_size",),
    ),
    (
        "w setattr partial",
        """\
def f(server_args: "ServerArgs"):
    functools.partial(setattr, server_args, "tp_size")(1)
""",
        ("CB111 record.tp_size",),
    ),
    (
        "own append of a tree class is called",
        """\
class Log:
    def append(self, c):
        return c.tp_size
def f():
    log = Log()
    log.append(get_server_args())
""",
        ("CB104 record->Log.append(tp_size)",),
    ),
    (
        "getattr dunder of other",
        """\
class A:
    def __getattr__(self, name):
        return self.o
def f():
    return A().x.width
""",
        (),
    ),
    (
        "iter over other",
        """\
class A:
    def __init__(self):
        self.sa = get_server_args()
    def __iter__(self):
        return iter([1])
def f():
    for x in A():
        print(x.real)
""",
        (),
    ),
    (
        "override of concrete method",
        """\
class A:
    def args(self):
        return 3
    def f(self):
        return self.args().width
class B(A):
    def args(self):
        return get_server_args()
""",
        (),
    ),
    (
        "sibling none",
        """\
class A:
    sa = None
    def f(self):
        return self.sa.tp_size
class B(A):
    def __init__(self):
        self.sa = get_server_args()
""",
        ("CB101 record.tp_size",),
    ),
    (
        "parked beside unknown",
        """\
class A:
    def __init__(self):
        self.zz = get_server_args()
class B:
    def __init__(self, zz):
        self.zz = zz
def f(o):
    return o.zz.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "parked beside something else",
        """\
class A:
    def __init__(self):
        self.zz = get_server_args()
class B:
    def __init__(self):
        self.zz = {}
def f(o):
    return o.zz.items()
""",
        (),
    ),
    (
        "copied self attribute",
        """\
class A:
    def __init__(self):
        self.sa = copy.copy(get_server_args())
        self.sa.tp_size = 2
    def f(self):
        return self.sa.tp_size + self.sa.dp_size
""",
        ("CB101 record.dp_size",),
    ),
    (
        "copy in a branch",
        """\
def f(c):
    sa = copy.copy(get_server_args())
    if c:
        sa.tp_size = 2
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "field none",
        """\
from dataclasses import dataclass, field
@dataclass
class H:
    server_args: ServerArgs = field(default=None)
    xs: list = field(default_factory=list)
    def f(self):
        return self.server_args.tp_size + self.xs.index(1)
""",
        ("CB102 record.tp_size",),
    ),
    (
        "and",
        """\
def f(server_args):
    return server_args and server_args.tp_size
""",
        ("CB102 record.tp_size",),
    ),
    (
        "and name",
        """\
def f(server_args, o):
    x = server_args and o
    return x.width
""",
        (),
    ),
    (
        "mixin: two subclasses",
        """\
class M:
    def f(self):
        return self._sa.width
class A(M):
    def __init__(self, o):
        self._sa = o
""",
        (),
    ),
    (
        "class getitem",
        """\
class A:
    def __class_getitem__(cls, k):
        return cls
def f():
    return A[int]().width
""",
        (),
    ),
    (
        "vars self of other",
        """\
class A:
    def __init__(self, o):
        vars(self)["sa"] = get_server_args()
        vars(self).update(o=o)
    def f(self):
        return self.o.width
""",
        (),
    ),
    (
        "handoff to abstract implementation",
        """\
class A:
    def go(self, c): ...
    def f(self):
        self.go(get_server_args())
class B(A):
    def go(self, c):
        return c.tp_size
""",
        ("CB104 record->B.go(tp_size)",),
    ),
    (
        "a record made without its constructor",
        """\
def f():
    sa = ServerArgs.__new__(ServerArgs)
    sa.tp_size = 2
    sb = object.__new__(ServerArgs)
    return sb.dp_size
""",
        ("CB111 record.tp_size", "CB102 record.dp_size"),
    ),
]


@pytest.mark.parametrize(("name", "code", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_shape(judge_files, name, code, expected):
    judged = judge_files({"engine/case.py": complete(code)})
    assert judged.symbols() == list(expected)
    assert judged.analysis.unanalysed == ()


def test_a_generic_base_of_another_file(judge_files):
    base = """\
from typing import Generic, TypeVar
from engine.runtime_context import get_server_args
T = TypeVar("T")
class A(Generic[T]):
    def __init__(self):
        self.sa = get_server_args()
"""
    code = "from engine.base import A\nclass B(A[int]):\n    def f(self):\n        return self.sa.tp_size\n"
    judged = judge_files({"engine/case.py": code, "engine/base.py": base})
    assert judged.symbols() == ["CB101 record.tp_size"]


@pytest.mark.parametrize(
    "made",
    [
        "@classmethod\n    def make(cls, a):\n        return cls(**vars(a))",
        "@classmethod\n    def make(cls, a):\n        self = cls.__new__(cls)\n        return self",
        "@staticmethod\n    def make(a) -> 'ServerArgs':\n        return build(a)",
    ],
)
def test_a_function_of_the_records_class_that_makes_one(judge_files, made):
    count = "@classmethod\n    def count(cls):\n        return 3\n"
    owner = f"class ServerArgs:\n    tp_size: int = 1\n    {made}\n    {count}"
    code = (
        "from engine.server_args import ServerArgs\n"
        "def f(a):\n    ServerArgs.count().real\n    return ServerArgs.make(a).tp_size\n"
    )
    judged = judge_files({"engine/case.py": code, "engine/server_args.py": owner})
    assert [found.symbol for found in judged.analysis.findings if found.path == "engine/case.py"] == ["record.tp_size"]
