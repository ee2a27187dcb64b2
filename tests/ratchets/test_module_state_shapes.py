"""CB121 on many small shapes: what is found, alike with triage on and off, and kept by the look at bytes."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from confbag.ratchets.analysis import engine
from confbag.ratchets.configuration import Configuration, RecordSpec
from confbag.ratchets.names.glance import looks

CONFIGURATION = Configuration(
    root=Path("/tree"),
    repository=Path("/tree"),
    codes=("CB121",),
    records=(RecordSpec("server_args", accessors=("engine.rc.get_server_args",)),),
)
STATE = """CACHE = {}
counter = 0
class Flags:
    on = False
    class Inner:
        x = 1
state = Flags()
ROWS = []
"""
API = {
    "reexport": "from engine.state import CACHE as C2\n",
    "star star": "from engine.state import *\n",
}
# name -> (code, symbols)
SHAPES: dict[str, tuple[str, list[str]]] = {
    "from import": (
        """
        from engine.state import CACHE
        def f(): CACHE['a'] = 1
        """,
        ["engine.state.CACHE"],
    ),
    "import as": (
        """
        import engine.state as s
        def f():
            s.CACHE['a']['b'] = 1
            s.counter += 1
            s.ROWS[0].x = 1
        """,
        ["engine.state.CACHE", "engine.state.counter", "engine.state.ROWS"],
    ),
    "reexport": (
        """
        from engine.api import C2
        def f(): C2.update(a=1)
        """,
        ["engine.state.CACHE"],
    ),
    "star": (
        """
        from engine.state import *
        def f(): CACHE['a'] = 1
        """,
        ["engine.state.CACHE"],
    ),
    "star star": (
        """
        from engine.api import *
        def f(): ROWS[0].append(1)
        """,
        ["engine.state.ROWS"],
    ),
    "lazy import in function": (
        """
        def f():
            from engine.state import state
            state.on = True
        """,
        ["engine.state.state"],
    ),
    "lazy module": (
        """
        def f():
            import engine.state
            engine.state.counter = 1
        """,
        ["engine.state.counter"],
    ),
    "new name of other": (
        """
        from engine import state as s
        def f():
            s.fresh = 1
        """,
        ["engine.state.fresh"],
    ),
    "setattr computed on module": (
        """
        from engine import state as s
        def f(n):
            setattr(s, n, 1)
        """,
        ["engine.state.*"],
    ),
    "vars of module": (
        """
        from engine import state as s
        def f(n):
            vars(s)['counter'] = 1
        """,
        ["engine.state.counter"],
    ),
    "importlib": (
        """
        import importlib
        def f(n):
            importlib.import_module('engine.state').counter = 1
        """,
        ["engine.state.counter"],
    ),
    "sys.modules own": (
        """
        import sys
        X = 1
        def f(n):
            sys.modules[__name__].X = 1
            setattr(sys.modules[__name__], 'Y', 1)
        """,
        ["X", "Y"],
    ),
    "sys.modules other": (
        """
        import sys
        def f(n):
            sys.modules['engine.state'].counter = 1
        """,
        ["engine.state.counter"],
    ),
    "sys.modules itself": (
        """
        import sys
        def f(n, m):
            sys.modules[n] = m
            del sys.modules[n]
        """,
        [],
    ),
    "nested class": (
        """
        from engine.state import Flags
        def f(): Flags.Inner.x = 2
        """,
        ["engine.state.Flags.Inner.x"],
    ),
    "instance class": (
        """
        from engine.state import state
        def f():
            state.__class__.on = True
            type(state).on = 1
        """,
        ["engine.state.state", "engine.state.state"],
    ),
    "type self": (
        """
        class A:
            n=0
            def f(self):
                type(self).n += 1
                self.__class__.n = 1
        """,
        [],
    ),
    "cls": (
        """
        class A:
            rows=[]
            @classmethod
            def f(cls):
                cls.rows.append(1)
                cls.n = 1
                setattr(A, 'n', 2)
                A.rows[0].append(1)
        """,
        [],
    ),
    "dataclass default": (
        """
        from dataclasses import dataclass, field
        @dataclass
        class A:
            rows: list = field(default_factory=list)
            def f(self): self.rows.append(1)
        D = A()
        def g(): D.rows.append(1)
        """,
        ["D"],
    ),
    "nested function": (
        """
        X={}
        def f():
            def g():
                X[1][2] = 3
            return g
        """,
        ["X"],
    ),
    "heapq": (
        """
        import heapq
        from heapq import heappop as pop
        X=[]
        def f(v):
            heapq.heappush(X, v)
            pop(X)
            heapq.heappush([], X)
        """,
        ["X", "X"],
    ),
    "shuffle bisect": (
        """
        import random, bisect
        X=[]
        def f(v):
            random.shuffle(X)
            bisect.insort(X, v)
            bisect.bisect(X, v)
            random.choice(X)
        """,
        ["X", "X"],
    ),
    "local error": (
        """
        X=[]
        def f(v):
            X += [v]
        """,
        [],
    ),
    "for target": (
        """
        X=[0]
        def f(v):
            for X[0] in v: pass
            for X[0].a in v: pass
        """,
        ["X", "X"],
    ),
    "with target": (
        """
        class S: ...
        X=S()
        def f(v):
            with open(v) as X.f: pass
            async def g():
                async with v as X.f.g: pass
        """,
        ["X", "X"],
    ),
    "walrus alias": (
        """
        X={}
        def f(v):
            if (row := X.get(v)) is not None:
                row['a'] = 1
        """,
        ["X"],
    ),
    "environ": (
        """
        import os
        from os import environ
        E = os.environ
        def f(v):
            os.environ['A'] = v
            environ.pop('A')
            E['B'] = v
            os.environ.update(v)
        """,
        [],
    ),
    "torch": (
        """
        import torch
        torch_backend = torch.backends
        def f(v):
            torch.backends.cuda.matmul.allow_tf32 = v
            torch_backend.cudnn.enabled = v
            torch._dynamo.config.x = 1
            torch.ops.a['b'] = 1
        """,
        [],
    ),
    "logging": (
        """
        import logging
        log = logging.getLogger(__name__)
        def f(v):
            log.setLevel(v)
            logging.getLogger('x').propagate = False
            logging.root.handlers.clear()
            logging.Logger.manager.x = 1
        """,
        [],
    ),
    "lru method record": (
        """
        import functools
        from engine.rc import get_server_args
        class A:
            @functools.lru_cache
            def f(self): return get_server_args().x
            @functools.cached_property
            def g(self): return get_server_args().x
        """,
        ["f"],
    ),
    "cache by call": (
        """
        import os
        from functools import cache, partial, lru_cache
        def a(): return os.environ['X']
        b = cache(a)
        c = lru_cache(maxsize=None)(lambda: os.getenv('Y'))
        d = cache(partial(lambda k: os.getenv(k), 'A'))
        e = cache(lambda x: x + 1)
        class K:
            def __init__(self):
                self.h = cache(lambda: os.getenv('Z'))
        """,
        ["a", "c", "d", "h"],
    ),
    "copies": (
        """
        X={}
        ROWS=[]
        def f(k):
            a = dict(X[k]); a['b'] = 1
            b = X[k].copy(); b['c'] = 1
            c = list(ROWS[0]); c.append(1)
            d = X[k] + [1]; d.append(2)
            e = X.pop(k, {}); e2 = {**X[k]}; e2['a'] = 1
            for r in [dict(q) for q in ROWS]: r['a'] = 1
        """,
        ["X"],
    ),
    "calls of items": (
        """
        X={}
        class M: ...
        def f(k):
            m = X[k]()
            m.x = 1
            m.rows.append(1)
            X[k](1).y = 2
            o = X.get(k)(1)
            o.z = 1
        """,
        [],
    ),
    "session get": (
        """
        import requests
        S = requests.Session()
        def f(u):
            r = S.get(u)
            r.encoding = 'x'
            S.get(u).encoding = 'y'
            S.headers['a'] = 1
        """,
        ["S"],
    ),
    "loops": (
        """
        X={}
        R=[]
        def f():
            for k, row in X.items(): row.n += 1
            for row in X.values(): row.append(1)
            for i, row in enumerate(R): row['a'] = i
            for a, row in zip([1], R): row['a'] = a
            [row.clear() for row in R]
            for k, row in X.items(): k.n = 1
            for row in sorted(R): pass
        """,
        ["X", "X", "R", "R", "R"],
    ),
    "loops over range": (
        """
        N = range(3)
        T = ('a', 'b')
        def f(r):
            for n in N: n.x = 1
            for t in T: r[t] = 1; t.x = 1
        """,
        [],
    ),
    "tuple of": (
        """
        A, B = {}, []
        P = ([], {})
        def f():
            A['x'] = 1
            B.append(1)
            P[0].append(1)
        """,
        ["A", "B", "P"],
    ),
    "conditional": (
        """
        import os
        X = {} if os.name else None
        Y = None or []
        def f():
            X['a'] = 1
            Y.append(1)
        """,
        ["X", "Y"],
    ),
    "unpacked": (
        """
        A, B = make()
        def f():
            A.x = 1
            A.append(1)
            B['y'] = 1
        """,
        ["A", "B"],
    ),
    "bound method module": (
        """
        X=[]
        add = X.append
        def f(): add(1)
        """,
        ["X"],
    ),
    "bound handed": (
        """
        X=set()
        def f(task):
            task.add_done_callback(X.discard)
            list(map(X.add, task))
            return hasattr(X, 'add')
        """,
        ["X", "X"],
    ),
    "bound of local": (
        """
        X=[]
        def f(task):
            rows=[]
            add = rows.append
            add(1)
            get = X.index
            get(1)
        """,
        [],
    ),
    "dunder": (
        """
        X={}
        class S: ...
        s=S()
        def f(self):
            X.__setitem__(1, 2)
            dict.__setitem__(X, 1, 2)
            dict.update(X, a=1)
            object.__setattr__(s, 'a', 1)
            s.__setattr__('a', 1)
            object.__setattr__(self, 'a', 1)
            super().__setattr__('a', 1)
        """,
        ["X", "X", "X", "s", "s"],
    ),
    "operator": (
        """
        import operator
        X={}
        def f(): operator.setitem(X, 1, 2); operator.getitem(X, 1)
        """,
        ["X"],
    ),
    "next": (
        """
        import itertools
        C = itertools.count()
        X=[1]
        def f(r):
            a = next(C)
            b = next(iter(X))
            c = next(r)
            return next(x for x in X)
        """,
        ["C"],
    ),
    "subclass of dict": (
        """
        class D(dict): ...
        X = D()
        def f(): X.update(a=1)
        """,
        ["X"],
    ),
    "init subclass": (
        """
        R={}
        class A:
            def __init_subclass__(cls, **k):
                super().__init_subclass__(**k)
                R[cls.__name__] = cls
        class B(A): ...
        """,
        [],
    ),
    "init subclass own": (
        """
        class A:
            rows={}
            def __init_subclass__(cls, **k):
                A.rows[cls.__name__] = cls
                cls.rows['x'] = 1
        """,
        [],
    ),
    "init subclass in function": (
        """
        R={}
        class A:
            def __init_subclass__(cls, **k):
                R[cls.__name__] = cls
        def f():
            class B(A): ...
            return B
        """,
        ["R"],
    ),
    "set_name": (
        """
        R={}
        class D:
            def __set_name__(self, o, n):
                R[n] = o
        """,
        [],
    ),
    "metaclass": (
        """
        R={}
        class M(type):
            def __new__(m, n, b, d):
                c = super().__new__(m, n, b, d)
                R[n] = c
                return c
        class A(metaclass=M): ...
        """,
        [],
    ),
    "metaclass in function": (
        """
        R={}
        class M(type):
            def __init__(c, n, b, d):
                R[n] = c
        def f():
            class A(metaclass=M): ...
        """,
        ["R"],
    ),
    "plain new": (
        """
        R={}
        class M:
            def __new__(m):
                R[1] = m
                return super().__new__(m)
        """,
        ["R"],
    ),
    "class as decorator": (
        """
        R={}
        class reg:
            def __init__(self, n): self.n = n
            def __call__(self, f):
                R[self.n] = f
                return f
        @reg('a')
        def g(): ...
        """,
        [],
    ),
    "class decorator wraps": (
        """
        R={}
        class count:
            def __init__(self, f): self.f = f
            def __call__(self, *a):
                R[self.f] = 1
                return self.f(*a)
        @count
        def g(): ...
        """,
        ["R"],
    ),
    "import fallback": (
        """
        k = None
        def f():
            global k, has
            try:
                from a import k
                has = True
            except ImportError:
                k = None
                has = False
        """,
        ["has", "has"],
    ),
    "import fallback def": (
        """
        def f():
            global k
            try:
                import k
            except ImportError:
                def k(): ...
        """,
        [],
    ),
    "import fallback not": (
        """
        k=None
        def f():
            global k
            try:
                k = compute()
            except ValueError:
                k = None
        """,
        ["k", "k"],
    ),
    "import attr": (
        """
        import importlib
        k=None
        def f():
            global k
            k = importlib.import_module('a').run
        """,
        [],
    ),
    "import value copied": (
        """
        k=None
        def f():
            global k
            from a import state
            k = state.value
        """,
        ["k"],
    ),
    "getattr helper": (
        """
        _c = {}
        def __getattr__(n):
            return _load(n)
        def _load(n):
            _c[n] = 1
            globals()[n] = 1
        """,
        [],
    ),
    "getattr helper and more": (
        """
        _c = {}
        def __getattr__(n):
            return _load(n)
        def _load(n):
            _c[n] = 1
        def g(): _load(1)
        """,
        ["_c"],
    ),
    "class getattr": (
        """
        _c = {}
        class A:
            def __getattr__(self, n):
                _c[n] = 1
        """,
        ["_c"],
    ),
    "class lock": (
        """
        import threading
        class A:
            lock = None
            local = threading.local()
        def f():
            A.lock = threading.Lock()
            A.local.x = 1
        """,
        [],
    ),
    "class instance attr": (
        """
        class S: ...
        class A:
            s = S()
        def f():
            A.s.x = 1
            A.s.rows.append(1)
        """,
        ["A.s", "A.s"],
    ),
    "stored handed": (
        """
        _ctx = None
        def put(c):
            global _ctx
            _ctx = c
        def f():
            _ctx.x = 1
        """,
        ["_ctx", "_ctx"],
    ),
    "generic alias": (
        """
        from typing import Dict
        T = Dict[str, int]
        def f(x):
            T.x = 1
        """,
        [],
    ),
    "class item": (
        """
        import enum
        class E(enum.Enum):
            A = 1
        def f(x):
            E[x].v = 1
            for e in E: e.v = 1
        """,
        [],
    ),
    "import next": (
        """
        from a import next
        C = object()
        def f(): return next(C)
        """,
        [],
    ),
    "param shadow loop": (
        """
        X={}
        def f(X):
            for row in X.values(): row.a = 1
            X['a']['b'] = 1
        """,
        [],
    ),
    "lambda default": (
        """
        X={}
        g = lambda k, v: X[k].append(v)
        """,
        ["X"],
    ),
    "setdefault chain": (
        """
        X={}
        def f(k):
            X.setdefault(k, []).append(1)
            X.setdefault(k, {})['a'] = 1
            X.setdefault(k, S()).b = 1
        """,
        ["X", "X", "X"],
    ),
    "slice": (
        """
        X=[]
        def f(k):
            X[0][:] = k
            del X[1:]
        """,
        ["X", "X"],
    ),
    "parameter annotated star": (
        """
        X=[]
        def f(*a):
            (X[0], *b), X[1].y = a
        """,
        ["X", "X"],
    ),
    "item of safe": (
        """
        import threading
        L = threading.local()
        def f():
            L.rows[0] = 1
            L.rows.append(1)
            vars(L)['a'] = 1
        """,
        [],
    ),
    "globals alias": (
        """
        def f():
            g = globals()
            g['X'] = 1
        """,
        ["X"],
    ),
    "globals read": (
        """
        def f(n):
            return globals()[n], globals().get(n), vars()
        """,
        [],
    ),
    "vars local": (
        """
        def f(n, o):
            vars()['a'] = 1
            locals()['a'] = 1
            vars(o)['a'] = 1
            o.__dict__.update(a=1)
        """,
        [],
    ),
    "monkeypatch": (
        """
        X = 1
        def test(monkeypatch):
            monkeypatch.setattr(X, 'y', 1)
            monkeypatch.setitem(X, 'y', 1)
            rng.shuffle(X)
        """,
        [],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name):
    code, symbols = SHAPES[name]
    files = {
        "engine/m0.py": dedent(code).lstrip("\n"),
        "engine/state.py": STATE,
        "engine/api.py": API.get(name, ""),
        "engine/rc.py": "def get_server_args():\n    return ARGS\n",
    }
    read = {path: text.encode() for path, text in files.items()}
    for triage in (True, False):
        analysis = engine.analyse(CONFIGURATION, list(files), read=read.__getitem__, triage=triage)
        assert analysis.unanalysed == ()
        found = [finding.symbol for finding in analysis.findings if finding.path == "engine/m0.py"]
        assert sorted(found) == sorted(symbols)
    assert not symbols or looks(["engine"])(read["engine/m0.py"])
