"""CB111 record-write: any write to the record or to what its fields hold."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

CODE = "CB111"
NAME = "record-write"
MEANS = (
    "A field of the record is written: assigned in any form, deleted, set by name, set through `__dict__` or `vars()`, "
    "or its value is changed in place."
)
WHY = "Whoever read the field before holds another truth; what was decided, and by whom, is lost."
INSTEAD = "Decide before the bag is published (a preset, an option, a rule), or open an override around the code."

_TP = "CB111 record.tp_size"


def _write(name: str, line: str, *finds: str) -> Case:
    body = "\n".join(f"    {one}" for one in line.strip().splitlines())
    return case(name, f"def f(server_args: ServerArgs, x=1, k=2, v=3):\n{body}\n", *(finds or (_TP,)))


CASES: tuple[Case, ...] = (
    _write("assignment", "server_args.tp_size = 1"),
    _write("chained assignment", "x = server_args.tp_size = y = 1"),
    _write("tuple target", "server_args.tp_size, (x, [server_args.dp_size, *server_args.pp_size]) = v",
           _TP, "CB111 record.dp_size", "CB111 record.pp_size"),
    _write("augmented", "server_args.tp_size += server_args.dp_size", _TP, "CB102 record.dp_size"),
    _write("annotated", "server_args.tp_size: int = 1"),
    _write("deleted", "del x, server_args.tp_size"),
    _write("loop target", "for server_args.tp_size in v: pass"),
    _write("with target", "with x as server_args.tp_size: pass"),
    _write("comprehension target", "[0 for server_args.tp_size in v]"),
    _write("setattr", 'setattr(server_args, "tp_size", 1)'),
    _write("setattr of a computed name", "setattr(server_args, k, 1)", "CB111 record.*"),
    _write("delattr", 'delattr(server_args, "tp_size")'),
    _write("object.__setattr__", 'object.__setattr__(server_args, "tp_size", 1)'),
    _write("type's own __setattr__", 'ServerArgs.__setattr__(server_args, "tp_size", 1)'),
    _write("type() __setattr__", 'type(server_args).__setattr__(server_args, "tp_size", 1)'),
    _write("bound __setattr__", 'server_args.__setattr__("tp_size", 1)\nserver_args.__delattr__("dp_size")',
           _TP, "CB111 record.dp_size"),
    _write("__dict__ item", 'server_args.__dict__["tp_size"] = 1'),
    _write("__dict__ computed item", "server_args.__dict__[k] = 1", "CB111 record.*"),
    _write("__dict__ whole", "server_args.__dict__ = v", "CB111 record.*"),
    _write("__dict__ update", "server_args.__dict__.update(tp_size=1, dp_size=2)", _TP, "CB111 record.dp_size"),
    _write("__dict__ update with a literal", 'server_args.__dict__.update({"tp_size": 1})'),
    _write("__dict__ update unknown", "server_args.__dict__.update(v)", "CB111 record.*"),
    _write("vars item", 'vars(server_args)["tp_size"] = 1'),
    _write("vars item, augmented", 'vars(server_args)["tp_size"] += 1'),
    _write("vars deleted", 'del vars(server_args)["tp_size"]'),
    _write("vars pop and setdefault", 'd = vars(server_args)\nd.pop("tp_size")\nd.setdefault("dp_size", 1)',
           _TP, "CB111 record.dp_size"),
    _write("vars clear", "vars(server_args).clear()", "CB111 record.*"),
    _write("operator.setitem", 'import operator\noperator.setitem(vars(server_args), "tp_size", 1)'),
    _write("item of a field", 'server_args.sizes["x"] = 1', "CB111 record.sizes"),
    _write("slice of a field", "server_args.sizes[:] = []", "CB111 record.sizes"),
    _write("item of a field, deleted", "del server_args.sizes[0]", "CB111 record.sizes"),
    _write("item of a field, augmented", "server_args.sizes[0] += 1", "CB111 record.sizes"),
    _write("attribute of a field", "server_args.graph.on = True", "CB111 record.graph"),
    _write("deep attribute of a field", "server_args.graph.a[0].b.c = True", "CB111 record.graph"),
    _write("attribute of a field by setattr", 'setattr(server_args.graph, "on", True)', "CB111 record.graph"),
    _write("attribute of a field got by name", 'getattr(server_args, "graph").on = True', "CB111 record.graph"),
    _write("field in vars", 'vars(server_args)["graph"].on = True', "CB111 record.graph"),
    _write("list methods", "\n".join(
        f"server_args.x.{name}({'' if name in ('clear', 'sort', 'reverse', 'pop') else 'v'})"
        for name in ("append", "extend", "remove", "pop", "clear", "sort", "reverse")
    ), *("CB111 record.x",) * 7),
    _write("dict methods", "\n".join(
        f"server_args.x.{name}({'' if name in ('popitem', 'clear') else 'v'})"
        for name in ("update", "setdefault", "pop", "popitem", "clear")
    ), *("CB111 record.x",) * 5),
    _write("set methods", "\n".join(
        f"server_args.x.{name}(v)"
        for name in ("add", "discard", "remove", "difference_update", "intersection_update",
                     "symmetric_difference_update")
    ), *("CB111 record.x",) * 6),
    _write("method of what a field holds", "server_args.graph.sizes['a'].append(1)", "CB111 record.graph"),
    _write("the published record", "get_server_args().tp_size = 1"),
    _write("an alias", "a = b = server_args\nb.tp_size = 1"),
    _write("a maybe", "a = server_args if x else None\na.tp_size = 1"),
    _write("nested through a shallow copy", "import copy\nc = copy.copy(server_args)\nc.graph.on = True",
           "CB111 record.graph"),
    _write("nested through a deep copy is a read", "import copy\nc = copy.deepcopy(server_args)\nc.graph.on = True",
           "CB102 record.graph"),
    _write("partial of setattr", 'import functools\nfunctools.partial(setattr, server_args)("tp_size", 1)'),
    case("on an attribute", """
        def f(runner):
            runner.server_args.tp_size = 1
            runner.server_args.stop.append("x")
    """, _TP, "CB111 record.stop"),
    case("parked in another file", """
        from engine.base import Base
        class Child(Base):
            def f(self):
                self._sa.tp_size = 1
    """, _TP, files={"engine/base.py": """
        from engine.runtime_context import get_server_args
        class Base:
            def __init__(self):
                self._sa = get_server_args()
    """}),
    case("a copy is not the record", """
        def f(server_args):
            c = copy.copy(server_args)
            c.tp_size = 1
            d = dataclasses.replace(server_args, tp_size=2)
            d.dp_size = 1
            e = dataclasses.asdict(server_args)
            e["tp_size"] = 1
    """),
    case("a replaced value is not the record's", """
        def f(server_args):
            d = dataclasses.replace(server_args, graph=new())
            d.graph.on = True
    """),
    case("the name is rebound, nothing is written", """
        def f(server_args):
            server_args = None
            server_args: int
            del server_args
    """),
    case("declared, not assigned", """
        def f(server_args: ServerArgs):
            server_args.tp_size: int
    """),
    case("other objects", """
        def f(other, rows):
            other.tp_size = 1
            setattr(other, "tp_size", 1)
            rows.append(1)
            other.args.append(2)
    """),
    case("keeping the whole record", """
        class A:
            def __init__(self, server_args):
                self.server_args = server_args
                self.rows = []
                self.rows.append(server_args)
    """),
    case("a field's value kept and changed is one read", """
        def f(server_args):
            c = server_args.graph
            c.on = True
            c.sizes.append(1)
    """, "CB102 record.graph"),
)  # fmt: skip
