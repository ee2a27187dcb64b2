"""Paths through a function, and scopes: what a block, a condition or a loop leaves behind, and what it does not."""

from __future__ import annotations

import pytest

from confbag.ratchets.rules.case import complete

SHAPES = [
    (
        "class body comp",
        """\
sa = make()
class A:
    sa = get_server_args()
    xs = [sa.width for _ in range(3)]
""",
        {},
        (),
    ),
    (
        "with suppress maybe",
        """\
def f(o):
    sa = get_server_args()
    with contextlib.suppress(ValueError):
        risky()
        sa = o
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "match all cases rebind",
        """\
def f(x, o, p):
    sa = get_server_args()
    log(sa)
    match x:
        case 1:
            sa = o
        case _:
            sa = p
    return sa.width
""",
        {},
        (),
    ),
    (
        "gather",
        """\
import asyncio
async def get():
    return get_server_args()
async def f():
    sa, n = await asyncio.gather(get(), other())
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "yield from return",
        """\
def inner():
    yield 1
    return get_server_args()
def outer():
    sa = yield from inner()
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "getattr module const rebound",
        """\
NAME = "tp_size"
def set_name(n):
    global NAME
    NAME = n
def f():
    return getattr(get_server_args(), NAME)
""",
        {},
        ("CB103 record.*",),
    ),
    (
        "getattr kwargs star",
        """\
def f(args):
    return getattr(get_server_args(), *args)
""",
        {},
        ("CB103 record.*",),
    ),
    (
        "vars mapping match",
        """\
def f():
    match vars(get_server_args()):
        case {"tp_size": n}:
            return n
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "vars dunder const",
        """\
def f():
    return vars(get_server_args())["__doc__"]
""",
        {},
        (),
    ),
    (
        "compile const",
        """\
SRC = "get_server_args().tp_size"
def f():
    return compile(SRC, "x", "eval")
""",
        {},
        ("CB103 record.*",),
    ),
    (
        "eval concat",
        """\
def f(n):
    return eval("get_server_args()." + n)
""",
        {},
        ("CB103 record.*",),
    ),
    (
        "async method not awaited",
        """\
class A:
    async def args(self):
        return get_server_args()
    def f(self):
        return self.args().close()
""",
        {},
        (),
    ),
    (
        "h dunder only",
        """\
def h(c):
    return c.__class__.__name__
def f():
    return h(get_server_args())
""",
        {},
        (),
    ),
    (
        "p bool",
        """\
def f():
    return bool(get_server_args())
""",
        {},
        ("CB105 record",),
    ),
    (
        "p bool if",
        """\
def f():
    if bool(get_server_args()):
        return 1
""",
        {},
        ("CB105 record",),
    ),
    (
        "p walrus unused",
        """\
def f():
    if (sa := get_server_args()) is not None:
        return 1
""",
        {},
        ("CB105 record",),
    ),
    (
        "nested class does not see outer class",
        """\
sa = make()
class A:
    sa = get_server_args()
    class B:
        width = sa.width
""",
        {},
        (),
    ),
    (
        "try with return inside",
        """\
def f():
    sa = None
    try:
        with lock:
            sa = get_server_args()
            return risky(sa)
    except ValueError:
        return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "try compound intermediate",
        """\
def f():
    sa = None
    try:
        if ready():
            sa = get_server_args()
            risky(sa)
            sa = None
    except ValueError:
        return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "try loop intermediate",
        """\
def f(xs):
    sa = None
    try:
        for x in xs:
            sa = get_server_args()
            risky(sa)
            sa = None
    except ValueError:
        return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "try finally sees return",
        """\
def f():
    sa = None
    try:
        with lock:
            sa = get_server_args()
            return 1
    finally:
        print(sa.tp_size)
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "loop carries eight",
        """\
def f(xs):
    a = b = c = d = e = g = h = i = None
    for x in xs:
        if i is not None:
            print(i.tp_size)
        i = h
        h = g
        g = e
        e = d
        d = c
        c = b
        b = a
        a = get_server_args()
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "helper chain fifteen",
        """\
def f():
    return h1().tp_size
def h1():
    return h2()
def h2():
    return h3()
def h3():
    return h4()
def h4():
    return h5()
def h5():
    return h6()
def h6():
    return h7()
def h7():
    return h8()
def h8():
    return h9()
def h9():
    return h10()
def h10():
    return h11()
def h11():
    return h12()
def h12():
    return h13()
def h13():
    return h14()
def h14():
    return h15()
def h15():
    return get_server_args()
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "eval const name alone",
        """\
SRC = "get_server_args().tp_size"
def f():
    return eval(SRC)
""",
        {},
        ("CB103 record.*",),
    ),
    (
        "exec const name alone",
        """\
SRC = "x = get_server_args().tp_size"
def f():
    exec(SRC)
""",
        {},
        ("CB103 record.*",),
    ),
    (
        "getattr module const name",
        """\
from engine import runtime_context as rc
N = "get_server_args"
def f():
    return getattr(rc, N)().tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "cm unknown tuple target",
        """\
from elsewhere import use
def f():
    with use(get_server_args()) as (sa, n):
        return sa.tp_size
""",
        {},
        ("CB103 record.tp_size",),
    ),
    (
        "cm unknown stored first",
        """\
from elsewhere import use
def f():
    m = use(get_server_args())
    with m as sa:
        return sa.tp_size
""",
        {},
        ("CB103 record.tp_size",),
    ),
    (
        "match mapping vars write",
        """\
def f():
    match vars(get_server_args()):
        case {"tp_size": n, **rest}:
            return rest
""",
        {},
        ("CB103 record.*",),
    ),
    (
        "lambda in comp walrus scope",
        """\
SA = get_server_args()
def f(xs):
    gs = [lambda: (SA := 1) for x in xs]
    return SA.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "walrus in ifexp arm keeps",
        """\
def f(c, o):
    sa = get_server_args()
    x = (sa := o) if c else None
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "walrus in and keeps",
        """\
def f(c, o):
    sa = get_server_args()
    if c and (sa := o):
        pass
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "walrus in or keeps",
        """\
def f(c, o):
    sa = get_server_args()
    c or (sa := o)
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "walrus in comp keeps",
        """\
def f(xs, o):
    sa = get_server_args()
    [1 for x in xs if (sa := o)]
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "walrus in chained compare",
        """\
def f(a, b, o):
    sa = get_server_args()
    a < b < (sa := o)
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "try inner finally on throw",
        """\
def f():
    sa = None
    try:
        try:
            x = get_server_args()
            risky(x)
            x = None
        finally:
            sa = x
    except ValueError:
        return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "try in with in try",
        """\
def f(m):
    sa = None
    try:
        with m:
            sa = get_server_args()
            risky(sa)
            sa = None
    except ValueError:
        print(sa.tp_size)
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "try match inside",
        """\
def f(x):
    sa = None
    try:
        match x:
            case 1:
                sa = get_server_args()
                risky(sa)
                sa = None
    except ValueError:
        print(sa.tp_size)
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "match exhaustive capture",
        """\
def f(x, o):
    sa = get_server_args()
    log(sa)
    match x:
        case 1:
            sa = o
        case other:
            sa = other
    return sa.width
""",
        {},
        (),
    ),
    (
        "match or wildcard",
        """\
def f(x, o):
    sa = get_server_args()
    log(sa)
    match x:
        case 1 | _:
            sa = o
    return sa.width
""",
        {},
        (),
    ),
    (
        "match all return",
        """\
def f(x, o):
    sa = get_server_args()
    match x:
        case 1:
            sa = o
        case _:
            return sa
    return sa.width
""",
        {},
        (),
    ),
    (
        "suppress keeps before",
        """\
from contextlib import suppress
def f(o):
    sa = None
    with suppress(ValueError):
        sa = get_server_args()
        risky(sa)
        sa = o
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "try inner catches all kill",
        """\
def f(o):
    sa = None
    try:
        sa = get_server_args()
        log(sa)
        sa = o
    except ValueError:
        sa = o
    return sa.width
""",
        {},
        (),
    ),
    (
        "try rebound in handler and body",
        """\
def f(o):
    sa = get_server_args()
    log(sa)
    try:
        sa = o
    except ValueError:
        sa = o
    return sa.width
""",
        {},
        (),
    ),
    (
        "try else clean",
        """\
def f(o):
    sa = get_server_args()
    log(sa)
    try:
        risky()
    except ValueError:
        return 1
    else:
        sa = o
    return sa.width
""",
        {},
        (),
    ),
    (
        "with other manager kills",
        """\
def f(m, o):
    sa = get_server_args()
    log(sa)
    with m:
        sa = o
    return sa.width
""",
        {},
        (),
    ),
    (
        "own exit true",
        """\
class M:
    def __enter__(self):
        return self
    def __exit__(self, *a):
        return True
def f(o):
    sa = get_server_args()
    with M():
        risky()
        sa = o
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "own exit false",
        """\
class M:
    def __enter__(self):
        return self
    def __exit__(self, *a):
        return False
def f(o):
    sa = get_server_args()
    log(sa)
    with M():
        risky()
        sa = o
    return sa.width
""",
        {},
        (),
    ),
    (
        "match guard captures",
        """\
def f(x):
    sa = None
    match get_server_args():
        case sa if x:
            pass
        case _:
            return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "walrus and certain",
        """\
def f(c, o):
    sa = get_server_args()
    log(sa)
    if c and (sa := o):
        return sa.width
""",
        {},
        (),
    ),
    (
        "walrus or certain",
        """\
def f(c, o):
    sa = get_server_args()
    log(sa)
    if c or (sa := o):
        return 1
    return sa.width
""",
        {},
        (),
    ),
    (
        "walrus not certain",
        """\
def f(c, o):
    sa = get_server_args()
    log(sa)
    if not (c and (sa := o)):
        return 1
    return sa.width
""",
        {},
        (),
    ),
    (
        "walrus while exit",
        """\
def f(q, o):
    sa = get_server_args()
    log(sa)
    while (sa := o()):
        q(sa)
    return sa.width
""",
        {},
        (),
    ),
    (
        "walrus ternary both",
        """\
def f(c, o, p):
    sa = get_server_args()
    log(sa)
    x = (sa := o) if c else (sa := p)
    return sa.width
""",
        {},
        (),
    ),
    (
        "walrus value and",
        """\
def f(c, o):
    sa = get_server_args()
    log(sa)
    return c and (sa := o) and sa.width
""",
        {},
        (),
    ),
    (
        "class comp first iter",
        """\
class A:
    sa = get_server_args()
    xs = [x for x in range(sa.tp_size)]
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "class method default",
        """\
class A:
    sa = get_server_args()
    def f(self, n=sa.tp_size):
        return n
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "class lambda",
        """\
sa = make()
class A:
    sa = get_server_args()
    g = lambda: sa.width
""",
        {},
        (),
    ),
    (
        "loop partial grows",
        """\
def f(xs, g):
    sa = get_server_args()
    for x in xs:
        g = functools.partial(g, g)
        h = functools.partial(h, g)
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "const rebound alone",
        """\
NAME = 'tp_size'
def f():
    global NAME
    return getattr(get_server_args(), NAME)
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "eval fmt",
        """\
def f(n):
    return eval('get_server_args().{}'.format(n))
""",
        {},
        ("CB103 record.*",),
    ),
    (
        "eval other concat",
        """\
def f(n):
    return eval('other().' + n), get_server_args()
""",
        {},
        (),
    ),
    (
        "match vars plain",
        """\
def f():
    match vars(get_server_args()):
        case {'tp_size': n} as d:
            return n
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "coroutine task result",
        """\
import asyncio
async def get():
    return get_server_args()
async def f():
    t = asyncio.create_task(get())
    await t
    return t.result().tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "coroutine run",
        """\
import asyncio
async def get():
    return get_server_args()
def f():
    return asyncio.run(get()).tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "coroutine loop run",
        """\
import asyncio
async def get():
    return get_server_args()
def f():
    loop = asyncio.get_event_loop()
    return loop.run_until_complete(get()).tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "coroutine sync helper",
        """\
async def get(x):
    return x
def start(x):
    return get(x)
async def f():
    return (await start(get_server_args())).tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "coroutine wait for",
        """\
import asyncio
async def get():
    return get_server_args()
async def f():
    return (await asyncio.wait_for(get(), 1)).tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "coroutine list",
        """\
async def get():
    return get_server_args()
async def f():
    tasks = [get(), get()]
    return (await tasks[0]).tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "coroutine comp",
        """\
async def get():
    return get_server_args()
async def f(n):
    return [(await t).tp_size for t in [get() for _ in n]]
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "coroutine attr",
        """\
class A:
    def __init__(self):
        self.t = self.get()
    async def get(self):
        return get_server_args()
    async def f(self):
        return (await self.t).tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "probe walrus read",
        """\
def f():
    if (sa := get_server_args()) is not None:
        return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "probe walrus truth",
        """\
def f():
    if sa := get_server_args():
        return 1
""",
        {},
        ("CB105 record",),
    ),
    (
        "probe bool name",
        """\
def f():
    sa = get_server_args()
    return bool(sa)
""",
        {},
        ("CB105 record",),
    ),
    (
        "probe walrus passed",
        """\
def f(g):
    if (sa := get_server_args()) is not None:
        g(sa)
""",
        {},
        (),
    ),
    (
        "dunder dict param",
        """\
def h(c):
    return c.__dict__['tp_size']
def f():
    return h(get_server_args())
""",
        {},
        ("CB104 record->h(*,tp_size)",),
    ),
    (
        "dunder doc param",
        """\
def h(c):
    return c.__doc__
def f():
    return h(get_server_args())
""",
        {},
        (),
    ),
    (
        "finally parks",
        """\
class A:
    def __init__(self):
        try:
            return
        finally:
            self.sa = get_server_args()
    def f(self):
        return self.sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "finally cleared",
        """\
class A:
    def __init__(self):
        self.sa = None
    def g(self, o):
        try:
            sa = get_server_args()
            return 1
        finally:
            sa = o
            self.sa = sa
    def f(self):
        return self.sa.width
""",
        {},
        (),
    ),
    (
        "suppress other path",
        """\
from elsewhere import suppress
def f(o):
    sa = get_server_args()
    log(sa)
    with suppress(ValueError):
        sa = o
    return sa.width
""",
        {},
        (),
    ),
    (
        "yield from other",
        """\
def inner():
    yield get_server_args()
    return other()
def outer():
    x = yield from inner()
    return x.width
""",
        {},
        (),
    ),
    (
        "gather other",
        """\
import asyncio
async def get():
    return get_server_args()
async def f(o):
    sa, n = await asyncio.gather(get(), o())
    return n.width
""",
        {},
        (),
    ),
    (
        "managed not opened",
        """\
from elsewhere import use
def f():
    m = use(get_server_args())
    return m.width
""",
        {},
        (),
    ),
]


@pytest.mark.parametrize(("name", "code", "files", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_shape(judge_files, name, code, files, expected):
    judged = judge_files({"engine/case.py": complete(code), **files})
    assert judged.symbols() == list(expected)
    assert judged.analysis.unanalysed == ()


def test_a_path_to_a_record_is_followed_from_its_middle(judge_files):
    code = """\
import engine.runtime_context as rc
class A:
    def __init__(self):
        self.ctx = rc.get_context()
    def f(self):
        return self.ctx.server_args.tp_size
"""
    options = {"accessors": ("engine.runtime_context.get_context().server_args",)}
    assert judge_files({"engine/case.py": code}, options=options).symbols() == ["CB101 record.tp_size"]


def test_names_that_wander_through_a_long_loop(judge_files):
    """As many rounds as it takes for a short loop; a long one is cut short, and what is cut may be the record."""
    for count in (8, 60, 300, 2000):
        moves = "".join(f"        v{index} = v{index - 1}\n" for index in range(count, 0, -1))
        first = "".join(f"    v{index} = None\n" for index in range(count + 1))
        code = f"def f(xs):\n{first}    for x in xs:\n        v{count}.tp_size\n{moves}        v0 = get_server_args()\n"
        assert judge_files({"engine/case.py": complete(code)}).symbols() == ["CB101 record.tp_size"], count


@pytest.mark.parametrize("order", [1, -1])
def test_helpers_that_call_each_other_in_any_order(judge_files, order):
    last = 120
    helpers = [f"def h{index}():\n    return h{index + 1}()\n" for index in range(last)]
    helpers.append(f"def h{last}():\n    return get_server_args()\n")
    code = "def f():\n    return h0().tp_size\n" + "".join(helpers[::order])
    assert judge_files({"engine/case.py": complete(code)}).symbols() == ["CB101 record.tp_size"]


def test_attributes_that_wander_through_methods(judge_files):
    count = 60
    methods = [f"    def m{index}(self):\n        self.a{index} = self.a{index - 1}\n" for index in range(count, 0, -1)]
    code = "class A:\n    def __init__(self):\n        self.a0 = get_server_args()\n" + "".join(methods)
    code += f"    def f(self):\n        return self.a{count}.tp_size\n"
    assert judge_files({"engine/case.py": complete(code)}).symbols() == ["CB101 record.tp_size"]


def test_what_grows_in_nested_loops_has_an_end(judge_files):
    code = "def f(xs, g, h):\n"
    for depth in range(1, 7):
        inner = "    " * (depth + 1)
        code += f"{'    ' * depth}for x{depth} in xs:\n"
        code += f"{inner}g = functools.partial(g, h)\n{inner}h = functools.partial(h, g)\n"
    code += f"{inner}get_server_args().tp_size\n"
    assert judge_files({"engine/case.py": complete(code)}).symbols() == ["CB101 record.tp_size"]


def test_last_blocks_in_last_blocks(judge_files):
    code = "def f():\n    sa = get_server_args()\n"
    for depth in range(1, 41):
        space = "    " * depth
        code += f"{space}try:\n{space}    pass\n{space}finally:\n"
    code += f"{space}    sa.tp_size\n"
    assert judge_files({"engine/case.py": complete(code)}).symbols() == ["CB101 record.tp_size"]
