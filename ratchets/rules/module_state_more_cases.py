"""More cases of CB121: the ways around a plain store, and what only looks like them."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

MORE: tuple[Case, ...] = (
    case("what a container holds", """
        X = {"a": {}}
        ROWS = defaultdict(list)
        PAIR = ([], {})
        def f(k, v):
            X["a"]["b"] = 1
            ROWS[k].append(v)
            X[k].on = True
            X[k][v] += 1
            del X[k][v]
            row = X.get(k)
            row.on = True
            for k, row in X.items():
                row["n"] = k
            return [part.pop() for part in PAIR]
    """, "CB121 X", "CB121 ROWS", "CB121 X", "CB121 X", "CB121 X", "CB121 X", "CB121 X", "CB121 PAIR"),
    case("copies, and what calls of items give", """
        X = {}
        ROWS = []
        def f(k):
            a = dict(X[k])
            a["b"] = 1
            b = X[k].copy()
            b["c"] = 1
            c = ROWS[0] + [1]
            c.append(2)
            made = X[k](1)
            made.on = True
            X.get(k)().rows.append(1)
            for row in [dict(one) for one in ROWS]:
                row["a"] = 1
    """),
    case("what a foreign instance gives", """
        import requests
        SESSION = requests.Session()
        def f(url):
            answer = SESSION.get(url)
            answer.encoding = "utf-8"
    """),
    case("an instance by other ways", """
        class State:
            on = False
        _state = State()
        def f(name, v):
            object.__setattr__(_state, "a", v)
            setattr(_state, name, v)
            vars(_state)["b"] = v
            _state.__dict__["c"] = v
            _state.__dict__.update(d=v)
            type(_state).on = v
            _state.__class__.on = v
    """,
        "CB121 _state",
        "CB121 _state",
        "CB121 _state",
        "CB121 _state",
        "CB121 _state",
        "CB121 _state",
        "CB121 _state"),
    case("a counter that moves on", """
        import itertools
        _numbers = itertools.count()
        def f(rows):
            next(rows)
            next(iter(rows))
            return next(_numbers)
    """, "CB121 _numbers"),
    case("a method handed on", """
        ROWS = []
        WAITING = set()
        add = ROWS.append
        def f(task, v):
            add(v)
            mine = ROWS.extend
            mine([v])
            task.add_done_callback(WAITING.discard)
            return hasattr(ROWS, "append")
    """, "CB121 ROWS", "CB121 ROWS", "CB121 WAITING"),
    case("functions that change what they are given", """
        import bisect
        import random
        from heapq import heappush as push
        X = []
        def f(v):
            push(X, v)
            bisect.insort(X, v)
            random.shuffle(X)
            list.append(X, v)
            push([], X)
            bisect.bisect(X, v)
    """, "CB121 X", "CB121 X", "CB121 X", "CB121 X"),
    case("targets of every kind", """
        X = []
        def f(v):
            for X[0] in v:
                pass
            with open(v) as X[1].file:
                pass
            (X[0], *rest), X[1].y = v
            del X[1:]
        def g(v):
            X += [v]
    """, "CB121 X", "CB121 X", "CB121 X", "CB121 X", "CB121 X"),
    case("another module's state by other names", """
        import sys
        from engine import state as s
        from engine.api import table, Flags
        def f(name, v):
            table["a"]["b"] = v
            Flags.Inner.x = v
            s.fresh = v
            setattr(s, name, v)
            vars(s)["counter"] = v
            sys.modules["engine.state"].counter = v
            from engine.state import ROWS
            ROWS[0].append(v)
    """,
        "CB121 engine.state.CACHE",
        "CB121 engine.state.Flags.Inner.x",
        "CB121 engine.state.fresh",
        "CB121 engine.state.*",
        "CB121 engine.state.counter",
        "CB121 engine.state.counter",
        "CB121 engine.state.ROWS",
        files={"engine/state.py": """
            CACHE = {}
            counter = 0
            ROWS = []
            class Flags:
                on = False
                class Inner:
                    x = 1
            state = Flags()
        """, "engine/api.py": """
            from engine.state import *
            from engine.state import CACHE as table
        """}),
    case("the module itself by other names", """
        import sys
        def f(v):
            sys.modules[__name__].a = v
            setattr(sys.modules[__name__], "b", v)
            names = globals()
            names["c"] = v
            sys.modules["other"] = v
    """, "CB121 a", "CB121 b", "CB121 c"),
    case("a class from within", """
        import threading
        class A:
            rows = []
            lock = None
            def f(self):
                type(self).count = 1
                A.rows[0].append(1)
                setattr(A, "count", 2)
            @classmethod
            def g(cls):
                cls.rows.append(1)
        def h():
            A.lock = threading.Lock()
    """),
    case("functions handed to a cache", """
        import os
        from functools import cache, lru_cache
        def _read():
            return os.environ["X"]
        read = cache(_read)
        level = lru_cache(maxsize=None)(lambda: os.getenv("Y"))
        double = cache(lambda x: 2 * x)
        class A:
            @functools.lru_cache
            def f(self):
                return get_server_args().tp_size
            @functools.cached_property
            def g(self):
                return get_server_args().tp_size
    """, "CB121 _read", "CB121 level", "CB121 f"),
    case("registration as classes are made", """
        REGISTRY = {}
        class Base:
            def __init_subclass__(cls):
                REGISTRY[cls.__name__] = cls
        class Meta(type):
            def __new__(meta, name, bases, held):
                made = super().__new__(meta, name, bases, held)
                REGISTRY[name] = made
                return made
        class A(Base):
            pass
        class B(metaclass=Meta):
            pass
    """),
    case("classes made while the engine runs are state", """
        REGISTRY = {}
        class Base:
            def __init_subclass__(cls):
                REGISTRY[cls.__name__] = cls
        def f():
            class A(Base):
                pass
            return A
    """, "CB121 REGISTRY"),
    case("registration by a class", """
        REGISTRY = {}
        class register:
            def __init__(self, name):
                self.name = name
            def __call__(self, function):
                REGISTRY[self.name] = function
                return function
        @register("a")
        def a():
            return 1
    """),
    case("a class that wraps is called while the engine runs", """
        CALLS = {}
        class counted:
            def __init__(self, function):
                self.function = function
            def __call__(self):
                CALLS[self.function] = 1
        @counted
        def a():
            return 1
    """, "CB121 CALLS"),
    case("what stands in for an import", """
        import importlib
        def load():
            global kernel, run, has
            try:
                from engine.x import kernel
                has = True
            except ImportError:
                kernel = None
            run = importlib.import_module("engine.x").run
    """, "CB121 has"),
    case("what a module's __getattr__ loads", """
        _loaded = {}
        def __getattr__(name):
            return _load(name)
        def _load(name):
            _loaded[name] = value = object()
            globals()[name] = value
            return value
    """),
    case("the environment and foreign modules are not ours", """
        import logging
        import os
        import torch
        environ = os.environ
        def f(v, monkeypatch):
            os.environ["A"] = v
            environ.pop("A")
            torch.backends.cuda.matmul.allow_tf32 = v
            logging.root.handlers.clear()
            monkeypatch.setattr(logging, "root", v)
    """),
)  # fmt: skip
