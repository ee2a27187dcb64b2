"""CB101 record-read: a field read off the published record, through any alias."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

CODE = "CB101"
NAME = "record-read"
MEANS = "A field is read off the published start-up record, through whatever alias it was reached."
WHY = (
    "Whoever reads the record decides for itself what a setting means: overrides, resolved values and provenance are "
    "lost, and the field can never be renamed or split."
)
INSTEAD = "Read the setting from the bag: `get_exec().deterministic` instead of `get_server_args().enable_…`."

_TP = "CB101 record.tp_size"

CASES: tuple[Case, ...] = (
    case("direct", """
        def f():
            return get_server_args().tp_size
    """, _TP),
    case("alias", """
        def f():
            sa = get_server_args()
            return sa.tp_size + sa.dp_size
    """, _TP, "CB101 record.dp_size"),
    case("method and property count as fields", """
        def f():
            return get_server_args().get_model_config()
    """, "CB101 record.get_model_config"),
    case("async", """
        async def f():
            sa = get_server_args()
            async with lock:
                async for row in rows:
                    await send(sa.tp_size)
    """, _TP),
    case("walrus in a comprehension binds in the function", """
        def f(rows):
            found = [row for row in rows if (sa := get_server_args())]
            return sa.tp_size
    """, _TP),
    case("accessor passed through partial", """
        def f():
            return functools.partial(get_server_args)().tp_size
    """, _TP),
    case("getattr through partial", """
        def f():
            read = functools.partial(getattr, get_server_args())
            return read("tp_size")
    """, _TP),
    case("cached helper", """
        @functools.lru_cache(maxsize=None)
        def _args():
            return get_server_args()
        def f():
            return _args().tp_size
    """, _TP),
    case("helper of a helper", """
        def _one():
            return get_server_args()
        def _two():
            return _one()
        def _three():
            return _two()
        def f():
            return _three().tp_size
    """, _TP),
    case("property", """
        class A:
            @property
            def args(self):
                return get_server_args()
            def f(self):
                return self.args.tp_size
    """, _TP),
    case("cached_property", """
        class A:
            @functools.cached_property
            def args(self):
                return get_server_args()
        def f():
            return A().args.tp_size
    """, _TP),
    case("property built by a call", """
        class A:
            args = property(lambda self: get_server_args())
            def f(self):
                return self.args.tp_size
    """, _TP),
    case("static and class methods", """
        class A:
            @staticmethod
            def one():
                return get_server_args()
            @classmethod
            def two(cls):
                return cls.one()
            def f(self):
                return self.one().tp_size + A.two().dp_size
    """, _TP, "CB101 record.dp_size"),
    case("accessor kept on a class", """
        class A:
            fetch = staticmethod(get_server_args)
            def f(self):
                return self.fetch().tp_size
    """, _TP),
    case("super gives what the parent keeps", """
        class A:
            def args(self):
                return get_server_args()
        class B(A):
            def args(self):
                return super().args()
            def f(self):
                return self.args().tp_size
    """, _TP),
    case("mixin reads what the subclass parks", """
        class Mixin:
            def f(self):
                return self._sa.tp_size
        class A(Mixin):
            def __init__(self):
                self._sa = get_server_args()
    """, _TP),
    case("closure", """
        def f():
            sa = get_server_args()
            def g():
                return sa.tp_size
            return g
    """, _TP),
    case("closure bound later and nonlocal", """
        def f():
            sa = None
            def fill():
                nonlocal sa
                sa = get_server_args()
            def read():
                return sa.tp_size
            return fill, read
    """, _TP),
    case("global store", """
        _SA = None
        def init():
            global _SA
            _SA = get_server_args()
        def f():
            return _SA.tp_size
    """, _TP),
    case("lambda by name", """
        read = lambda sa: sa.tp_size
        def f():
            return read(get_server_args())
    """, _TP),
    case("lambda without parameters", """
        _sa = lambda: get_server_args()
        def f():
            return _sa().tp_size
    """, _TP),
    case("map over records", """
        def f():
            return list(map(lambda sa: sa.tp_size, [get_server_args()]))
    """, _TP),
    case("attrgetter by name and with dots", """
        _read = operator.attrgetter("tp_size", "cfg.dp_size")
        def f():
            return _read(get_server_args())
    """, "CB101 record.cfg", _TP),
    case("methodcaller", """
        def f():
            return operator.methodcaller("get_model_config")(get_server_args())
    """, "CB101 record.get_model_config"),
    case("itemgetter of vars", """
        def f():
            return operator.itemgetter("tp_size")(vars(get_server_args()))
    """, _TP),
    case("dict of the record", """
        def f():
            return get_server_args().__dict__["tp_size"]
    """, _TP),
    case("vars by name and get", """
        def f():
            values = vars(get_server_args())
            return values["tp_size"] + values.get("dp_size", 1)
    """, _TP, "CB101 record.dp_size"),
    case("membership in vars", """
        def f():
            return "tp_size" in vars(get_server_args())
    """, _TP),
    case("asdict", """
        def f():
            return dataclasses.asdict(get_server_args())["tp_size"]
    """, _TP),
    case("copy carries reads", """
        def f():
            return copy.copy(get_server_args()).tp_size + copy.deepcopy(get_server_args()).dp_size
    """, _TP, "CB101 record.dp_size"),
    case("replace carries reads of the rest", """
        def f():
            new = dataclasses.replace(get_server_args(), dp_size=2)
            return new.tp_size + new.dp_size
    """, _TP),
    case("cast by name", """
        import typing as t
        def f():
            sa = t.cast(object, get_server_args())
            return sa.tp_size
    """, _TP),
    case("getattr with a default and a constant built in place", """
        PREFIX = "tp_"
        def f():
            return getattr(get_server_args(), PREFIX + "size", None)
    """, _TP),
    case("constant on a class", """
        class Names:
            TP = "tp_size"
        def f():
            return getattr(get_server_args(), Names.TP)
    """, _TP),
    case("globals by text", """
        _sa = get_server_args()
        def f():
            return globals()["_sa"].tp_size
    """, _TP),
    case("sys.modules by text", """
        def f():
            return sys.modules["engine.runtime_context"].get_server_args().tp_size
    """, _TP),
    case("import_module with a constant", """
        def f():
            rc = importlib.import_module("engine.runtime_context")
            return rc.get_server_args().tp_size
    """, _TP),
    case("import_module, relative", """
        def f():
            rc = importlib.import_module(".runtime_context", __package__)
            return rc.get_server_args().tp_size
    """, _TP),
    case("import of a dotted module", """
        import engine.runtime_context
        def f():
            return engine.runtime_context.get_server_args().tp_size
    """, _TP),
    case("import of a dotted module under a name", """
        import engine.runtime_context as rc
        def f():
            return rc.get_server_args().tp_size
    """, _TP),
    case("relative imports", """
        from . import runtime_context
        from .runtime_context import get_server_args as g
        from ..engine.runtime_context import get_server_args as h
        def f():
            return runtime_context.get_server_args().a + g().b
    """, "CB101 record.a", "CB101 record.b"),
    case("relative import in a subpackage", """
        from ...runtime_context import get_server_args as g
        def f():
            return g().tp_size
    """, _TP, path="engine/a/b/case.py"),
    case("relative import in __init__", """
        from .runtime_context import get_server_args as g
        def f():
            return g().tp_size
    """, _TP, path="engine/__init__.py"),
    case("import under TYPE_CHECKING and in the function", """
        if TYPE_CHECKING:
            from engine.runtime_context import get_server_args
        def f():
            from engine.runtime_context import get_server_args
            return get_server_args().tp_size
    """, _TP),
    case("conditional import", """
        try:
            from engine.runtime_context import get_server_args as g
        except ImportError:
            g = None
        def f():
            return g().tp_size
    """, _TP),
    case("declared before it is imported", """
        g = None
        from engine.runtime_context import get_server_args as g
        def f():
            return g().tp_size
    """, _TP),
    case("star import", """
        from engine.runtime_context import *
        def f():
            return get_server_args().tp_size
    """, _TP),
    case("star import of a re-export", """
        from engine.api import *
        def f():
            return current_args().tp_size
    """, _TP, files={"engine/api.py": """
        from engine.runtime_context import get_server_args as current_args
    """}),
    case("re-exported and renamed twice", """
        from engine.api import args_of_engine
        def f():
            return args_of_engine().tp_size
    """, _TP, files={
        "engine/api/__init__.py": "from .inner import fetch as args_of_engine\n",
        "engine/api/inner.py": "from ..runtime_context import get_server_args as fetch\n",
    }),
    case("helper in another module", """
        from engine.helpers import current
        def f():
            return current().tp_size
    """, _TP, files={"engine/helpers.py": """
        from engine.runtime_context import get_server_args
        def current():
            return get_server_args()
    """}),
    case("record kept in another module", """
        from engine import state
        def f():
            return state.CURRENT.tp_size
    """, _TP, files={"engine/state.py": """
        from engine.runtime_context import get_server_args
        CURRENT = get_server_args()
    """}),
    case("record put into another module", """
        from engine import state
        def f():
            return state.current.tp_size
    """, _TP, files={"engine/start.py": """
        from engine import state
        from engine.runtime_context import get_server_args
        def start():
            state.current = get_server_args()
    """, "engine/state.py": "current = None\n"}),
    case("parked in a base class of another file", """
        from engine.base import Base
        class Child(Base):
            def f(self):
                return self._sa.tp_size
    """, _TP, files={"engine/base.py": """
        from engine.runtime_context import get_server_args
        class Base:
            def __init__(self):
                self._sa = get_server_args()
    """}),
    case("parked two classes and files away", """
        from engine.middle import Middle
        class Child(Middle):
            def f(self):
                return self._sa.tp_size
    """, _TP, files={"engine/base.py": """
        from engine.runtime_context import get_server_args
        class Base:
            def __init__(self):
                self._sa = get_server_args()
    """, "engine/middle.py": """
        from engine import base as b
        class Middle(b.Base):
            pass
    """}),
    case("object of a class in another file", """
        from engine.base import Base
        def f(thing: Base):
            return thing._sa.tp_size
    """, _TP, files={"engine/base.py": """
        from engine.runtime_context import get_server_args
        class Base:
            def __init__(self):
                self._sa = get_server_args()
    """}),
    case("singleton in another file", """
        from engine.base import STATE
        def f():
            return STATE.sa.tp_size
    """, _TP, files={"engine/base.py": """
        from engine.runtime_context import get_server_args
        class State:
            @property
            def sa(self):
                return get_server_args()
        STATE = State()
    """}),
    case("path accessor", """
        def f():
            context = get_context()
            return context.record.tp_size + get_context().record.dp_size
    """, _TP, "CB101 record.dp_size", options={"accessors": ("engine.runtime_context.get_context().record",)}),
    case("match capture", """
        def f():
            match get_server_args():
                case sa:
                    return sa.tp_size
    """, _TP),
    case("match class, as and or", """
        def f():
            match get_server_args():
                case ServerArgs(tp_size=1) | ServerArgs(dp_size=2) as sa:
                    return sa.pp_size
    """, _TP, "CB101 record.dp_size", "CB101 record.pp_size"),
    case("match mapping and sequence", """
        def f():
            match {"sa": get_server_args()}:
                case {"sa": sa}:
                    print(sa.tp_size)
            match [get_server_args(), 1]:
                case [sa, *_]:
                    print(sa.dp_size)
    """, _TP, "CB101 record.dp_size"),
    case("containers", """
        def f():
            box = {"a": [get_server_args(), 1], "b": 2}
            pair = (1, get_server_args())
            _, last = pair
            return box["a"][0].tp_size + pair[1].dp_size + last.pp_size + pair[-1].ep_size
    """, _TP, "CB101 record.dp_size", "CB101 record.pp_size", "CB101 record.ep_size"),
    case("container filled later", """
        def f():
            box = {}
            box["sa"] = get_server_args()
            rows = []
            rows.append(get_server_args())
            for row in rows:
                print(row.tp_size)
            return box["sa"].dp_size + box.get("sa").pp_size
    """, _TP, "CB101 record.dp_size", "CB101 record.pp_size"),
    case("container on self", """
        class A:
            def __init__(self):
                self.box = {}
                self.box["sa"] = get_server_args()
            def f(self):
                return self.box["sa"].tp_size
    """, _TP),
    case("keyword container", """
        def f():
            box = dict(sa=get_server_args())
            for name, sa in box.items():
                print(sa.tp_size)
            for sa in box.values():
                print(sa.dp_size)
    """, _TP, "CB101 record.dp_size"),
    case("enumerate, zip and unpacking in a loop", """
        def f(names):
            for index, sa in enumerate([get_server_args()]):
                print(sa.tp_size)
            for name, sa in zip(names, [get_server_args()]):
                print(sa.dp_size)
    """, _TP, "CB101 record.dp_size"),
    case("generator", """
        def records():
            yield get_server_args()
        def f():
            for sa in records():
                print(sa.tp_size)
            return next(records()).dp_size
    """, _TP, "CB101 record.dp_size"),
    case("context manager of our own", """
        @contextlib.contextmanager
        def use():
            yield get_server_args()
        def f():
            with use() as sa:
                return sa.tp_size
    """, _TP),
    case("context manager class", """
        class Use:
            def __enter__(self):
                return get_server_args()
            def __exit__(self, *_):
                pass
        def f():
            with Use() as sa:
                return sa.tp_size
    """, _TP),
    case("nullcontext", """
        def f():
            with contextlib.nullcontext(get_server_args()) as sa:
                return sa.tp_size
    """, _TP),
    case("identity function", """
        def same(x):
            return x
        def f():
            return same(get_server_args()).tp_size
    """, _TP),
    case("starred arguments", """
        def f():
            return (lambda a, sa: sa.tp_size)(*[1, get_server_args()])
    """, _TP),
    case("decorated by something unknown", """
        @torch.no_grad()
        def _args():
            return get_server_args()
        def f():
            return _args().tp_size
    """, _TP),
    case("in decorators, defaults, class bodies and f-strings", """
        @mark(get_server_args().a)
        def f(x=get_server_args().b, *, y=get_server_args().c):
            return f"{get_server_args().d!r:>{get_server_args().e}}"
        class A:
            z = get_server_args().g
    """, *(f"CB101 record.{name}" for name in "abcdeg")),
    case("branches join", """
        def f(flag, other):
            if flag:
                sa = get_server_args()
            else:
                sa = other
            return sa.tp_size
    """, _TP),
    case("try and finally", """
        def f():
            sa = None
            try:
                sa = get_server_args()
                risky()
            except ValueError:
                return sa.a
            else:
                print(sa.b)
            finally:
                print(sa.c)
    """, "CB101 record.a", "CB101 record.b", "CB101 record.c"),
    case("while with break", """
        def f():
            while True:
                sa = get_server_args()
                if ready():
                    break
            return sa.tp_size
    """, _TP),
    case("loop inside a loop", """
        def f(xs, ys):
            sa = None
            for x in xs:
                for y in ys:
                    use(sa.tp_size if sa else 0)
                sa = get_server_args()
    """, _TP),
    case("an alias of a field's value is one read", """
        def f():
            c = get_server_args().graph
            c.on = True
            c.sizes.append(1)
    """, "CB101 record.graph"),
    case("redefined", """
        def helper():
            return 1
        def helper():
            return get_server_args()
        def f():
            return helper().tp_size
    """, _TP),
    case("attribute of an attribute", """
        class A:
            def __init__(self, runner):
                runner.inner.sa = get_server_args()
            def f(self, runner):
                return runner.inner.sa.tp_size
    """, _TP),
    case("setattr parks by name", """
        class A:
            def __init__(self):
                setattr(self, "_sa", get_server_args())
            def f(self):
                return getattr(self, "_sa").tp_size
    """, _TP),
    case("every read of one line", """
        def f(): return get_server_args().a, get_server_args().b
    """, "CB101 record.a", "CB101 record.b"),
    case("call over lines", """
        def f():
            return (
                get_server_args(
                )
                .tp_size
            )
    """, _TP),
    case("rebound on the way", """
        def f(other):
            sa = get_server_args()
            log(sa)
            sa = other
            return sa.tp_size
    """),
    case("rebound in every branch", """
        def f(flag, a, b):
            sa = get_server_args()
            log(sa)
            if flag:
                sa = a
            else:
                sa = b
            return sa.tp_size
    """),
    case("deleted and bound again", """
        def f(other):
            sa = get_server_args()
            log(sa)
            del sa
            sa = other
            return sa.tp_size
    """),
    case("shadowed by a parameter, a loop, a with and an except", """
        def f(rows, sa):
            return sa.width
        sa = get_server_args()
        def g(rows):
            for sa in rows:
                print(sa.width)
            with open("x") as sa:
                print(sa.name)
            try:
                pass
            except ValueError as sa:
                print(sa.args)
    """),
    case("name of a class body is not seen from its methods", """
        class A:
            sa = get_server_args()
            def f(self, sa):
                return sa.width
    """),
    case("accessor rebound", """
        from engine.runtime_context import get_server_args as g
        def g():
            return 1
        def f():
            return g().real
    """),
    case("same name elsewhere", """
        from other.runtime_context import get_server_args
        def f():
            return get_server_args().tp_size
    """),
    case("the whole record is no read", """
        def f():
            sa = get_server_args()
            print(sa)
            store(sa, again=[sa])
            return sa
    """),
    case("dunders are no fields", """
        def f():
            sa = get_server_args()
            return sa.__class__.__name__ + str(sa.__doc__) + repr(sa)
    """),
    case("text and comments", '''
        """get_server_args().tp_size"""
        # get_server_args().tp_size
        TEXT = "get_server_args().tp_size"
    '''),
    case("annotations are not evaluated", """
        from __future__ import annotations
        def f(x: get_server_args().tp_size) -> "get_server_args().tp_size":
            y: get_server_args().tp_size
            return x
    """),
    case("cleared by the last assignment of every method", """
        class A:
            def start(self):
                self.sa = get_server_args()
                log(self.sa)
                self.sa = None
            def f(self):
                return self.sa.tp_size
    """),
    case("another class with the same attribute", """
        class A:
            def __init__(self):
                self.sa = get_server_args()
        class B:
            def __init__(self, spec):
                self.sa = spec
            def f(self):
                return self.sa.width
    """),
    case("replaced field of a copy", """
        def f():
            return dataclasses.replace(get_server_args(), tp_size=2).tp_size
    """),
    case("another key of a container", """
        def f(other):
            box = {"sa": get_server_args(), "other": other}
            log(box)
            return box["other"].width
    """),
    case("code that is not reached", """
        def f():
            return 1
            return get_server_args().tp_size
    """),
    case("an owner may read it", """
        def f():
            return get_server_args().tp_size
    """, path="engine/arg_groups/case.py", options={"owners": ("engine/arg_groups/",)}),
    case("an owner is matched by components", """
        def f():
            return get_server_args().tp_size
    """, _TP, path="engine/arg_groups_x.py", options={"owners": ("engine/arg_groups",)}),
)  # fmt: skip
