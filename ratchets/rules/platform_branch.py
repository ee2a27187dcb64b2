"""CB131 platform-branch: an implementation chosen by a platform test instead of the registry."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding, Place
from confbag.ratchets.names.asking import asked, handed
from confbag.ratchets.names.exports import STARS, Echoes, Tree, words
from confbag.ratchets.rules import platform_branch_facts as facts_of
from confbag.ratchets.rules.platform_branch_cases import CASES as CASES
from confbag.ratchets.rules.platform_branch_facts import Candidate, Choice, Facts
from confbag.ratchets.rules.platform_branch_tests import Paths
from confbag.ratchets.source.parse import Module

CODE = "CB131"
NAME = "platform-branch"
MEANS = (
    "A test of the platform decides which function or class a name is: (a) the name has two or more import or def "
    "bindings in one scope, one of them under such a test, whatever they give (a re-binding by assignment counts as "
    "one); (b) it has one such binding and None; (c) a ternary's sides are functions or classes; (d) a function "
    "returns calls of two classes. `predicates` lists the tests, which are followed through imports, and flags "
    "assigned from them count as they do. With `strict`, a name bound only under a test counts too. What cannot be an "
    "implementation does not count: a constant, a dtype, a member of an enumeration, a record (NamedTuple, "
    "TypedDict), an exception, the same module imported again, what only a type checker sees."
)
WHY = (
    "Whoever adds a platform must find and edit every such branch; nobody can list what may run, say why one was "
    "chosen, or choose another by configuration."
)
INSTEAD = (
    'Register each implementation for its op with what it requires (`op.implement("provider", "module:function", '
    'requires=Requires(device=("npu",)))`) and call the one that the plan has bound.'
)

_FORMS = {
    "a": "`{name}` is one implementation or another by a test of the platform",
    "b": "`{name}` is an implementation or None by a test of the platform",
    "c": "a ternary on the platform chooses what `{name}` is",
    "d": "`{name}` returns one class or another by a test of the platform",
    "strict": "`{name}` is there only on some platforms",
}


def triggers(configuration: Configuration) -> tuple[bytes, ...]:
    """The names of the predicates; star imports hand them on unnamed."""
    return (*sorted({path.rpartition(".")[2].encode() for path in configuration.predicates}), *STARS)


def wanted(tree: ast.Module, configuration: Configuration) -> bool:
    """Whatever holds a trigger hands a name on or tests it."""
    return True


def collect(module: Module, configuration: Configuration) -> Facts:
    """The names, flags and candidates of one module."""
    return facts_of.collect(module)


def echoes(facts: Mapping[str, Facts], configuration: Configuration) -> Echoes:
    """Names under which tests are handed on, and modules that names of tests, and of what they choose, lead through."""
    tests = _Tests(facts, configuration)
    flags = {flag for one in facts.values() for flag in one.flags if tests.platform(flag)}
    found = words(tests.tree, [*configuration.predicates, *flags])
    found |= {path.rpartition(".")[2].encode() for path in (*flags, *configuration.predicates)}
    mentioned = {path for one in facts.values() for paths in one.flags.values() for path in paths}
    spelt: set[str] = set()
    for one in facts.values():
        for candidate in one.candidates:
            mentioned.update(candidate.none or ())
            mentioned.update(*(choice.tests for choice in candidate.choices))
            if tests.chosen(candidate):
                spelt.update(choice.target for choice in candidate.choices if choice.spelt)
    known = [word.decode() for word in found]
    modules = asked(tests.tree, [*configuration.predicates, *mentioned, *handed(tests.tree)], known)
    # Where something is defined may say that it is a value.
    return found, modules | asked(tests.tree, spelt, (path.rpartition(".")[2] for path in spelt))


def judge(facts: Mapping[str, Facts], configuration: Configuration) -> Iterator[Finding]:
    """One finding a name and scope."""
    for path, form, candidate, at in found(facts, configuration):
        message = _FORMS[form].format(name=candidate.name) + "; register the implementations and let the plan choose"
        yield Finding(
            path,
            at.line,
            at.column,
            CODE,
            candidate.name,
            at.qualname,
            message,
            end_line=at.end_line,
            end_column=at.end_column,
            first=at.first,
            last=at.last,
        )


def found(facts: Mapping[str, Facts], configuration: Configuration) -> Iterator[tuple[str, str, Candidate, Place]]:
    """Path, form, candidate and place of each finding."""
    tests = _Tests(facts, configuration)
    for path, one in facts.items():
        seen: set[tuple[str, str]] = set()
        for candidate in one.candidates:
            key = (candidate.qualname, candidate.name)
            if key in seen or not tests.chosen(candidate):
                continue
            choices = [choice for choice in candidate.choices if not (choice.spelt and tests.value(choice.target))]
            form = _form(candidate, choices, tests, configuration.strict)
            if form is not None:
                seen.add(key)
                at = next((choice for choice in choices if tests.any(choice.tests)), choices[0]).place
                yield path, form, candidate, at


def _form(candidate: Candidate, choices: Sequence[Choice], tests: _Tests, strict: bool) -> str | None:
    under = [tests.any(choice.tests) for choice in choices]
    if candidate.form != "name":
        if candidate.form == "c" and len(choices) < len(candidate.choices):
            return None  # a side is a value
        targets = {tests.origin(choice.target) for choice in choices}
        return candidate.form if any(under) and len(targets) > 1 else None
    # Two bindings count whatever they give: the same name of the same module is another thing on another platform. But
    # `import a` twice, or `import a.b` and `import a.c`, is one module: no choice.
    modules = {choice.target for choice in choices if choice.target.startswith("=")}
    if any(under) and len(choices) > 1 and (len(modules) != 1 or not all(c.target in modules for c in choices)):
        return "a"
    if choices and candidate.none is not None and (any(under) or tests.any(candidate.none)):
        return "b"
    alone = candidate.alone and candidate.none is None and all(under)
    return "strict" if strict and choices and alone else None


class _Tests:
    """Which paths are tests of the platform: the predicates, what re-exports them, and flags made of them."""

    def __init__(self, facts: Mapping[str, Facts], configuration: Configuration) -> None:
        self.tree = Tree(one.exports for one in facts.values())
        self.flags: dict[str, Paths] = {}
        self.values: set[str] = set()
        for one in facts.values():
            self.flags.update(one.flags)
            self.values |= one.values
        self.predicates: set[str] = set()
        for path in configuration.predicates:
            self.predicates |= self.tree.all(path)
        self._known: dict[str, bool] = {}

    def any(self, paths: Iterable[str]) -> bool:
        return any(self.platform(path) for path in paths)

    def chosen(self, candidate: Candidate) -> bool:
        """Whether a test of the platform is among those of a candidate."""
        return self.any(candidate.none or ()) or any(self.any(choice.tests) for choice in candidate.choices)

    def platform(self, path: str) -> bool:
        """Whether a path is a predicate, called or not, or a flag."""
        path = path.replace("()", "")  # a method of an instance is named by its class
        known = self._known.get(path)
        if known is None:
            self._known[path] = False  # a flag made of itself
            names = self.tree.all(path)
            known = bool(names & self.predicates) or any(self.any(self.flags.get(name, ())) for name in names)
            self._known[path] = known
        return known

    def value(self, target: str) -> bool:
        """Whether a target is certainly a value where it is defined."""
        return not self.values.isdisjoint(self.tree.all(target))

    def origin(self, target: str) -> str:
        """One name for everything that a target also is."""
        return min(self.tree.all(target))
