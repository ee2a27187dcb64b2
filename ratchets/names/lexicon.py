"""Scopes, bindings and sites of one tree: what the rules beside the record rules ask about names.

One walk without recursion. Which binding a use sees is `reach`'s question, what an expression is `naming`'s.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from confbag.ratchets.names.scopes import Arm, Binding, Position, Scope, Site
from confbag.ratchets.source.modules import absolute
from confbag.ratchets.source.parse import Module
from confbag.ratchets.source.tree import children, parameters

_BEHIND = (1 << 61, 0)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What rules ask the sites of.
_ASKED = (
    *_FUNCTIONS, ast.ClassDef, ast.Lambda, ast.Assign, ast.AnnAssign, ast.Return, ast.Name, ast.Attribute,
    ast.Subscript, ast.Call, ast.IfExp,
)  # fmt: skip
# A node, or the statements of a block.
_Work = tuple[Any, Scope, Arm | None, ast.stmt | None]


def lexicon(module: Module) -> Lexicon:
    """The lexicon of a module, made once and kept with it."""
    kept: dict[str, object] = module.__dict__
    found = kept.get("lexicon")
    if not isinstance(found, Lexicon):
        found = kept["lexicon"] = Lexicon(module)
    return found


def release(module: Module) -> None:
    """Forget the lexicon of a module, so that its tree goes at once and not when the collector comes by."""
    found = module.__dict__.pop("lexicon", None)
    if isinstance(found, Lexicon):
        for scope in found.scopes:
            scope.bindings.clear()
            scope.parent = None
        found.scopes.clear()
        found.sites.clear()
        found.stars.clear()


class Lexicon:
    """Everything that one walk saw. `sites` holds, by type of node, what stands where, in source order."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.top = Scope("module", None, "<module>", module.tree)
        self.scopes: list[Scope] = [self.top]
        self.scope_of: dict[ast.AST, Scope] = {module.tree: self.top}
        self.sites: dict[type, list[Site]] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.stars: list[tuple[str, Binding]] = []
        self._stores: list[Binding] = []
        self._walk()
        self._give_away()

    def of(self, *kinds: type) -> list[Site]:
        """The sites of nodes of these types, all of `_ASKED`, in source order."""
        found = [site for kind in kinds for site in self.sites[kind]]
        found.sort(key=lambda site: (site.node.lineno, site.node.col_offset))
        return found

    def any(self, *kinds: type) -> Iterator[Site]:
        """The sites of nodes of these types, all of `_ASKED`, in no order."""
        for kind in kinds:
            yield from self.sites[kind]

    # The walk

    def _walk(self) -> None:
        stack: list[_Work] = [(self.module.tree.body, self.top, None, None)]
        push = stack.append
        parents = self.parents
        asked: dict[type, Callable[[Site], None]] = {kind: self.sites.setdefault(kind, []).append for kind in _ASKED}
        site = tuple.__new__
        while stack:
            node, scope, arm, statement = work = stack.pop()
            # Asked of each of millions: by class, which a parser makes no subclasses of.
            kind = node.__class__
            if kind is list:
                stack.extend([(one, scope, arm, one) for one in reversed(node)])
                continue
            note = asked.get(kind)
            if note is not None:
                # A named tuple's own way takes three times as long.
                note(site(Site, work))
            # Two of three nodes are names and attributes.
            if kind is ast.Name:
                continue
            if kind is ast.Attribute:
                parents[node.value] = node
                push((node.value, scope, arm, statement))
                continue
            special = _SPECIAL.get(kind)
            for child in children(node) if special is None else special(self, stack, site(Site, work)):
                parents[child] = node
                if child.__class__ is not ast.Constant:
                    push((child, scope, arm, statement))

    def _give_away(self) -> None:
        """What a function stores by `global` or `nonlocal` is bound outside of it."""
        for scope in self.scopes:
            for name in [name for name in scope.bindings if name in scope.globals or name in scope.nonlocals]:
                target = self.top if name in scope.globals else _owner(scope, name)
                if target is None:
                    continue
                for binding in scope.bindings.pop(name):
                    binding.stored = True
                    binding.position = _BEHIND
                    target.bindings.setdefault(name, []).append(binding)
        for scope in self.scopes:
            for bindings in scope.bindings.values():
                if len(bindings) > 1:
                    bindings.sort(key=lambda binding: binding.position)

    def bind(
        self,
        name: str,
        kind: str,
        node: ast.AST,
        scope: Scope,
        arm: Arm | None,
        statement: ast.stmt,
        position: Position,
        path: str = "",
        value: ast.expr | None = None,
    ) -> None:
        """Note that a name gets a value."""
        if isinstance(node, ast.NamedExpr):
            while scope.kind == "comprehension" and scope.parent is not None:
                scope = scope.parent
        scope.bindings.setdefault(name, []).append(
            Binding(name, kind, node, scope, position, arm, statement, path, value)
        )

    def target(
        self,
        target: ast.expr,
        value: ast.expr | None,
        end: Position,
        scope: Scope,
        arm: Arm | None,
        statement: ast.stmt,
    ) -> None:
        """Bind the names of an assignment's target, each to its part of the value where that can be told."""
        pairs: list[tuple[ast.expr, ast.expr | None]] = [(target, value)]
        while pairs:
            one, given = pairs.pop()
            if isinstance(one, ast.Name):
                kind = "assign" if given is not None else "other"
                self.bind(one.id, kind, one, scope, arm, statement, end, value=given)
            elif isinstance(one, ast.Starred):
                pairs.append((one.value, None))
            elif isinstance(one, (ast.Tuple, ast.List)):
                parts: list[ast.expr | None] = [None] * len(one.elts)
                if (
                    isinstance(given, (ast.Tuple, ast.List))
                    and len(given.elts) == len(one.elts)
                    and not any(isinstance(part, ast.Starred) for part in (*given.elts, *one.elts))
                ):
                    parts = list(given.elts)
                pairs.extend(zip(one.elts, parts, strict=True))

    def scope(self, kind: str, parent: Scope, name: str, node: ast.AST, arm: Arm | None) -> Scope:
        """Open a scope; lambdas and comprehensions add nothing to the qualname."""
        qualname = (
            parent.qualname if not name else name if parent.qualname == "<module>" else f"{parent.qualname}.{name}"
        )
        made = Scope(kind, parent, qualname, node, arm)
        self.scopes.append(made)
        self.scope_of[node] = made
        return made

    # Statements

    def _import(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            path = alias.name if alias.asname else name
            self.bind(name, "import", alias, scope, arm, statement, _start(node), path)
        return ()

    def _import_from(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        base = absolute(self.module.parent, node.module or "", node.level)
        for alias in node.names:
            if alias.name == "*":
                self.stars.append((base, Binding("*", "import", alias, scope, _start(node), arm, statement, base)))
                continue
            path = f"{base}.{alias.name}" if base else alias.name
            self.bind(alias.asname or alias.name, "import", alias, scope, arm, statement, _start(node), path)
        return ()

    def _function(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        self.bind(node.name, "def", node, scope, arm, statement, _start(node))
        inner = self.scope("function", scope, node.name, node, arm)
        self._parameters(node.args, inner, statement)
        self._type_parameters(node, inner, statement)
        stack.append((node.body, inner, None, None))
        return [*node.decorator_list, *_outside(node.args), *([node.returns] if node.returns else [])]

    def _lambda(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        inner = self.scope("lambda", scope, "", node, arm)
        self._parameters(node.args, inner, statement)
        self.parents[node.body] = node
        stack.append((node.body, inner, None, statement))
        return _outside(node.args)

    def _parameters(self, arguments: ast.arguments, scope: Scope, statement: ast.stmt) -> None:
        for part in parameters(arguments):
            self.bind(part.arg, "other", part, scope, None, statement, (0, 0))

    def _type_parameters(self, node: ast.AST, scope: Scope, statement: ast.stmt) -> None:
        for part in getattr(node, "type_params", ()):
            self.bind(part.name, "other", part, scope, None, statement, (0, 0))

    def _class(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        self.bind(node.name, "class", node, scope, arm, statement, _start(node))
        inner = self.scope("class", scope, node.name, node, arm)
        self._type_parameters(node, inner, statement)
        stack.append((node.body, inner, arm, None))
        return [*node.decorator_list, *node.bases, *node.keywords]

    def _assign(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        for target in node.targets:
            self.target(target, node.value, _end(node), scope, arm, statement)
        return children(node)

    def _ann_assign(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        if node.value is not None:
            self.target(node.target, node.value, _end(node), scope, arm, statement)
        return children(node)

    def _aug_assign(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        self.target(node.target, None, _end(node), scope, arm, statement)
        return children(node)

    def _delete(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        for target in node.targets:
            self.target(target, None, _end(node), scope, arm, statement)
        return children(node)

    def _type_alias(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        self.target(node.name, None, _end(node), scope, arm, statement)
        return ()

    def _global(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        here.scope.globals.update(here.node.names)
        return ()

    def _nonlocal(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        here.scope.nonlocals.update(here.node.names)
        return ()

    def _if(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, _ = here
        tests = [node.test]
        blocks: list[tuple[Sequence[ast.stmt], int]] = [(node.body, 1)]
        rest = node.orelse
        chain = [node]
        while len(rest) == 1 and isinstance(rest[0], ast.If):
            inner = rest[0]
            chain.append(inner)
            tests.append(inner.test)
            blocks.append((inner.body, len(tests)))
            rest = inner.orelse
        if rest:
            blocks.append((rest, len(tests)))
        for number, (body, count) in reversed(list(enumerate(blocks))):
            stack.append((body, scope, Arm(arm, node, number, body, tests, count), None))
        for one in chain[1:]:
            self.parents[one.test] = one
            stack.append((one.test, scope, arm, one))
        return (node.test,)

    def _loop(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        if isinstance(node, ast.While):
            inner = Arm(arm, node, 0, node.body, (node.test,), 1)
            heads = [node.test]
        else:
            inner = Arm(arm, node, 0, node.body)
            self.target(node.target, None, _end(node.iter), scope, inner, statement)
            heads = [node.target, node.iter]
        if node.orelse:
            stack.append((node.orelse, scope, Arm(arm, node, 1, node.orelse), None))
        stack.append((node.body, scope, inner, None))
        return heads

    def _with(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        for item in node.items:
            if item.optional_vars is not None:
                self.target(item.optional_vars, None, _end(item.optional_vars), scope, arm, statement)
        stack.append((node.body, scope, arm, None))
        return list(node.items)

    def _try(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        # Any of the blocks may follow another, so none excludes one: all but the last part are arms of their own kind.
        if node.finalbody:
            stack.append((node.finalbody, scope, arm, None))
        if node.orelse:
            stack.append((node.orelse, scope, Arm(arm, node, 0, node.orelse), None))
        heads = []
        for number, handler in reversed(list(enumerate(node.handlers, 1))):
            inner = Arm(arm, node, number, handler.body)
            if handler.name:
                self.bind(handler.name, "other", handler, scope, inner, statement, _start(handler))
            stack.append((handler.body, scope, inner, None))
            if handler.type is not None:
                heads.append(handler.type)
        stack.append((node.body, scope, Arm(arm, node, 0, node.body), None))
        return heads

    def _match(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        heads = [node.subject]
        for number, case in reversed(list(enumerate(node.cases))):
            inner = Arm(arm, node, number, case.body)
            patterns: list[ast.AST] = [case.pattern]
            while patterns:
                pattern = patterns.pop()
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    self.bind(name, "other", pattern, scope, inner, statement, _start(pattern))
                if isinstance(pattern, ast.expr):
                    heads.append(pattern)
                else:
                    patterns.extend(children(pattern))
            stack.append((case.body, scope, inner, None))
            if case.guard is not None:
                heads.append(case.guard)
        return heads

    # Expressions

    def _walrus(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        self.bind(node.target.id, "assign", node, scope, arm, statement, _end(node), value=node.value)
        return (node.value,)

    def _comprehension(self, stack: list[_Work], here: Site) -> Iterable[ast.AST]:
        node, scope, arm, statement = here
        inner = self.scope("comprehension", scope, "", node, arm)
        first = node.generators[0].iter
        for generator in node.generators:
            self.target(generator.target, None, (0, 0), inner, None, statement)
            for part in (generator.target, generator.iter, *generator.ifs):
                if part is not first:
                    self.parents[part] = generator
                    stack.append((part, inner, arm, statement))
            self.parents[generator] = node
        heads = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for part in heads:
            self.parents[part] = node
            stack.append((part, inner, arm, statement))
        return (first,)


def _owner(scope: Scope, name: str) -> Scope | None:
    for outer in scope.outward():
        if outer is not scope and outer.kind in ("function", "lambda") and name in outer.bindings:
            return outer
    return None


def _outside(arguments: ast.arguments) -> list[ast.AST]:
    """What of a function's parameters is evaluated where the function stands."""
    found: list[ast.AST] = [part.annotation for part in parameters(arguments) if part.annotation is not None]
    found.extend(arguments.defaults)
    found.extend(default for default in arguments.kw_defaults if default is not None)
    return found


def _start(node: ast.AST) -> Position:
    return (node.lineno, node.col_offset)  # type: ignore[attr-defined]


def _end(node: ast.AST) -> Position:
    return (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


_SPECIAL: dict[type, Callable[[Lexicon, list[_Work], Site], Iterable[ast.AST]]] = {
    ast.Import: Lexicon._import,
    ast.ImportFrom: Lexicon._import_from,
    ast.Lambda: Lexicon._lambda,
    ast.ClassDef: Lexicon._class,
    ast.Assign: Lexicon._assign,
    ast.AnnAssign: Lexicon._ann_assign,
    ast.AugAssign: Lexicon._aug_assign,
    ast.Delete: Lexicon._delete,
    ast.Global: Lexicon._global,
    ast.Nonlocal: Lexicon._nonlocal,
    ast.If: Lexicon._if,
    ast.For: Lexicon._loop,
    ast.AsyncFor: Lexicon._loop,
    ast.While: Lexicon._loop,
    ast.With: Lexicon._with,
    ast.AsyncWith: Lexicon._with,
    ast.Try: Lexicon._try,
    ast.Match: Lexicon._match,
    ast.NamedExpr: Lexicon._walrus,
    **dict.fromkeys(_FUNCTIONS, Lexicon._function),
    **dict.fromkeys(_COMPREHENSIONS, Lexicon._comprehension),
}
# Newer than Python 3.10.
for _name, _special in (("TryStar", Lexicon._try), ("TypeAlias", Lexicon._type_alias)):
    if hasattr(ast, _name):
        _SPECIAL[getattr(ast, _name)] = _special
