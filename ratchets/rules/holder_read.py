"""CB102 holder-read: a field read off an object that was handed the record."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

CODE = "CB102"
NAME = "holder-read"
MEANS = (
    "A field is read off an object that was handed the record: an attribute or parameter that is annotated as the "
    "record or named as one, or a record constructed here."
)
WHY = "A record that travels as an argument is the same global as before, only harder to find."
INSTEAD = "Take the values that are needed as arguments, or read them from the bag where they are used."

_TP = "CB102 record.tp_size"

CASES: tuple[Case, ...] = (
    case("parameter by name", """
        def f(server_args):
            return server_args.tp_size
    """, _TP),
    case("parameter by annotation", """
        def f(a: ServerArgs, b: "ServerArgs", c: Optional[ServerArgs], d: ServerArgs | None, e: "x.ServerArgs"):
            return a.a, b.b, c.c, d.d, e.e
    """, *(f"CB102 record.{name}" for name in "abcd")),
    case("annotation under TYPE_CHECKING", """
        from __future__ import annotations
        if TYPE_CHECKING:
            from engine.server_args import ServerArgs as SA
        def f(args: SA):
            return args.tp_size
    """, _TP),
    case("annotation through the module", """
        import engine.server_args as module
        def f(args: module.ServerArgs):
            return args.tp_size
    """, _TP),
    case("annotation says nothing", """
        def f(server_args: Any, *, other: object):
            return server_args.tp_size
    """, _TP),
    case("attribute of something", """
        def f(runner):
            return runner.server_args.tp_size + runner.model.server_args.dp_size
    """, _TP, "CB102 record.dp_size"),
    case("attribute of self", """
        class A:
            def __init__(self, server_args):
                self.server_args = server_args
                self.args = server_args
            def f(self):
                return self.server_args.tp_size + self.args.dp_size
    """, _TP, "CB102 record.dp_size"),
    case("alias of a holder", """
        def f(runner):
            sa = runner.server_args
            return sa.tp_size
    """, _TP),
    case("constructed here", """
        def f():
            sa = ServerArgs(model="x")
            return sa.tp_size + ServerArgs().dp_size
    """, _TP, "CB102 record.dp_size"),
    case("returned by a function that says so", """
        def load(path) -> ServerArgs:
            return parse(path)
        def f():
            return load("x").tp_size
    """, _TP),
    case("field of a dataclass", """
        @dataclasses.dataclass
        class A:
            name: str
            args: ServerArgs
            def f(self):
                return self.args.tp_size
        def g(a: A):
            return a.args.dp_size
    """, _TP, "CB102 record.dp_size"),
    case("list of records", """
        def f(all_args: list[ServerArgs]):
            return [one.tp_size for one in all_args]
    """, _TP),
    case("variable with an annotation", """
        def f(path):
            args: ServerArgs = load(path)
            return args.tp_size
    """, _TP),
    case("vars of a holder", """
        def f(server_args):
            return vars(server_args)["tp_size"], getattr(server_args, "dp_size", 1)
    """, _TP, "CB102 record.dp_size"),
    case("match of the class", """
        def f(x):
            match x:
                case ServerArgs(tp_size=n):
                    return n
    """, _TP),
    case("lambda parameter", """
        f = lambda server_args: server_args.tp_size
    """, _TP),
    case("class of the object says it is one", """
        from engine.runner import Runner
        def f(runner: Runner):
            return runner.server_args.tp_size
    """, _TP, files={"engine/runner.py": """
        from engine.server_args import ServerArgs
        class Runner:
            server_args: ServerArgs
    """, "engine/request.py": """
        class Request:
            server_args: dict
    """}),
    case("parked on an attribute of another file", """
        from engine.runner import Runner
        class Fast(Runner):
            def f(self):
                return self.cfg.tp_size
    """, _TP, files={"engine/runner.py": """
        class Runner:
            def __init__(self, server_args):
                self.cfg = server_args
    """}),
    case("class of the object says otherwise", """
        class Request:
            server_args: dict[str, object]
        def f(request: Request):
            return request.server_args.items()
    """),
    case("a class of the tree says otherwise", """
        def f(request):
            return request.server_args.items()
    """, files={"engine/request.py": """
        class Request:
            server_args: dict[str, object]
    """}),
    case("assigned something else", """
        class A:
            def __init__(self):
                self.server_args = {}
            def f(self):
                return self.server_args.items()
    """),
    case("other variables do not count by name", """
        server_args = parse()
        def f():
            server_args = load()
            return server_args.tp_size
        def g():
            return server_args.tp_size
    """),
    case("annotated as something else", """
        class Other:
            pass
        def f(server_args: dict, *, x: Other):
            return server_args.items()
        def g(server_args: Other):
            return server_args.items()
        def h(server_args: argparse.Namespace):
            return server_args.items()
    """),
    case("parameter rebound", """
        def f(server_args):
            server_args = Other(server_args)
            return server_args.width
    """),
    case("the module of that name", """
        import engine.server_args
        from engine import server_args
        def f():
            return engine.server_args.ServerArgs, server_args.ServerArgs, engine.server_args.DEFAULT
    """),
    case("names count in some folders only", """
        def f(server_args):
            return server_args.tp_size
    """, options={"holders_in": ("engine/managers",)}),
    case("names count in this folder", """
        def f(server_args):
            return server_args.tp_size
    """, _TP, path="engine/managers/case.py", options={"holders_in": ("engine/managers",)}),
    case("keyword argument of that name", """
        def f(x):
            return g(server_args=x)
    """),
)  # fmt: skip
