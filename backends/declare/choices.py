"""A setting that names something by a word: the words that it takes, each with what it needs, as backends have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from confbag.backends.declare.implementation import ANYWHERE
from confbag.backends.declare.requires import Need, Requires
from confbag.backends.words.shapes import LIST, NAMED, SOME, TEXT, WORDS, Shape, shaped
from confbag.errors import RegistrationError

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
    """

    key: str
    value: str
    requires: Requires = ANYWHERE
    description: str = ""
    disabled: str | None = None
    source: str = ""

    @classmethod
    def of(cls, key: str, data: Mapping[str, Any], where: str) -> Choice:
        """A choice from its data; RegistrationError names what is wrong and where."""
        row = shaped(data, _CHOICE, where, needed=("value",))
        try:
            wanted = {name: row[name] for name in _REQUIRED if name in row}
            requires = Requires(**wanted, needs=tuple(needs(row.get("needs", ()), f"{where}: needs")))
        except RegistrationError as error:
            raise RegistrationError(f"{where}: {error}") from error
        return cls(key, row["value"], requires, row.get("description", ""), row.get("disabled"), where)


def needs(listed: Any, where: str) -> Iterator[Need]:
    """Requirements on facts, from their data."""
    for number, need in enumerate(listed, 1):
        given = shaped(need, _NEED, f"{where}, {number}", needed=("fact", "test", "code"))
        yield Need(given["fact"], given["test"], given["code"], when=given.get("when"), hint=given.get("hint"))
