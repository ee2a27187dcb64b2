"""Where a pin, a preference or a reference holds: an op, a phase of it, some of its layers.

    kvcache.last_loc            an op
    attention@decode            one phase of it
    acme.mix/0-3                some of its layers, where the op declares layers
    acme.mix@decode/4+8-11      both; + joins
    acme.mix/mlp.*              by glob: * stands for any letters, ? for one

No letter of it means anything to YAML inside a flow mapping, `{acme.mix@decode/0-3: triton}`, save that a plain key
cannot begin with `*`, and none does. Layers that are counted are numbered from 0, and `0-3` is four of them; layers
that have names are matched by name. What names layers goes before what does not, and a phase before the whole op.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_.:/-]+\Z")
_RANGE = re.compile(r"(\d+)-(\d+)\Z")
FORMS = "write OP, OP@PHASE, OP/LAYERS or OP@PHASE/LAYERS"


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the grammar above. phase, layers: None where it does not say."""

    op: str
    phase: str | None = None
    layers: str | None = None

    @classmethod
    def parse(cls, text: str) -> Slot:
        """The slot that a text names, whether or not there is one."""
        place, slash, layers = text.partition("/")
        op, at, phase = place.partition("@")
        return cls(op, phase if at else None, layers if slash else None)

    def covers(self, op: str, phase: str | None, layer: str | None = None, *, counted: bool = True) -> bool:
        """Whether it names this phase of this op, and where it names layers this layer."""
        if self.op != op or self.phase not in (None, phase):
            return False
        return self.layers is None or (layer is not None and matches(self.layers, layer, counted=counted))

    @property
    def weight(self) -> tuple[bool, bool]:
        """What says more goes first: layers, then a phase."""
        return self.layers is not None, self.phase is not None


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of one op: numbered from 0 where they are counted, else by name."""

    names: tuple[str, ...]
    counted: bool

    @classmethod
    def of(cls, value: Any) -> Layers | None:
        """The layers that a setting holds, a number or a sequence of names; None where it holds neither."""
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return cls(tuple(map(str, range(value))), True)
        if isinstance(value, (list, tuple)) and value and all(isinstance(name, str) for name in value):
            distinct = len(set(value)) == len(value)
            # A number would read as a place among layers that are counted.
            named = all(_NAME.match(name) and not name.isdecimal() for name in value)
            return cls(tuple(value), False) if distinct and named else None
        return None

    def chosen(self, pattern: str) -> tuple[str, ...]:
        """The layers that a pattern names, in order."""
        return tuple(name for name in self.names if matches(pattern, name, counted=self.counted))

    def missing(self, pattern: str) -> list[str]:
        """The parts of a pattern that name no layer, or a range that ends beyond the last."""
        found = []
        for part in pattern.split("+"):
            bounds = _RANGE.match(part) if self.counted else None
            beyond = bounds is not None and int(bounds[2]) >= len(self.names)
            if beyond or not self.chosen(part):
                found.append(part)
        return found

    def spell(self, names: Sequence[str]) -> str:
        """Some of the layers as a pattern: `0-3+7`, or their names joined."""
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
        return f"layers 0 to {len(self.names) - 1}" if self.counted else f"layers {', '.join(self.names)}"


def matches(pattern: str, layer: str, *, counted: bool) -> bool:
    """Whether a pattern names a layer."""
    return any(part(layer) for part in _compiled(pattern, counted))


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
    return lambda layer: first <= int(layer) <= last
