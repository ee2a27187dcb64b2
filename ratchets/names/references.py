"""References of a module by dotted path: what the rules on names of the tree or of a library look through."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from confbag.ratchets.finding import Place
from confbag.ratchets.names.callables import enclosing_class, is_receiver
from confbag.ratchets.names.exports import Exports, attributes, exports
from confbag.ratchets.names.lexicon import Lexicon, lexicon
from confbag.ratchets.names.naming import NOWHERE, Naming, Paths
from confbag.ratchets.names.placing import place
from confbag.ratchets.names.reach import lookup
from confbag.ratchets.names.scopes import Site
from confbag.ratchets.source.parse import Module


@dataclass(frozen=True, slots=True)
class Reference:
    """A use of something by its paths. `kind` is call, load, store or import; `context` is probe or registration.

    `alias` is a call of a local name that was made from it.
    """

    paths: Paths
    place: Place
    kind: str
    context: str = ""
    alias: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What a module offers and what it refers to."""

    exports: Exports
    references: tuple[Reference, ...]


def collect(module: Module, relevant: Callable[[str], bool] = lambda path: True) -> Facts:
    """Every reference whose path is known and may be relevant, in source order."""
    lexicon_ = lexicon(module)
    naming = Naming(lexicon_)
    aliases = attributes(lexicon_, naming)
    found = tuple(_references(module, lexicon_, naming, aliases, relevant))
    return Facts(exports(lexicon_, naming, aliases), found)


def everything(facts: Mapping[str, Facts]) -> list[Exports]:
    """The exports of all modules."""
    return [one.exports for one in facts.values()]


def _references(
    module: Module,
    lexicon_: Lexicon,
    naming: Naming,
    aliases: Mapping[str, tuple[str, ...]],
    relevant: Callable[[str], bool],
) -> Iterator[Reference]:
    parents = lexicon_.parents
    prefix = f"{naming.module}." if naming.module else ""
    for site in lexicon_.of(ast.Attribute, ast.Name, ast.Call):
        node = site.node
        kind = "call" if _is_called(node, parents) else "load"
        if not isinstance(getattr(node, "ctx", None), (ast.Load, type(None))):
            kind = "store"
        ways: list[tuple[Paths, bool]]
        if isinstance(node, ast.Call):
            # Only getattr with a constant name is a reference by itself.
            if not (isinstance(node.func, ast.Name) and node.func.id == "getattr"):
                continue
            ways = [(_computed(node, site, naming), False)]
        elif isinstance(node, ast.Attribute):
            paths = paths_of(node, site, naming) | _through(node, site, naming, aliases)
            ways = [(paths, any(path.removeprefix(prefix) in aliases for path in paths if path.startswith(prefix)))]
        elif kind == "store":
            # Only a store that `global` takes to the module is one of something that others may name.
            ways = [(frozenset({prefix + node.id}), False)] if node.id in site.scope.globals else []
        else:
            ways = _of_name(node, site, naming, prefix)
        for paths, alias in ways:
            if alias and kind != "call":
                continue  # it was a reference where it was made
            kept = frozenset(path for path in paths if "." in path and relevant(path))
            if kept:
                yield Reference(kept, place(module, node, site), kind, _context(node, site, lexicon_, naming), alias)
    for scope in lexicon_.scopes:
        for bindings in scope.bindings.values():
            for binding in bindings:
                if (
                    binding.kind == "import"
                    and isinstance(binding.statement, ast.ImportFrom)
                    and relevant(binding.path)
                ):
                    at = Site(binding.node, binding.scope, binding.arm, binding.statement)
                    yield Reference(frozenset({binding.path}), place(module, binding.node, at), "import")


def _of_name(node: ast.Name, site: Site, naming: Naming, prefix: str) -> list[tuple[Paths, bool]]:
    """What a name is by imports and definitions, and by assignments: that was a reference where it was assigned."""
    paths = naming.of(node, site)
    found = lookup(node.id, site.scope, site.arm, (node.lineno, node.col_offset))
    if not found or paths == {prefix + node.id}:
        return [(paths, False)]
    direct = NOWHERE.union(*(naming.binding(one) for one in found if one.kind in ("import", "def", "class")))
    return [(direct & paths, False), (paths - direct, True)]


def _is_called(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether what an expression gives is called where it stands: by parentheses, or as a decorator."""
    parent = parents.get(node)
    while isinstance(parent, (ast.IfExp, ast.BoolOp, ast.NamedExpr)) and node is not getattr(parent, "test", None):
        node, parent = parent, parents.get(parent)
    if isinstance(parent, ast.Call):
        return parent.func is node
    return any(node is decorator for decorator in getattr(parent, "decorator_list", ()))


def paths_of(node: ast.expr, site: Site, naming: Naming) -> Paths:
    """The paths of an expression; a method of the class around it through its first parameter too."""
    if isinstance(node, ast.Attribute) and is_receiver(node.value, site.scope):
        owner = enclosing_class(site.scope)
        if owner is not None:
            name = f"{owner.qualname}.{node.attr}"
            return frozenset({f"{naming.module}.{name}" if naming.module else name})
    return naming.of(node, site)


def _through(node: ast.expr, site: Site, naming: Naming, aliases: Mapping[str, tuple[str, ...]]) -> Paths:
    """The path of `self.alias.rest`, and of an attribute of what `getattr` gives for a name that is computed."""
    if not isinstance(node, ast.Attribute):
        return NOWHERE
    inner = node.value
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "getattr":
        if len(inner.args) in (2, 3) and not isinstance(inner.args[1], ast.Constant):
            return frozenset(f"{path}.*.{node.attr}" for path in naming.of(inner.args[0], site))
        return NOWHERE
    parts = [node.attr]
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    owner = enclosing_class(site.scope) if len(parts) > 1 and is_receiver(inner, site.scope) else None
    if owner is None or f"{owner.qualname}.{parts[-1]}" not in aliases:
        return NOWHERE
    name = ".".join([owner.qualname, *reversed(parts)])
    return frozenset({f"{naming.module}.{name}" if naming.module else name})


def _computed(node: ast.Call, site: Site, naming: Naming) -> Paths:
    if len(node.args) not in (2, 3):
        return NOWHERE
    if isinstance(node.args[1], ast.Constant):
        return naming.of(node, site)
    return frozenset(f"{path}.*" for path in naming.of(node.args[0], site))


def _context(node: ast.expr, site: Site, lexicon_: Lexicon, naming: Naming) -> str:
    """Whether a reference only asks for presence, or is handed to a registration."""
    child: ast.AST = node
    parent = lexicon_.parents.get(child)
    while isinstance(parent, (ast.expr, ast.keyword)):
        if isinstance(parent, ast.Attribute) and parent.attr in ("py_impl", "py_functionalize_impl", "py_kernels"):
            return "registration"
        if isinstance(parent, ast.Call) and child is not parent.func:
            last = _last(parent.func)
            if last == "hasattr":
                return "probe"
            if "register" in last or any(path.startswith("torch.library.") for path in naming.of(parent.func, site)):
                return "registration"
        child, parent = parent, lexicon_.parents.get(parent)
    return ""


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
