"""Cases of CB101: the record through aliases, functions and classes of one module."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

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
)  # fmt: skip
