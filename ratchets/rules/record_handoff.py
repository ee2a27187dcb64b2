"""CB104 record-handoff: the whole record passed to a function that reads fields of it."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

CODE = "CB104"
NAME = "record-handoff"
MEANS = (
    "The whole record is passed to a function of the tree that reads fields of it. Found at the call, not in its body."
)
WHY = "The function's signature hides what it depends on; every caller must have the record at hand."
INSTEAD = "Pass the values that the function reads."

CASES: tuple[Case, ...] = (
    case("function", """
        def helper(cfg):
            return cfg.tp_size + cfg.dp_size
        def f():
            return helper(get_server_args())
    """, "CB104 record->helper(dp_size,tp_size)"),
    case("keyword and second parameter", """
        def helper(x, cfg):
            return cfg.tp_size
        def f():
            return helper(1, get_server_args()) + helper(cfg=get_server_args(), x=1)
    """, "CB104 record->helper(tp_size)", "CB104 record->helper(tp_size)"),
    case("method", """
        class A:
            def helper(self, cfg):
                return cfg.tp_size
            def f(self):
                return self.helper(get_server_args())
    """, "CB104 record->A.helper(tp_size)"),
    case("constructor that keeps it", """
        class A:
            def __init__(self, cfg):
                self.cfg = cfg
            def f(self):
                return self.cfg.tp_size
        def make():
            return A(get_server_args())
    """, "CB104 record->A(tp_size)"),
    case("handed on", """
        def inner(c):
            return c.tp_size
        def outer(cfg):
            return inner(cfg)
        def f():
            return outer(get_server_args())
    """, "CB104 record->outer(tp_size)"),
    case("recursive", """
        def walk(cfg, n):
            return cfg.tp_size if n else walk(cfg, n - 1)
        def f():
            return walk(get_server_args(), 3)
    """, "CB104 record->walk(tp_size)"),
    case("partial", """
        def helper(cfg):
            return cfg.tp_size
        def f():
            return functools.partial(helper, get_server_args())()
    """, "CB104 record->helper(tp_size)"),
    case("in another module", """
        from engine.helpers import helper
        def f():
            return helper(get_server_args())
    """, "CB104 record->helper(tp_size)", files={"engine/helpers.py": """
        def helper(cfg):
            return cfg.tp_size
    """}),
    case("class in another module, through a re-export", """
        from engine.api import Thing
        def f():
            return Thing(get_server_args())
    """, "CB104 record->Thing(tp_size)", files={"engine/api.py": "from engine.things import Thing\n",
        "engine/things.py": """
        class Thing:
            def __init__(self, cfg):
                self.size = cfg.tp_size
    """}),
    case("method of a class in another module, that its parent has", """
        from engine.child import Child
        def f():
            Child().go(get_server_args())
    """, "CB104 record->Base.go(tp_size)", files={"engine/child.py": """
        from engine.base import Base
        class Child(Base):
            pass
    """, "engine/base.py": """
        class Base:
            def go(self, cfg):
                return cfg.tp_size
    """}),
    case("starred parameters, handed on", """
        class Base:
            def __init__(self, cfg, size=None):
                self.size = size or cfg.tp_size
        class Child(Base):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
        def f():
            return Child(get_server_args(), size=1)
    """, "CB104 record->Child(tp_size)"),
    case("target of a process", """
        import multiprocessing
        def work(cfg, rank):
            return cfg.tp_size
        def f():
            multiprocessing.Process(target=work, args=(get_server_args(), 0)).start()
    """, "CB104 record->work(tp_size)"),
    case("submitted to a pool", """
        def work(cfg):
            return cfg.tp_size
        def f(pool):
            pool.submit(work, get_server_args())
    """, "CB104 record->work(tp_size)"),
    case("a holder is handed on", """
        def helper(cfg):
            return cfg.tp_size
        def f(server_args):
            return helper(server_args)
    """, "CB104 record->helper(tp_size)"),
    case("the parameter is a holder by itself", """
        def helper(server_args):
            return server_args.tp_size
        def f():
            return helper(get_server_args())
    """, "CB102 record.tp_size"),
    case("reads nothing of it", """
        def helper(cfg):
            return str(cfg)
        def f():
            return helper(get_server_args())
    """),
    case("unknown function", """
        from somewhere import helper
        def f():
            return helper(get_server_args())
    """),
    case("another argument is read", """
        def helper(cfg, other):
            return other.tp_size
        def f(x):
            return helper(get_server_args(), x)
    """),
)  # fmt: skip
