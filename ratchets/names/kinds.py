"""What a name at the top of a module, or of a class, is: a container, an instance, a class, what is no state."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from confbag.ratchets.names.lexicon import Lexicon
from confbag.ratchets.names.reach import ending
from confbag.ratchets.names.scopes import Binding

_CONTAINERS = frozenset(
    {
        "list", "dict", "set", "bytearray", "deque", "defaultdict", "OrderedDict", "Counter", "ChainMap",
        "WeakValueDictionary", "WeakKeyDictionary", "WeakSet", "UserDict", "UserList", "array",
        # What gives a new one.
        "fromkeys", "sorted", "copy", "deepcopy", "split", "splitlines",
    }
)  # fmt: skip
# State that belongs to a thread or a task, and locks.
_SAFE = frozenset(
    {
        "local", "ContextVar", "Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier",
        "allocate_lock", "FileLock", "SoftFileLock",
    }
)  # fmt: skip
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_ORDER = ("safe", "container", "instance", "class", "def", "value")


class Kinds:
    """The kinds of one module's names."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self._safe = _SAFE | self._derived(_SAFE)
        self._containers = _CONTAINERS | self._derived(_CONTAINERS)

    def all(self) -> Iterator[tuple[str, str]]:
        """Names of the module, and of its classes where they hold something or are classes, with their kinds."""
        for name, bindings in self.lexicon.top.bindings.items():
            kinds = {self._kind(one) for one in ending(bindings)}
            kinds.update(self._kind(one) for one in bindings if not one.stored)
            kind = _first(kinds)
            if kind:
                yield name, kind
        for scope in self.lexicon.scopes:
            if scope.kind == "class":
                for name, bindings in scope.bindings.items():
                    kind = _first({self._kind(one) for one in bindings if one.kind != "other"})
                    if kind in ("safe", "container", "instance", "class"):
                        yield f"{scope.qualname}.{name}", kind

    def safe(self, value: ast.expr | None) -> bool:
        """Whether a value is a thread's or a task's own, or a lock."""
        return self._value(value) == "safe"

    def _derived(self, kinds: Collection[str]) -> set[str]:
        """The module's classes on one of these."""
        return {
            name
            for name, bindings in self.lexicon.top.bindings.items()
            for one in bindings
            if isinstance(one.node, ast.ClassDef) and any(last(base) in kinds for base in one.node.bases)
        }

    def _kind(self, binding: Binding) -> str:
        if binding.kind in ("import", "class", "def"):
            return binding.kind
        if binding.value is None:
            # Out of a tuple, a loop, a context: what has attributes or items that are set is an instance.
            return "value" if isinstance(binding.statement, (ast.AugAssign, ast.Delete)) else "instance"
        kind = self._value(binding.value)
        # What a function was given and stores at the top: a constant has no state, anything else may.
        handed = binding.stored and kind == "value" and isinstance(binding.value, ast.Name)
        return "instance" if handed else kind

    def _value(self, value: ast.expr | None) -> str:
        if isinstance(value, _DISPLAYS):
            return "container"
        if isinstance(value, ast.Call):
            called = last(value.func)
            if called in self._safe:
                return "safe"
            return "container" if called in self._containers else "instance"
        parts: list[ast.expr] = []
        if isinstance(value, ast.BinOp):
            # [None] * 8
            parts = [value.left, value.right]
        elif isinstance(value, ast.IfExp):
            parts = [value.body, value.orelse]
        elif isinstance(value, ast.BoolOp):
            parts = value.values
        elif isinstance(value, ast.NamedExpr):
            parts = [value.value]
        elif isinstance(value, ast.Tuple):
            return "container" if {self._value(part) for part in value.elts} & {"container", "instance"} else "value"
        kinds = {self._value(part) for part in parts}
        if isinstance(value, ast.BinOp):
            return "container" if "container" in kinds else "value"
        return _first(kinds) or "value"


def _first(kinds: Collection[str]) -> str:
    return next((kind for kind in _ORDER if kind in kinds), "")


def last(node: ast.expr) -> str:
    """The last part of a name, through subscripts; "" where it has none."""
    if isinstance(node, ast.Subscript):
        return last(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
