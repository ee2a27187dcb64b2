"""What an attribute of a value is, and the read that asking for it can be."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.sights import is_dunder
from confbag.ratchets.binder.values import (
    ABSENT,
    NONE,
    OTHER,
    UNKNOWN,
    Accessor,
    Awaiting,
    Box,
    Builtin,
    Class,
    Fields,
    Function,
    Instance,
    Method,
    Namespace,
    Of,
    Parameter,
    Parent,
    Partial,
    Plain,
    Property,
    Record,
    Symbol,
    Type,
    Value,
    interesting,
    join,
    records,
)
from confbag.ratchets.source.places import raw_token

_SAME: Value = frozenset({Builtin("<same>")})
_ACTING = {"__getattribute__", "__getattr__", "__setattr__", "__delattr__"}
_SETTING = {"__setattr__", "__delattr__"}
_OF_DICT = frozenset(dir(dict))
_KEYED = {
    "get", "pop", "setdefault", "update", "clear", "popitem", "__getitem__", "__setitem__", "__delitem__",
    "__contains__", "__ior__",
}  # fmt: skip
_GETTING = {"get", "pop", "setdefault", "__getitem__"}


class Attributes(Part):
    """Attributes of records, modules, classes, instances and objects that are not known."""

    def of(self, base: Value, name: str, node: ast.AST) -> Value:
        """The value of an attribute. `node` names the field; a Load of a record's field is a read."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and not records(base):
            stored = self.names.stored(node.value.id, name)
            if stored is not None:
                if ABSENT not in stored:
                    return stored
                return join([stored - {ABSENT}, self._of_all(base, name, node)])
        return self._of_all(base, name, node)

    def _of_all(self, base: Value, name: str, node: ast.AST) -> Value:
        if len(base) == 1:
            (atom,) = base
            return self._of_atom(atom, name, node, base)
        return join([self._of_atom(atom, name, node, base) for atom in base]) or UNKNOWN

    def _of_atom(self, atom: object, name: str, node: ast.AST, base: Value) -> Value:
        if isinstance(atom, Plain):
            return self._nameless(name, node) if atom.kind == "unknown" else UNKNOWN
        if isinstance(atom, Record):
            return self._record(atom, name, node, base)
        if isinstance(atom, Symbol):
            return self._symbol(atom, name)
        if isinstance(atom, (Instance, Class)):
            return self._member(atom, atom.key, name)
        if isinstance(atom, Parent):
            return self._inherited(atom, name)
        if isinstance(atom, Parameter):
            self.sights.note_parameter(frozenset({atom}), name)
            return self._unknown(name, "")
        if isinstance(atom, Of):
            return self.binder.receivers.asked(atom.path, name) or self._unknown(name, atom.path)
        if isinstance(atom, Fields):
            if name not in _KEYED:
                self.sights.escape(frozenset({atom}))
                return UNKNOWN
            return frozenset({Method(atom, name)})
        if isinstance(atom, Box):
            # A named tuple or a namespace object is a container whose keys are attributes.
            for key, value in atom.items:
                if key == name:
                    return join(
                        [value, frozenset({Method(atom, name)})] if atom.mapping and name in _OF_DICT else [value]
                    )
            return frozenset({Method(atom, name)})
        if isinstance(atom, Type):
            return self._of_type(atom, name)
        if isinstance(atom, Builtin):
            return frozenset({Builtin(f"{atom.name}.{name}")})
        if isinstance(atom, Namespace):
            if name in _GETTING:
                return frozenset({Partial(frozenset({Builtin("<item>")}), (frozenset({atom}),), ())})
            return frozenset({Symbol(f"{atom.module}.{name}")})
        if isinstance(atom, (Accessor, Function)) and name in ("__wrapped__", "__call__", "__func__"):
            return frozenset({atom})
        if isinstance(atom, Awaiting):
            return frozenset({Partial(_SAME, (atom.value,), ())}) if name == "result" else UNKNOWN
        if isinstance(atom, Partial) and name == "func":
            return atom.function
        return self._unknown(name, "")

    def _of_type(self, atom: Type, name: str) -> Value:
        """What the record's class has: a function of it that gives a record, as `from_…` do."""
        if name in _ACTING or name == "__new__":
            return frozenset({Builtin(f"object.{name}")})
        return self.binder.record_class.of_class(atom, name)

    def _record(self, record: Record, name: str, node: ast.AST, base: Value) -> Value:
        if is_dunder(name):
            if name == "__dict__":
                return frozenset({Fields(record, not record.copied, raw_token(node), name)})
            return frozenset({Method(record, name)}) if name in _ACTING else OTHER
        span = (self.module.start(node), self.module.end(node)) if isinstance(node, ast.Attribute) else None
        certain = len(base) == 1 and not record.copied and record.guess is None
        self.sights.read_of(record, name, self.places.token(node), certain=certain, span=span)
        return self.binder.record_class.of_record(record, name) or UNKNOWN

    def _symbol(self, symbol: Symbol, name: str) -> Value:
        path = f"{symbol.path}.{name}"
        if symbol.path == "builtins":
            return frozenset({Builtin(name)})
        found = self.state.world.name(path)
        if found is not None:
            return found
        if name in self.state.at_home:
            # Another module's name for the module that has it.
            for atom in self.binder.elsewhere.constant(frozenset({symbol})):
                if isinstance(atom, Symbol) and atom != symbol:
                    return self._symbol(atom, name)
        if symbol.path == "sys.modules" and name in _GETTING:
            return frozenset({Partial(frozenset({Builtin("<item>")}), (frozenset({symbol}),), ())})
        # What a module holds is a variable, and no attribute that a name speaks for.
        if name in self.state.holders and symbol.path not in self.state.known_modules:
            return self._guesses(name, self.binder.receivers.of_call(symbol.path))
        if name == "__dict__" and "()" not in symbol.path:
            return frozenset({Namespace(symbol.path)})
        if "()" not in symbol.path:
            return frozenset({Symbol(path)})
        parked = self.binder.classes.parked(name)
        if name in self.state.mute:
            parked = join([parked, self.binder.receivers.records(self.binder.receivers.of_call(symbol.path), name)])
        return join([parked, frozenset({Symbol(path)})])

    def _nameless(self, name: str, node: ast.AST) -> Value:
        """An attribute of something that no value tells of; where its name speaks, other modules may."""
        if name in self.state.holders and isinstance(node, ast.Attribute):
            paths = self.binder.receivers.of(node)
            if paths:
                return join(self._unknown(name, path) for path in paths)
        return self._unknown(name, "")

    def _unknown(self, name: str, path: str) -> Value:
        """An attribute of an object that is not known: what this module parks under that name, or the name itself."""
        parked = self.binder.classes.parked(name)
        if path:
            parked = join([parked, self.binder.classes.from_others([path], name)])
        if interesting(parked):
            return join([parked, UNKNOWN])
        if name in self.state.holders:
            return self._guess(name, path)
        return self.binder.receivers.records([path], name) if path else UNKNOWN

    def _named_record(self, name: str) -> Value:
        return frozenset({Record(self.state.holders[name], False)})

    def _guesses(self, name: str, paths: list[str]) -> Value:
        return join(self._guess(name, path) for path in paths) or self._guess(name, "")

    def _guess(self, name: str, path: str) -> Value:
        return frozenset({Record(self.state.holders[name], False, guess=(name, path))})

    def _member(self, atom: Instance | Class, key: str, name: str) -> Value:
        found, outside = self.binder.classes.member(key, name)
        if found is None:
            if name in self.state.asked_names and f"{key}.__init__" in self.state.functions:
                self.state.demanded.add(f"{key}.__init__")
            return self._undeclared(atom, key, name, outside)
        result = self._bound(atom, found)
        if self._left_open(found):
            below = self.binder.classes.below(key, name)
            if below:
                return join([result, self._bound(atom, below)])
        if (
            name in self.state.holders
            and all(isinstance(part, (Plain, Parameter)) for part in result)
            and any(isinstance(part, Parameter) or part == Plain("unknown") for part in result)
        ):
            return join([result, frozenset({Record(self.state.holders[name], False)})])
        return result

    def _bound(self, atom: Instance | Class, found: Value) -> Value:
        """What a class has under a name, as its instance or the class itself gives it."""
        values: list[Value] = []
        for part in found:
            if isinstance(part, Property):
                values.append(
                    self.binder.callees.got(part, frozenset({atom})) if isinstance(atom, Instance) else UNKNOWN
                )
            elif isinstance(part, Function) and part.receiver is None:
                values.append(frozenset({Function(part.key, frozenset({atom}))}))
            elif isinstance(part, Instance) and self.binder.classes.member(part.key, "__get__")[0] is not None:
                values.append(self.binder.callees.special(part, ("__get__",), []))
            else:
                values.append(frozenset({part}))
        return join(values) or UNKNOWN

    def _left_open(self, found: Value) -> bool:
        """Whether a class only declares what its subclasses give: None, or a method without a body."""
        for part in found:
            for inner in part.getter if isinstance(part, Property) else (part,):
                if isinstance(inner, Function):
                    facts = self.state.functions.get(inner.key)
                    if facts is None or not facts.without_body():
                        return False
                elif inner not in NONE:
                    return False
        return True

    def _undeclared(self, atom: Instance | Class, key: str, name: str, outside: list[str]) -> Value:
        """An attribute that the class of the object says nothing of."""
        if name in _SETTING and isinstance(atom, Instance):
            return frozenset({Partial(frozenset({Builtin(f"object.{name}")}), (frozenset({atom}),), ())})
        if isinstance(atom, Instance) and not is_dunder(name):
            given = self.binder.callees.special(atom, ("__getattr__",), [])
            if interesting(given):
                return join([given, UNKNOWN])
        speaks = name in self.state.holders or name in self.state.mute
        if speaks and key not in self.state.classes and self.state.world.table(key) is None:
            # A class of another module that says no more of itself.
            return self._unknown(name, key)
        if name in self.state.holders:
            # The class of the object is known: its ancestors elsewhere may speak, otherwise the name does.
            return self._guess(name, "=" + "|".join(outside)) if outside else self._named_record(name)
        below = self.binder.classes.below(key, name)
        if below:
            return join([self._bound(atom, below), UNKNOWN])
        if name == "__class__" and isinstance(atom, Instance):
            return frozenset({Class(key)})
        return UNKNOWN

    def _inherited(self, parent: Parent, name: str) -> Value:
        if name in _SETTING:
            return frozenset(
                {Partial(frozenset({Builtin(f"object.{name}")}), (frozenset({Instance(parent.key)}),), ())}
            )
        if name in _ACTING:
            return UNKNOWN
        values = []
        for base in self.binder.classes.bases(parent.key):
            for atom in base:
                if isinstance(atom, Class):
                    found, _ = self.binder.classes.member(atom.key, name)
                    if found is not None:
                        for part in found:
                            if isinstance(part, Property):
                                values.append(self.binder.callees.got(part, frozenset({Instance(parent.key)})))
                            elif isinstance(part, Function):
                                values.append(frozenset({Function(part.key, frozenset({Instance(parent.key)}))}))
                            else:
                                values.append(frozenset({part}))
        if not values and name == "__new__":
            return frozenset({Builtin("object.__new__")})
        return join(values) or UNKNOWN
