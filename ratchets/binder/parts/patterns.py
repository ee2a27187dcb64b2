"""match: what captures take, and the fields that class patterns read."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    NOTHING,
    UNKNOWN,
    Box,
    Fields,
    Record,
    Symbol,
    Type,
    Value,
    box,
    content,
    interesting,
    join,
    records,
)
from confbag.ratchets.finding import Place


class Patterns(Part):
    """Patterns against values."""

    def capture(self, node: ast.pattern, value: Value) -> None:
        """Bind what a pattern captures of a value."""
        if isinstance(node, ast.MatchAs):
            if node.pattern is not None:
                self.capture(node.pattern, value)
                value = self._refined(node.pattern, value)
            if node.name is not None:
                self.names.bind(node.name, value)
        elif isinstance(node, ast.MatchOr):
            for part in node.patterns:
                self.capture(part, value)
        elif isinstance(node, ast.MatchValue):
            self.binder.evaluate(node.value)
        elif isinstance(node, ast.MatchClass):
            self._class(node, value)
        elif isinstance(node, ast.MatchSequence):
            self._sequence(node, value)
        elif isinstance(node, ast.MatchMapping):
            if node.rest is not None:
                self.sights.escape(value)
                value = frozenset(atom for atom in value if not isinstance(atom, Fields))
            for key_node, part in zip(node.keys, node.patterns, strict=False):
                self.capture(part, self._keyed(value, self.binder.evaluate(key_node), key_node))
            if node.rest is not None:
                self.names.bind(
                    node.rest, join(frozenset({atom}) for atom in value if isinstance(atom, Box)) or UNKNOWN
                )
        elif isinstance(node, ast.MatchStar) and node.name is not None:
            self.names.bind(node.name, UNKNOWN)

    def _keyed(self, value: Value, key: Value, node: ast.expr) -> Value:
        held = frozenset(atom for atom in value if isinstance(atom, (Box, Fields)))
        return self.binder.items.of(held, key, node) if held else UNKNOWN

    def _refined(self, node: ast.pattern, value: Value) -> Value:
        if isinstance(node, ast.MatchClass) and not records(value):
            kinds = self.binder.annotations.resolve(node.cls)
            found = frozenset(Record(atom.spec, False) for atom in kinds if isinstance(atom, Type))
            if found:
                return found
        return value

    def _class(self, node: ast.MatchClass, value: Value) -> None:
        self.binder.evaluate(node.cls)
        subject = self._refined(node, value)
        held = records(subject)
        if held and node.patterns and not self._is_builtin(node.cls):
            for record in held:
                self.sights.see("CB103", record, "record.*", self.places.token(node.cls))
        for part in node.patterns:
            self.capture(part, UNKNOWN)
        before: ast.AST = node.patterns[-1] if node.patterns else node.cls
        for name, part in zip(node.kwd_attrs, node.kwd_patterns, strict=False):
            if held or not interesting(value):
                place = self._keyword_place(before, part, name)
                self.sights.read(subject, name, place)
                inner = UNKNOWN
            else:
                inner = self.binder.attributes.of(value, name, part)
            self.capture(part, inner)
            before = part

    def _is_builtin(self, node: ast.expr) -> bool:
        return not any(
            isinstance(atom, (Type, Symbol)) for atom in self.binder.annotations.resolve(node)
        ) and isinstance(node, ast.Name)

    def _keyword_place(self, before: ast.AST, part: ast.pattern, name: str) -> Place:
        module = self.module
        start, end = module.end(before), module.start(part)
        found = module.utf8.rfind(name.encode(), start, end)
        if found < 0:
            return self.places.token(part)
        line = module.utf8.count(b"\n", module.starts[part.lineno - 1], found) + part.lineno
        while module.starts[line - 1] > found:
            line -= 1
        offset = found - module.starts[line - 1]
        return self.places.at(line, offset, line, offset + len(name.encode()))

    def _sequence(self, node: ast.MatchSequence, value: Value) -> None:
        boxes = [atom for atom in value if isinstance(atom, Box) and not atom.mapping]
        starred = next((index for index, part in enumerate(node.patterns) if isinstance(part, ast.MatchStar)), None)
        for index, part in enumerate(node.patterns):
            values: list[Value] = []
            for one in boxes:
                if one.rest or (starred is not None and index > starred):
                    values.append(content(one))
                else:
                    values.append(dict(one.items).get(index, NOTHING))
            found = join(values) or UNKNOWN
            if isinstance(part, ast.MatchStar):
                if part.name is not None:
                    self.names.bind(
                        part.name, box(False, (), join(content(one) for one in boxes)) if boxes else UNKNOWN
                    )
            else:
                self.capture(part, found)
