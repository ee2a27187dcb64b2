"""CB105 presence-probe: the record fetched only to see whether one is published."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

CODE = "CB105"
NAME = "presence-probe"
MEANS = "The record is fetched in a test only to see whether one is published."
WHY = "An accessor that raises or returns None as a signal makes start-up order a matter of luck."
INSTEAD = "Ask `is_published()`."

_P = "CB105 record"

CASES: tuple[Case, ...] = (
    case("if", """
        def f():
            if get_server_args():
                return 1
    """, _P),
    case("is None and is not None", """
        def f():
            if get_server_args() is None:
                return 1
            while get_server_args() is not None:
                return 2
    """, _P, _P),
    case("not, and, ternary, assert", """
        def f(x):
            a = 1 if get_server_args() else 2
            if not get_server_args() or x:
                return a
            assert get_server_args()
            return get_server_args() is not None and x
    """, _P, _P, _P, _P),
    case("comprehension condition", """
        def f(xs):
            return [x for x in xs if get_server_args() is not None]
    """, _P),
    case("kept in a name that is only tested", """
        def f(x):
            sa = get_server_args()
            if sa and x:
                return 1
            return 2 if sa is not None else 3
        def g():
            args = get_server_args()
            if args is None:
                return None
            return [1 for _ in x if not args]
    """, _P, _P),
    case("kept in a name and used", """
        def f():
            sa = get_server_args()
            if sa is None:
                return None
            run(sa)
        def g():
            sa = get_server_args()
            return sa and 1 or sa
        def h():
            sa = get_server_args()
    """),
    case("fetched to be used", """
        def f(default):
            sa = get_server_args() or default
            if (other := get_server_args()) is not None:
                run(other)
            return sa
    """),
    case("a field in the test", """
        def f():
            if get_server_args().tp_size:
                return 1
    """, "CB101 record.tp_size"),
    case("another function of that name", """
        class A:
            def f(self):
                if self.get_server_args():
                    return 1
    """),
)  # fmt: skip
