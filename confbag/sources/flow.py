"""A value in YAML flow syntax, as one environment variable or one command-line argument holds it."""

from __future__ import annotations

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.files import CONTROL
from confbag.sources.keys import Keys, Path
from confbag.sources.nodes import Limits, compose
from confbag.words.provenance import Layer

_LIMITS = Limits(size=1 << 16, depth=16, nodes=5_000, aliased=1_000)


def read_value(key: str, text: str, origin: str, keys: Keys, layer: Layer) -> Found:
    """The settings of a known `key`: one, or where it is a section and `text` a flow mapping, those below it."""
    problem = _problem(text)
    if problem is not None:
        return Found(faults=(Fault(origin, key, problem),))
    root, faults = compose(text, origin, _LIMITS)
    if faults:
        return Found(faults=tuple(Fault(origin, key, fault.message) for fault in faults))
    if root is None:
        return Found(faults=(Fault(origin, key, "is only a comment; write a value, and quote one that begins with #"),))
    if not root.flow:
        return Found(faults=(Fault(origin, key, "must be in flow syntax; write {key: value} or [one, other]"),))

    def spelling(path: Path) -> str | None:
        return text if len(path) == 1 else None

    return keys.flatten({key: root.data()}, lambda path: origin, layer=layer, text=spelling)


def _problem(text: str) -> str | None:
    if not text.strip():
        return "is empty; write a value (null for none), or remove it"
    if len(text) > _LIMITS.size:
        return f"is longer than {_LIMITS.size} characters; put it into a file"
    if CONTROL.search(text):
        return "holds a control character or a byte that is not UTF-8; remove it"
    return None
