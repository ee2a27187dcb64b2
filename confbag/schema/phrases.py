"""The sentences of a wrong value: what its type expects, what came instead, what to write."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from confbag.namespaces.fields import Means, OrAuto
from confbag.words.provenance import AUTO
from confbag.words.secret import Secret
from confbag.words.suggest import nearest

_LONGEST = 60

_PLAIN: Mapping[Any, tuple[str, ...]] = {
    bool: ("true", "false"),
    int: ("a whole number",),
    float: ("a number",),
    str: ("a text",),
    Secret: ("a text",),
    type(None): ("null",),
}
_BOUNDS = ((Ge, "ge", "of at least"), (Gt, "gt", "above"), (Le, "le", "of at most"), (Lt, "lt", "below"))
_LENGTHS = ((MinLen, "min_length", "at least"), (MaxLen, "max_length", "at most"))


def either(words: list[str]) -> str:
    """`a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def expected(annotation: Any) -> str:
    """What a type takes, in words: `true, false or auto`."""
    return either(list(dict.fromkeys(_alternatives(annotation))))


def described(value: Any) -> str:
    """What came, in words, short and on one line. Never ask it about a secret."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return (
            f"the number {_short(str(value)) if value.__class__ is float or abs(value) < 10**40 else 'of many digits'}"
        )
    if isinstance(value, str):
        return f"the text {_short(repr(value))}" if value else "an empty text"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "a list" if value else "an empty list"
    return f"an object of type {type(value).__qualname__}"


def instead(annotation: Any, value: Any) -> str:
    """What to write: the nearest word that fits, else everything that does."""
    choices = list(dict.fromkeys(_alternatives(annotation)))
    words = _words(annotation)
    near = nearest(value, words) if isinstance(value, str) else None
    if near is not None:
        return f"write {near}"
    if isinstance(value, str) and "a whole number" in choices[0] and value.strip().isdecimal():
        return f"write {_short(value.strip())}, without quotes"
    if "true" in choices:
        return "write true or false"
    if len(words) == len([choice for choice in choices if choice != "null"]):
        return f"write {either(words)}"
    example = _example(annotation)
    return f"write {choices[0]}, such as {example}" if example else f"write {choices[0]}"


def _example(annotation: Any) -> str | None:
    """Something that would fit, where the type says enough."""
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    means = [mark.example for mark in metadata if isinstance(mark, Means) and mark.example]
    if means:
        return means[-1]
    bounds = {kind: getattr(mark, name) for mark in metadata for kind, name, _ in _BOUNDS if isinstance(mark, kind)}
    base = get_args(annotation)[0] if metadata else annotation
    if base is int:
        return str(bounds.get(Ge, 1))
    if base is float and Gt in bounds and Lt in bounds:
        return str((bounds[Gt] + bounds[Lt]) / 2)
    if get_origin(base) in (Union, types.UnionType):
        return next((example for part in get_args(base) if (example := _example(part))), None)
    return _example(base) if metadata and get_origin(base) is Annotated else None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]}...{text[-1]}"


def _words(annotation: Any) -> list[str]:
    return [
        phrase for phrase in dict.fromkeys(_alternatives(annotation)) if phrase.split() == [phrase] and phrase != "null"
    ]


def _alternatives(annotation: Any) -> Iterator[str]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _annotated(annotation)
    elif origin is Union or origin is types.UnionType:
        for part in get_args(annotation):
            yield from _alternatives(part)
    elif origin is Literal:
        yield from (str(word) if isinstance(word, str) else described(word) for word in get_args(annotation))
    elif origin in (tuple, frozenset):
        inner = next((part for part in get_args(annotation) if part is not Ellipsis), Any)
        yield f"a list, each {expected(inner)}" if inner is not Any else "a list"
    elif annotation in _PLAIN:
        yield from _PLAIN[annotation]
    else:
        yield f"a value of type {getattr(annotation, '__qualname__', str(annotation))}"


def _annotated(annotation: Any) -> Iterator[str]:
    base, *metadata = get_args(annotation)
    means = [mark.phrase for mark in metadata if isinstance(mark, Means)]
    bounds = [
        f"{words} {getattr(mark, name)}" for mark in metadata for kind, name, words in _BOUNDS if isinstance(mark, kind)
    ]
    lengths = [
        f"{words} {getattr(mark, name)}"
        for mark in metadata
        for kind, name, words in _LENGTHS
        if isinstance(mark, kind)
    ]
    phrases = means[-1:] or list(_alternatives(base))
    if bounds:
        phrases = [f"{phrase} {' and '.join(bounds)}" if "number" in phrase else phrase for phrase in phrases]
    if lengths:
        phrases = [f"{phrase} of {' and '.join(lengths)} long" if phrase != "null" else phrase for phrase in phrases]
    yield from phrases
    if any(isinstance(mark, OrAuto) for mark in metadata):
        yield AUTO
