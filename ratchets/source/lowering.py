"""libcst's tree in the vocabulary of `ast`, with exact positions: for syntax that the running Python cannot read.

What the old vocabulary has no node for becomes what it does: `except*` an except, a template string an f-string, a type
alias an assignment of nothing known. Type parameters are left out.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

_NEWLINE = re.compile(r"\r\n?|\n")
_BINARY: dict[str, type[ast.operator]] = {
    "Add": ast.Add, "Subtract": ast.Sub, "Multiply": ast.Mult, "Divide": ast.Div, "Modulo": ast.Mod, "Power": ast.Pow,
    "FloorDivide": ast.FloorDiv, "MatrixMultiply": ast.MatMult, "LeftShift": ast.LShift, "RightShift": ast.RShift,
    "BitOr": ast.BitOr, "BitAnd": ast.BitAnd, "BitXor": ast.BitXor,
}  # fmt: skip
_COMPARE: dict[str, type[ast.cmpop]] = {
    "Equal": ast.Eq, "NotEqual": ast.NotEq, "LessThan": ast.Lt, "LessThanEqual": ast.LtE, "GreaterThan": ast.Gt,
    "GreaterThanEqual": ast.GtE, "Is": ast.Is, "IsNot": ast.IsNot, "In": ast.In, "NotIn": ast.NotIn,
}  # fmt: skip
_UNARY: dict[str, type[ast.unaryop]] = {"Not": ast.Not, "Minus": ast.USub, "Plus": ast.UAdd, "BitInvert": ast.Invert}


class _Positions(CodegenState):
    """Writes the tree out once, and notes where each node starts and ends: (line, column) in code points."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.line = 1
        self.column = 0
        self.found: dict[int, tuple[int, int, int, int]] = {}
        self._open: list[tuple[int, int]] = []

    def add_token(self, value: str) -> None:
        parts = _NEWLINE.split(value)
        if len(parts) == 1:
            self.column += len(value)
        else:
            self.line += len(parts) - 1
            self.column = len(parts[-1])

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.column += len(token)

    def pop_trailing_newline(self) -> None:
        return

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._open.append((self.line, self.column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._open.pop()
        self.found.setdefault(id(node), (*start, self.line, self.column))

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        start = (self.line, self.column)
        yield
        end = (self.line, self.column)
        if start_node is not None:
            start = self.found[id(start_node)][:2]
        if end_node is not None:
            end = self.found[id(end_node)][2:]
        self.found[id(node)] = (*start, *end)


def lower(source: bytes) -> tuple[ast.Module, tuple[int, int]]:
    """The tree, and the oldest Python that could have read its syntax."""
    module = cst.parse_module(source)
    lowering = _Lowering(module, source)
    body = lowering.block(module.body)
    return ast.Module(body=body, type_ignores=[]), lowering.needs


class _Lowering:
    """One module."""

    def __init__(self, module: cst.Module, source: bytes) -> None:
        text = source.removeprefix(b"\xef\xbb\xbf").decode(module.encoding, "replace")
        state = _Positions(module)
        module._codegen(state)
        self.positions = state.found
        self.lines = _NEWLINE.split(text)
        self.needs = (3, 8)

    def need(self, minor: int) -> None:
        """Syntax that came with Python 3.`minor`."""
        self.needs = max(self.needs, (3, minor))

    # Positions

    def offset(self, line: int, column: int) -> int:
        """A column in code points as an offset in UTF-8 bytes."""
        text = self.lines[line - 1]
        # libcst drops a form feed at the start of a line.
        fed = len(text) - len(text.lstrip("\x0c"))
        return fed + len(text[fed : fed + column].encode())

    def put(self, made: Any, node: cst.CSTNode, last: cst.CSTNode | None = None) -> Any:
        """A made node at the place of a libcst node."""
        line, column, end_line, end_column = self.positions[id(node)]
        if last is not None:
            end_line, end_column = self.positions[id(last)][2:]
        made.lineno, made.col_offset = line, self.offset(line, column)
        made.end_lineno, made.end_col_offset = end_line, self.offset(end_line, end_column)
        return made

    # Statements

    def block(self, nodes: Sequence[cst.CSTNode]) -> list[ast.stmt]:
        """The statements of a body; a line may hold several."""
        made: list[ast.stmt] = []
        for node in nodes:
            if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
                for part in node.body:
                    made.extend(self.statement(part))
            else:
                made.extend(self.statement(node))
        return made

    def suite(self, node: cst.BaseSuite | None) -> list[ast.stmt]:
        """The statements of an indented or inline block."""
        if node is None:
            return []
        if isinstance(node, cst.SimpleStatementSuite):
            return self.block([node])
        return self.block(node.body)

    def statement(self, node: cst.CSTNode) -> list[ast.stmt]:
        """One statement."""
        maker: Callable[[_Lowering, Any], ast.stmt] = _STATEMENTS[type(node).__name__]
        made = maker(self, node)
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
            made = self.put(ast.If(self.ev(part.test), self.suite(part.body), orelse), part)
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
            kind = self.ev(handler.type) if handler.type is not None else None
            if isinstance(handler.type, cst.Tuple) and not handler.type.lpar:
                self.need(14)
            bound = name.name.value if name is not None and isinstance(name.name, cst.Name) else None
            handlers.append(self.put(ast.ExceptHandler(kind, bound, self.suite(handler.body)), handler))
        return ast.Try(self.suite(node.body), handlers, self._else(node.orelse), self._else(node.finalbody))

    def _with(self, node: cst.With) -> ast.stmt:
        items = [
            ast.withitem(self.ev(item.item), self.ev(item.asname.name, ast.Store()) if item.asname else None)
            for item in node.items
        ]
        return (ast.AsyncWith if node.asynchronous else ast.With)(items, self.suite(node.body))

    def _for(self, node: cst.For) -> ast.stmt:
        kind = ast.AsyncFor if node.asynchronous else ast.For
        return kind(
            self.ev(node.target, ast.Store()), self.ev(node.iter), self.suite(node.body), self._else(node.orelse)
        )

    def _function(self, node: cst.FunctionDef) -> ast.stmt:
        if node.type_parameters is not None:
            self._type_parameters(node.type_parameters)
        kind = ast.AsyncFunctionDef if node.asynchronous else ast.FunctionDef
        made = kind(
            name=node.name.value,
            args=self.arguments(node.params),
            body=self.suite(node.body),
            decorator_list=[self.ev(one.decorator) for one in node.decorators],
            returns=self.ev(node.returns.annotation) if node.returns else None,
        )
        if sys.version_info >= (3, 12):
            made.type_params = []
        return made

    def _class(self, node: cst.ClassDef) -> ast.stmt:
        if node.type_parameters is not None:
            self._type_parameters(node.type_parameters)
        positional, keywords = self._arguments([*node.bases, *node.keywords])
        made = ast.ClassDef(
            name=node.name.value,
            bases=positional,
            keywords=keywords,
            body=self.suite(node.body),
            decorator_list=[self.ev(one.decorator) for one in node.decorators],
        )
        if sys.version_info >= (3, 12):
            made.type_params = []
        return made

    def _type_parameters(self, node: cst.TypeParameters) -> None:
        self.need(12)
        if any(param.default is not None for param in node.params):
            self.need(13)

    def _alias(self, node: cst.TypeAlias) -> ast.stmt:
        self.need(12)
        if node.type_parameters is not None:
            self._type_parameters(node.type_parameters)
        return ast.Assign([self.ev(node.name, ast.Store())], self.put(ast.Constant(...), node))

    def _match(self, node: cst.Match) -> ast.stmt:
        cases = [
            ast.match_case(
                self.pattern(case.pattern),
                self.ev(case.guard) if case.guard is not None else None,
                self.suite(case.body),
            )
            for case in node.cases
        ]
        return ast.Match(self.ev(node.subject), cases)

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
            self.ev(node.target, ast.Store()),
            self.ev(node.annotation.annotation),
            self.ev(node.value) if node.value is not None else None,
            1 if isinstance(node.target, cst.Name) and not node.target.lpar else 0,
        )

    def _delete(self, node: cst.Del) -> ast.stmt:
        target = node.target
        parts = (
            [element.value for element in target.elements]
            if isinstance(target, cst.Tuple) and not target.lpar
            else [target]
        )
        return ast.Delete([self.ev(part, ast.Del()) for part in parts])

    # Expressions

    def ev(self, node: cst.CSTNode, context: ast.expr_context | None = None) -> Any:
        """One expression."""
        made = _EXPRESSIONS[type(node).__name__](self, node)
        if not hasattr(made, "lineno"):
            self.put(made, node)
            if isinstance(node, (cst.Tuple, cst.GeneratorExp)) and node.lpar:
                # `ast` counts these parentheses as part of the expression.
                first = self.positions[id(node.lpar[-1])]
                last = self.positions[id(node.rpar[0])]
                made.lineno, made.col_offset = first[0], self.offset(first[0], first[1])
                made.end_lineno, made.end_col_offset = last[2], self.offset(last[2], last[3])
        if hasattr(made, "ctx"):
            self._context(made, context or ast.Load())
        return made

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
        made = self.ev(current)
        for part in reversed(chain):
            operator = _BINARY[type(part.operator).__name__]()
            made = self.put(ast.BinOp(made, operator, self.ev(part.right)), part)
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
        values = [self.ev(current), *(self.ev(part) for part in reversed(rest))]
        return ast.BoolOp(ast.And() if operator is cst.And else ast.Or(), values)

    def _comparison(self, node: cst.Comparison) -> ast.expr:
        operators = [_COMPARE[type(target.operator).__name__]() for target in node.comparisons]
        return ast.Compare(self.ev(node.left), operators, [self.ev(target.comparator) for target in node.comparisons])

    def _call(self, node: cst.Call) -> ast.expr:
        positional, keywords = self._arguments(node.args)
        return ast.Call(self.ev(node.func), positional, keywords)

    def _arguments(self, args: Sequence[cst.Arg]) -> tuple[list[ast.expr], list[ast.keyword]]:
        positional: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        for arg in args:
            if arg.star == "**":
                keywords.append(self.put(ast.keyword(None, self.ev(arg.value)), arg))
            elif arg.keyword is not None:
                keywords.append(self.put(ast.keyword(arg.keyword.value, self.ev(arg.value)), arg.keyword, arg.value))
            elif arg.star == "*":
                positional.append(self.put(ast.Starred(self.ev(arg.value), ast.Load()), arg))
            else:
                positional.append(self.ev(arg.value))
        return positional, keywords

    def arguments(self, node: cst.Parameters) -> ast.arguments:
        """The parameters of a function."""
        positional = [*node.posonly_params, *node.params]
        defaults = [self.ev(param.default) for param in positional if param.default is not None]
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
            kw_defaults=[self.ev(param.default) if param.default is not None else None for param in node.kwonly_params],
            kwarg=self._parameter(node.star_kwarg) if node.star_kwarg is not None else None,
            defaults=defaults,
        )

    def _parameter(self, param: cst.Param) -> ast.arg:
        annotation = param.annotation.annotation if param.annotation is not None else None
        made: ast.arg = self.put(
            ast.arg(param.name.value, self.ev(annotation) if annotation is not None else None),
            param.name,
            annotation,
        )
        return made

    def _lambda(self, node: cst.Lambda) -> ast.expr:
        return ast.Lambda(self.arguments(node.params), self.ev(node.body))

    def _subscript(self, node: cst.Subscript) -> ast.expr:
        parts = []
        for element in node.slice:
            inner = element.slice
            if isinstance(inner, cst.Slice):
                bounds = [
                    self.ev(bound) if bound is not None else None for bound in (inner.lower, inner.upper, inner.step)
                ]
                parts.append(self.put(ast.Slice(*bounds), inner))
            elif isinstance(inner, cst.Index):
                value = self.ev(inner.value)
                if inner.star is not None:
                    self.need(11)
                    value = self.put(ast.Starred(value, ast.Load()), inner)
                parts.append(value)
        several = len(parts) > 1 or (len(parts) == 1 and isinstance(node.slice[0].comma, cst.Comma))
        if several or isinstance(parts[0], ast.Starred):
            key = self.put(ast.Tuple(parts, ast.Load()), node.slice[0], node.slice[-1])
        else:
            key = parts[0]
        return ast.Subscript(self.ev(node.value), key, ast.Load())

    def _elements(self, elements: Sequence[cst.BaseElement]) -> list[ast.expr]:
        return [
            self.put(ast.Starred(self.ev(element.value), ast.Load()), element)
            if isinstance(element, cst.StarredElement)
            else self.ev(element.value)
            for element in elements
        ]

    def _dict(self, node: cst.Dict) -> ast.expr:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        for element in node.elements:
            keys.append(self.ev(element.key) if isinstance(element, cst.DictElement) else None)
            values.append(self.ev(element.value))
        return ast.Dict(keys, values)

    def _generators(self, node: cst.CompFor) -> list[ast.comprehension]:
        made = []
        current: cst.CompFor | None = node
        while current is not None:
            made.append(
                ast.comprehension(
                    self.ev(current.target, ast.Store()),
                    self.ev(current.iter),
                    [self.ev(condition.test) for condition in current.ifs],
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
            made = self.ev(part)
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
                made.append(self.put(ast.FormattedValue(self.ev(part.expression), conversion, spec), part))
            else:
                made.append(self.put(ast.Constant(getattr(part, "value", "")), part))
        return made

    def _yield(self, node: cst.Yield) -> ast.expr:
        if isinstance(node.value, cst.From):
            return ast.YieldFrom(self.ev(node.value.item))
        return ast.Yield(self.ev(node.value) if node.value is not None else None)

    def _name(self, node: cst.Name) -> ast.expr:
        constants = {"None": None, "True": True, "False": False}
        if node.value in constants:
            return ast.Constant(constants[node.value])
        return ast.Name(node.value, ast.Load())

    def _unary(self, node: cst.UnaryOperation) -> ast.expr:
        return ast.UnaryOp(_UNARY[type(node.operator).__name__](), self.ev(node.expression))

    def _augmented(self, node: cst.AugAssign) -> ast.stmt:
        operator = _BINARY[type(node.operator).__name__.removesuffix("Assign")]()
        return ast.AugAssign(self.ev(node.target, ast.Store()), operator, self.ev(node.value))

    # Patterns

    def pattern(self, node: cst.CSTNode) -> Any:
        """One pattern of a case."""
        made = _PATTERNS[type(node).__name__](self, node)
        return made if hasattr(made, "lineno") else self.put(made, node)

    def _match_class(self, node: cst.MatchClass) -> ast.pattern:
        return ast.MatchClass(
            self.ev(node.cls),
            [self.pattern(element.value) for element in node.patterns],
            [element.key.value for element in node.kwds],
            [self.pattern(element.pattern) for element in node.kwds],
        )

    def _match_mapping(self, node: cst.MatchMapping) -> ast.pattern:
        return ast.MatchMapping(
            [self.ev(element.key) for element in node.elements],
            [self.pattern(element.pattern) for element in node.elements],
            node.rest.value if node.rest is not None else None,
        )

    def _match_sequence(self, node: cst.MatchList | cst.MatchTuple) -> ast.pattern:
        return ast.MatchSequence(
            [self.pattern(part if isinstance(part, cst.MatchStar) else part.value) for part in node.patterns]
        )

    def _match_as(self, node: cst.MatchAs) -> ast.pattern:
        inner = self.pattern(node.pattern) if node.pattern is not None else None
        return ast.MatchAs(inner, node.name.value if node.name is not None else None)


def _dotted(node: cst.CSTNode) -> str:
    names: list[str] = []
    while isinstance(node, cst.Attribute):
        names.append(node.attr.value)
        node = node.value
    names.append(node.value if isinstance(node, cst.Name) else "")
    return ".".join(reversed(names))


_STATEMENTS: dict[str, Callable[[Any, Any], ast.stmt]] = {
    "Expr": lambda self, node: ast.Expr(self.ev(node.value)),
    "Assign": lambda self, node: ast.Assign(
        [self.ev(one.target, ast.Store()) for one in node.targets], self.ev(node.value)
    ),
    "AnnAssign": _Lowering._annotated,
    "AugAssign": _Lowering._augmented,
    "Del": _Lowering._delete,
    "Return": lambda self, node: ast.Return(self.ev(node.value) if node.value is not None else None),
    "Raise": lambda self, node: ast.Raise(
        self.ev(node.exc) if node.exc is not None else None,
        self.ev(node.cause.item) if node.cause is not None else None,
    ),
    "Assert": lambda self, node: ast.Assert(self.ev(node.test), self.ev(node.msg) if node.msg is not None else None),
    "Pass": lambda self, node: ast.Pass(),
    "Break": lambda self, node: ast.Break(),
    "Continue": lambda self, node: ast.Continue(),
    "Global": lambda self, node: ast.Global([item.name.value for item in node.names]),
    "Nonlocal": lambda self, node: ast.Nonlocal([item.name.value for item in node.names]),
    "Import": _Lowering._import,
    "ImportFrom": _Lowering._import_from,
    "If": _Lowering._if,
    "For": _Lowering._for,
    "While": lambda self, node: ast.While(self.ev(node.test), self.suite(node.body), self._else(node.orelse)),
    "Try": _Lowering._try,
    "TryStar": _Lowering._try,
    "With": _Lowering._with,
    "Match": _Lowering._match,
    "FunctionDef": _Lowering._function,
    "ClassDef": _Lowering._class,
    "TypeAlias": _Lowering._alias,
}

_EXPRESSIONS: dict[str, Callable[[Any, Any], ast.expr]] = {
    "Name": _Lowering._name,
    "Attribute": lambda self, node: ast.Attribute(self.ev(node.value), node.attr.value, ast.Load()),
    "Subscript": _Lowering._subscript,
    "Call": _Lowering._call,
    "Integer": lambda self, node: ast.Constant(node.evaluated_value),
    "Float": lambda self, node: ast.Constant(node.evaluated_value),
    "Imaginary": lambda self, node: ast.Constant(node.evaluated_value),
    "SimpleString": _Lowering._text,
    "ConcatenatedString": _Lowering._text,
    "FormattedString": _Lowering._formatted,
    "TemplatedString": _Lowering._formatted,
    "Ellipsis": lambda self, node: ast.Constant(...),
    "BinaryOperation": _Lowering._binary,
    "BooleanOperation": _Lowering._boolean,
    "UnaryOperation": _Lowering._unary,
    "Comparison": _Lowering._comparison,
    "IfExp": lambda self, node: ast.IfExp(self.ev(node.test), self.ev(node.body), self.ev(node.orelse)),
    "NamedExpr": lambda self, node: ast.NamedExpr(self.ev(node.target, ast.Store()), self.ev(node.value)),
    "Lambda": _Lowering._lambda,
    "Tuple": lambda self, node: ast.Tuple(self._elements(node.elements), ast.Load()),
    "List": lambda self, node: ast.List(self._elements(node.elements), ast.Load()),
    "Set": lambda self, node: ast.Set(self._elements(node.elements)),
    "Dict": _Lowering._dict,
    "ListComp": lambda self, node: ast.ListComp(self.ev(node.elt), self._generators(node.for_in)),
    "SetComp": lambda self, node: ast.SetComp(self.ev(node.elt), self._generators(node.for_in)),
    "GeneratorExp": lambda self, node: ast.GeneratorExp(self.ev(node.elt), self._generators(node.for_in)),
    "DictComp": lambda self, node: ast.DictComp(self.ev(node.key), self.ev(node.value), self._generators(node.for_in)),
    "Await": lambda self, node: ast.Await(self.ev(node.expression)),
    "Yield": _Lowering._yield,
    "StarredElement": lambda self, node: ast.Starred(self.ev(node.value), ast.Load()),
}

_PATTERNS: dict[str, Callable[[Any, Any], ast.pattern]] = {
    "MatchValue": lambda self, node: ast.MatchValue(self.ev(node.value)),
    "MatchSingleton": lambda self, node: ast.MatchSingleton(self._name(node.value).value),
    "MatchAs": _Lowering._match_as,
    "MatchOr": lambda self, node: ast.MatchOr([self.pattern(element.pattern) for element in node.patterns]),
    "MatchClass": _Lowering._match_class,
    "MatchMapping": _Lowering._match_mapping,
    "MatchList": _Lowering._match_sequence,
    "MatchTuple": _Lowering._match_sequence,
    "MatchStar": lambda self, node: ast.MatchStar(node.name.value if node.name is not None else None),
}
