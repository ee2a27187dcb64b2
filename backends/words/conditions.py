"""Conditions on facts, as data: what rules, ops and requirements say about the bag, the platform and earlier decisions.

A condition is a mapping whose entries must all hold. The key names a fact; the value says what the fact must be:

    model.kind: mla                    equal
    platform.arch: [sm100, sm103]      one of
    spec.branches: {max: 1}            at most (min: at least)
    platform.toolkit.cuda: {version: ">=12.3"}
    model.architecture: {not: [A, B]}  none of
    memory.page_size: {multiple: 16}   a multiple of
    model.sliding_window: {set: true}  known at all
    platform.features: {has: amx}      holds the member
    any: [{...}, {...}]                at least one of these conditions
    none: [{...}]                      none of these conditions

A fact that is unknown (None) satisfies only what names null, `set: false` or `not`: a rule does not fire on what nobody
knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from confbag.backends.words.rejection import say
from confbag.backends.words.versions import is_specifier, version_matches
from confbag.errors import RegistrationError

Facts = Mapping[str, Any]

_TESTS = ("min", "max", "multiple", "version", "not", "set", "has")
_GROUPS = ("any", "none")


class Condition:
    """A compiled condition. Equal conditions are equal objects' worth of data; `str` gives the data in one line."""

    __slots__ = ("_groups", "_tests", "data")

    def __init__(self, data: Mapping[str, Any] | None = None, *, where: str = "condition") -> None:
        if not isinstance(data or {}, Mapping) or not all(isinstance(fact, str) for fact in data or {}):
            raise RegistrationError(f"{where}: expected a mapping of facts to what they must be")
        self.data: Mapping[str, Any] = dict(data or {})
        self._tests: tuple[tuple[str, Any], ...] = tuple(
            (fact, _compile(test, f"{where}: {fact}")) for fact, test in self.data.items() if fact not in _GROUPS
        )
        self._groups: tuple[tuple[str, tuple[Condition, ...]], ...] = tuple(
            (group, tuple(Condition(item, where=f"{where}: {group}") for item in _listed(self.data[group], where)))
            for group in _GROUPS
            if group in self.data
        )

    def holds(self, facts: Facts) -> bool:
        """Whether every entry holds for these facts."""
        for fact, test in self._tests:
            if not passes(test, facts.get(fact)):
                return False
        for group, members in self._groups:
            found = any(member.holds(facts) for member in members)
            if found is (group == "none"):
                return False
        return True

    def failing(self, facts: Facts) -> str | None:
        """The first entry that does not hold, in words; None when all do."""
        for fact, test in self._tests:
            if not passes(test, facts.get(fact)):
                expected = "" if test[0] == "not" else f", not {words(test)}"
                return f"{fact} is {say(facts.get(fact))}{expected}"
        return None if self.holds(facts) else f"not {self}"

    def facts_named(self) -> Iterator[str]:
        """Every fact that the condition reads."""
        for fact, _ in self._tests:
            yield fact
        for _, members in self._groups:
            for member in members:
                yield from member.facts_named()

    def values_named(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Every fact that is held against values, with those values."""
        for fact, (kind, operand) in self._tests:
            if kind in ("in", "not"):
                yield fact, operand
        for _, members in self._groups:
            for member in members:
                yield from member.values_named()

    def __bool__(self) -> bool:
        return bool(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self.data == other.data

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        parts = [f"{fact} {words(test)}" for fact, test in self._tests]
        parts += [f"{group} of ({'; '.join(map(str, members))})" for group, members in self._groups]
        return ", ".join(parts) or "always"

    def __repr__(self) -> str:
        return f"Condition({self})"


def _listed(value: Any, where: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, Mapping) for item in value):
        raise RegistrationError(f"{where}: `any` and `none` take a list of conditions")
    return list(value)


def _compile(test: Any, where: str) -> Any:
    """One test as a tuple `(kind, operand)`; a plain value becomes `in`."""
    if isinstance(test, Mapping):
        if len(test) != 1 or next(iter(test)) not in _TESTS:
            raise RegistrationError(
                f"{where}: expected one of {', '.join(_TESTS)}, got {', '.join(map(str, test)) or 'nothing'}"
            )
        kind, operand = next(iter(test.items()))
        if kind in ("min", "max") and (isinstance(operand, bool) or not isinstance(operand, (int, float))):
            raise RegistrationError(f"{where}: `{kind}` takes a number, got {operand!r}")
        if kind == "multiple" and (isinstance(operand, bool) or not isinstance(operand, int) or operand < 1):
            raise RegistrationError(f"{where}: `multiple` takes a positive integer, got {operand!r}")
        if kind == "version":
            _check_specifier(operand, where)
        if kind == "not":
            return kind, tuple(operand) if isinstance(operand, (list, tuple)) else (operand,)
        return kind, operand
    if isinstance(test, (list, tuple)):
        if not test:
            raise RegistrationError(f"{where}: an empty list can never hold; name at least one value")
        return "in", tuple(test)
    return "in", (test,)


def _check_specifier(specifier: Any, where: str) -> None:
    if not isinstance(specifier, str) or not specifier.strip() or not is_specifier(specifier):
        raise RegistrationError(f"{where}: {specifier!r} is no PEP 440 specifier; write for example '>=12.3'")


def passes(test: tuple[str, Any], actual: Any) -> bool:
    """Whether one compiled test holds for one fact."""
    kind, operand = test
    if kind == "in":
        # True equals 1 in Python, and a setting that is true is not the number 1.
        return any(actual == item and isinstance(actual, bool) is isinstance(item, bool) for item in operand)
    if kind == "not":
        return actual not in operand
    if kind == "set":
        return (actual is not None) is bool(operand)
    if actual is None:
        return False
    if kind == "has":
        return bool(isinstance(actual, (frozenset, set, tuple, list)) and operand in actual)
    if kind == "version":
        return version_matches(str(operand), str(actual))
    if isinstance(actual, bool) or not isinstance(actual, (int, float)):
        return False
    if kind == "multiple":
        return bool(actual % operand == 0)
    return bool(actual >= operand) if kind == "min" else bool(actual <= operand)


def words(test: tuple[str, Any]) -> str:
    """One compiled test in words, as an error or `why` says it."""
    kind, operand = test
    if kind == "in":
        return say(operand)
    return {
        "not": f"other than {say(operand)}",
        "set": "known" if operand else "unknown",
        "has": f"with {operand}",
        "version": str(operand),
        "min": f"at least {operand}",
        "max": f"at most {operand}",
        "multiple": f"a multiple of {operand}",
    }[kind]
