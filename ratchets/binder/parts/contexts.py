"""with: what entering a context manager gives."""

from __future__ import annotations

import ast

from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    UNKNOWN,
    Accessor,
    Box,
    Function,
    Instance,
    Of,
    Record,
    Symbol,
    Type,
    Value,
    awaited,
    content,
    join,
    opaque,
    records,
)


class Contexts(Part):
    """Context managers and what `as` takes."""

    def with_statement(self, node: ast.With | ast.AsyncWith) -> None:
        """Context managers and what they give."""
        self.places.enter(node)
        swallows = False
        for item in node.items:
            value = self.binder.evaluate(item.context_expr)
            entered = self.entered(item.context_expr, value, asynchronous=isinstance(node, ast.AsyncWith))
            if item.optional_vars is not None:
                self._give(item.optional_vars, entered)
            swallows = swallows or any(self._swallows(atom) for atom in value)
        if swallows:
            self.binder.flow.swallowing(node.body)
        else:
            self.binder.flow.block(node.body)

    def _give(self, target: ast.expr, value: Value) -> None:
        """`as` takes a value; where a record may be in it, parts of it may be the record too."""
        if isinstance(target, (ast.Tuple, ast.List)) and any(record.opaque for record in records(value)):
            for part in target.elts:
                self._give(part.value if isinstance(part, ast.Starred) else part, value)
        else:
            self.binder.targets.assign(target, value)

    def _swallows(self, atom: object) -> bool:
        """Whether it goes on after the block when something was thrown in it."""
        if isinstance(atom, Symbol):
            return atom.path == "contextlib.suppress()"
        if not isinstance(atom, Instance):
            return False
        for name in ("__exit__", "__aexit__"):
            for part in self.binder.classes.member(atom.key, name)[0] or ():
                facts = self.state.functions.get(part.key) if isinstance(part, Function) else None
                if facts is not None and not isinstance(facts.node, ast.Lambda) and _says_true(facts.node):
                    return True
        return False

    def entered(self, node: ast.expr, value: Value, *, asynchronous: bool = False) -> Value:
        """What `as` takes."""
        values: list[Value] = []
        for atom in value:
            if isinstance(atom, Box):
                values.append(content(atom))
            elif isinstance(atom, Instance):
                name = "__aenter__" if asynchronous else "__enter__"
                values.append(awaited(self.binder.callees.special(atom, (name,), [])))
            elif isinstance(atom, (Symbol, Of)):
                values.extend([self._from_unknown(node), opaque(atom.taken)])
            elif atom in UNKNOWN:
                values.append(self._from_unknown(node))
            else:
                values.append(UNKNOWN)
        return join(values) or UNKNOWN

    def _from_unknown(self, node: ast.expr) -> Value:
        if not isinstance(node, ast.Call):
            return UNKNOWN
        given: list[Value] = []
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(part, (ast.Name, ast.Attribute)):
                found = self.silent(part)
                given.append(frozenset(records(found)))
            elif isinstance(part, ast.Call) and not part.args:
                for atom in self.binder.expressions.quiet(part.func):
                    if isinstance(atom, (Accessor, Type)):
                        given.append(frozenset({Record(atom.spec, isinstance(atom, Accessor))}))
        held = join(given)
        return join([opaque(held), UNKNOWN]) if held else UNKNOWN

    def silent(self, node: ast.expr) -> Value:
        """A value without noting what it takes to get it."""
        if isinstance(node, ast.Name):
            return self.binder.expressions.name(node)
        if isinstance(node, ast.Attribute):
            base = self.silent(node.value)
            if records(base):
                return UNKNOWN
            return self.binder.attributes.of(base, node.attr, node)
        return UNKNOWN


def _says_true(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function may return something that is true: not None, not False, not what another `__exit__` says."""
    given = (part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value is not None)
    return any(
        part.value if isinstance(part, ast.Constant) else not isinstance(part, (ast.Call, ast.Await)) for part in given
    )
