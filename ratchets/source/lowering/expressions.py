"""Expressions of libcst in the vocabulary of `ast`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from confbag.ratchets.source.lowering.placing import Placing

_BINARY: dict[str, type[ast.operator]] = {
    "Add": ast.Add, "Subtract": ast.Sub, "Multiply": ast.Mult, "Divide": ast.Div, "Modulo": ast.Mod, "Power": ast.Pow,
    "FloorDivide": ast.FloorDiv, "MatrixMultiply": ast.MatMult, "LeftShift": ast.LShift, "RightShift": ast.RShift,
    "BitOr": ast.BitOr, "BitAnd": ast.BitAnd, "BitXor": ast.BitXor,
}  # fmt: skip
_COMPARE: dict[str, type[ast.cmpop]] = {
    "Equal": ast.Eq, "NotEqual": ast.NotEq, "LessThan": ast.Lt, "LessThanEqual": ast.LtE, "GreaterThan": ast.Gt,
    "GreaterThanEqual": ast.GtE, "Is": ast.Is, "IsNot": ast.IsNot, "In": ast.In, "NotIn": ast.NotIn,
}  # fmt: skip
CONSTANTS = {"None": None, "True": True, "False": False}
_UNARY: dict[str, type[ast.unaryop]] = {"Not": ast.Not, "Minus": ast.USub, "Plus": ast.UAdd, "BitInvert": ast.Invert}


class Expressions:
    """Makes expressions."""

    def __init__(self, placing: Placing) -> None:
        self.placing = placing
        self.put = placing.put
        self.need = placing.need

    def lower(self, node: cst.CSTNode, context: ast.expr_context | None = None) -> Any:
        """One expression."""
        made = _EXPRESSIONS[type(node).__name__](self, node)
        if not hasattr(made, "lineno"):
            self.put(made, node)
            if isinstance(node, (cst.Tuple, cst.GeneratorExp)) and node.lpar:
                # `ast` counts these parentheses as part of the expression.
                first = self.placing.positions[id(node.lpar[-1])]
                last = self.placing.positions[id(node.rpar[0])]
                made.lineno, made.col_offset = first[0], self.placing.offset(first[0], first[1])
                made.end_lineno, made.end_col_offset = last[2], self.placing.offset(last[2], last[3])
        if hasattr(made, "ctx"):
            self._context(made, context or ast.Load())
        return made

    def optional(self, node: cst.CSTNode | None) -> Any:
        """An expression, where there is one."""
        return None if node is None else self.lower(node)

    def _context(self, made: Any, context: ast.expr_context) -> None:
        made.ctx = context
        if isinstance(made, (ast.Tuple, ast.List)):
            for part in made.elts:
                if hasattr(part, "ctx"):
                    self._context(part, context)
        elif isinstance(made, ast.Starred):
            self._context(made.value, context) if hasattr(made.value, "ctx") else None

    def _binary(self, node: cst.BinaryOperation) -> ast.expr:
        chain: list[cst.BinaryOperation] = []
        current: cst.BaseExpression = node
        while isinstance(current, cst.BinaryOperation):
            chain.append(current)
            current = current.left
        made = self.lower(current)
        for part in reversed(chain):
            operator = binary_operator(part.operator)
            made = self.put(ast.BinOp(made, operator, self.lower(part.right)), part)
        return made  # type: ignore[no-any-return]

    def _boolean(self, node: cst.BooleanOperation) -> ast.expr:
        operator = type(node.operator)
        values: list[ast.expr] = []
        current: cst.BaseExpression = node
        rest: list[cst.BaseExpression] = []
        while (
            isinstance(current, cst.BooleanOperation)
            and type(current.operator) is operator
            and (current is node or not current.lpar)
        ):
            rest.append(current.right)
            current = current.left
        values = [self.lower(current), *(self.lower(part) for part in reversed(rest))]
        return ast.BoolOp(ast.And() if operator is cst.And else ast.Or(), values)

    def _comparison(self, node: cst.Comparison) -> ast.expr:
        operators = [_COMPARE[type(target.operator).__name__]() for target in node.comparisons]
        return ast.Compare(
            self.lower(node.left), operators, [self.lower(target.comparator) for target in node.comparisons]
        )

    def _call(self, node: cst.Call) -> ast.expr:
        positional, keywords = self.arguments(node.args)
        return ast.Call(self.lower(node.func), positional, keywords)

    def arguments(self, args: Sequence[cst.Arg]) -> tuple[list[ast.expr], list[ast.keyword]]:
        positional: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        for arg in args:
            if arg.star == "**":
                keywords.append(self.put(ast.keyword(None, self.lower(arg.value)), arg))
            elif arg.keyword is not None:
                keywords.append(self.put(ast.keyword(arg.keyword.value, self.lower(arg.value)), arg.keyword, arg.value))
            elif arg.star == "*":
                positional.append(self.put(ast.Starred(self.lower(arg.value), ast.Load()), arg))
            else:
                positional.append(self.lower(arg.value))
        return positional, keywords

    def parameters(self, node: cst.Parameters) -> ast.arguments:
        """The parameters of a function."""
        positional = [*node.posonly_params, *node.params]
        defaults = [self.lower(param.default) for param in positional if param.default is not None]
        star = node.star_arg if isinstance(node.star_arg, cst.Param) else None
        if (
            star is not None
            and star.annotation is not None
            and isinstance(star.annotation.annotation, cst.StarredElement)
        ):
            self.need(11)
        return ast.arguments(
            posonlyargs=[self._parameter(param) for param in node.posonly_params],
            args=[self._parameter(param) for param in node.params],
            vararg=self._parameter(star) if star is not None else None,
            kwonlyargs=[self._parameter(param) for param in node.kwonly_params],
            kw_defaults=[self.optional(param.default) for param in node.kwonly_params],
            kwarg=self._parameter(node.star_kwarg) if node.star_kwarg is not None else None,
            defaults=defaults,
        )

    def _parameter(self, param: cst.Param) -> ast.arg:
        annotation = param.annotation.annotation if param.annotation is not None else None
        made: ast.arg = self.put(
            ast.arg(param.name.value, self.optional(annotation)),
            param.name,
            annotation,
        )
        return made

    def _lambda(self, node: cst.Lambda) -> ast.expr:
        return ast.Lambda(self.parameters(node.params), self.lower(node.body))

    def _subscript(self, node: cst.Subscript) -> ast.expr:
        parts = []
        for element in node.slice:
            inner = element.slice
            if isinstance(inner, cst.Slice):
                bounds = [self.optional(bound) for bound in (inner.lower, inner.upper, inner.step)]
                parts.append(self.put(ast.Slice(*bounds), inner))
            elif isinstance(inner, cst.Index):
                value = self.lower(inner.value)
                if inner.star is not None:
                    self.need(11)
                    value = self.put(ast.Starred(value, ast.Load()), inner)
                parts.append(value)
        several = len(parts) > 1 or (len(parts) == 1 and isinstance(node.slice[0].comma, cst.Comma))
        if several or isinstance(parts[0], ast.Starred):
            key = self.put(ast.Tuple(parts, ast.Load()), node.slice[0], node.slice[-1])
        else:
            key = parts[0]
        return ast.Subscript(self.lower(node.value), key, ast.Load())

    def _elements(self, elements: Sequence[cst.BaseElement]) -> list[ast.expr]:
        return [
            self.put(ast.Starred(self.lower(element.value), ast.Load()), element)
            if isinstance(element, cst.StarredElement)
            else self.lower(element.value)
            for element in elements
        ]

    def _dict(self, node: cst.Dict) -> ast.expr:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        for element in node.elements:
            keys.append(self.lower(element.key) if isinstance(element, cst.DictElement) else None)
            values.append(self.lower(element.value))
        return ast.Dict(keys, values)

    def _generators(self, node: cst.CompFor) -> list[ast.comprehension]:
        made = []
        current: cst.CompFor | None = node
        while current is not None:
            made.append(
                ast.comprehension(
                    self.lower(current.target, ast.Store()),
                    self.lower(current.iter),
                    [self.lower(condition.test) for condition in current.ifs],
                    1 if current.asynchronous else 0,
                )
            )
            current = current.inner_for_in
        return made

    def _text(self, node: cst.SimpleString | cst.ConcatenatedString) -> ast.expr:
        parts: list[cst.BaseExpression] = []
        stack: list[cst.BaseExpression] = [node]
        while stack:
            current = stack.pop()
            if isinstance(current, cst.ConcatenatedString):
                stack.extend((current.right, current.left))
            else:
                parts.append(current)
        if all(isinstance(part, cst.SimpleString) for part in parts):
            values = [part.evaluated_value for part in parts if isinstance(part, cst.SimpleString)]
            texts = [value for value in values if isinstance(value, str)]
            return ast.Constant("".join(texts) if texts else b"".join(v for v in values if isinstance(v, bytes)))
        pieces: list[ast.expr] = []
        for part in parts:
            made = self.lower(part)
            pieces.extend(made.values if isinstance(made, ast.JoinedStr) else [made])
        return ast.JoinedStr(pieces)

    def _formatted(self, node: cst.FormattedString | cst.TemplatedString) -> ast.expr:
        if isinstance(node, cst.TemplatedString):
            self.need(14)
        quote = node.end
        return ast.JoinedStr(self._pieces(node.parts, quote))

    def _pieces(self, parts: Sequence[cst.CSTNode], quote: str) -> list[ast.expr]:
        made: list[ast.expr] = []
        for part in parts:
            if isinstance(part, (cst.FormattedStringExpression, cst.TemplatedStringExpression)):
                code = cst.Module([]).code_for_node(part.expression)
                if quote[0] in code or "\\" in code or "#" in code or ("\n" in code and len(quote) == 1):
                    self.need(12)
                spec = None
                if part.format_spec is not None:
                    spec = self.put(ast.JoinedStr(self._pieces(part.format_spec, quote)), part)
                conversion = ord(part.conversion) if part.conversion else -1
                if part.equal is not None and conversion == -1 and spec is None:
                    conversion = ord("r")
                made.append(self.put(ast.FormattedValue(self.lower(part.expression), conversion, spec), part))
            else:
                made.append(self.put(ast.Constant(getattr(part, "value", "")), part))
        return made

    def _yield(self, node: cst.Yield) -> ast.expr:
        if isinstance(node.value, cst.From):
            return ast.YieldFrom(self.lower(node.value.item))
        return ast.Yield(self.optional(node.value))

    def _name(self, node: cst.Name) -> ast.expr:
        if node.value in CONSTANTS:
            return ast.Constant(CONSTANTS[node.value])
        return ast.Name(node.value, ast.Load())

    def _unary(self, node: cst.UnaryOperation) -> ast.expr:
        return ast.UnaryOp(_UNARY[type(node.operator).__name__](), self.lower(node.expression))


_EXPRESSIONS: dict[str, Callable[[Expressions, Any], ast.expr]] = {
    "Name": Expressions._name,
    "Attribute": lambda self, node: ast.Attribute(self.lower(node.value), node.attr.value, ast.Load()),
    "Subscript": Expressions._subscript,
    "Call": Expressions._call,
    "Integer": lambda self, node: ast.Constant(node.evaluated_value),
    "Float": lambda self, node: ast.Constant(node.evaluated_value),
    "Imaginary": lambda self, node: ast.Constant(node.evaluated_value),
    "SimpleString": Expressions._text,
    "ConcatenatedString": Expressions._text,
    "FormattedString": Expressions._formatted,
    "TemplatedString": Expressions._formatted,
    "Ellipsis": lambda self, node: ast.Constant(...),
    "BinaryOperation": Expressions._binary,
    "BooleanOperation": Expressions._boolean,
    "UnaryOperation": Expressions._unary,
    "Comparison": Expressions._comparison,
    "IfExp": lambda self, node: ast.IfExp(self.lower(node.test), self.lower(node.body), self.lower(node.orelse)),
    "NamedExpr": lambda self, node: ast.NamedExpr(self.lower(node.target, ast.Store()), self.lower(node.value)),
    "Lambda": Expressions._lambda,
    "Tuple": lambda self, node: ast.Tuple(self._elements(node.elements), ast.Load()),
    "List": lambda self, node: ast.List(self._elements(node.elements), ast.Load()),
    "Set": lambda self, node: ast.Set(self._elements(node.elements)),
    "Dict": Expressions._dict,
    "ListComp": lambda self, node: ast.ListComp(self.lower(node.elt), self._generators(node.for_in)),
    "SetComp": lambda self, node: ast.SetComp(self.lower(node.elt), self._generators(node.for_in)),
    "GeneratorExp": lambda self, node: ast.GeneratorExp(self.lower(node.elt), self._generators(node.for_in)),
    "DictComp": lambda self, node: ast.DictComp(
        self.lower(node.key), self.lower(node.value), self._generators(node.for_in)
    ),
    "Await": lambda self, node: ast.Await(self.lower(node.expression)),
    "Yield": Expressions._yield,
    "StarredElement": lambda self, node: ast.Starred(self.lower(node.value), ast.Load()),
}


def binary_operator(node: cst.CSTNode) -> ast.operator:
    """An operator, plain or augmented."""
    return _BINARY[type(node).__name__.removesuffix("Assign")]()
