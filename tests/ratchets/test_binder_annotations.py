"""What annotations, aliases of types and isinstance say of a value, and where they say nothing."""

from __future__ import annotations

import pytest

from confbag.ratchets.rules.case import complete

SHAPES = [
    (
        "typeddict",
        """\
from typing import TypedDict
class P(TypedDict):
    cfg: ServerArgs
def f(p: P):
    return p["cfg"].tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "callable annotation",
        """\
from typing import Callable
def f(get: Callable[[], ServerArgs]):
    return get().tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "awaitable annotation",
        """\
from typing import Awaitable
async def f(got: Awaitable[ServerArgs]):
    return (await got).tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "cast unknown to type",
        """\
def f(x):
    return cast(ServerArgs, x).tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "cast unknown to str type",
        """\
def f(x):
    return cast("ServerArgs", x).tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "assert isinstance narrow",
        """\
def f(x):
    assert isinstance(x, ServerArgs)
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "if isinstance narrow",
        """\
def f(x):
    if isinstance(x, ServerArgs):
        return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "type alias optional file",
        """\
from engine.api import MaybeArgs
def f(x: MaybeArgs):
    return x.tp_size
""",
        {
            "engine/api.py": """\
from typing import Optional
from engine.server_args import ServerArgs
MaybeArgs = Optional[ServerArgs]
"""
        },
        ("CB102 record.tp_size",),
    ),
    (
        "ann typealias",
        """\
from typing import TypeAlias
Args: TypeAlias = "ServerArgs"
def f(x: Args):
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "ann type statement",
        """\
type Args = ServerArgs
def f(x: Args):
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "ann type statement optional",
        """\
type Args = ServerArgs | None
def f(x: Args):
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "ann typevar bound",
        """\
from typing import TypeVar
T = TypeVar("T", bound=ServerArgs)
def f(x: T):
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "ann typevar bound str",
        """\
from typing import TypeVar
T = TypeVar("T", bound="ServerArgs")
def f(x: T):
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "ann pep695 bound",
        """\
def f[T: ServerArgs](x: T):
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "ann newtype",
        """\
from typing import NewType
Args = NewType("Args", ServerArgs)
def f(x: Args):
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "ann newtype call",
        """\
from typing import NewType
Args = NewType("Args", ServerArgs)
def f():
    return Args(get_server_args()).tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "ann local var only",
        """\
def f(load):
    x: ServerArgs
    x = load()
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "ann subclass of record",
        """\
class MyArgs(ServerArgs):
    pass
def f(x: MyArgs):
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "ann subclass construct",
        """\
class MyArgs(ServerArgs):
    pass
def f():
    return MyArgs().tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance tuple",
        """\
def f(x):
    if isinstance(x, (dict, ServerArgs)):
        return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance excludes record",
        """\
def f(server_args):
    if isinstance(server_args, dict):
        return server_args.items()
""",
        {},
        (),
    ),
    (
        "l record spec type subclass file",
        """\
from engine.p import MyArgs
def f(a: MyArgs):
    return a.tp_size
""",
        {
            "engine/p.py": """\
from engine.server_args import ServerArgs
class MyArgs(ServerArgs):
    pass
"""
        },
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance then joined",
        """\
def f(x):
    if isinstance(x, ServerArgs):
        log(x)
    return x.width
""",
        {},
        (),
    ),
    (
        "isinstance not return",
        """\
def f(x):
    if not isinstance(x, ServerArgs):
        return 1
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance else other",
        """\
def f(server_args):
    if isinstance(server_args, ServerArgs):
        return 1
    return server_args.items()
""",
        {},
        (),
    ),
    (
        "isinstance convert",
        """\
def f(server_args):
    if isinstance(server_args, dict):
        server_args = ServerArgs(**server_args)
    return server_args.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance handed",
        """\
def h(c):
    if isinstance(c, ServerArgs):
        return c.tp_size
    return 0
def f():
    return h(get_server_args())
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance and",
        """\
def f(x):
    return isinstance(x, ServerArgs) and x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance ifexp",
        """\
def f(x):
    return x.tp_size if isinstance(x, ServerArgs) else 0
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance ifexp else",
        """\
def f(x):
    return 0 if isinstance(x, ServerArgs) else x.width
""",
        {},
        (),
    ),
    (
        "isinstance comp",
        """\
def f(xs):
    return [x.tp_size for x in xs if isinstance(x, ServerArgs)]
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance other class keeps",
        """\
class Base:
    pass
def f(server_args):
    if isinstance(server_args, Base):
        return server_args.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "isinstance known record",
        """\
def f():
    sa = get_server_args()
    assert isinstance(sa, ServerArgs)
    return sa.tp_size
""",
        {},
        ("CB101 record.tp_size",),
    ),
    (
        "isinstance while",
        """\
def f(x):
    while isinstance(x, ServerArgs):
        x = x.parent
    return x.width
""",
        {},
        ("CB102 record.parent",),
    ),
    (
        "declared none",
        """\
def f(load):
    x: ServerArgs
    x = None
    log(x)
    return x.width
""",
        {},
        (),
    ),
    (
        "declared other",
        """\
def f(load):
    x: ServerArgs
    x = {}
    return x.items()
""",
        {},
        (),
    ),
    (
        "declared for",
        """\
def f(xs):
    x: ServerArgs
    for x in xs:
        return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "alias union",
        """\
from typing import Union
Either = Union[ServerArgs, dict]
def f(x: Either):
    return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "alias list",
        """\
Many = list[ServerArgs]
def f(xs: Many):
    for x in xs:
        return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "alias other",
        """\
from typing import Optional
Maybe = Optional[dict]
def f(server_args: Maybe):
    return server_args.items(), get_server_args()
""",
        {},
        (),
    ),
    (
        "typevar unbound",
        """\
from typing import TypeVar
T = TypeVar('T')
def f(x: T):
    return x.width, get_server_args()
""",
        {},
        (),
    ),
    (
        "callable other",
        """\
from typing import Callable
def f(get: Callable[[ServerArgs], int]):
    return get(get_server_args()).width
""",
        {},
        (),
    ),
    (
        "callable attr",
        """\
from typing import Callable
def f(get: Callable[[], ServerArgs]):
    return get.__name__
""",
        {},
        (),
    ),
    (
        "subclass self",
        """\
class MyArgs(ServerArgs):
    def f(self):
        return self.width, get_server_args()
""",
        {},
        (),
    ),
    (
        "subclass isinstance",
        """\
class MyArgs(ServerArgs):
    pass
def f(x):
    if isinstance(x, MyArgs):
        return x.tp_size
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "global alias typed",
        """\
def f(x: 'Args'):
    return x.tp_size
Args = ServerArgs
""",
        {},
        ("CB102 record.tp_size",),
    ),
    (
        "typeddict other",
        """\
from typing import TypedDict
class P(TypedDict):
    cfg: ServerArgs
    n: dict
def f(p: P):
    return p['n'].items(), get_server_args()
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
