"""The shapes that catalogue data may have, and the fault that says where one is wrong and what to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from confbag.errors import RegistrationError
from confbag.words.suggest import nearest


class Shape(NamedTuple):
    """What a column, field or section may hold: in words, and as a test."""

    says: str
    holds: Callable[[Any], bool]


def is_text(value: Any) -> bool:
    """A text that says something."""
    return isinstance(value, str) and bool(value.strip())


def is_whole(value: Any) -> bool:
    """A whole number, which true is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(value: Any) -> bool:
    return is_text(value) or (isinstance(value, (list, tuple)) and all(map(is_text, value)))


TEXT = Shape("a text", is_text)
FLAG = Shape("true or false", lambda value: isinstance(value, bool))
WHOLE = Shape("a whole number", is_whole)
WORDS = Shape("a list of names", _texts)
SOME = Shape("a list of at least one name", lambda value: _texts(value) and bool(value))
SIZES = Shape(
    "a list of at least one positive whole number",
    lambda value: isinstance(value, (list, tuple)) and bool(value) and all(is_whole(one) and one > 0 for one in value),
)
NAMED = Shape("a mapping with text keys", lambda value: isinstance(value, Mapping) and all(map(is_text, value)))
TEXT_TO_TEXT = Shape(
    "a mapping of names to names",
    lambda value: isinstance(value, Mapping) and all(is_text(part) for pair in value.items() for part in pair),
)
LIST = Shape("a list", lambda value: isinstance(value, (list, tuple)))


def described(value: Any) -> str:
    """What came, in words, short and on one line."""
    from confbag.schema.phrases import described as say  # here: it needs pydantic, and nothing is wrong as a rule

    return say(value)


def shaped(
    data: Any, shapes: Mapping[str, Shape], where: str, *, needed: tuple[str, ...] = (), what: str = "field"
) -> dict[str, Any]:
    """The data as a mapping that holds nothing else. RegistrationError names the place, what is wrong and what fits."""
    if not isinstance(data, Mapping):
        raise RegistrationError(f"{where}: expected a mapping, got {described(data)}")
    for name, value in data.items():
        shape = shapes.get(name) if isinstance(name, str) else None
        if shape is None:
            close = nearest(str(name), shapes)
            hint = f"did you mean {close}?" if close else f"known are {', '.join(sorted(shapes))}"
            raise RegistrationError(f"{where}: unknown {what} {name}; {hint}")
        if not shape.holds(value):
            raise RegistrationError(f"{where}: {what} {name}: expected {shape.says}, got {described(value)}")
    for name in needed:
        if name not in data:
            raise RegistrationError(f"{where}: {what} {name} is missing; write {shapes[name].says}")
    return dict(data)


def texts(value: Any) -> tuple[str, ...]:
    """A text, or a list of them, as a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)
