"""CB133 host-sync: the host waits for the device in a function that must not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding, Place
from confbag.ratchets.names.lexicon import Lexicon, lexicon
from confbag.ratchets.names.naming import Naming
from confbag.ratchets.names.placing import place
from confbag.ratchets.names.reach import lookup
from confbag.ratchets.names.scopes import Binding, Site
from confbag.ratchets.rules.host_sync_cases import CASES as CASES
from confbag.ratchets.source.parse import Module

CODE = "CB133"
NAME = "host-sync"
MEANS = (
    "In the body of a function of `hot` (qualnames or globs): `.cpu()`, `.item()`, `.tolist()`; bool, int, float or a "
    "test around `.any`, `.all`, `.max`, `.min` or `.sum`; a call that synchronises. Receivers that match `host`, and "
    "locals assigned from such, are clean."
)
WHY = "The host stops until the device has caught up: launches no longer overlap the work, and a capture fails."
INSTEAD = (
    "Keep the value on the device, or compute it from the copy that the host already has (`seq_lens_cpu`), once, when "
    "metadata is planned."
)

_COPIES = frozenset({"cpu", "item", "tolist"})
_REDUCTIONS = frozenset({"any", "all", "max", "min", "sum"})
_CASTS = frozenset({"bool", "int", "float"})
# What a tensor says of itself without a wait, and parts of what a reduction gives.
_FACTS = frozenset({"size", "numel", "nelement", "dim", "ndimension", "stride", "element_size", "data_ptr"})
_PARTS = frozenset({"values", "indices", "data", "real", "T", "mT"})
_DEVICES = ("cuda", "npu", "xpu", "hpu", "mps", "musa")
_GLOB = re.compile(r"[*?\[]")
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Sync:
    """One place where the host waits."""

    symbol: str
    place: Place


def triggers(configuration: Configuration) -> tuple[bytes, ...]:
    """The attributes that are looked for."""
    return tuple(name.encode() for name in sorted({*_COPIES, *_REDUCTIONS, "synchronize"}))


def wanted(tree: ast.Module, configuration: Configuration) -> bool:
    """Whether a function of the file can be hot by its last name; `*` may stand for dots too."""
    lasts = {pattern.rpartition(".")[2] for pattern in configuration.hot}
    if any(_GLOB.search(last) for last in lasts):
        return True
    return any(
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in lasts for node in ast.walk(tree)
    )


def collect(module: Module, configuration: Configuration) -> tuple[Sync, ...] | None:
    """The waits in hot functions."""
    found = lexicon(module)
    hot = {
        scope.node
        for scope in found.scopes
        if scope.kind == "function" and _is_hot(module.name, scope.qualname, configuration)
    }
    if not hot:
        return None
    collector = _Collector(module, found, configuration)
    waits = [
        wait
        for site in found.of(ast.Call)
        if any(scope.node in hot for scope in site.scope.outward())
        for wait in collector.look(site)
    ]
    return tuple(waits) or None


def _is_hot(module: str, qualname: str, configuration: Configuration) -> bool:
    names = (qualname, f"{module}.{qualname}")
    return any(fnmatchcase(name, pattern) for pattern in configuration.hot for name in names)


def judge(facts: Mapping[str, tuple[Sync, ...]], configuration: Configuration) -> Iterator[Finding]:
    """One finding a wait."""
    for path, waits in facts.items():
        for wait in waits:
            at = wait.place
            yield Finding(
                path,
                at.line,
                at.column,
                CODE,
                wait.symbol,
                at.qualname,
                f"`{wait.symbol}` makes the host wait for the device in a hot function; keep the value on the device",
                end_line=at.end_line,
                end_column=at.end_column,
                first=at.first,
                last=at.last,
            )


class _Collector:
    def __init__(self, module: Module, found: Lexicon, configuration: Configuration) -> None:
        self.module = module
        self.lexicon = found
        self.naming = Naming(found)
        self.patterns = configuration.host

    def look(self, site: Site) -> Iterator[Sync]:
        node: ast.Call = site.node
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if isinstance(node.func, ast.Name) and self._synchronises(node.func, site):
            name = "synchronize"
        if name == "synchronize":
            yield Sync(name, place(self.module, node, site))
        elif name in _COPIES:
            assert isinstance(node.func, ast.Attribute)
            if not self.host(node.func.value, site):
                yield Sync(name, place(self.module, node, site))
        elif name in _REDUCTIONS:
            around = self._around(node)
            if around and not self.host(node, site) and not any(self.host(part, site) for part in node.args[:1]):
                yield Sync(f"{around} {name}", place(self.module, node, site))

    def _synchronises(self, node: ast.Name, site: Site) -> bool:
        paths = self.naming.of(node, site)
        return any(path.endswith(".synchronize") for path in paths) or node.id == "synchronize"

    def _around(self, node: ast.expr) -> str:
        """What turns the reduction into a truth value or a number of the host, if something does."""
        child: ast.AST = node
        parent = self.lexicon.parents.get(child)
        while parent is not None:
            if isinstance(parent, ast.Call):
                name = parent.func.id if isinstance(parent.func, ast.Name) and child is not parent.func else ""
                if name not in ("any", "all"):
                    return name if name in _CASTS else ""
            elif isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
                return "if" if parent.test is child else ""
            elif isinstance(parent, ast.comprehension):
                return "if" if child in parent.ifs else ""
            elif isinstance(parent, ast.Attribute):
                # A method of the result takes it further on the device, or was seen by itself.
                following = self.lexicon.parents.get(parent)
                method = isinstance(following, ast.Call) and following.func is parent
                if parent.attr in _COPIES | _REDUCTIONS | _FACTS or not (method or parent.attr in _PARTS):
                    return ""
                if method and following is not None:
                    parent = following
            elif isinstance(parent, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
                # `any(x.any() for …)`: the test is around each.
                if child is not parent.elt:
                    return ""
            elif not isinstance(
                parent, (ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.NamedExpr, ast.Subscript)
            ):
                return ""
            child, parent = parent, self.lexicon.parents.get(parent)
        return ""

    def host(self, node: ast.expr, site: Site, depth: int = 0) -> bool:
        """Whether a value is on the host already: it, or what it was made from, matches a pattern."""
        if _moved(node):
            return False
        current: ast.expr = node
        while True:
            text = _dotted(current)
            if text and any(fnmatchcase(text, pattern) for pattern in self.patterns):
                return True
            if isinstance(current, (ast.Attribute, ast.Subscript, ast.Starred, ast.Await)):
                current = current.value
            elif isinstance(current, ast.Call):
                current = current.func
            elif isinstance(current, ast.NamedExpr):
                current = current.value
            else:
                break
        if isinstance(current, ast.Name) and depth < _DEPTH:
            found = lookup(current.id, site.scope, site.arm, (current.lineno, current.col_offset))
            return bool(found) and all(self._bound(binding, depth + 1) for binding in found)
        if isinstance(current, ast.BinOp):
            return self.host(current.left, site, depth + 1) and (
                isinstance(current.right, ast.Constant) or self.host(current.right, site, depth + 1)
            )
        return False

    def _bound(self, binding: Binding, depth: int) -> bool:
        """Whether a local gets a value that is on the host."""
        if binding.scope.kind == "module":
            return False
        value = binding.value
        if value is None:
            value = _iterated(binding)
            while isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.args:
                if value.func.id not in ("enumerate", "reversed", "sorted", "zip"):
                    return False
                site = Site(value, binding.scope, binding.arm, binding.statement)
                if not all(self._iterable(part, site, depth) for part in value.args[1:]):
                    return False
                value = value.args[0]
        if value is None:
            return False
        return self.host(value, Site(value, binding.scope, binding.arm, binding.statement), depth)

    def _iterable(self, node: ast.expr, site: Site, depth: int) -> bool:
        return isinstance(node, ast.Constant) or self.host(node, site, depth)


def _iterated(binding: Binding) -> ast.expr | None:
    """What a loop or a comprehension goes over to give a name its values."""
    statement = binding.statement
    if (
        isinstance(statement, (ast.For, ast.AsyncFor))
        and binding.scope.kind != "comprehension"
        and any(part is binding.node for part in ast.walk(statement.target))
    ):
        return statement.iter
    for generator in getattr(binding.scope.node, "generators", ()):
        if any(part is binding.node for part in ast.walk(generator.target)):
            found: ast.expr = generator.iter
            return found
    return None


def _moves(node: ast.Call) -> bool:
    """Whether a call copies to a device: `.cuda()`, `.to(device)`."""
    if not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr in _DEVICES:
        return True
    given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "device")]
    return node.func.attr == "to" and any(
        any(name in ast.unparse(part) for name in ("device", *_DEVICES)) for part in given
    )


def _moved(node: ast.expr) -> bool:
    """Whether a chain copies to a device somewhere on its way."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            if _moves(node):
                return True
            node = node.func
        else:
            node = node.value
    return False


def _dotted(node: ast.expr) -> str:
    """The names of a chain, without what stands in brackets and parentheses."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            return ".".join(reversed(parts))
        else:
            return ""
