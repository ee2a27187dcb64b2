"""Cases of CB101: records in containers, captures and context managers."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

_TP = "CB101 record.tp_size"

CASES: tuple[Case, ...] = (
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
)  # fmt: skip
