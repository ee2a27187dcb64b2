"""Statements of libcst in the vocabulary of `ast`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from confbag.ratchets.source.lowering.expressions import Expressions, binary_operator
from confbag.ratchets.source.lowering.patterns import Patterns
from confbag.ratchets.source.lowering.placing import Placing


class Statements:
    """Makes statements."""

    def __init__(self, placing: Placing, expressions: Expressions, patterns: Patterns) -> None:
        self.put = placing.put
        self.need = placing.need
        self.expressions = expressions
        self.expression = expressions.lower
        self.optional = expressions.optional
        self.pattern = patterns.lower

    def block(self, nodes: Sequence[cst.CSTNode]) -> list[ast.stmt]:
        """The statements of a body; a line may hold several."""
        made: list[ast.stmt] = []
        for node in nodes:
            if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
                for part in node.body:
                    made.extend(self.lower(part))
            else:
                made.extend(self.lower(node))
        return made

    def suite(self, node: cst.BaseSuite | None) -> list[ast.stmt]:
        """The statements of an indented or inline block."""
        if node is None:
            return []
        if isinstance(node, cst.SimpleStatementSuite):
            return self.block([node])
        return self.block(node.body)

    def lower(self, node: cst.CSTNode) -> list[ast.stmt]:
        """One statement."""
        made = _STATEMENTS[type(node).__name__](self, node)
        if not hasattr(made, "lineno"):
            self.put(made, node)
        return [made]

    def _if(self, node: cst.If) -> ast.stmt:
        # An elif chain is as long as it likes: from its end, without recursion.
        chain = [node]
        while isinstance(chain[-1].orelse, cst.If):
            chain.append(chain[-1].orelse)
        end = chain[-1].orelse
        orelse = self.suite(end.body) if isinstance(end, cst.Else) else []
        made: ast.stmt = ast.Pass()
        for part in reversed(chain):
            made = self.put(ast.If(self.expression(part.test), self.suite(part.body), orelse), part)
            orelse = [made]
        return made

    def _else(self, node: cst.Else | cst.Finally | None) -> list[ast.stmt]:
        return [] if node is None else self.suite(node.body)

    def _try(self, node: cst.Try | cst.TryStar) -> ast.stmt:
        if isinstance(node, cst.TryStar):
            self.need(11)
        handlers = []
        for handler in node.handlers:
            name = handler.name
            kind = self.optional(handler.type)
            if isinstance(handler.type, cst.Tuple) and not handler.type.lpar:
                self.need(14)
            bound = name.name.value if name is not None and isinstance(name.name, cst.Name) else None
            handlers.append(self.put(ast.ExceptHandler(kind, bound, self.suite(handler.body)), handler))
        return ast.Try(self.suite(node.body), handlers, self._else(node.orelse), self._else(node.finalbody))

    def _with(self, node: cst.With) -> ast.stmt:
        items = [
            ast.withitem(
                self.expression(item.item),
                self.expression(item.asname.name, ast.Store()) if item.asname else None,
            )
            for item in node.items
        ]
        return (ast.AsyncWith if node.asynchronous else ast.With)(items, self.suite(node.body))

    def _for(self, node: cst.For) -> ast.stmt:
        kind = ast.AsyncFor if node.asynchronous else ast.For
        return kind(
            self.expression(node.target, ast.Store()),
            self.expression(node.iter),
            self.suite(node.body),
            self._else(node.orelse),
        )

    def _function(self, node: cst.FunctionDef) -> ast.stmt:
        kind = ast.AsyncFunctionDef if node.asynchronous else ast.FunctionDef
        made = kind(
            name=node.name.value,
            args=self.expressions.parameters(node.params),
            body=self.suite(node.body),
            decorator_list=[self.expression(one.decorator) for one in node.decorators],
            returns=self.expression(node.returns.annotation) if node.returns is not None else None,
        )
        vars(made)["type_params"] = self._type_parameters(node.type_parameters)
        return made

    def _class(self, node: cst.ClassDef) -> ast.stmt:
        positional, keywords = self.expressions.arguments([*node.bases, *node.keywords])
        made = ast.ClassDef(
            name=node.name.value,
            bases=positional,
            keywords=keywords,
            body=self.suite(node.body),
            decorator_list=[self.expression(one.decorator) for one in node.decorators],
        )
        vars(made)["type_params"] = self._type_parameters(node.type_parameters)
        return made

    def _type_parameters(self, node: cst.TypeParameters | None) -> list[ast.arg]:
        """Those that have a bound, each as a parameter with an annotation: older vocabularies have no other node."""
        if node is None:
            return []
        self.need(12)
        if any(param.default is not None for param in node.params):
            self.need(13)
        return [
            self.put(ast.arg(one.param.name.value, self.expression(one.param.bound)), one.param)
            for one in node.params
            if isinstance(one.param, cst.TypeVar) and one.param.bound is not None
        ]

    def _alias(self, node: cst.TypeAlias) -> ast.stmt:
        self.need(12)
        self._type_parameters(node.type_parameters)
        kind = self.put(ast.Name("TypeAlias", ast.Load()), node.name)
        return ast.AnnAssign(self.expression(node.name, ast.Store()), kind, self.expression(node.value), 1)

    def _match(self, node: cst.Match) -> ast.stmt:
        cases = [
            ast.match_case(
                self.pattern(case.pattern),
                self.optional(case.guard),
                self.suite(case.body),
            )
            for case in node.cases
        ]
        return ast.Match(self.expression(node.subject), cases)

    def _import(self, node: cst.Import) -> ast.stmt:
        return ast.Import([self._import_alias(alias) for alias in node.names])

    def _import_from(self, node: cst.ImportFrom) -> ast.stmt:
        if isinstance(node.names, cst.ImportStar):
            names = [self.put(ast.alias("*", None), node)]
        else:
            names = [self._import_alias(alias) for alias in node.names]
        module = _dotted(node.module) if node.module is not None else None
        return ast.ImportFrom(module, names, len(node.relative))

    def _import_alias(self, alias: cst.ImportAlias) -> ast.alias:
        bound = alias.asname.name if alias.asname else None
        made = ast.alias(_dotted(alias.name), bound.value if isinstance(bound, cst.Name) else None)
        found: ast.alias = self.put(made, alias)
        return found

    def _annotated(self, node: cst.AnnAssign) -> ast.stmt:
        return ast.AnnAssign(
            self.expression(node.target, ast.Store()),
            self.expression(node.annotation.annotation),
            self.optional(node.value),
            1 if isinstance(node.target, cst.Name) and not node.target.lpar else 0,
        )

    def _augmented(self, node: cst.AugAssign) -> ast.stmt:
        target = self.expression(node.target, ast.Store())
        return ast.AugAssign(target, binary_operator(node.operator), self.expression(node.value))

    def _delete(self, node: cst.Del) -> ast.stmt:
        target = node.target
        parts = (
            [element.value for element in target.elements]
            if isinstance(target, cst.Tuple) and not target.lpar
            else [target]
        )
        return ast.Delete([self.expression(part, ast.Del()) for part in parts])


def _dotted(node: cst.CSTNode) -> str:
    names: list[str] = []
    while isinstance(node, cst.Attribute):
        names.append(node.attr.value)
        node = node.value
    names.append(node.value if isinstance(node, cst.Name) else "")
    return ".".join(reversed(names))


_STATEMENTS: dict[str, Callable[[Statements, Any], ast.stmt]] = {
    "Expr": lambda self, node: ast.Expr(self.expression(node.value)),
    "Assign": lambda self, node: ast.Assign(
        [self.expression(one.target, ast.Store()) for one in node.targets], self.expression(node.value)
    ),
    "AnnAssign": Statements._annotated,
    "AugAssign": Statements._augmented,
    "Del": Statements._delete,
    "Return": lambda self, node: ast.Return(self.optional(node.value)),
    "Raise": lambda self, node: ast.Raise(
        self.optional(node.exc),
        self.expression(node.cause.item) if node.cause is not None else None,
    ),
    "Assert": lambda self, node: ast.Assert(self.expression(node.test), self.optional(node.msg)),
    "Pass": lambda self, node: ast.Pass(),
    "Break": lambda self, node: ast.Break(),
    "Continue": lambda self, node: ast.Continue(),
    "Global": lambda self, node: ast.Global([item.name.value for item in node.names]),
    "Nonlocal": lambda self, node: ast.Nonlocal([item.name.value for item in node.names]),
    "Import": Statements._import,
    "ImportFrom": Statements._import_from,
    "If": Statements._if,
    "For": Statements._for,
    "While": lambda self, node: ast.While(self.expression(node.test), self.suite(node.body), self._else(node.orelse)),
    "Try": Statements._try,
    "TryStar": Statements._try,
    "With": Statements._with,
    "Match": Statements._match,
    "FunctionDef": Statements._function,
    "ClassDef": Statements._class,
    "TypeAlias": Statements._alias,
}
