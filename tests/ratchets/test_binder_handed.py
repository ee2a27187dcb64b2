"""What a call hands over in one file: containers of parameters, starred parameters, threads and executors."""

from __future__ import annotations

import pytest

from confbag.ratchets.rules.case import complete

SHAPES: list[tuple[str, str, tuple[str, ...]]] = [
    (
        "helper returns tuple of params",
        """\
def pair(x, y):
    return x, y
def f(o):
    a, sa = pair(o, get_server_args())
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "helper returns tuple of params index",
        """\
def pair(x, y):
    return x, y
def f(o):
    return pair(get_server_args(), o)[0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "helper returns dict of params",
        """\
def wrap(x):
    return {"sa": x}
def f():
    return wrap(get_server_args())["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "helper returns list of params loop",
        """\
def wrap(x):
    return [x]
def f():
    for sa in wrap(get_server_args()):
        print(sa.tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "helper param in namespace",
        """\
from types import SimpleNamespace
def wrap(x):
    return SimpleNamespace(sa=x)
def f():
    return wrap(get_server_args()).sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "helper static returns tuple",
        """\
class A:
    @staticmethod
    def both(x, y):
        return (x, y)
def f(o):
    return A.both(o, get_server_args())[1].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "generator yields param",
        """\
def each(x):
    yield x
def f():
    for sa in each(get_server_args()):
        print(sa.tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "generator yields param next",
        """\
def each(x):
    yield x
def f():
    return next(each(get_server_args())).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "cm own yields param",
        """\
@contextlib.contextmanager
def use(x):
    yield x
def f():
    with use(get_server_args()) as sa:
        return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "cm own yields other",
        """\
@contextlib.contextmanager
def use(x, o):
    log(x)
    yield o
def f(o):
    with use(get_server_args(), o) as sa:
        return sa.width
""",
        (),
    ),
    (
        "h into varargs",
        """\
def h(*a):
    return a[0].tp_size
def f():
    h(get_server_args())
""",
        ("CB104 record->h(tp_size)",),
    ),
    (
        "h into kwargs",
        """\
def h(**kw):
    return kw["cfg"].tp_size
def f():
    h(cfg=get_server_args())
""",
        ("CB104 record->h(tp_size)",),
    ),
    (
        "varargs helper returns",
        """\
def last(*xs):
    return xs[-1]
def f(o):
    return last(o, get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "kwargs helper returns",
        """\
def pick(**kw):
    return kw["sa"]
def f():
    return pick(sa=get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "h new",
        """\
class A:
    def __new__(cls, cfg):
        n = cfg.tp_size
        return super().__new__(cls)
def f():
    return A(get_server_args())
""",
        ("CB104 record->A.__new__(tp_size)",),
    ),
    (
        "dunder import fromlist",
        """\
def f():
    return __import__("engine.runtime_context", fromlist=["x"]).get_server_args().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dunder import fromlist positional",
        """\
def f():
    return __import__("engine.runtime_context", None, None, ["get_server_args"]).get_server_args().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "sys modules get",
        """\
import sys
def f():
    return sys.modules.get("engine.runtime_context").get_server_args().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "globals get",
        """\
def f():
    return globals().get("get_server_args")().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "thread target args",
        """\
import threading
def work(cfg):
    return cfg.tp_size
def f():
    threading.Thread(target=work, args=(get_server_args(),)).start()
""",
        ("CB104 record->work(tp_size)",),
    ),
    (
        "thread kwargs",
        """\
from threading import Thread
def work(cfg):
    return cfg.tp_size
def f():
    Thread(target=work, kwargs={"cfg": get_server_args()}).start()
""",
        ("CB104 record->work(tp_size)",),
    ),
    (
        "process target",
        """\
import multiprocessing as mp
def work(cfg, n):
    return cfg.tp_size
def f():
    mp.Process(target=work, args=(get_server_args(), 1)).start()
""",
        ("CB104 record->work(tp_size)",),
    ),
    (
        "executor submit",
        """\
from concurrent.futures import ThreadPoolExecutor
def work(cfg):
    return cfg.tp_size
def f():
    with ThreadPoolExecutor() as ex:
        return ex.submit(work, get_server_args()).result()
""",
        ("CB104 record->work(tp_size)",),
    ),
    (
        "executor submit accessor",
        """\
from concurrent.futures import ThreadPoolExecutor
def f():
    with ThreadPoolExecutor() as ex:
        return ex.submit(get_server_args).result().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "run in executor",
        """\
import asyncio
def work(cfg):
    return cfg.tp_size
async def f(loop):
    return await loop.run_in_executor(None, work, get_server_args())
""",
        ("CB104 record->work(tp_size)",),
    ),
    (
        "atexit register",
        """\
import atexit
def work(cfg):
    return cfg.tp_size
def f():
    atexit.register(work, get_server_args())
""",
        ("CB104 record->work(tp_size)",),
    ),
    (
        "holder module attr",
        """\
import other
def f():
    return other.server_args.tp_size
""",
        (),
    ),
    (
        "init forwards kw",
        """\
class Base:
    def __init__(self, c, d=None):
        self.n = d.tp_size
class Child(Base):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
def f():
    return Child(1, d=get_server_args())
""",
        ("CB104 record->Child(tp_size)",),
    ),
    (
        "forwards other",
        """\
class Base:
    def __init__(self, c, d=None):
        self.n = d.tp_size
class Child(Base):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
def f():
    return Child(get_server_args(), d=1)
""",
        (),
    ),
    (
        "star other index",
        """\
def h(*a):
    return a[1].tp_size
def f(o):
    h(get_server_args(), o)
""",
        (),
    ),
    (
        "star negative",
        """\
def h(x, *a):
    return a[-1].tp_size
def f(o):
    h(1, o, get_server_args())
""",
        ("CB104 record->h(tp_size)",),
    ),
    (
        "star negative other",
        """\
def h(x, *a):
    return a[-1].tp_size
def f(o):
    h(1, get_server_args(), o)
""",
        (),
    ),
    (
        "star unpacked",
        """\
def h(*a):
    x, y = a
    return x
def f(o):
    return h(o, get_server_args()).width
""",
        (),
    ),
    (
        "star iterated",
        """\
def h(*a):
    return [x.tp_size for x in a]
def f(o):
    return h(o, get_server_args())
""",
        ("CB104 record->h(tp_size)",),
    ),
    (
        "kw other",
        """\
def h(**kw):
    return kw["o"].tp_size
def f(o):
    return h(o=o, sa=get_server_args())
""",
        (),
    ),
    (
        "kw get",
        """\
def h(**kw):
    return kw.get("sa")
def f(o):
    return h(o=o, sa=get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "kwonly not positional",
        """\
def h(*a, c=None):
    return c.tp_size if c else 1
def f(o):
    return h(get_server_args())
""",
        (),
    ),
    (
        "submit method",
        """\
class A:
    def work(self, cfg):
        return cfg.tp_size
    def f(self, pool):
        pool.submit(self.work, get_server_args())
""",
        ("CB104 record->A.work(tp_size)",),
    ),
    (
        "ctx process",
        """\
import multiprocessing as mp
def work(cfg):
    return cfg.tp_size
def f():
    ctx = mp.get_context("spawn")
    p = ctx.Process(target=work, args=(get_server_args(),))
    p.start()
""",
        ("CB104 record->work(tp_size)",),
    ),
    (
        "thread lambda",
        """\
import threading
def f():
    threading.Thread(target=lambda c: c.tp_size, args=(get_server_args(),)).start()
""",
        ("CB101 record.tp_size",),
    ),
]


@pytest.mark.parametrize(("name", "code", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_shape(judge_files, name, code, expected):
    judged = judge_files({"engine/case.py": complete(code)})
    assert judged.symbols() == list(expected)
    assert judged.analysis.unanalysed == ()
