"""What is known of other modules while one is read, and what was asked, so that an answer can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from confbag.ratchets.binder.values import Accessor, Record, Type, Value
from confbag.ratchets.configuration import Configuration


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call of a function gives, and what it reads of each parameter.

    `passes` are parameters it hands on: its own name -> (key of the other function, the name there).
    """

    name: str
    parameters: tuple[str, ...]
    returns: Value
    yields: Value
    kind: str  # "", "property", "static", "class"
    context: bool
    reads: Mapping[str, frozenset[str]] = field(default_factory=dict)
    passes: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    method: bool = False
    holds: frozenset[str] = frozenset()  # parameters that are records by their own name, annotation or default
    coroutine: bool = False
    positional: int = 0  # how many parameters take arguments by their position
    star: str = ""  # the names of `*args` and `**kwargs`
    stars: str = ""

    @property
    def call(self) -> tuple[object, ...]:
        """What a module that calls it makes of it; what it reads is for the link step alone."""
        return (
            self.name, self.parameters, self.returns, self.yields, self.kind, self.context, self.method, self.holds,
            self.coroutine, self.positional, self.star, self.stars,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """A class: its bases, and the values of attributes that can matter."""

    name: str
    bases: tuple[Value, ...]
    attributes: Mapping[str, Value]
    body: Mapping[str, Value]
    words: frozenset[str] = frozenset()


@dataclass
class Known:
    """The answers so far, by question: dotted names, keys of functions and of classes."""

    names: dict[str, Value] = field(default_factory=dict)
    functions: dict[str, Summary] = field(default_factory=dict)
    classes: dict[str, Table] = field(default_factory=dict)
    answers: dict[str, Value] = field(default_factory=dict)  # by path, where another module calls one with a record
    stars: dict[str, frozenset[str]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)  # names that a file must hold to get at what others export
    inner: set[str] = field(default_factory=set)  # attributes that lead to a record; never a reason to read a file


class World:
    """Answers questions about names outside a module and remembers them."""

    def __init__(self, configuration: Configuration, known: Known) -> None:
        self.known = known
        self.asked: dict[str, object] = {}
        self._configured: dict[str, Value] = {}
        for spec in configuration.records:
            for path in spec.types:
                self._configured[path] = frozenset({Type(spec.name)})
            for path in spec.accessors:
                if path.endswith("()"):
                    self._configured[path[:-2]] = frozenset({Accessor(spec.name)})
                elif "()" in path:
                    self._configured[path] = frozenset({Record(spec.name, True)})
                else:
                    self._configured[path] = frozenset({Accessor(spec.name)})

    def configured(self, path: str) -> Value | None:
        """What the configuration says of a path."""
        return self._configured.get(path)

    def leads(self, path: str) -> bool:
        """Whether a path is on the way to one of the configuration."""
        return any(configured.startswith(path) for configured in self._configured)

    def name(self, path: str) -> Value | None:
        """What a dotted path is, if it can matter."""
        found = self._configured.get(path)
        if found is None:
            found = self.known.names.get(path)
            self.asked["n " + path] = found
        return found

    def star(self, module: str) -> frozenset[str]:
        """The names that matter in a module of which everything is imported."""
        found = self.known.stars.get(module, frozenset())
        self.asked["s " + module] = found
        prefix = module + "."
        ours = {path[len(prefix) :] for path in self._configured if path.startswith(prefix)}
        return found | {name for name in ours if "." not in name and "(" not in name}

    def function(self, key: str) -> Summary | None:
        """A function of another module."""
        found = self.known.functions.get(key)
        self.asked["f " + key] = None if found is None else found.call
        return found

    def leading(self, key: str) -> frozenset[str]:
        """The names by which a class of another module gives a record."""
        table = self.known.classes.get(key)
        found: frozenset[str] = frozenset() if table is None else table.words
        self.asked["w " + key] = found
        return found

    def called(self, path: str) -> Value | None:
        """What a path is that is called with a record, None where no module said so yet."""
        found = self.known.answers.get(path)
        self.asked["p " + path] = found
        return found

    def table(self, key: str) -> Table | None:
        """A class of another module."""
        found = self.known.classes.get(key)
        self.asked["c " + key] = found
        return found


def answer(known: Known, question: str) -> object:
    """What a question that a module asked would be answered now."""
    kind, _, about = question.partition(" ")
    if kind == "n":
        return known.names.get(about)
    if kind == "s":
        return known.stars.get(about, frozenset())
    if kind == "f":
        function = known.functions.get(about)
        return None if function is None else function.call
    if kind == "p":
        return known.answers.get(about)
    if kind == "w":
        words = known.classes.get(about)
        return frozenset() if words is None else words.words
    return known.classes.get(about)
