"""CB133 host-sync: the host waits for the device in a function that must not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding, Place
from confbag.ratchets.names.lexicon import Lexicon, Site, lexicon
from confbag.ratchets.names.placing import place
from confbag.ratchets.names.reach import lookup
from confbag.ratchets.rules.case import Case, case
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
    """Whether a function of the file can be hot by its last name."""
    return bool(configuration.hot)


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
        self.patterns = configuration.host

    def look(self, site: Site) -> Iterator[Sync]:
        node: ast.Call = site.node
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if isinstance(node.func, ast.Name) and node.func.id == "synchronize":
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

    def _around(self, node: ast.expr) -> str:
        """What turns the reduction into a truth value or a number of the host, if something does."""
        child: ast.AST = node
        parent = self.lexicon.parents.get(child)
        while parent is not None:
            if isinstance(parent, ast.Call):
                if child is parent.func or not isinstance(parent.func, ast.Name) or parent.func.id not in _CASTS:
                    return ""
                return parent.func.id
            if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
                return "if" if parent.test is child else ""
            if isinstance(parent, ast.comprehension):
                return "if" if child in parent.ifs else ""
            if not isinstance(parent, (ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.NamedExpr, ast.Subscript)):
                # A method of the result takes it further on the device, or was seen by itself.
                if not isinstance(parent, ast.Attribute):
                    return ""
                following = self.lexicon.parents.get(parent)
                if parent.attr in _COPIES or not (isinstance(following, ast.Call) and following.func is parent):
                    return ""
                if parent.attr in _REDUCTIONS:
                    return ""  # the outer one is the one
                parent, child = following, parent
                child, parent = parent, self.lexicon.parents.get(parent)
                continue
            child, parent = parent, self.lexicon.parents.get(parent)
        return ""

    def host(self, node: ast.expr, site: Site, depth: int = 0) -> bool:
        """Whether a value is on the host already: it, or what it was made from, matches a pattern."""
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
            return bool(found) and all(
                binding.value is not None
                and binding.scope.kind != "module"
                and self.host(
                    binding.value, Site(binding.value, binding.scope, binding.arm, binding.statement), depth + 1
                )
                for binding in found
            )
        if isinstance(current, ast.BinOp):
            return self.host(current.left, site, depth + 1) and (
                isinstance(current.right, ast.Constant) or self.host(current.right, site, depth + 1)
            )
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


_HOT = {"hot": ("Backend.forward*", "engine.case.plan"), "host": ("*_cpu*", "*_host", "*_list", "np.*")}

CASES: tuple[Case, ...] = (
    case("copies", """
        class Backend:
            def forward(self, x):
                return x.cpu(), x.sum().item(), x[0].tolist()
    """, "CB133 cpu", "CB133 item", "CB133 tolist", options=_HOT),
    case("tests and casts around reductions", """
        def plan(x, y):
            if x.any():
                return int(x.max())
            if not (x > 1).all() and y:
                return bool(torch.any(x))
            return float(x.min()) if x.sum() > 3 else 0
    """, "CB133 if any", "CB133 int max", "CB133 if all", "CB133 bool any", "CB133 float min", "CB133 if sum",
        options=_HOT),
    case("one wait, not two", """
        def plan(x):
            return int(x.max().item())
    """, "CB133 item", options=_HOT),
    case("synchronise", """
        def plan(stream):
            torch.cuda.synchronize()
            stream.synchronize()
    """, "CB133 synchronize", "CB133 synchronize", options=_HOT),
    case("in what a hot function holds", """
        def plan(xs):
            def inner(x):
                return x.item()
            return [x.cpu() for x in xs], inner, lambda x: x.tolist()
    """, "CB133 item", "CB133 cpu", "CB133 tolist", options=_HOT),
    case("host receivers and locals made from them", """
        import numpy as np
        def plan(batch, seq_lens_cpu, x):
            lens = batch.seq_lens_cpu[: batch.size]
            longest = lens.max().item()
            rows = np.asarray(batch.rows)
            if rows.any() or seq_lens_cpu.max() > 3:
                return rows.tolist()
            copy = lens
            return int(copy.sum()), x.lens_list.tolist(), longest
    """, options=_HOT),
    case("a local that is on the host on one way only", """
        def plan(batch, x, fast):
            lens = batch.lens_cpu
            if fast:
                lens = x
            return lens.tolist()
    """, "CB133 tolist", options=_HOT),
    case("an index on the host does not make the value one", """
        def plan(x, index_cpu):
            return x[index_cpu].item()
    """, "CB133 item", options=_HOT),
    case("reductions that stay on the device", """
        def plan(x):
            y = x.max() + x.sum()
            print(max(1, 2), any([1]))
            return y.to(int)
    """, options=_HOT),
    case("a function that is not hot", """
        class Other:
            def forward(self, x):
                return x.item()
        def report(x):
            return x.item()
    """, options=_HOT),
)  # fmt: skip
