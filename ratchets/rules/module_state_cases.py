"""The cases of CB121."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case
from confbag.ratchets.rules.module_state_more_cases import MORE

CASES: tuple[Case, ...] = (
    case("a global store", """
        _runner = None
        def start(runner):
            global _runner
            _runner = runner
            _runner += 1
    """, "CB121 _runner", "CB121 _runner"),
    case("global stores of other forms", """
        def start(rows):
            global a, b, c, d
            for a in rows:
                pass
            with rows as b:
                del a
            (c, d) = rows
            globals()["e"] = 1
    """, "CB121 a", "CB121 b", "CB121 a", "CB121 c", "CB121 d", "CB121 e"),
    case("a container changed in a function", """
        _cache = {}
        seen: set[int] = set()
        rows = [None] * 8
        def f(k, v):
            _cache[k] = v
            seen.add(k)
            mine = rows
            mine[0] = v
            del _cache[k]
            rows[1] += 1
    """, "CB121 _cache", "CB121 seen", "CB121 rows", "CB121 _cache", "CB121 rows"),
    case("an instance changed in a function", """
        _state = State()
        def f(v):
            _state.value = v
            _state.rows.append(v)
            setattr(_state, "other", v)
    """, "CB121 _state", "CB121 _state", "CB121 _state"),
    case("a class attribute stored from outside", """
        class Flags:
            on = False
            rows = []
        def f():
            Flags.on = True
            Flags.rows.append(1)
    """, "CB121 Flags.on", "CB121 Flags.rows"),
    case("another module's state", """
        import engine.state as state
        from engine.state import CACHE, Flags
        def f(k, v):
            CACHE[k] = v
            state.counter = 3
            Flags.on = True
    """, "CB121 engine.state.CACHE", "CB121 engine.state.counter", "CB121 engine.state.Flags.on",
        files={"engine/state.py": """
            CACHE = {}
            counter = 0
            class Flags:
                on = False
        """}),
    case("cached functions that read settings", """
        import os
        from functools import cache
        import functools as ft
        @ft.lru_cache(maxsize=None)
        def a():
            return get_server_args().tp_size
        @cache
        def b():
            return os.environ.get("X")
        @cache
        def c():
            return _helper()
        def _helper():
            from confbag import get_exec
            return get_exec().deterministic
        @cache
        def d(x):
            return x + 1
    """, "CB121 a", "CB121 b", "CB121 c"),
    case("imports under global", """
        _kernels = None
        def load():
            global np, _kernels, helper
            import numpy as np
            from engine.x import helper
            _kernels = importlib.import_module("kernels")
    """),
    case("registration", """
        REGISTRY = {}
        _rows = []
        def register(name):
            def keep(function):
                _note(name)
                REGISTRY[name] = function
                return function
            return keep
        def _note(name):
            _rows.append(name)
        @register("a")
        def a():
            return 1
        def _fill():
            global TABLE
            TABLE = dict(REGISTRY)
        _fill()
    """),
    case("registration from other modules", """
        REGISTRY = {}
        def register(function):
            REGISTRY[function.__name__] = function
            return function
    """, files={"engine/other.py": """
        from engine.case import register as reg
        @reg
        def f():
            return 1
    """}),
    case("registering while the engine runs is state", """
        REGISTRY = {}
        def register(function):
            REGISTRY[function.__name__] = function
            return function
        @register
        def a():
            return 1
        def later(function):
            register(function)
    """, "CB121 REGISTRY"),
    case("a main block is no import", """
        ROWS = []
        def main():
            ROWS.append(1)
        if __name__ == "__main__":
            main()
    """, "CB121 ROWS"),
    case("thread locals, context variables and locks", """
        import threading
        from contextvars import ContextVar
        class Local(threading.local):
            depth = 0
        _local = threading.local()
        _own = Local()
        _var = ContextVar("v")
        _lock = None
        def f(v):
            global _lock
            _local.x = v
            _own.depth += 1
            _var.set(v)
            _lock = threading.Lock()
    """),
    case("a module's __getattr__", """
        _loaded = {}
        def __getattr__(name):
            _loaded[name] = value = object()
            globals()[name] = value
            return value
    """),
    case("foreign classes and modules", """
        import torch
        from transformers import Config
        def patch(f):
            torch.nn.Linear.forward = f
            Config.x = f
            torch.backends.cudnn.enabled = False
    """),
    case("locals, parameters and shadows", """
        CACHE = {}
        state = State()
        def f(state, rows):
            CACHE = {}
            CACHE["x"] = 1
            state.x = 2
            rows.append(1)
            return [CACHE.pop(k) for k in rows]
        def g():
            return CACHE.get("x"), dict(CACHE), state.x
    """),
    case("module level code", """
        TABLE = {}
        for i in range(3):
            TABLE[i] = i * i
        class A:
            x = 1
            def f(self):
                A.x = 2
                self.x = 3
        A.x = 3
    """),
    *MORE,
)  # fmt: skip
