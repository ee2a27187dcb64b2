"""Whose attribute a holder's name is: other modules are asked what their functions give and their objects hold.

A name that speaks for a record does so on objects that are not known, unless a class of the tree declares it as
something else. Then the receiver's class has to be known, and only then is it worth to ask for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    NOTHING,
    UNKNOWN,
    Awaiting,
    Class,
    Function,
    Instance,
    Of,
    Property,
    Record,
    Symbol,
    Value,
    in_order,
    join,
    records,
)

_FAR = 4


class Receivers(Part):
    """Classes of expressions by their paths, in order."""

    def of_call(self, path: str) -> list[str]:
        """The classes that a path with a call at its end, as `engine.Generator.from_args()`, gives instances of."""
        return list(dict.fromkeys(self._called(path, _FAR)))

    def of(self, node: ast.AST) -> list[str]:
        """The classes of what an attribute is taken of, where that is an attribute itself."""
        return self._of(node.value, _FAR) if isinstance(node, ast.Attribute) else []

    def of_attribute(self, path: str, name: str) -> list[str]:
        """The classes of what the instances of a class have by a name."""
        found: list[str] = []
        for atom in self._kept(path, name):
            if isinstance(atom, Property):
                found += [each for part in atom.getter for each in self._returned(part, _FAR)]
            else:
                found += _class(atom)
        return list(dict.fromkeys(found))

    def records(self, paths: list[str], name: str) -> Value:
        """The records that instances of some classes keep by a name that says nothing here."""
        if name not in self.state.mute or self._stood_in(name):
            return UNKNOWN
        found: list[Value] = []
        for path in paths:
            for atom in self._kept(path, name):
                for part in atom.getter if isinstance(atom, Property) else (atom,):
                    if isinstance(part, Record):
                        found.append(frozenset({part}))
                    elif isinstance(part, Function) and isinstance(atom, Property):
                        summary = self.binder.summaries.of(part.key)
                        found.append(frozenset(records(summary.returns if summary is not None else NOTHING)))
        return join(found) or UNKNOWN

    def _stood_in(self, name: str) -> bool:
        """Whether this module itself puts something else there."""
        state = self.state
        kept = join([state.foreign.get(name, NOTHING), state.last_foreign.get(name, NOTHING)])
        return bool(kept) and not records(kept)

    def asked(self, path: str, name: str) -> Value:
        """The same as a value, where another module asks for what is kept by that name."""
        if name not in self.state.asked_names:
            return NOTHING
        return frozenset(Of(each) for each in self.of_attribute(path, name))

    def _of(self, node: ast.expr, far: int) -> list[str]:
        found = [each for atom in in_order(self.binder.evaluate(node)) for each in _class(atom)]
        if found or not far:
            return found
        for other in (node, *self.names.others(node)):
            if isinstance(other, ast.Attribute):
                found += [
                    each for path in self._of(other.value, far - 1) for each in self.of_attribute(path, other.attr)
                ]
        return list(dict.fromkeys(found))

    def _called(self, path: str, far: int) -> Iterator[str]:
        callee = path.removesuffix("()")
        if callee == path or "()" in callee or not far:
            return
        for atom in self._answers(callee):
            if isinstance(atom, Class):
                yield atom.key
            else:
                yield from self._returned(atom, far)

    def _returned(self, function: object, far: int) -> Iterator[str]:
        if not isinstance(function, Function):
            return
        summary = self.binder.summaries.of(function.key)
        if summary is None:
            self.state.want(function.key)
            return
        for atom in in_order(summary.returns):
            for inner in in_order(atom.value) if isinstance(atom, Awaiting) else (atom,):
                if isinstance(inner, Symbol):
                    yield from self._called(inner.path, far - 1)
                else:
                    yield from _class(inner)

    def _kept(self, path: str, name: str) -> Iterator[object]:
        """What the instances of a class have by a name."""
        return self._answers(f"{path}.{name}", of_class=True)

    def _answers(self, path: str, *, of_class: bool = False) -> Iterator[object]:
        """What a path is, by way of the modules that import it."""
        seen: set[str] = set()
        paths = [path]
        while paths:
            current = paths.pop()
            if current in seen:
                continue
            seen.add(current)
            self.state.want(current)
            if of_class:
                # What its constructor leaves there.
                self.state.want(current.rpartition(".")[0])
            for atom in in_order(self.state.world.called(current) or frozenset()):
                if isinstance(atom, Symbol):
                    if "()" not in atom.path:
                        paths.append(atom.path)
                else:
                    yield atom


def _class(atom: object) -> list[str]:
    return [atom.path] if isinstance(atom, Of) else [atom.key] if isinstance(atom, Instance) else []
