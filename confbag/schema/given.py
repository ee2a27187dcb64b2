"""Whether what was given as a schema is one, and what to write where it is not."""

from __future__ import annotations

from typing import Any

from confbag.schema.config import Config
from confbag.words.given import called, wrong_type


def check_schema(given: Any, place: str, write: str) -> None:
    """TypeError of `place` for what is no schema."""
    if no_schema(given) is not None:
        own = isinstance(given, type)
        raise wrong_type(
            place,
            "a schema, a class made from confbag.Config",
            given,
            f"{write}, or make one with schema_from({given.__name__})" if own else f"{write}, the class itself",
        )


def no_schema(given: Any) -> str | None:
    """What to say of an object that is no schema; None for one that is."""
    if isinstance(given, type) and issubclass(given, Config):
        return None
    if isinstance(given, type):
        return "is a class, and no Config; write schema_from(CLASS) where it is declared, or subclass confbag.Config"
    return f"is {called(given)}, not a class made from confbag.Config"
