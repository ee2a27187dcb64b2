"""What a call gives, by what is called."""

from __future__ import annotations

import ast
from dataclasses import replace

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    NOTHING,
    UNKNOWN,
    Accessor,
    Alias,
    Builtin,
    Class,
    Function,
    Getter,
    Instance,
    Method,
    Partial,
    Property,
    Record,
    Symbol,
    Type,
    Value,
    interesting,
    join,
    says_nothing,
)

_NOWHERE = ast.Constant(None, lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


class Callees(Part):
    """Applies each kind of callee to a call."""

    def apply(self, callee: Value, call: Call) -> Value:
        """The join of what each callee gives; `vars(record)` among the arguments escapes unless one takes it."""
        values: list[Value] = []
        taken = bool(callee)
        for atom in callee:
            value, took = self._apply(atom, call)
            values.append(value)
            taken = taken and took
        if not taken:
            for value in (*call.args, *(value for _, value, _ in call.keywords)):
                self.sights.escape(value)
        return join(values) or UNKNOWN

    def _apply(self, atom: object, call: Call) -> tuple[Value, bool]:
        if isinstance(atom, Accessor):
            return frozenset({Record(atom.spec, True)}), False
        if isinstance(atom, Type):
            return frozenset({Record(atom.spec, False)}), False
        if isinstance(atom, Alias):
            # A NewType gives what it is given.
            value = call.argument(0)
            return (atom.promise if says_nothing(value) else value), False
        if isinstance(atom, Function):
            return self.binder.summaries.call(atom, call), False
        if isinstance(atom, Class):
            self.construct(atom, call)
            return frozenset({Instance(atom.key)}), False
        if isinstance(atom, Instance):
            found, _ = self.binder.classes.member(atom.key, "__call__")
            values = [
                self.binder.summaries.call(Function(part.key, frozenset({atom})), call)
                for part in found or ()
                if isinstance(part, Function)
            ]
            return join(values) or UNKNOWN, False
        if isinstance(atom, Partial):
            merged = Call(
                call.node,
                [*atom.args, *call.args],
                [*_made_with(atom, call), *call.nodes],
                [*((name, value, call.node) for name, value in atom.keywords), *call.keywords],
            )
            return self.apply(atom.function, merged), True
        if isinstance(atom, Getter):
            return self.binder.getters.call(atom, call), True
        if isinstance(atom, Method):
            return self.binder.methods.call(atom, call)
        if isinstance(atom, Builtin):
            return self.binder.builtins.call(atom.name, call)
        if isinstance(atom, Symbol):
            return self.binder.library.call(atom, call)
        return UNKNOWN, False

    def construct(self, cls: Class, call: Call) -> None:
        """A call of a class: what goes to its constructor, or to the fields of a dataclass."""
        found, outside = self.binder.classes.member(cls.key, "__init__")
        made, _ = self.binder.classes.member(cls.key, "__new__")
        for part in (*(found or ()), *(made or ())):
            if isinstance(part, Function):
                of = cls if part in (made or ()) else Instance(cls.key)
                summary = self.binder.summaries.of(part.key)
                if summary is not None:
                    given = self.binder.summaries.match(summary, Function(part.key, frozenset({of})), call)
                    given.pop(summary.parameters[0] if summary.parameters else "", None)
                    self.binder.summaries.hand_off(part.key, summary.holds, given, call)
                elif self.binder.elsewhere.matters(call):
                    self.state.demand(part.key)
        if found is None and outside and self.binder.elsewhere.matters(call):
            for path in outside:
                self.binder.elsewhere.of(f"{path}.__init__", frozenset({Instance(cls.key)}), call)
        if found is None:
            facts = self.state.classes.get(cls.key)
            if facts is not None and facts.annotated:
                # A dataclass: fields in the order of the class body.
                for name, value in zip(facts.annotated, call.args, strict=False):
                    if interesting(value):
                        facts.attributes[name] = join([facts.attributes.get(name, NOTHING), value])
                for keyword, value, _ in call.keywords:
                    if keyword in facts.annotated and interesting(value):
                        facts.attributes[keyword] = join([facts.attributes.get(keyword, NOTHING), value])

    def special(self, instance: Instance, names: tuple[str, ...], args: list[Value]) -> Value:
        """What an object's own method gives where syntax calls it; the first of the names that its class has."""
        for name in names:
            found, _ = self.binder.classes.member(instance.key, name)
            methods = [part for part in found or () if isinstance(part, Function)]
            if methods:
                bound = [replace(part, receiver=frozenset({instance})) for part in methods]
                return join(self.binder.summaries.quiet_call(part, Call(_NOWHERE, args, [], [])) for part in bound)
        return UNKNOWN

    def got(self, prop: Property, receiver: Value) -> Value:
        """A property's getter, called on its object."""
        values: list[Value] = []
        for atom in prop.getter:
            if isinstance(atom, Function):
                values.append(
                    self.binder.summaries.quiet_call(replace(atom, receiver=receiver), Call(_NOWHERE, [], [], []))
                )
            else:
                values.append(self._apply(atom, Call(_NOWHERE, [], [], []))[0])
        return join(values) or UNKNOWN


def _made_with(partial: Partial, call: Call) -> list[ast.AST]:
    """The arguments of a partial: as they are written, where it is made in the call itself."""
    made = call.node.func if isinstance(call.node, ast.Call) else None
    if isinstance(made, ast.Call):
        written = made.args[len(made.args) - len(partial.args) :] if len(made.args) >= len(partial.args) else []
        if len(written) == len(partial.args) and not any(isinstance(part, ast.Starred) for part in made.args):
            return list(written)
    return [call.node] * len(partial.args)
