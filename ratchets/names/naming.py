"""Which dotted paths an expression may be, by imports, definitions and aliases of one module."""

from __future__ import annotations

import ast
import builtins
import sys

from confbag.ratchets.names.glance import LIBRARIES
from confbag.ratchets.names.lexicon import Lexicon
from confbag.ratchets.names.reach import lookup
from confbag.ratchets.names.scopes import Arm, Binding, Position, Scope, Site

_DEPTH = 12
Paths = frozenset[str]
NOWHERE: Paths = frozenset()


class Naming:
    """Names of one module. A call on the way is written `()`; an attribute of an unknown value is no path."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.module = lexicon.module.name
        self._known: dict[tuple[ast.expr, Scope], Paths] = {}

    def of(self, node: ast.expr, site: Site) -> Paths:
        """The paths of an expression that stands at a site."""
        return self.paths(node, site.scope, site.arm, (node.lineno, node.col_offset))

    def paths(self, node: ast.expr, scope: Scope, arm: Arm | None, position: Position, depth: int = 0) -> Paths:
        """The paths of an expression seen from a place."""
        if depth > _DEPTH:
            return NOWHERE
        key = (node, scope)
        found = self._known.get(key)
        if found is None:
            self._known[key] = NOWHERE  # a name that is its own alias
            found = self._known[key] = self._paths(node, scope, arm, position, depth + 1)
        return found

    def _paths(self, node: ast.expr, scope: Scope, arm: Arm | None, position: Position, depth: int) -> Paths:
        if isinstance(node, ast.Name):
            return self.name(node.id, scope, arm, position, depth)
        if isinstance(node, ast.Attribute):
            base = self.paths(node.value, scope, arm, position, depth)
            return frozenset(f"{path}.{node.attr}" for path in base)
        if isinstance(node, ast.Call):
            return self._call(node, scope, arm, position, depth)
        if isinstance(node, ast.NamedExpr):
            return self.paths(node.value, scope, arm, position, depth)
        if isinstance(node, ast.Subscript):
            return self._item(node, scope, arm, position, depth)
        parts: list[ast.expr] = []
        if isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            parts = node.values
        return NOWHERE.union(*(self.paths(part, scope, arm, position, depth) for part in parts))

    def _item(self, node: ast.Subscript, scope: Scope, arm: Arm | None, position: Position, depth: int) -> Paths:
        return NOWHERE

    def _call(self, node: ast.Call, scope: Scope, arm: Arm | None, position: Position, depth: int) -> Paths:
        function = self.paths(node.func, scope, arm, position, depth)
        if function & {"getattr", "builtins.getattr"} and len(node.args) in (2, 3):
            name = text_of(node.args[1])
            if name is not None:
                base = self.paths(node.args[0], scope, arm, position, depth)
                return frozenset(f"{path}.{name}" for path in base)
            return NOWHERE
        if "importlib.import_module" in function and len(node.args) == 1:
            name = text_of(node.args[0])
            return NOWHERE if name is None or name.startswith(".") else frozenset({name})
        return frozenset(f"{path}()" for path in function)

    def name(self, name: str, scope: Scope, arm: Arm | None, position: Position, depth: int = 0) -> Paths:
        """The paths of a name seen from a place."""
        bindings = lookup(name, scope, arm, position)
        if not bindings:
            stars = {f"{base}.{name}" for base, _ in self.lexicon.stars}
            return frozenset({name, *stars})
        return NOWHERE.union(*(self.binding(binding, depth) for binding in bindings))

    def binding(self, binding: Binding, depth: int = 0) -> Paths:
        """The paths that a binding gives its name."""
        if binding.kind == "import":
            return frozenset({binding.path})
        if binding.kind in ("def", "class"):
            inside = binding.scope.qualname
            name = binding.name if inside == "<module>" else f"{inside}.{binding.name}"
            return frozenset({f"{self.module}.{name}" if self.module else name})
        if binding.value is None:
            return NOWHERE
        found = self.paths(
            binding.value,
            binding.scope,
            binding.arm,
            (binding.value.lineno, binding.value.col_offset),
            depth,
        )
        if binding.scope.kind == "module" and not binding.stored:
            own = f"{self.module}.{binding.name}" if self.module else binding.name
            return found | {own}
        return found


def foreign(path: str) -> bool:
    """Whether a path certainly leads out of the tree."""
    root = path.partition(".")[0].removesuffix("()")
    return root in sys.stdlib_module_names or root in LIBRARIES or hasattr(builtins, root)


def text_of(node: ast.expr) -> str | None:
    """A constant string."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
