"""What the namespaces are written with: their base model, `auto`, and the phrases that errors use for a type."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from annotated_types import Ge
from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import CoreSchema, core_schema

from confbag.words.provenance import AUTO

T = TypeVar("T")


class Namespace(BaseModel):
    """The base of every namespace, an engine's own included: frozen, strict, and closed to unknown fields.

    Building is deferred, so that one schema is built for a whole Config and none for its parts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, validate_default=False)


@dataclass(frozen=True, slots=True)
class OrAuto:
    """The mark of a field that also takes `auto` until a plan decides it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        return core_schema.union_schema([core_schema.literal_schema([AUTO]), handler(source)])


@dataclass(frozen=True, slots=True)
class Means:
    """How errors call the type of a field whose annotation does not say it well, and an example of it."""

    phrase: str
    example: str = ""


Auto = Annotated[T, OrAuto()]
"""`Auto[bool]`: a bool, or `auto` until a plan decides. A type checker sees the bool: publish refuses a bag that still
holds `auto`, so that is what a process reads. Code that works on a bag before its plan asks `bag["exec.graph"]`, which
promises nothing."""

auto: Any = AUTO
"""The default of an `Auto[...]` field."""


def _name(text: str) -> str:
    if not text or text.split() != [text]:
        raise ValueError("a name is one word without blanks")
    return text


Name = Annotated[str, AfterValidator(_name), Means("a name")]
Positive = Annotated[int, Ge(1)]
Natural = Annotated[int, Ge(0)]
