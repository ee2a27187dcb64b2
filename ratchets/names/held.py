"""Paths of what names hold: items, the `__dict__` and the class of an object, the module that `sys.modules` gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from confbag.ratchets.names.naming import NOWHERE, Naming, Paths, foreign, text_of
from confbag.ratchets.names.scopes import Arm, Binding, Position, Scope

# What a subscript gives; and what a method or a loop gives, of which only a container is known to hold it.
ITEM = "[]"
GIVEN = "[*]"
_GIVING = frozenset({"get", "setdefault"})
_SAME = frozenset({"list", "tuple", "sorted", "reversed", "iter", "set"})


class Held(Naming):
    """Names of one module, through items and loops; `X[k].rows` is the path `X.[].rows`."""

    def _item(self, node: ast.Subscript, scope: Scope, arm: Arm | None, position: Position, depth: int) -> Paths:
        base = self.paths(node.value, scope, arm, position, depth)
        if "sys.modules" in base:
            own = isinstance(node.slice, ast.Name) and node.slice.id == "__name__"
            name = self.module if own else text_of(node.slice)
            return frozenset({name}) if name else NOWHERE
        return _inside(base, ITEM)

    def _call(self, node: ast.Call, scope: Scope, arm: Arm | None, position: Position, depth: int) -> Paths:
        function = node.func
        if isinstance(function, ast.Attribute):
            if function.attr in _GIVING and node.args:
                return _inside(self.paths(function.value, scope, arm, position, depth), GIVEN)
        elif isinstance(function, ast.Name):
            if function.id == "globals":
                return frozenset({f"{self.module}.__dict__"})
            if function.id in ("vars", "type") and len(node.args) == 1:
                base = self.paths(node.args[0], scope, arm, position, depth)
                return _inside(base, "__dict__" if function.id == "vars" else "__class__")
        return super()._call(node, scope, arm, position, depth)

    def binding(self, binding: Binding, depth: int = 0) -> Paths:
        """The paths that a binding gives its name; a loop gives it what the iterated object holds."""
        if isinstance(binding.node, ast.arg):
            return NOWHERE
        if binding.kind == "import":
            return frozenset({binding.path})
        if binding.kind != "other" or binding.value is not None:
            found = super().binding(binding, depth)
            if not binding.stored:
                return found
        elif (iterated := _iterated(binding)) is not None:
            position = (iterated.lineno, iterated.col_offset)
            found = _inside(self.paths(iterated, binding.scope, binding.arm, position, depth), GIVEN)
        else:
            found = NOWHERE
        top = binding.name in binding.scope.globals if binding.stored else binding.scope.kind == "module"
        if top and binding.kind in ("assign", "other"):
            # Whatever it is, it is the module's.
            found |= {f"{self.module}.{binding.name}" if self.module else binding.name}
        return found


def _inside(base: Paths, part: str) -> Paths:
    if not base:
        return base
    return frozenset(f"{path}.{part}" for path in base if "()" not in path and not foreign(path))


def _iterated(binding: Binding) -> ast.expr | None:
    """What a name of a loop's target comes out of; None where that cannot be told."""
    for target, iterated in _loops(binding):
        # What the iterated expression does to what it is given.
        while isinstance(iterated, ast.Call):
            function, arguments = iterated.func, iterated.args
            part = target.elts if isinstance(target, ast.Tuple) else []
            if isinstance(function, ast.Attribute) and not arguments:
                if function.attr == "items" and len(part) == 2:
                    target = part[1]
                elif function.attr not in ("values", "copy"):
                    break
                iterated = function.value
            elif not isinstance(function, ast.Name) or not arguments:
                break
            elif function.id == "enumerate" and len(part) == 2:
                target, iterated = part[1], arguments[0]
            elif function.id == "zip" and len(part) == len(arguments):
                pairs = [pair for pair in zip(part, arguments, strict=True) if _binds(pair[0], binding)]
                if not pairs:
                    break
                target, iterated = pairs[0]
            elif function.id in _SAME:
                iterated = arguments[0]
            else:
                break
        if _binds(target, binding):
            return iterated
    return None


def _loops(binding: Binding) -> Iterator[tuple[ast.expr, ast.expr]]:
    if binding.scope.kind == "comprehension":
        for generator in binding.scope.node.generators:  # type: ignore[attr-defined]
            yield generator.target, generator.iter
    elif isinstance(binding.statement, (ast.For, ast.AsyncFor)):
        yield binding.statement.target, binding.statement.iter


def _binds(target: ast.expr, binding: Binding) -> bool:
    stack = [target]
    while stack:
        one = stack.pop()
        if one is binding.node:
            return True
        if isinstance(one, (ast.Tuple, ast.List)):
            stack.extend(one.elts)
    return False
