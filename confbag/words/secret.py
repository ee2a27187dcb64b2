"""A text that never shows itself: not in a dump, plan, log, error or fingerprint."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from confbag.words.given import expect

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

REDACTED = "***"


class Secret:
    """A field type for an engine's own namespaces: `token: Secret | None = None`; `.reveal()` gives the text.

    Printing, formatting, dumping and fingerprinting show `***`. A pickle and a hand-over blob carry the text, because
    the process that reads them needs it.
    """

    __slots__ = ("_text",)

    _text: str

    def __init__(self, text: str) -> None:
        expect(text, str, "Secret", "a text", "Secret('...')")
        object.__setattr__(self, "_text", text)

    def reveal(self) -> str:
        """The text itself. Keep it out of logs."""
        text: str = self._text
        return text

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Secret cannot be changed; make a new one")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(
            self._text.encode("utf-8", "surrogatepass"), other.reveal().encode("utf-8", "surrogatepass")
        )

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __repr__(self) -> str:
        return f"Secret({REDACTED})"

    def __str__(self) -> str:
        return REDACTED

    def __format__(self, spec: str) -> str:
        return format(REDACTED, spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return Secret, (self._text,)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        text = core_schema.no_info_after_validator_function(cls, core_schema.str_schema(strict=True))
        return core_schema.json_or_python_schema(
            json_schema=text,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), text]),
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "writeOnly": True}


class Concealed:
    """What was given for a secret and is no text: an error never shows it, nor does anything else; `reveal` gives a
    number to who validates it, and TypeError for what no file could say."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def reveal(self) -> bool | int | float:
        """The number itself. TypeError for anything else."""
        if type(self._value) not in (bool, int, float):
            raise TypeError("what was given for a secret is no plain data")
        number: bool | int | float = self._value
        return number

    def __repr__(self) -> str:
        return REDACTED


def conceal(value: Any) -> Any:
    """A value of a secret setting without what would show it, whatever its type."""
    if value is None or isinstance(value, (Secret, Concealed)):
        return value
    if isinstance(value, str):
        return Secret(value)
    if isinstance(value, Mapping):
        return {key: conceal(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(conceal(item) for item in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(conceal(item) for item in value)
    return Concealed(value)
