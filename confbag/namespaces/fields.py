"""What the namespaces are written with: their base model, `auto`, and the phrases that errors use for a type."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypeVar

from annotated_types import Ge
from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic._internal._model_construction import ModelMetaclass
from pydantic_core import CoreSchema, core_schema

from confbag.namespaces.bodies import kept
from confbag.words.provenance import AUTO

T = TypeVar("T")

MODEL = "__confbag_model__"
"""On the class of what a process reads: the namespace that it is made from."""


class _NamespaceMeta(ModelMetaclass):
    """Makes what a process reads an instance of the class that was declared, and of its parents."""

    def __instancecheck__(cls, instance: Any) -> bool:
        model = getattr(type(instance), MODEL, None)
        return issubclass(model, cls) if model is not None else super().__instancecheck__(instance)


class Namespace(BaseModel, metaclass=_NamespaceMeta):
    """The base of every namespace, an engine's own included: frozen, strict, and closed to unknown fields.

    What a process reads is a plain object with the fields, methods, properties and class variables of the class, and
    is an instance of it. RegistrationError, when the class is declared, for what such an object cannot keep: private
    attributes, cached properties, computed fields, `super()`, methods of pydantic's, aliases, bases of other kinds.
    """

    # Building is deferred, so that one schema is built for a whole Config and none for its parts.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, validate_default=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        kept(cls, Namespace)


class OrAuto:
    """The mark of a field that also takes `auto` until a plan decides it."""

    __slots__ = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        return core_schema.union_schema([core_schema.literal_schema([AUTO]), handler(source)])


class Covers(NamedTuple):
    """The mark of a field that also speaks for others of its namespace, where none of them was set as high."""

    fields: tuple[str, ...]


class Merged:
    """The mark of a field whose mappings merge by entry over the layers, null removing one; a list replaces whole."""

    __slots__ = ()


class Means(NamedTuple):
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
