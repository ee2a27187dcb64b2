"""Cases of CB101: fields and modules that are named by a text."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

_TP = "CB101 record.tp_size"

CASES: tuple[Case, ...] = (
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
)  # fmt: skip
