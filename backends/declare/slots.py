"""Slots: an op, one of its regimes, some of its sites. A pin, a preference or a lock spells them like this:

    kvcache.last_loc            an op
    attention@decode            one regime of it: a phase, or a range such as few
    acme.mix/0-3                some of its sites, where the op declares sites
    acme.mix@decode/4+8-11      both; + joins
    acme.mix/mlp.*              by glob: * stands for any letters, ? for one

No letter of it means anything to YAML inside a flow mapping, `{acme.mix@decode/0-3: triton}`, save that a plain key
cannot begin with `*`, and none does. Sites that are counted, as layers are, are numbered from 0, and `0-3` is four of
them; sites that have names are matched by name. What names sites says more than what does not, and what names a regime
more than the whole op.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from confbag.words.provenance import AUTO

PHASES = ("prefill", "decode", "draft")
"""The regimes that an engine's steps are told apart by."""

FORMS = "write OP, OP@REGIME, OP/SITES or OP@REGIME/SITES"
_NAME = re.compile(r"[A-Za-z0-9_.:/-]+\Z")
_RANGE = re.compile(r"(\d+)-(\d+)\Z")
_HELD = "write a number of sites, their names, or a mapping of names to facts"


class Regime(NamedTuple):
    """A named range of situations that an op tells apart. most: the largest amount of the op's measure in it; None is
    without bound, as every phase is."""

    name: str
    most: int | None = None


class Slot(NamedTuple):
    """A place in the grammar above. regime, site: None where it does not say; site is a pattern."""

    op: str
    regime: str | None = None
    site: str | None = None

    @classmethod
    def parse(cls, text: str) -> Slot:
        """The slot that a text names, whether or not there is one."""
        place, slash, site = text.partition("/")
        op, at, regime = place.partition("@")
        return cls(op, regime if at else None, site if slash else None)

    def covers(self, op: str, regime: str | None, site: str | None = None, *, counted: bool = True) -> bool:
        """Whether it names this regime of this op, and where it names sites this site."""
        if self.op != op or self.regime not in (None, regime):
            return False
        return self.site is None or (site is not None and matches(self.site, site, counted=counted))

    @property
    def weight(self) -> tuple[bool, bool]:
        """What says more goes first: sites, then a regime."""
        return self.site is not None, self.regime is not None

    def __str__(self) -> str:
        place = self.op if self.regime is None else f"{self.op}@{self.regime}"
        return place if self.site is None else f"{place}/{self.site}"


class Sites(NamedTuple):
    """The sites of one op: numbered from 0 where they are counted, else by name. facts: what each says of itself."""

    names: tuple[str, ...]
    counted: bool
    facts: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    @classmethod
    def of(cls, value: Any) -> Sites | None:
        """The sites that a setting holds: a number, a sequence of names, or names with their facts, as a mapping or as
        pairs. None where it holds none of them."""
        found = _read(value)
        return found if isinstance(found, Sites) else None

    @staticmethod
    def wrong(value: Any) -> str | None:
        """What is wrong with a setting that somebody set, and that holds no sites; None where it does, or says
        nothing."""
        found = _read(value)
        return found if isinstance(found, str) else None

    def chosen(self, pattern: str) -> tuple[str, ...]:
        """The sites that a pattern names, in order."""
        return tuple(name for name in self.names if matches(pattern, name, counted=self.counted))

    def missing(self, pattern: str) -> list[str]:
        """The parts of a pattern that name no site, or a range that ends beyond the last."""
        found = []
        for part in pattern.split("+"):
            bounds = _RANGE.match(part) if self.counted else None
            beyond = bounds is not None and int(bounds[2]) >= len(self.names)
            if beyond or not self.chosen(part):
                found.append(part)
        return found

    def spell(self, names: Sequence[str]) -> str:
        """Some of the sites as a pattern: `0-3+7`, or their names joined."""
        if not self.counted:
            return "+".join(names)
        runs: list[list[int]] = []
        for number in sorted(map(int, names)):
            if runs and number == runs[-1][-1] + 1:
                runs[-1].append(number)
            else:
                runs.append([number])
        return "+".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)

    def __str__(self) -> str:
        return f"sites 0 to {len(self.names) - 1}" if self.counted else f"sites {', '.join(self.names)}"


def _read(value: Any) -> Sites | str | None:
    """The sites of a setting, what is wrong with it, or None where it says nothing."""
    if value is None or value == AUTO:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return Sites(tuple(map(str, range(value))), True) if value > 0 else f"is {value}, which is no number of sites"
    if not isinstance(value, (list, tuple, Mapping)):
        return f"holds {value!r}; {_HELD}"
    if not value:
        return None
    entries: list[Any] = list(value.items() if isinstance(value, Mapping) else value)
    named = all(isinstance(entry, str) for entry in entries)
    pairs = [(entry, {}) for entry in entries] if named else entries
    facts: dict[str, Mapping[str, Any]] = {}
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            return f"holds {pair!r}; {_HELD}"
        name, said = pair
        # A number would read as a place among sites that are counted.
        if not isinstance(name, str) or not _NAME.match(name) or name.isdecimal() or _RANGE.match(name):
            return f"{name!r} cannot name a site: write letters, digits and _ . : / - with a letter among them"
        if name in facts:
            return f"names the site {name!r} twice; name it once"
        try:
            facts[name] = dict(said)
        except (TypeError, ValueError):
            return f"site {name} holds {said!r}; write a mapping of its facts"
    return Sites(tuple(facts), False, {} if named else facts)


def spelled(names: Sequence[str]) -> str:
    """Sites as the pattern that names them, whether they are counted or have names."""
    return Sites(tuple(names), all(name.isdecimal() for name in names)).spell(names)


def expanded(pattern: str) -> tuple[str, ...]:
    """The sites that a spelled pattern names: every number of a range, and names as they are."""
    found: list[str] = []
    for part in pattern.split("+"):
        bounds = _RANGE.match(part)
        found += [part] if bounds is None else map(str, range(int(bounds[1]), int(bounds[2]) + 1))
    return tuple(found)


def matches(pattern: str, site: str, *, counted: bool) -> bool:
    """Whether a pattern names a site."""
    return any(part(site) for part in _compiled(pattern, counted))


@lru_cache(maxsize=1024)
def _compiled(pattern: str, counted: bool) -> tuple[Any, ...]:
    return tuple(_parts(pattern, counted))


def _parts(pattern: str, counted: bool) -> Iterator[Any]:
    for part in pattern.split("+"):
        bounds = _RANGE.match(part) if counted else None
        if bounds is not None:
            yield _between(int(bounds[1]), int(bounds[2]))
        else:
            yield re.compile(re.escape(part).replace(r"\*", ".*").replace(r"\?", ".") + r"\Z").match


def _between(first: int, last: int) -> Any:
    """A test of a number between two, both included."""
    return lambda site: first <= int(site) <= last
