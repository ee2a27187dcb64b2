"""Containers and texts as they are written: displays, comprehensions, f-strings; and what iterating over one gives."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.scopes import Scope
from confbag.ratchets.binder.values import (
    OTHER,
    UNKNOWN,
    Box,
    Const,
    Instance,
    Value,
    awaited,
    box,
    constant,
    content,
    join,
    opaque,
    unsure,
)


class Displays(Part):
    """Values made of parts."""

    def sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        """A list, tuple or set."""
        items: list[tuple[str | int, Value]] = []
        rest: list[Value] = []
        for part in node.elts:
            if isinstance(part, ast.Starred):
                value = self.binder.use(part.value)
                inner = [atom for atom in value if isinstance(atom, Box)]
                if len(inner) == 1 and len(value) == 1 and not inner[0].rest and not rest:
                    items.extend((len(items) + index, held) for index, (_, held) in enumerate(inner[0].items))
                else:
                    rest.append(self.element(value))
            elif rest:
                rest.append(self.binder.use(part))
            else:
                items.append((len(items), self.binder.use(part)))
        return box(False, items, join(rest))

    def mapping(self, node: ast.Dict) -> Value:
        """A dict."""
        items: dict[str | int, Value] = {}
        rest: list[Value] = []
        for key_node, value_node in zip(node.keys, node.values, strict=False):
            if key_node is None:
                inner = self.binder.use(value_node)
                for atom in inner:
                    if isinstance(atom, Box):
                        items.update(atom.items)
                        rest.append(atom.rest)
                continue
            key = constant(self.binder.use(key_node))
            value = self.binder.use(value_node)
            if key is None:
                rest.append(opaque(value))
            else:
                items[key] = value
        return box(True, items.items(), join(rest))

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        """A comprehension: a scope of its own that runs where it stands."""
        if self.binder.conditions.binds(node):
            # What a walrus in it binds may never be bound.
            outer = self.names.scope
            before, outer.env = outer.env, dict(outer.env)
            value = self._comprehended(node)
            self.binder.conditions.meet(outer.env, before)
            return value
        return self._comprehended(node)

    def _comprehended(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        first = self.binder.evaluate(node.generators[0].iter)
        scope = Scope("comprehension", self.names.scope, self.names.scope.qualname, inline=True, function=f"{id(node)}")
        for generator in node.generators:
            for part in ast.walk(generator.target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    scope.bound.add(part.id)
        with self.names.within(scope):
            for number, generator in enumerate(node.generators):
                source = first if number == 0 else self.binder.evaluate(generator.iter)
                self.binder.targets.assign(generator.target, self.element(source))
                for condition in generator.ifs:
                    scope.env, _ = self.binder.conditions.test(condition)
            if isinstance(node, ast.DictComp):
                key = constant(self.binder.use(node.key))
                value = self.binder.use(node.value)
                return box(True, ((key, value),)) if key is not None else box(True, (), opaque(value))
            return box(False, (), self.binder.use(node.elt))

    def element(self, value: Value) -> Value:
        """What iterating over a value gives."""
        self.sights.escape(value)
        values = [content(atom) for atom in value if isinstance(atom, Box) and not atom.mapping]
        if len(values) < len(value) or not value:
            values.append(UNKNOWN)
            values.extend(self._iterated(atom) for atom in value if isinstance(atom, Instance))
        return unsure(join(values)) or UNKNOWN

    def _iterated(self, instance: Instance) -> Value:
        """What an object gives that is iterated over by methods of its own."""
        special = self.binder.callees.special
        given = special(instance, ("__iter__", "__aiter__"), [])
        values = [content(atom) for atom in given if isinstance(atom, Box) and not atom.mapping]
        iterators = [atom for atom in given if isinstance(atom, Instance)] or [instance]
        values.extend(special(atom, ("__next__", "__anext__"), []) for atom in iterators)
        return awaited(join(values))

    def text(self, node: ast.JoinedStr) -> Value:
        """An f-string: a text where all of its parts are known."""
        self.places.in_text += 1
        try:
            return self._pieces(node)
        finally:
            self.places.in_text -= 1

    def _pieces(self, node: ast.JoinedStr) -> Value:
        text: list[str] = []
        whole = True
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.binder.use(part.value)
                if part.format_spec is not None:
                    self.binder.evaluate(part.format_spec)
                name = constant(value)
                if name is None or part.conversion != -1 or part.format_spec is not None:
                    whole = False
                else:
                    text.append(str(name))
            elif isinstance(part, ast.Constant):
                text.append(str(part.value))
            else:
                self.binder.use(part)
                whole = False
        return frozenset({Const("".join(text))}) if whole else OTHER
