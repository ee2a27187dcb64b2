"""Across modules: what the facts of all of them say together, and the findings of the record rules."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from confbag.ratchets.binder.facts import Handoff, ModuleFacts, Sight
from confbag.ratchets.binder.starred import ways
from confbag.ratchets.binder.values import join
from confbag.ratchets.binder.world import Known
from confbag.ratchets.configuration import Configuration, RecordSpec
from confbag.ratchets.finding import Finding, Fix, Place

# One finding per access: the first of these that saw it.
_ORDER = {"CB111": 0, "CB101": 1, "CB102": 2, "CB103": 3, "CB105": 4, "CB104": 5}
PUBLISHED = "from confbag import is_published"


def known_of(facts: Iterable[ModuleFacts]) -> Known:
    """The answers that modules give to each other."""
    known = Known()
    for one in facts:
        for path, value in one.names.items():
            # Several modules may store to one name.
            held = known.names.get(path)
            known.names[path] = value if held is None else join([held, value])
        known.answers.update(one.answers)
        known.functions.update(one.functions)
        known.classes.update(one.classes)
        known.words |= one.words
        known.inner |= one.inner
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
            owned = self.configuration.owned(path)
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
        summary = self.known.functions.get(handoff.callee)
        if summary is None or handoff.parameter in summary.holds:
            return None
        fields = sorted(self._reads(handoff.callee, handoff.parameter))
        if not fields:
            return None
        return Sight("CB104", handoff.spec, f"record->{summary.name.removesuffix('.__init__')}({','.join(fields)})")

    def _reads(self, key: str, name: str) -> set[str]:
        """The fields that a function reads off a parameter, and those that the functions read that it hands it to."""
        fields: set[str] = set()
        seen = {(key, name)}
        stack = [(key, name)]
        while stack:
            key, name = stack.pop()
            summary = self.known.functions.get(key)
            if summary is None:
                continue
            for way in ways(name):
                fields |= summary.reads.get(way, frozenset())
                fresh = set(summary.passes.get(way, ())) - seen
                seen |= fresh
                stack += fresh
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
