"""The binder of one module: the state, the parts over it, and which part handles which node."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from confbag.ratchets.binder.names import Names
from confbag.ratchets.binder.parts.annotations import Annotations
from confbag.ratchets.binder.parts.answering import Answering
from confbag.ratchets.binder.parts.attributes import Attributes
from confbag.ratchets.binder.parts.bodies import Bodies
from confbag.ratchets.binder.parts.builtins import Builtins
from confbag.ratchets.binder.parts.by_name import ByName
from confbag.ratchets.binder.parts.callees import Callees
from confbag.ratchets.binder.parts.calls import Calls
from confbag.ratchets.binder.parts.classes import Classes
from confbag.ratchets.binder.parts.conditions import Conditions
from confbag.ratchets.binder.parts.contexts import Contexts
from confbag.ratchets.binder.parts.definitions import Definitions
from confbag.ratchets.binder.parts.displays import Displays
from confbag.ratchets.binder.parts.elsewhere import Elsewhere
from confbag.ratchets.binder.parts.expressions import Expressions
from confbag.ratchets.binder.parts.flow import Flow
from confbag.ratchets.binder.parts.getters import Getters
from confbag.ratchets.binder.parts.growing import Growing
from confbag.ratchets.binder.parts.imports import Imports
from confbag.ratchets.binder.parts.items import Items
from confbag.ratchets.binder.parts.lambdas import Lambdas
from confbag.ratchets.binder.parts.leading import Leading
from confbag.ratchets.binder.parts.library import Library
from confbag.ratchets.binder.parts.loops import Loops
from confbag.ratchets.binder.parts.methods import Methods
from confbag.ratchets.binder.parts.offering import Offering
from confbag.ratchets.binder.parts.operators import Operators
from confbag.ratchets.binder.parts.patterns import Patterns
from confbag.ratchets.binder.parts.presence import Presence
from confbag.ratchets.binder.parts.receivers import Receivers
from confbag.ratchets.binder.parts.record_class import RecordClass
from confbag.ratchets.binder.parts.spawning import Spawning
from confbag.ratchets.binder.parts.statements import Statements
from confbag.ratchets.binder.parts.summaries import Summaries
from confbag.ratchets.binder.parts.targets import Targets
from confbag.ratchets.binder.parts.writes import Writes
from confbag.ratchets.binder.places import Places
from confbag.ratchets.binder.sights import Sights
from confbag.ratchets.binder.state import State
from confbag.ratchets.binder.values import UNKNOWN, Fields, Value
from confbag.ratchets.binder.world import World
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.source.parse import Module


class Binder:
    """Evaluates expressions and runs statements; the parts ask each other through it."""

    def __init__(
        self, module: Module, configuration: Configuration, world: World, asked_for: frozenset[str] = frozenset()
    ) -> None:
        self.module = module
        self.state = State(module, configuration, world, asked_for)
        self.names = Names(self.state)
        self.places = Places(module, self.names)
        self.sights = Sights(self.state, self.places)

        # What things are.
        self.annotations = Annotations(self)
        self.classes = Classes(self)
        self.attributes = Attributes(self)
        self.record_class = RecordClass(self)
        self.receivers = Receivers(self)
        self.items = Items(self)
        self.growing = Growing(self)
        # Expressions.
        self.expressions = Expressions(self)
        self.operators = Operators(self)
        self.displays = Displays(self)
        self.lambdas = Lambdas(self)
        self.conditions = Conditions(self)
        self.presence = Presence(self)
        # Calls.
        self.calls = Calls(self)
        self.callees = Callees(self)
        self.summaries = Summaries(self)
        self.elsewhere = Elsewhere(self)
        self.spawning = Spawning(self)
        self.builtins = Builtins(self)
        self.by_name = ByName(self)
        self.library = Library(self)
        self.getters = Getters(self)
        self.methods = Methods(self)
        # Statements.
        self.targets = Targets(self)
        self.writes = Writes(self)
        self.patterns = Patterns(self)
        self.flow = Flow(self)
        self.loops = Loops(self)
        self.contexts = Contexts(self)
        self.definitions = Definitions(self)
        self.imports = Imports(self)
        self.statements = Statements(self)
        # The module as a whole.
        self.bodies = Bodies(self)
        self.leading = Leading(self)
        self.answering = Answering(self)
        self.offering = Offering(self)

        self._evaluators = self._of_expressions()
        self._runners = self._of_statements()

    def _of_expressions(self) -> dict[type[ast.expr], Callable[[Any], Value]]:
        return {
            ast.Name: self.expressions.name,
            ast.Constant: self.expressions.literal,
            ast.Attribute: self.expressions.attribute,
            ast.NamedExpr: self.expressions.walrus,
            ast.IfExp: self.expressions.conditional,
            ast.Await: self.expressions.awaited,
            ast.Starred: self.expressions.starred,
            ast.Yield: self.expressions.yield_value,
            ast.YieldFrom: self.expressions.yield_from,
            ast.Subscript: self.items.subscript,
            ast.BoolOp: self.operators.boolean,
            ast.UnaryOp: self.operators.unary,
            ast.Compare: self.operators.comparison,
            ast.BinOp: self.operators.binary,
            ast.List: self.displays.sequence,
            ast.Tuple: self.displays.sequence,
            ast.Set: self.displays.sequence,
            ast.Dict: self.displays.mapping,
            ast.ListComp: self.displays.comprehension,
            ast.SetComp: self.displays.comprehension,
            ast.GeneratorExp: self.displays.comprehension,
            ast.DictComp: self.displays.comprehension,
            ast.JoinedStr: self.displays.text,
            ast.Lambda: self.lambdas.define,
            ast.Call: self.calls.call,
        }

    def _of_statements(self) -> dict[type[ast.stmt], Callable[[Any], None]]:
        runners: dict[type[ast.stmt], Callable[[Any], None]] = {
            ast.Expr: self.statements.expression,
            ast.Assign: self.statements.assign,
            ast.AnnAssign: self.statements.annotated,
            ast.AugAssign: self.statements.augmented,
            ast.Delete: self.statements.delete,
            ast.Assert: self.statements.assertion,
            ast.Import: self.imports.import_statement,
            ast.ImportFrom: self.imports.import_from,
            ast.If: self.flow.branch_statement,
            ast.Try: self.flow.try_statement,
            ast.Match: self.flow.match,
            ast.Return: self.flow.return_statement,
            ast.Raise: self.flow.raise_statement,
            ast.Break: self.flow.break_statement,
            ast.Continue: self.flow.continue_statement,
            ast.For: self.loops.for_statement,
            ast.AsyncFor: self.loops.for_statement,
            ast.While: self.loops.while_statement,
            ast.With: self.contexts.with_statement,
            ast.AsyncWith: self.contexts.with_statement,
            ast.FunctionDef: self.definitions.function_def,
            ast.AsyncFunctionDef: self.definitions.function_def,
            ast.ClassDef: self.definitions.class_def,
        }
        # Newer than Python 3.10.
        for name, runner in (("TryStar", self.flow.try_statement), ("TypeAlias", self.statements.type_alias)):
            if hasattr(ast, name):
                runners[getattr(ast, name)] = runner
        return runners

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression. Every part of it is evaluated once on each path, so that nothing goes unseen."""
        evaluator = self._evaluators.get(type(node))
        if evaluator is not None:
            return evaluator(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.use(child)
        return UNKNOWN

    def use(self, node: ast.expr) -> Value:
        """The value of an expression that goes somewhere the binder does not follow `vars(record)`."""
        value = self.evaluate(node)
        for atom in value:
            if isinstance(atom, Fields):
                self.sights.escape(value)
                return frozenset(part for part in value if not isinstance(part, Fields)) | UNKNOWN
        return value

    def run(self, node: ast.stmt) -> None:
        """One statement."""
        runner = self._runners.get(type(node))
        if runner is not None:
            runner(node)

    def begin(self) -> None:
        """A pass over the module begins; what the one before left behind is known."""
        self.state.begin()
        self.names.begin()
        self.places.begin()
        self.sights.begin()
        self.loops.begin()
        self.classes.begin()

    def release(self) -> None:
        """Let go of the parts, which know the binder, so that the tree goes at once."""
        vars(self).clear()
