"""Methods and constructors of classes of other modules, asked for where a call gives them what can be a record."""

from __future__ import annotations

import ast
from dataclasses import replace

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    NOTHING,
    UNKNOWN,
    Box,
    Class,
    Function,
    Instance,
    Of,
    Parameter,
    Parent,
    Record,
    Symbol,
    Value,
    content,
    in_order,
    join,
    says_nothing,
)


class Elsewhere(Part):
    """What is not in this module is asked for by its dotted path; until there is an answer nothing is known."""

    def matters(self, call: Call) -> bool:
        """Whether a call gives a record, or what a caller may give one for."""
        return any(
            isinstance(atom, Record) or (isinstance(atom, Parameter) and atom.key in self.state.demanded)
            for value in (*call.args, call.rest, *(value for _, value, _ in call.keywords))
            for held in value
            for atom in (content(held) if isinstance(held, Box) else (held,))
        )

    def looks(self, node: ast.expr, base: Value) -> None:
        """What `self.worker` is, the constructor says, though nothing else may lead there."""
        if isinstance(node, ast.Attribute) and says_nothing(base):
            for atom in self.binder.expressions.quiet(node.value):
                if isinstance(atom, Instance) and f"{atom.key}.__init__" in self.state.functions:
                    self.state.demanded.add(f"{atom.key}.__init__")

    def method(self, base: Value, name: str, call: Call) -> Value:
        """What a method gives that this module knows no body of; nothing where there is none to ask for."""
        values: list[Value] = []
        for atom in in_order(base):
            if isinstance(atom, (Of, Instance, Class, Parent)):
                receiver: Value = frozenset({Instance(atom.key) if isinstance(atom, Parent) else atom})
                values += [self.of(f"{path}.{name}", receiver, call) for path in self._owners(atom, name)]
        return join(values)

    def _owners(self, atom: Of | Instance | Class | Parent, name: str) -> list[str]:
        """The classes of other modules that a method of something may be of, by their paths."""
        if isinstance(atom, Of):
            return [atom.path]
        if not isinstance(atom, Parent):
            found, outside = self.binder.classes.member(atom.key, name)
            return outside if found is None else []
        outside = []
        for base in self.binder.classes.bases(atom.key):
            for parent in in_order(base):
                if isinstance(parent, Symbol):
                    outside.append(parent.path)
                elif isinstance(parent, Class):
                    found, above = self.binder.classes.member(parent.key, name)
                    if found is not None:
                        return []
                    outside += above
        return outside

    def of(self, path: str, receiver: Value | None, call: Call) -> Value:
        """What a call of a path gives, if it is a function of the tree."""
        if not self.state.handing and (call.node is self.state.dropped or path.endswith(".__init__")):
            # What it reads of its parameters is nobody's question then.
            return NOTHING
        values: list[Value] = []
        seen: set[str] = set()
        paths = [path]
        while paths:
            current = paths.pop()
            if current in seen:
                continue
            seen.add(current)
            found = self.state.world.called(current)
            self.state.wanted.add(current)
            if found is None:
                continue
            for atom in in_order(found):
                if isinstance(atom, Symbol):
                    paths.append(atom.path)
                elif isinstance(atom, Function):
                    function = atom if receiver is None else replace(atom, receiver=receiver)
                    values.append(self.binder.summaries.call(function, call))
                elif isinstance(atom, Class):
                    self.binder.callees.construct(atom, call)
        return join(values) - UNKNOWN

    def constant(self, value: Value) -> Value:
        """A value, or the constant that a name of another module holds."""
        seen: set[str] = set()
        while len(value) == 1:
            (atom,) = value
            if not isinstance(atom, Symbol) or "()" in atom.path or atom.path in seen:
                break
            seen.add(atom.path)
            self.state.wanted.add(atom.path)
            found = self.state.world.called(atom.path)
            if found is None:
                break
            value = found
        return value
