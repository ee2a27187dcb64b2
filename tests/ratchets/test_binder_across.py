"""What crosses files: helpers, methods, stars and constants of other modules lead to what they lead to."""

from __future__ import annotations

import pytest

from confbag.ratchets.binder import world
from confbag.ratchets.rules.case import complete

SHAPES: list[tuple[str, str, dict[str, str], tuple[str, ...]]] = [
    (
        "l init dunder all reexport",
        """\
from engine.pkg import fetch
def f():
    return fetch().tp_size
""",
        {
            "engine/pkg/__init__.py": """\
from engine.pkg.impl import *
__all__ = ["fetch"]
""",
            "engine/pkg/impl.py": """\
from engine.runtime_context import get_server_args
def fetch():
    return get_server_args()
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "l four files chain",
        """\
from engine.a1 import cur
def f():
    return cur().tp_size
""",
        {
            "engine/a1.py": """\
from engine.a2 import cur
""",
            "engine/a2.py": """\
from .a3 import other_name as cur
""",
            "engine/a3.py": """\
from engine import a4
other_name = a4.get
""",
            "engine/a4.py": """\
from engine.runtime_context import get_server_args
def get():
    return get_server_args()
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "helper param passthrough",
        """\
from engine.api import same
def f():
    return same(get_server_args()).tp_size
""",
        {
            "engine/api.py": """\
def same(x):
    return x
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "h inherited file",
        """\
from engine.base import A
class B(A):
    def f(self):
        return self.h(get_server_args())
""",
        {
            "engine/base.py": """\
class A:
    def h(self, cfg):
        return cfg.tp_size
""",
        },
        ("CB104 record->A.h(tp_size)",),
    ),
    (
        "l method handoff file",
        """\
from engine.t import Thing
def f():
    return Thing().go(get_server_args())
""",
        {
            "engine/t.py": """\
class Thing:
    def go(self, c):
        return c.tp_size
""",
        },
        ("CB104 record->Thing.go(tp_size)",),
    ),
    (
        "l instance param handoff file",
        """\
from engine.t import Thing
def f(t: Thing):
    return t.go(get_server_args())
""",
        {
            "engine/t.py": """\
class Thing:
    def go(self, c):
        return c.tp_size
""",
        },
        ("CB104 record->Thing.go(tp_size)",),
    ),
    (
        "l init inherited handoff file",
        """\
from engine.t import Child
def f():
    return Child(get_server_args())
""",
        {
            "engine/t.py": """\
from engine.b import Base
class Child(Base):
    pass
""",
            "engine/b.py": """\
class Base:
    def __init__(self, c):
        self.n = c.tp_size
""",
        },
        ("CB104 record->Base(tp_size)",),
    ),
    (
        "l super init handoff file",
        """\
from engine.b import Base
class Child(Base):
    def __init__(self):
        super().__init__(get_server_args())
""",
        {
            "engine/b.py": """\
class Base:
    def __init__(self, c):
        self.n = c.tp_size
""",
        },
        ("CB104 record->Base(tp_size)",),
    ),
    (
        "l method calls method file",
        """\
from engine.b import Worker
def f(server_args):
    w = Worker()
    w.start(server_args)
""",
        {
            "engine/b.py": """\
class Worker:
    def start(self, c):
        self._go(c)
    def _go(self, c):
        return c.tp_size
""",
        },
        ("CB104 record->Worker.start(tp_size)",),
    ),
    (
        "l dataclass handoff file",
        """\
from engine.b import Box
def f():
    return Box(get_server_args())
""",
        {
            "engine/b.py": """\
import dataclasses
@dataclasses.dataclass
class Box:
    cfg: object
    def go(self):
        return self.cfg.tp_size
""",
        },
        ("CB104 record->Box(tp_size)",),
    ),
    (
        "l star import handoff",
        """\
from engine.b import *
def f():
    return h(get_server_args())
""",
        {
            "engine/b.py": """\
def h(c):
    return c.tp_size
""",
        },
        ("CB104 record->h(tp_size)",),
    ),
    (
        "l lambda file",
        """\
from engine.b import h
def f():
    return h(get_server_args())
""",
        {
            "engine/b.py": """\
h = lambda c: c.tp_size
""",
        },
        ("CB104 record->h(tp_size)",),
    ),
    (
        "reexport lambda",
        """\
from engine.api import fetch
def f():
    return fetch().tp_size
""",
        {
            "engine/api.py": """\
from engine.runtime_context import get_server_args
fetch = lambda: get_server_args()
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "star all omits",
        """\
from engine.api import *
def f():
    return fetch().tp_size
""",
        {
            "engine/api.py": """\
__all__ = ["other"]
from engine.runtime_context import get_server_args as fetch
other = 1
""",
        },
        (),
    ),
    (
        "star underscore not exported",
        """\
from engine.api import *
def f():
    return _fetch().tp_size
""",
        {
            "engine/api.py": """\
from engine.runtime_context import get_server_args as _fetch
""",
        },
        (),
    ),
    (
        "star other overrides",
        """\
from engine.api import *
from engine.later import *
def f():
    return fetch().width
""",
        {
            "engine/api.py": """\
from engine.runtime_context import get_server_args as fetch
""",
            "engine/later.py": """\
def fetch():
    return 1
""",
        },
        (),
    ),
    (
        "reexport module alias",
        """\
from engine.api import rc
def f():
    return rc.get_server_args().tp_size
""",
        {
            "engine/api.py": """\
import engine.runtime_context as rc
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "getattr imported const",
        """\
from engine.names import TP
def f():
    return getattr(get_server_args(), TP)
""",
        {
            "engine/names.py": """\
TP = "tp_size"
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "getattr imported module const",
        """\
from engine import names
def f():
    return getattr(get_server_args(), names.TP)
""",
        {
            "engine/names.py": """\
TP = "tp_size"
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "other file parks on class",
        """\
from engine.thing import Thing
def f(t: Thing):
    return t.keep.tp_size
""",
        {
            "engine/thing.py": """\
class Thing:
    keep = None
""",
            "engine/boot.py": """\
from engine.thing import Thing
from engine.runtime_context import get_server_args
Thing.keep = get_server_args()
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "other file parks on instance",
        """\
from engine.thing import Thing
class Sub(Thing):
    def f(self):
        return self.keep.tp_size
""",
        {
            "engine/thing.py": """\
class Thing:
    keep = None
""",
            "engine/boot.py": """\
from engine.thing import Thing
from engine.runtime_context import get_server_args
def boot():
    t = Thing()
    t.keep = get_server_args()
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "l nested class file",
        """\
from engine.s import Out
def f():
    return Out.In.sa.tp_size
""",
        {
            "engine/s.py": """\
from engine.runtime_context import get_server_args
class Out:
    class In:
        sa = get_server_args()
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "l holder property record file",
        """\
from engine.io import Req
def f(r: Req):
    return r.server_args.tp_size
""",
        {
            "engine/io.py": """\
from engine.server_args import ServerArgs
class Req:
    @property
    def server_args(self) -> ServerArgs:
        return self._x
""",
        },
        ("CB102 record.tp_size",),
    ),
    (
        "l contextvar file",
        """\
from engine.p import CV
def f():
    return CV.get().tp_size
""",
        {
            "engine/p.py": """\
from contextvars import ContextVar
from engine.runtime_context import get_server_args
CV = ContextVar("x")
def boot():
    CV.set(get_server_args())
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "l module filled list",
        """\
from engine.p import BOX
def f():
    return BOX[0].tp_size
""",
        {
            "engine/p.py": """\
from engine.runtime_context import get_server_args
BOX = []
def boot():
    BOX.append(get_server_args())
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "reexported class method",
        """\
from engine.pkg import Thing
def f():
    return Thing().go(get_server_args())
""",
        {
            "engine/pkg/__init__.py": """\
from engine.pkg.t import Thing
""",
            "engine/pkg/t.py": """\
class Thing:
    def go(self, c):
        return c.tp_size
""",
        },
        ("CB104 record->Thing.go(tp_size)",),
    ),
    (
        "three file inherit",
        """\
from engine.b import B
class C(B):
    def f(self):
        self.h(get_server_args())
""",
        {
            "engine/b.py": """\
from engine.a import A
class B(A):
    pass
""",
            "engine/a.py": """\
class A:
    def h(self, c):
        return c.tp_size
""",
        },
        ("CB104 record->A.h(tp_size)",),
    ),
    (
        "unbound call",
        """\
from engine.t import Thing
def f(t):
    return Thing.go(t, get_server_args())
""",
        {
            "engine/t.py": """\
class Thing:
    def go(self, c):
        return c.tp_size
""",
        },
        ("CB104 record->Thing.go(tp_size)",),
    ),
    (
        "unbound call other param",
        """\
from engine.t import Thing
def f(t):
    return Thing.go(t, get_server_args(), 1)
""",
        {
            "engine/t.py": """\
class Thing:
    def go(self, c, d):
        return d.tp_size
""",
        },
        (),
    ),
    (
        "init forwards",
        """\
from engine.t import Child
def f():
    return Child(get_server_args())
""",
        {
            "engine/t.py": """\
from engine.b import Base
class Child(Base):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
""",
            "engine/b.py": """\
class Base:
    def __init__(self, c):
        self.n = c.tp_size
""",
        },
        ("CB104 record->Child(tp_size)",),
    ),
    (
        "method returns param",
        """\
from engine.t import Thing
def f():
    return Thing().same(get_server_args()).tp_size
""",
        {
            "engine/t.py": """\
class Thing:
    def same(self, c):
        return c
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "two hops same",
        """\
from engine.t import same
def f():
    return same(get_server_args()).tp_size
""",
        {
            "engine/t.py": """\
from engine.u import same as again
def same(c):
    return again(c)
""",
            "engine/u.py": """\
def same(c):
    return (c,)[0]
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "star const",
        """\
from engine.names import *
def f():
    return getattr(get_server_args(), TP)
""",
        {
            "engine/names.py": """\
TP = "tp_size"
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "class const",
        """\
from engine.names import Names
def f():
    return getattr(get_server_args(), Names.TP)
""",
        {
            "engine/names.py": """\
class Names:
    TP = "tp_size"
""",
        },
        ("CB101 record.tp_size",),
    ),
    (
        "rebound const",
        """\
from engine.names import TP
def f():
    return getattr(get_server_args(), TP)
""",
        {
            "engine/names.py": """\
TP = "tp_size"
def set(x):
    global TP
    TP = x
""",
        },
        ("CB103 record.*",),
    ),
    (
        "set const",
        """\
from engine.names import TP
def f():
    setattr(get_server_args(), TP, 1)
""",
        {
            "engine/names.py": """\
TP = "tp_size"
""",
        },
        ("CB111 record.tp_size",),
    ),
    (
        "thread other file",
        """\
import threading
from engine.w import work
def f():
    threading.Thread(target=work, args=(get_server_args(),), daemon=True).start()
""",
        {
            "engine/w.py": """\
def work(cfg):
    return cfg.tp_size
""",
        },
        ("CB104 record->work(tp_size)",),
    ),
    (
        "cross parks holder declared other",
        """\
from engine.t import Thing
def f():
    t = Thing(get_server_args())
    return t.server_args.items()
""",
        {
            "engine/t.py": """\
class Thing:
    server_args: dict
    def __init__(self, c):
        self.n = c
""",
        },
        (),
    ),
    (
        "init py star class",
        """\
from engine.pkg import Thing
def f(sa):
    return Thing().go(get_server_args())
""",
        {
            "engine/pkg/__init__.py": """\
from .t import *
""",
            "engine/pkg/t.py": """\
class Thing:
    def go(self, c):
        return c.tp_size
""",
        },
        ("CB104 record->Thing.go(tp_size)",),
    ),
    (
        "module func attr",
        """\
from engine import t
def f():
    t.go(get_server_args())
""",
        {
            "engine/t.py": """\
def go(c):
    return c.tp_size
""",
        },
        ("CB104 record->go(tp_size)",),
    ),
    (
        "annotated attr other file",
        """\
from engine.t import Thing
class A:
    def __init__(self, t: Thing):
        self.t = t
    def f(self):
        self.t.go(get_server_args())
""",
        {
            "engine/t.py": """\
class Thing:
    def go(self, c):
        return c.tp_size
""",
        },
        ("CB104 record->Thing.go(tp_size)",),
    ),
    (
        "decorated cm other file",
        """\
from engine.t import use
def f():
    with use(get_server_args()) as sa:
        return sa.tp_size
""",
        {
            "engine/t.py": """\
import contextlib
@contextlib.contextmanager
def use(c):
    yield c
""",
        },
        ("CB101 record.tp_size",),
    ),
]


@pytest.mark.parametrize(("name", "code", "files", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_shape(judge_files, name, code, files, expected):
    judged = judge_files({"engine/case.py": complete(code), **files})
    assert judged.symbols() == list(expected)
    assert judged.analysis.unanalysed == ()


@pytest.mark.parametrize(("name", "code", "files", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_a_rule_alone_finds_its_part(judge_files, name, code, files, expected):
    for rule in sorted({finding.split()[0] for finding in expected}):
        judged = judge_files({"engine/case.py": complete(code), **files}, codes=(rule,))
        assert judged.symbols() == [finding for finding in expected if finding.startswith(rule)]


def test_a_chain_of_files_has_any_length(judge_files):
    length = 100
    files = {
        "engine/case.py": "from engine.m0 import give\ndef f():\n    return give().tp_size\n",
        "engine/hand.py": complete("from engine.h0 import take\ndef f():\n    take(get_server_args())\n"),
    }
    for number in range(length):
        after = number + 1
        files[f"engine/m{number}.py"] = f"from engine.m{after} import give as more\ndef give():\n    return more()\n"
        files[f"engine/h{number}.py"] = f"from engine.h{after} import take as more\ndef take(c):\n    return more(c)\n"
    files[f"engine/m{length}.py"] = complete("def give():\n    return get_server_args()\n")
    files[f"engine/h{length}.py"] = "def take(c):\n    return c.tp_size\n"
    judged = judge_files(files)
    found = [f"{finding.code} {finding.symbol}" for finding in judged.analysis.findings]
    assert found == ["CB101 record.tp_size", "CB104 record->take(tp_size)"]
    # Each file is read some times, not once for each that is after it.
    assert judged.analysis.stats["examined"] < 5 * len(files)


def test_what_does_not_settle_is_said(judge_files, monkeypatch):
    answers = iter(range(1_000_000))
    monkeypatch.setattr(world, "answer", lambda known, question: next(answers))
    judged = judge_files(
        {"engine/case.py": complete("from engine.m import x\ndef f():\n    return get_server_args().tp_size\n")}
    )
    assert judged.symbols() == ["CB101 record.tp_size"]
    (failed,) = judged.analysis.unanalysed
    assert failed.path == "engine/case.py"
    assert "do not settle" in failed.reason
