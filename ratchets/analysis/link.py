"""Across modules: what the facts of all of them say together, and the findings of the record rules."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from confbag.ratchets.binder.facts import Handoff, ModuleFacts, Sight
from confbag.ratchets.binder.state import under
from confbag.ratchets.binder.values import Class, Function, Symbol
from confbag.ratchets.binder.world import Known, Summary
from confbag.ratchets.configuration import Configuration, RecordSpec
from confbag.ratchets.finding import Finding, Fix, Place

# One finding per access: the first of these that saw it.
_ORDER = {"CB111": 0, "CB101": 1, "CB102": 2, "CB103": 3, "CB105": 4, "CB104": 5}
PUBLISHED = "from confbag import is_published"


def known_of(facts: Iterable[ModuleFacts]) -> Known:
    """The answers that modules give to each other."""
    known = Known()
    for one in facts:
        known.names.update(one.names)
        known.functions.update(one.functions)
        known.classes.update(one.classes)
        known.words |= one.words
        for table in one.classes.values():
            known.inner |= table.words
        if one.star:
            known.stars[one.module] = one.star
    return known


class Link:
    """The facts of all modules, asked together."""

    def __init__(self, facts: Mapping[str, ModuleFacts], configuration: Configuration) -> None:
        self.facts = facts
        self.configuration = configuration
        self.specs: dict[str, RecordSpec] = {spec.name: spec for spec in configuration.records}
        self.known = known_of(facts.values())
        self.declares: dict[str, Mapping[str, str]] = {}
        self.bases: dict[str, tuple[str, ...]] = {}
        for one in facts.values():
            self.declares.update(one.declares)
            self.bases.update(one.bases)
        self.elsewhere = {name for told in self.declares.values() for name, kind in told.items() if kind == "other"}
        self.by_name: dict[str, list[str]] = {}
        for key in self.declares:
            self.by_name.setdefault(key.rpartition(".")[2], []).append(key)

    def findings(self, paths: Container[str]) -> Iterator[Finding]:
        """The findings of the record rules in some files, owners left out."""
        for path, facts in self.facts.items():
            if path not in paths:
                continue
            owned = {name for name, spec in self.specs.items() if self._owns(spec, path)}
            places: dict[tuple[Place, str], list[Sight]] = {}
            for place, sights in facts.sights.items():
                for sight in sights:
                    if sight.spec not in owned and self._holds(sight.guess):
                        places.setdefault((place, sight.symbol), []).append(sight)
            for handoff in facts.handoffs:
                if handoff.spec not in owned and self._holds(handoff.guess):
                    seen = self._handoff(handoff)
                    if seen is not None:
                        places.setdefault((handoff.place, seen.symbol), []).append(seen)
            for (place, _), seen_there in places.items():
                best = min(seen_there, key=lambda sight: (_ORDER[sight.code], sight.spec, sight.symbol))
                if best.code in self.configuration.codes:
                    yield self._finding(path, place, best)

    def _owns(self, spec: RecordSpec, path: str) -> bool:
        inside = path.removeprefix(self.configuration.prefix)
        return any(under(inside, owner) for owner in spec.owners)

    # Guesses by name

    def _holds(self, guess: tuple[str, str] | None) -> bool:
        """Whether an attribute counts by its name: the class of the receiver speaks, then any class of the tree."""
        if guess is None:
            return True
        name, receiver = guess
        for path in receiver.removeprefix("=").split("|"):
            told = self._told(path, name) if path else None
            if told is not None:
                return told == "record"
            if path and (path in self.declares or path in self.bases):
                return True
        return receiver.startswith("=") or name not in self.elsewhere

    def _told(self, receiver: str, name: str) -> str | None:
        seen: set[str] = set()
        stack = [receiver]
        while stack:
            current = stack.pop(0)
            if current in seen:
                continue
            seen.add(current)
            table = self.declares.get(current)
            if table is None:
                same = self.by_name.get(current.rpartition(".")[2], [])
                if len(same) == 1 and current not in self.bases:
                    table = self.declares[same[0]]
            if table is not None and name in table:
                return table[name]
            stack.extend(self.bases.get(current, ()))
        return None

    # Handoffs

    def _handoff(self, handoff: Handoff) -> Sight | None:
        found = self.callee(handoff.callee)
        if found is None:
            return None
        key, summary, shown = found
        name = self._parameter(summary, handoff.parameter)
        if name is None or name in summary.holds:
            return None
        fields = sorted(self._reads(key, name, set()))
        if not fields:
            return None
        return Sight("CB104", handoff.spec, f"record->{shown}({','.join(fields)})")

    def callee(self, path: str) -> tuple[str, Summary, str] | None:
        """The function that a path is, its summary and the name to show."""
        for _ in range(16):
            summary = self.known.functions.get(path)
            if summary is not None:
                shown = summary.name.removesuffix(".__init__")
                return path, summary, shown
            table = self.known.classes.get(path)
            if table is not None and "__init__" in table.body:
                for atom in table.body["__init__"]:
                    if isinstance(atom, Function) and atom.key in self.known.functions:
                        return atom.key, self.known.functions[atom.key], table.name
                return None
            following = None
            for atom in self.known.names.get(path, ()):
                if isinstance(atom, (Function, Class)):
                    following = atom.key
                elif isinstance(atom, Symbol):
                    following = atom.path
            if following is None or following == path:
                return None
            path = following
        return None

    @staticmethod
    def _parameter(summary: Summary, name: str) -> str | None:
        if not name.isdigit():
            return name if name in summary.parameters else None
        position = int(name) + (1 if summary.method and summary.kind != "static" else 0)
        return summary.parameters[position] if position < len(summary.parameters) else None

    def _reads(self, key: str, name: str, seen: set[tuple[str, str]]) -> set[str]:
        if (key, name) in seen:
            return set()
        seen.add((key, name))
        found = self.callee(key)
        if found is None:
            return set()
        actual, summary, _ = found
        parameter = self._parameter(summary, name)
        if parameter is None:
            return set()
        fields = set(summary.reads.get(parameter, ()))
        for other, its_name in summary.passes.get(parameter, ()):
            if other != actual or its_name != parameter:
                fields |= self._reads(other, its_name, seen)
        return fields

    # Findings

    def _finding(self, path: str, place: Place, sight: Sight) -> Finding:
        fix = self._fix(sight)
        return Finding(
            path,
            place.line,
            place.column,
            sight.code,
            sight.symbol,
            place.qualname,
            message(sight, self.specs[sight.spec]),
            fix is not None,
            place.end_line,
            place.end_column,
            place.first,
            place.last,
            fix,
        )

    def _fix(self, sight: Sight) -> Fix | None:
        if not sight.certain or sight.span is None:
            return None
        start, end = sight.span
        if sight.code == "CB105":
            return Fix(start, end, f"{'not ' if sight.negated else ''}is_published()", (PUBLISHED,))
        if sight.code == "CB101":
            replacement = self.specs[sight.spec].fields.get(sight.symbol.removeprefix("record."))
            if replacement is not None:
                text = f"not {replacement.expression}" if replacement.inverted else replacement.expression
                return Fix(start, end, text, replacement.imports)
        return None


def message(sight: Sight, spec: RecordSpec) -> str:
    """What was found and what to write instead."""
    field = sight.symbol.removeprefix("record.")
    replacement = spec.fields.get(field)
    if replacement is not None:
        instead = f"write `{'not ' if replacement.inverted else ''}{replacement.expression}`"
    else:
        instead = "read the setting from the bag"
    if sight.code == "CB101":
        return f"field `{field}` is read off the published {spec.name}; {instead}"
    if sight.code == "CB102":
        return f"field `{field}` is read off an object that was handed the {spec.name}; {instead}"
    if sight.code == "CB103":
        return f"fields of the {spec.name} are read in a way that no tool can follow; name the field, from the bag"
    if sight.code == "CB104":
        return f"the whole {spec.name} is passed to `{sight.symbol.removeprefix('record->')}`; pass the values it reads"
    if sight.code == "CB105":
        return f"the {spec.name} is fetched only to see whether one is published; write `is_published()`"
    if field == "*":
        return (
            f"a field of the {spec.name} is written; what is decided after start-up goes through an override of the bag"
        )
    return f"field `{field}` of the {spec.name} is written; set it in a preset or override the bag instead"
