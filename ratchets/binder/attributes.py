"""What an attribute of a value is, and the read that asking for it can be."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.members import Members
from confbag.ratchets.binder.scopes import Scope
from confbag.ratchets.binder.values import (
    ABSENT,
    NOTHING,
    OTHER,
    UNKNOWN,
    Accessor,
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
from confbag.ratchets.finding import Place

_ACTING = {"__getattribute__", "__getattr__", "__setattr__", "__delattr__"}
_OF_DICT = frozenset(dir(dict))
_KEYED = {
    "get", "pop", "setdefault", "update", "clear", "popitem", "__getitem__", "__setitem__", "__delitem__",
    "__contains__", "__ior__",
}  # fmt: skip


def is_dunder(name: str) -> bool:
    """Dunders are no fields."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


class Attributes(Members):
    """Attributes of records, modules, classes, instances and objects that are not known."""

    def token(self, node: ast.AST) -> Place:
        """The token that names a thing: the attribute's name, the callee's name, or the whole expression."""
        while isinstance(node, ast.Call):
            node = node.func
        line, end_line = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        if isinstance(node, ast.Attribute):
            line = end_line
            start = end - len(node.attr.encode())
        if self.in_text and not self.module.exact:
            self._check(node, line, start, end)
        elif isinstance(node, ast.Attribute) and self.module.line(line)[start:end] != node.attr.encode():
            # `ast` gives names in NFKC; the text may spell them otherwise.
            text = self.module.line(line)[:end].decode("utf-8", "replace")
            name = len(text)
            while name and (text[name - 1].isalnum() or text[name - 1] == "_"):
                name -= 1
            start = len(text[:name].encode())
        return self.place(line, start, end_line, end)

    def _check(self, node: ast.AST, line: int, start: int, end: int) -> None:
        """Whether the place inside an f-string is where the text has it."""
        if line > len(self.module.starts):
            self.inexact = True
            return
        found = self.module.line(line)[start:end]
        if isinstance(node, ast.Attribute):
            fits = found == node.attr.encode()
        elif isinstance(node, ast.Name):
            fits = found == node.id.encode()
        else:
            fits = found[:1] in (b"'", b'"') or not isinstance(node, ast.Constant)
        if not fits:
            self.inexact = True

    def read(
        self, base: Value, name: str, place: Place, *, span: tuple[int, int] | None = None, certain: bool = False
    ) -> None:
        """A field is read off every record that a value can be."""
        for record in records(base):
            if name in record.replaced:
                continue
            code = "CB103" if record.opaque else "CB101" if record.direct else "CB102"
            self.see(code, record, f"record.{name}", place, certain=certain and code == "CB101", span=span)
        self.note_parameter(base, name)

    def write(self, base: Value, name: str, place: Place, *, nested: bool = False) -> None:
        """A field is written; a copy's own field may be, what a shallow copy shares may not."""
        for record in records(base):
            if record.copied == "deep" or (record.copied and not nested):
                if nested and name not in record.replaced:
                    self.see("CB101" if record.direct else "CB102", record, f"record.{name}", place)
                continue
            if name in record.replaced:
                continue
            self.see("CB111", record, f"record.{name}", place)
        self.note_parameter(base, name)

    def escape(self, value: Value) -> Value:
        """`vars(record)` and its like are used other than by a constant key."""
        for atom in value:
            if isinstance(atom, Fields):
                self.see("CB103", atom.record, "record.*", self.place(*atom.place))
        return value

    def stored(self, name: str, attribute: str) -> Value | None:
        """What the code before left in `name.attribute`, as far as this function knows."""
        key = (name, attribute)
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.env.get(key)
            if found is not None:
                return found
            if not scope.inline or name in scope.bound:
                return None
            scope = scope.parent
        return None

    def attribute(self, base: Value, name: str, node: ast.AST, *, load: bool = True) -> Value:
        """The value of an attribute. `node` names the field; a Load of a record's field is a read."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and not records(base):
            stored = self.stored(node.value.id, name)
            if stored is not None:
                if ABSENT not in stored:
                    return stored
                return join([stored - {ABSENT}, self._of_all(base, name, node, load)])
        return self._of_all(base, name, node, load)

    def _of_all(self, base: Value, name: str, node: ast.AST, load: bool) -> Value:
        if len(base) == 1:
            (atom,) = base
            return self._of(atom, name, node, load, base)
        return join([self._of(atom, name, node, load, base) for atom in base]) or UNKNOWN

    def _of(self, atom: object, name: str, node: ast.AST, load: bool, base: Value) -> Value:
        if isinstance(atom, Plain):
            return self._unknown(name, "") if atom.kind == "unknown" else UNKNOWN
        if isinstance(atom, Record):
            return self._record(atom, name, node, load, base)
        if isinstance(atom, Symbol):
            return self._symbol(atom, name)
        if isinstance(atom, (Instance, Class)):
            return self._member(atom, atom.key, name, own=True)
        if isinstance(atom, Parent):
            return self._inherited(atom, name)
        if isinstance(atom, Parameter):
            self.note_parameter(frozenset({atom}), name)
            return self._unknown(name, "")
        if isinstance(atom, Of):
            return self._unknown(name, atom.path)
        if isinstance(atom, Fields):
            if name not in _KEYED:
                self.escape(frozenset({atom}))
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
            return frozenset({Builtin(f"object.{name}")}) if name in _ACTING else UNKNOWN
        if isinstance(atom, Builtin):
            return frozenset({Builtin(f"{atom.name}.{name}")})
        if isinstance(atom, Namespace):
            return frozenset({Symbol(f"{atom.module}.{name}")}) if name != "get" else UNKNOWN
        if isinstance(atom, (Accessor, Function)) and name in ("__wrapped__", "__call__", "__func__"):
            return frozenset({atom})
        if isinstance(atom, Partial) and name == "func":
            return atom.function
        return self._unknown(name, "")

    def _record(self, record: Record, name: str, node: ast.AST, load: bool, base: Value) -> Value:
        place = self.token(node)
        if is_dunder(name):
            if name == "__dict__":
                module = self.module
                end = node.end_col_offset  # type: ignore[attr-defined]
                line = node.end_lineno  # type: ignore[attr-defined]
                start = end - len(name) if isinstance(node, ast.Attribute) else node.col_offset  # type: ignore[attr-defined]
                del module
                return frozenset({Fields(record, not record.copied, (line, start, line, end), name)})
            return frozenset({Method(record, name)}) if name in _ACTING else OTHER
        if load and name not in record.replaced:
            code = "CB103" if record.opaque else "CB101" if record.direct else "CB102"
            span = None
            if isinstance(node, ast.Attribute):
                span = (self.module.start(node), self.module.end(node))
            certain = code == "CB101" and len(base) == 1 and not record.copied and record.guess is None
            self.see(code, record, f"record.{name}", place, certain=certain, span=span)
        return UNKNOWN

    def _symbol(self, symbol: Symbol, name: str) -> Value:
        path = f"{symbol.path}.{name}"
        if symbol.path == "builtins":
            return frozenset({Builtin(name)})
        found = self.world.name(path)
        if found is not None:
            return found
        if name in self.holders and path not in self.known_modules:
            return self._guess(name, "")
        if name == "__dict__" and "()" not in symbol.path:
            return frozenset({Namespace(symbol.path)})
        parked = self._parked(name) if "()" in symbol.path else NOTHING
        return join([parked, frozenset({Symbol(path)})])

    def _unknown(self, name: str, path: str) -> Value:
        """An attribute of an object that is not known: what this module parks under that name, or the name itself."""
        parked = self._parked(name)
        if interesting(parked):
            return join([parked, UNKNOWN])
        if name in self.holders:
            return self._guess(name, path)
        return UNKNOWN

    def _parked(self, name: str) -> Value:
        found = join([self.foreign.get(name, NOTHING), self.last_foreign.get(name, NOTHING)])
        if interesting(found):
            return found
        values: list[Value] = []
        for key in {*self.classes, *self.last_attributes}:
            facts = self.classes.get(key)
            own = join(
                [
                    facts.attributes.get(name, NOTHING) if facts else NOTHING,
                    self.last_attributes.get(key, {}).get(name, NOTHING),
                ]
            )
            if own:
                if not any(isinstance(atom, Record) for atom in own):
                    return NOTHING
                values.append(frozenset(records(own)))
        return join(values)

    def _named_record(self, name: str) -> Value:
        return frozenset({Record(self.holders[name], False)})

    def _guess(self, name: str, path: str) -> Value:
        return frozenset({Record(self.holders[name], False, guess=(name, path))})

    def _member(self, atom: Instance | Class, key: str, name: str, *, own: bool) -> Value:
        found, outside = self.member(key, name)
        if found is None:
            if name in self.holders:
                # The class of the object is known: its ancestors elsewhere may speak, otherwise the name does.
                return self._guess(name, "=" + "|".join(outside)) if outside else self._named_record(name)
            below = self.below(key, name)
            if below:
                return join([below, UNKNOWN])
            if name == "__class__" and isinstance(atom, Instance):
                return frozenset({Class(key)})
            if name == "__dict__":
                return UNKNOWN
            return UNKNOWN
        values: list[Value] = []
        for part in found:
            if isinstance(part, Property):
                values.append(self.got(part, frozenset({atom})) if isinstance(atom, Instance) else UNKNOWN)
            elif isinstance(part, Function) and part.receiver is None:
                values.append(frozenset({Function(part.key, frozenset({atom}))}) if own else frozenset({part}))
            else:
                values.append(frozenset({part}))
        result = join(values) or UNKNOWN
        if (
            name in self.holders
            and all(isinstance(part, (Plain, Parameter)) for part in result)
            and any(isinstance(part, Parameter) or part == Plain("unknown") for part in result)
        ):
            return join([result, frozenset({Record(self.holders[name], False)})])
        return result

    def got(self, prop: Property, receiver: Value) -> Value:
        """What a property gives."""
        raise NotImplementedError

    def _inherited(self, parent: Parent, name: str) -> Value:
        if name in _ACTING:
            return UNKNOWN
        values = []
        for base in self.bases_of(parent.key):
            for atom in base:
                if isinstance(atom, Class):
                    found, _ = self.member(atom.key, name)
                    if found is not None:
                        for part in found:
                            if isinstance(part, Property):
                                values.append(self.got(part, frozenset({Instance(parent.key)})))
                            elif isinstance(part, Function):
                                values.append(frozenset({Function(part.key, frozenset({Instance(parent.key)}))}))
                            else:
                                values.append(frozenset({part}))
        if not values and name == "__new__":
            return frozenset({Builtin("object.__new__")})
        return join(values) or UNKNOWN
