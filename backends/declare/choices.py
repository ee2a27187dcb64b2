"""A setting that names something by a word: the words that it takes, each with what it needs, as backends have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin

from confbag.backends.declare.implementation import ANYWHERE
from confbag.backends.declare.op import Op
from confbag.backends.declare.requires import Need, Requires
from confbag.backends.words.shapes import LIST, NAMED, SOME, TEXT, WORDS, Shape, shaped
from confbag.errors import RegistrationError
from confbag.schema.config import Config
from confbag.schema.leaves import Leaf, leaves

_NEED = {
    **dict.fromkeys(("fact", "code", "hint"), TEXT),
    "test": Shape("what the fact must be", lambda value: value is not None),
    "when": NAMED,
}
_REQUIRED = {
    **dict.fromkeys(("device", "arch"), SOME),
    **dict.fromkeys(("device_features", "components", "toolkit"), WORDS),
    "known_issue": TEXT,
}
_CHOICE = {**_REQUIRED, **dict.fromkeys(("value", "description", "disabled"), TEXT), "needs": LIST}


class Choice(NamedTuple):
    """One value that a setting may name.

    key: the setting's.
    value: the word.
    requires: what it needs of the machine and the other settings.
    disabled: why nothing here may name it.
    plugin: whose it is; ours are None.
    """

    key: str
    value: str
    requires: Requires = ANYWHERE
    description: str = ""
    disabled: str | None = None
    source: str = ""
    plugin: str | None = None

    @classmethod
    def of(cls, key: str, data: Mapping[str, Any], where: str, plugin: str | None = None) -> Choice:
        """A choice from its data; RegistrationError names what is wrong and where."""
        row = shaped(data, _CHOICE, where, needed=("value",))
        try:
            wanted = {name: row[name] for name in _REQUIRED if name in row}
            requires = Requires(**wanted, needs=tuple(needs(row.get("needs", ()), f"{where}: needs")))
        except RegistrationError as error:
            raise RegistrationError(f"{where}: {error}") from error
        return cls(key, row["value"], requires, row.get("description", ""), row.get("disabled"), where, plugin)


def needs(listed: Any, where: str) -> Iterator[Need]:
    """Requirements on facts, from their data."""
    for number, need in enumerate(listed, 1):
        given = shaped(need, _NEED, f"{where}, {number}", needed=("fact", "test", "code"))
        yield Need(given["fact"], given["test"], given["code"], when=given.get("when"), hint=given.get("hint"))


def against(
    choice: Choice, known: Mapping[str, Mapping[str, Sequence[Choice]]], keys: Mapping[str, Leaf], ops: Mapping[str, Op]
) -> str | None:
    """What speaks against a value among those that are known; None too for a key that nobody knows, as others tell.

    A setting that has such values refuses every other word, so a plug-in may not begin with one that others read.
    """
    key, leaf = choice.key, keys.get(choice.key)
    if leaf is None:
        return None
    op = next((op for op in ops.values() if any(key in named for named in op.settings.values())), None)
    if op is not None:
        return f"{key} names providers of {op.name}; write registry.implement({op.name!r}, {choice.value!r}, ...)"
    closed = tuple(literals(leaf.annotation))
    if closed:
        return f"{key} is one of {', '.join(map(str, closed))}, and takes no more; leave this out"
    rows = known.get(key, {})
    if choice.plugin is not None and key in leaves(Config):
        opened = [name for name, values in known.items() if _ours(values)]
        if key not in opened:
            own = " and ".join((*sorted(opened), "keys of its engine's own"))
            return (
                f"every other word of {key} would be refused; a plug-in adds to {own}, or to a key of its engine's own"
            )
    other = next((one for one in rows.get(choice.value, ()) if one.plugin != choice.plugin), None)
    if other is not None:
        whose = "confbag" if other.plugin is None else f"plug-in {other.plugin}"
        return f"{whose} says what {choice.value} needs ({other.source}); give yours a name of its own"
    return None


def _ours(values: Mapping[str, Sequence[Choice]]) -> bool:
    return any(choice.plugin is None for rows in values.values() for choice in rows)


def held(choice: Choice, keys: Mapping[str, Leaf]) -> Choice:
    """The choice as its setting holds the word: `acme` is ACME where that is what the setting makes of it."""
    from pydantic import TypeAdapter, ValidationError  # here: our own words are written as they are held

    leaf = keys.get(choice.key)
    if leaf is None or tuple(literals(leaf.annotation)):
        return choice
    try:
        value = TypeAdapter(leaf.annotation).validate_python(choice.value, strict=True)
    except ValidationError:
        value = None
    if not isinstance(value, str):
        raise RegistrationError(
            f"{choice.source}: {choice.key} does not take {choice.value!r}; `confbag schema` says what it does"
        )
    return choice._replace(value=value)


def literals(annotation: Any) -> Iterator[Any]:
    """The values of a type that takes nothing else."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
        return
    parts = list(get_args(annotation))
    # A type beside the literals, as in `int | Literal["x"]`, takes more than they say.
    if all(get_origin(part) is not None or part is type(None) or not isinstance(part, type) for part in parts):
        for part in parts:
            yield from literals(part)
