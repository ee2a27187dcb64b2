"""What each kind of node does to the lexicon on its way: names that it binds, scopes and blocks that it opens.

Each function is given the work that is left and the node where it stands; it gives the nodes that stand there too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from confbag.ratchets.names.scopes import Arm, Binding, Position, Scope, Site
from confbag.ratchets.source.modules import absolute
from confbag.ratchets.source.tree import children, parameters

if TYPE_CHECKING:
    from confbag.ratchets.names.lexicon import Lexicon

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# A node, or the statements of a block.
Work = tuple[Any, Scope, Arm | None, ast.stmt | None]


# Statements


def _import(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        path = alias.name if alias.asname else name
        lexicon.bind(name, "import", alias, scope, arm, statement, _start(node), path)
    return ()


def _import_from(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    base = absolute(lexicon.module.parent, node.module or "", node.level)
    for alias in node.names:
        if alias.name == "*":
            lexicon.stars.append((base, Binding("*", "import", alias, scope, _start(node), arm, statement, base)))
            continue
        path = f"{base}.{alias.name}" if base else alias.name
        lexicon.bind(alias.asname or alias.name, "import", alias, scope, arm, statement, _start(node), path)
    return ()


def _function(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    lexicon.bind(node.name, "def", node, scope, arm, statement, _start(node))
    inner = lexicon.scope("function", scope, node.name, node, arm)
    _parameters(lexicon, node.args, inner, statement)
    _type_parameters(lexicon, node, inner, statement)
    stack.append((node.body, inner, None, None))
    return [*node.decorator_list, *_outside(node.args), *([node.returns] if node.returns else [])]


def _lambda(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    inner = lexicon.scope("lambda", scope, "", node, arm)
    _parameters(lexicon, node.args, inner, statement)
    lexicon.parents[node.body] = node
    stack.append((node.body, inner, None, statement))
    return _outside(node.args)


def _parameters(lexicon: Lexicon, arguments: ast.arguments, scope: Scope, statement: ast.stmt) -> None:
    for part in parameters(arguments):
        lexicon.bind(part.arg, "other", part, scope, None, statement, (0, 0))


def _type_parameters(lexicon: Lexicon, node: ast.AST, scope: Scope, statement: ast.stmt) -> None:
    for part in getattr(node, "type_params", ()):
        lexicon.bind(part.name, "other", part, scope, None, statement, (0, 0))


def _class(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    lexicon.bind(node.name, "class", node, scope, arm, statement, _start(node))
    inner = lexicon.scope("class", scope, node.name, node, arm)
    _type_parameters(lexicon, node, inner, statement)
    stack.append((node.body, inner, arm, None))
    return [*node.decorator_list, *node.bases, *node.keywords]


def _assign(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    for target in node.targets:
        lexicon.target(target, node.value, _end(node), scope, arm, statement)
    return children(node)


def _ann_assign(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    if node.value is not None:
        lexicon.target(node.target, node.value, _end(node), scope, arm, statement)
    return children(node)


def _aug_assign(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    lexicon.target(node.target, None, _end(node), scope, arm, statement)
    return children(node)


def _delete(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    for target in node.targets:
        lexicon.target(target, None, _end(node), scope, arm, statement)
    return children(node)


def _type_alias(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    lexicon.target(node.name, None, _end(node), scope, arm, statement)
    return ()


def _global(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    here.scope.globals.update(here.node.names)
    return ()


def _nonlocal(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    here.scope.nonlocals.update(here.node.names)
    return ()


def _if(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
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
        lexicon.parents[one.test] = one
        stack.append((one.test, scope, arm, one))
    return (node.test,)


def _loop(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    if isinstance(node, ast.While):
        inner = Arm(arm, node, 0, node.body, (node.test,), 1)
        heads = [node.test]
    else:
        inner = Arm(arm, node, 0, node.body)
        lexicon.target(node.target, None, _end(node.iter), scope, inner, statement)
        heads = [node.target, node.iter]
    if node.orelse:
        stack.append((node.orelse, scope, Arm(arm, node, 1, node.orelse), None))
    stack.append((node.body, scope, inner, None))
    return heads


def _with(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    for item in node.items:
        if item.optional_vars is not None:
            lexicon.target(item.optional_vars, None, _end(item.optional_vars), scope, arm, statement)
    stack.append((node.body, scope, arm, None))
    return list(node.items)


def _try(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
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
            lexicon.bind(handler.name, "other", handler, scope, inner, statement, _start(handler))
        stack.append((handler.body, scope, inner, None))
        if handler.type is not None:
            heads.append(handler.type)
    stack.append((node.body, scope, Arm(arm, node, 0, node.body), None))
    return heads


def _match(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    heads = [node.subject]
    for number, case in reversed(list(enumerate(node.cases))):
        inner = Arm(arm, node, number, case.body)
        patterns: list[ast.AST] = [case.pattern]
        while patterns:
            pattern = patterns.pop()
            name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
            if isinstance(name, str):
                lexicon.bind(name, "other", pattern, scope, inner, statement, _start(pattern))
            if isinstance(pattern, ast.expr):
                heads.append(pattern)
            else:
                patterns.extend(children(pattern))
        stack.append((case.body, scope, inner, None))
        if case.guard is not None:
            heads.append(case.guard)
    return heads


# Expressions


def _walrus(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    lexicon.bind(node.target.id, "assign", node, scope, arm, statement, _end(node), value=node.value)
    return (node.value,)


def _comprehension(lexicon: Lexicon, stack: list[Work], here: Site) -> Iterable[ast.AST]:
    node, scope, arm, statement = here
    inner = lexicon.scope("comprehension", scope, "", node, arm)
    first = node.generators[0].iter
    for generator in node.generators:
        lexicon.target(generator.target, None, (0, 0), inner, None, statement)
        for part in (generator.target, generator.iter, *generator.ifs):
            if part is not first:
                lexicon.parents[part] = generator
                stack.append((part, inner, arm, statement))
        lexicon.parents[generator] = node
    heads = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
    for part in heads:
        lexicon.parents[part] = node
        stack.append((part, inner, arm, statement))
    return (first,)


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


SPECIAL: dict[type, Callable[[Lexicon, list[Work], Site], Iterable[ast.AST]]] = {
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Lambda: _lambda,
    ast.ClassDef: _class,
    ast.Assign: _assign,
    ast.AnnAssign: _ann_assign,
    ast.AugAssign: _aug_assign,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.If: _if,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _loop,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.NamedExpr: _walrus,
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(_COMPREHENSIONS, _comprehension),
}
# Newer than Python 3.10.
for _name, _special in (("TryStar", _try), ("TypeAlias", _type_alias)):
    if hasattr(ast, _name):
        SPECIAL[getattr(ast, _name)] = _special
