"""Imports: names that stand for what other modules offer."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import Builtin, Symbol, Value
from confbag.ratchets.source.modules import absolute


class Imports(Part):
    """What imported names are."""

    def import_statement(self, node: ast.Import) -> None:
        """`import a.b` binds `a`, `import a.b as c` binds `c` to `a.b`."""
        for alias in node.names:
            parts = alias.name.split(".")
            self.state.known_modules.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
            if alias.asname is not None:
                self.names.bind(alias.asname, self._path(alias.name))
            else:
                self.names.bind(parts[0], self._path(parts[0]))

    def import_from(self, node: ast.ImportFrom) -> None:
        """`from a import b`; a star binds what matters of the module."""
        base = absolute(self.module.parent, node.module or "", node.level)
        for alias in node.names:
            if alias.name == "*":
                self._everything(base)
            else:
                path = f"{base}.{alias.name}" if base else alias.name
                self.names.bind(alias.asname or alias.name, self._path(path))

    def _everything(self, base: str) -> None:
        """What matters of a module; a name that led to a record does no more where the module has one of its own."""
        given = self.state.world.star(base)
        self.state.stars[base] = None
        for name in sorted(given):
            self.names.bind(name, self._path(f"{base}.{name}"))
        for held, value in list(self.names.scope.env.items()):
            if isinstance(held, str) and held not in given and self.binder.leading.leads(value):
                path = f"{base}.*.{held}"
                self.state.wanted.add(path)
                if self.state.world.called(path) is not None:
                    self.names.bind(held, frozenset({Symbol(f"{base}.{held}")}))

    def _path(self, path: str) -> Value:
        if path.startswith("builtins."):
            return frozenset({Builtin(path.removeprefix("builtins."))})
        found = self.state.world.name(path)
        return frozenset({Symbol(path)}) if found is None else found
