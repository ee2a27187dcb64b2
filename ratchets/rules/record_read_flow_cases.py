"""Cases of CB101: reads in branches, loops and statements of every form."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

_TP = "CB101 record.tp_size"

CASES: tuple[Case, ...] = (
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
)  # fmt: skip
