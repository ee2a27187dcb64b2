"""CB103 opaque-read: fields of the record read in a way that cannot be followed."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

CODE = "CB103"
NAME = "opaque-read"
MEANS = (
    "Fields of the record are read by a computed name, all at once, or by text: a computed name in getattr, attrgetter "
    "or hasattr; vars, asdict and `__dict__` used other than by a constant key; `**` of those; eval, exec and compile "
    "of text that names an accessor; a container with a key that is not constant; a positional class pattern; an "
    "unknown context manager that was given the record."
)
WHY = "What nobody can list, nobody can move: each such read stands for every field."
INSTEAD = "Name the fields, from the bag."

_ANY = "CB103 record.*"

CASES: tuple[Case, ...] = (
    case("computed getattr", """
        def f(name):
            return getattr(get_server_args(), name)
    """, _ANY),
    case("computed in a loop", """
        FIELDS = ("tp_size", "dp_size")
        def f(server_args):
            for field in FIELDS:
                print(getattr(server_args, field))
    """, _ANY),
    case("computed hasattr and attrgetter", """
        def f(name):
            return hasattr(get_server_args(), name), operator.attrgetter(name)(get_server_args())
    """, _ANY, _ANY),
    case("f-string name", """
        def f(kind):
            return getattr(get_server_args(), f"{kind}_size")
    """, _ANY),
    case("vars used whole", """
        def f():
            print(vars(get_server_args()))
            for name, value in vars(get_server_args()).items():
                print(name)
            return vars(get_server_args())
    """, _ANY, _ANY, _ANY),
    case("computed key of vars", """
        def f(name):
            values = vars(get_server_args())
            return values[name]
    """, _ANY),
    case("asdict and __dict__ used whole", """
        def f(server_args):
            save(dataclasses.asdict(server_args))
            return {**server_args.__dict__}
    """, _ANY, _ANY),
    case("double star", """
        def f(server_args):
            return make(**vars(server_args)), dict(**dataclasses.asdict(server_args))
    """, _ANY, _ANY),
    case("eval, exec and compile", """
        CODE = "get_server_args().tp_size"
        def f():
            eval(CODE)
            exec("x = get_server_args().tp_size")
            compile("get_server_args()", "x", "eval")
    """, _ANY, _ANY, _ANY),
    case("eval of an alias", """
        from engine.runtime_context import get_server_args as g
        def f():
            return eval("g().tp_size")
    """, _ANY),
    case("container with a computed key", """
        def f(key):
            box = {"sa": get_server_args()}
            return box[key].tp_size
    """, "CB103 record.tp_size"),
    case("container filled under a computed key", """
        def f(key):
            box = {}
            box[key] = get_server_args()
            return box["sa"].tp_size
    """, "CB103 record.tp_size"),
    case("positional class pattern", """
        def f():
            match get_server_args():
                case ServerArgs(n):
                    return n
    """, _ANY),
    case("unknown context manager", """
        from somewhere import use
        def f():
            with use(get_server_args()) as sa:
                return sa.tp_size
    """, "CB103 record.tp_size"),
    case("through the object's own method", """
        def f(server_args, name):
            return server_args.__getattribute__(name)
    """, _ANY),
    case("vars by a constant key", """
        def f():
            values = vars(get_server_args())
            return values["tp_size"]
    """, "CB101 record.tp_size"),
    case("vars made and not used", """
        def f():
            values = vars(get_server_args())
    """),
    case("vars of something else", """
        def f(x, name):
            print(vars(x), getattr(x, name), eval("1 + 1"))
            return vars()
    """),
    case("text that names no accessor", """
        def f():
            return eval("my_get_server_args_count + 1")
    """),
    case("unknown context manager, not read", """
        from somewhere import use
        def f():
            with use(get_server_args()) as sa:
                run(sa)
    """),
    case("getattr of another object in a loop", """
        def f(rows, name):
            sa = get_server_args()
            log(sa)
            return [getattr(sa, name) for sa in rows]
    """),
    case("eval rebound", """
        def eval(text):
            return text
        def f():
            return eval("get_server_args().tp_size")
    """),
)  # fmt: skip
