"""Cases of CB101: what is no read of the record."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

_TP = "CB101 record.tp_size"

CASES: tuple[Case, ...] = (
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
