"""Cases of CB101: imports, and records that come from or go to other modules."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

_TP = "CB101 record.tp_size"

CASES: tuple[Case, ...] = (
    case("import of a dotted module", """
        import engine.runtime_context
        def f():
            return engine.runtime_context.get_server_args().tp_size
    """, _TP),
    case("import of a dotted module under a name", """
        import engine.runtime_context as rc
        def f():
            return rc.get_server_args().tp_size
    """, _TP),
    case("relative imports", """
        from . import runtime_context
        from .runtime_context import get_server_args as g
        from ..engine.runtime_context import get_server_args as h
        def f():
            return runtime_context.get_server_args().a + g().b
    """, "CB101 record.a", "CB101 record.b"),
    case("relative import in a subpackage", """
        from ...runtime_context import get_server_args as g
        def f():
            return g().tp_size
    """, _TP, path="engine/a/b/case.py"),
    case("relative import in __init__", """
        from .runtime_context import get_server_args as g
        def f():
            return g().tp_size
    """, _TP, path="engine/__init__.py"),
    case("import under TYPE_CHECKING and in the function", """
        if TYPE_CHECKING:
            from engine.runtime_context import get_server_args
        def f():
            from engine.runtime_context import get_server_args
            return get_server_args().tp_size
    """, _TP),
    case("conditional import", """
        try:
            from engine.runtime_context import get_server_args as g
        except ImportError:
            g = None
        def f():
            return g().tp_size
    """, _TP),
    case("declared before it is imported", """
        g = None
        from engine.runtime_context import get_server_args as g
        def f():
            return g().tp_size
    """, _TP),
    case("star import", """
        from engine.runtime_context import *
        def f():
            return get_server_args().tp_size
    """, _TP),
    case("star import of a re-export", """
        from engine.api import *
        def f():
            return current_args().tp_size
    """, _TP, files={"engine/api.py": """
        from engine.runtime_context import get_server_args as current_args
    """}),
    case("re-exported and renamed twice", """
        from engine.api import args_of_engine
        def f():
            return args_of_engine().tp_size
    """, _TP, files={
        "engine/api/__init__.py": "from .inner import fetch as args_of_engine\n",
        "engine/api/inner.py": "from ..runtime_context import get_server_args as fetch\n",
    }),
    case("helper in another module", """
        from engine.helpers import current
        def f():
            return current().tp_size
    """, _TP, files={"engine/helpers.py": """
        from engine.runtime_context import get_server_args
        def current():
            return get_server_args()
    """}),
    case("record kept in another module", """
        from engine import state
        def f():
            return state.CURRENT.tp_size
    """, _TP, files={"engine/state.py": """
        from engine.runtime_context import get_server_args
        CURRENT = get_server_args()
    """}),
    case("record put into another module", """
        from engine import state
        def f():
            return state.current.tp_size
    """, _TP, files={"engine/start.py": """
        from engine import state
        from engine.runtime_context import get_server_args
        def start():
            state.current = get_server_args()
    """, "engine/state.py": "current = None\n"}),
    case("parked in a base class of another file", """
        from engine.base import Base
        class Child(Base):
            def f(self):
                return self._sa.tp_size
    """, _TP, files={"engine/base.py": """
        from engine.runtime_context import get_server_args
        class Base:
            def __init__(self):
                self._sa = get_server_args()
    """}),
    case("parked two classes and files away", """
        from engine.middle import Middle
        class Child(Middle):
            def f(self):
                return self._sa.tp_size
    """, _TP, files={"engine/base.py": """
        from engine.runtime_context import get_server_args
        class Base:
            def __init__(self):
                self._sa = get_server_args()
    """, "engine/middle.py": """
        from engine import base as b
        class Middle(b.Base):
            pass
    """}),
    case("object of a class in another file", """
        from engine.base import Base
        def f(thing: Base):
            return thing._sa.tp_size
    """, _TP, files={"engine/base.py": """
        from engine.runtime_context import get_server_args
        class Base:
            def __init__(self):
                self._sa = get_server_args()
    """}),
    case("singleton in another file", """
        from engine.base import STATE
        def f():
            return STATE.sa.tp_size
    """, _TP, files={"engine/base.py": """
        from engine.runtime_context import get_server_args
        class State:
            @property
            def sa(self):
                return get_server_args()
        STATE = State()
    """}),
    case("helper by way of a package", """
        from engine.pkg import fetch
        def f():
            return fetch().tp_size
    """, _TP, files={"engine/pkg/__init__.py": "from engine.pkg.impl import *\n__all__ = ['fetch']\n",
        "engine/pkg/impl.py": """
        from engine.runtime_context import get_server_args
        def fetch():
            return get_server_args()
    """}),
    case("helper in another file that gives back what it takes", """
        from engine.api import both
        def f(x):
            _, sa = both(x, get_server_args())
            return sa.tp_size
    """, _TP, files={"engine/api.py": """
        def both(one, other):
            return one, other
    """}),
    case("field named by a constant of another file", """
        from engine.names import SIZE
        def f():
            return getattr(get_server_args(), SIZE)
    """, _TP, files={"engine/names.py": "SIZE = 'tp_size'\n"}),
    case("parked on a class of another file", """
        from engine.thing import Thing
        def f(thing: Thing):
            return thing.kept.tp_size
    """, _TP, files={"engine/thing.py": """
        class Thing:
            kept = None
    """, "engine/boot.py": """
        from engine.runtime_context import get_server_args
        from engine.thing import Thing
        Thing.kept = get_server_args()
    """}),
    case("everything imported, but for what it leaves out", """
        from engine.api import *
        def f():
            return fetch().tp_size
    """, files={"engine/api.py": """
        from engine.runtime_context import get_server_args as fetch
        __all__ = ["other"]
        other = 1
    """}),
    case("path accessor", """
        def f():
            context = get_context()
            return context.record.tp_size + get_context().record.dp_size
    """, _TP, "CB101 record.dp_size", options={"accessors": ("engine.runtime_context.get_context().record",)}),
)  # fmt: skip
