"""What an implementation needs: facts only, checked when a plan is made and never per call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from confbag.backends.words.conditions import Condition, words
from confbag.backends.words.rejection import CODES
from confbag.backends.words.shapes import FLAG, SIZES, WORDS, Shape, described, is_text
from confbag.backends.words.spelling import Spelled
from confbag.backends.words.versions import is_specifier
from confbag.errors import RegistrationError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OP_NAME = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?)\s*\(")


@dataclass(frozen=True, slots=True)
class NativeOp:
    """A native op that must exist with this schema and have a kernel.

    schema: the full schema string, `ns::name(Tensor x, ...) -> Tensor`. dispatch_key: the key that must hold a kernel,
    `CPU`, `PrivateUse1` ...; empty means the device's own.
    """

    schema: str
    dispatch_key: str = ""

    def __post_init__(self) -> None:
        # One schema however it is broken into lines.
        schema = " ".join(self.schema.split()) if isinstance(self.schema, str) else ""
        if not _OP_NAME.match(schema):
            raise RegistrationError(
                f"native op {self.schema!r}: expected a schema such as 'npu::compressor(Tensor x) -> Tensor'"
            )
        if not isinstance(self.dispatch_key, str):
            raise RegistrationError(
                f"native op {schema!r}: dispatch_key: expected a text such as 'CPU', got {described(self.dispatch_key)}"
            )
        object.__setattr__(self, "schema", schema)

    @property
    def name(self) -> str:
        """`namespace::op`, without the overload."""
        match = _OP_NAME.match(self.schema)
        assert match is not None
        return match.group(1).partition(".")[0]

    def __str__(self) -> str:
        return f"{self.schema}, {self.dispatch_key} kernel" if self.dispatch_key else self.schema


class Specified(NamedTuple):
    """A component or toolchain with a PEP 440 specifier: `triton>=3.0`."""

    name: str
    specifier: str

    @classmethod
    def parse(cls, text: str, what: str) -> Specified:
        """Split `name>=1.0,<2`; RegistrationError when it is not one."""
        match = _NAME.match(text)
        if match is None:
            raise RegistrationError(
                f"{what} {text!r}: expected a name with an optional specifier, such as 'triton>=3.0'"
            )
        specifier = text[match.end() :].strip()
        if not is_specifier(specifier):
            raise RegistrationError(f"{what} {text!r}: {specifier!r} is no PEP 440 specifier; write for example >=3.0")
        return cls(match.group(), specifier)

    def __str__(self) -> str:
        return self.name + self.specifier


class Need:
    """One requirement on one fact, judged only where `when` holds.

    fact: a settings key or a derived fact; one that is not known here passes, and the plan says that it was assumed.
    test: a condition's value on it.
    code: the rejection's code.
    when: a condition on facts.
    hint: what to do instead.
    """

    __slots__ = ("_test", "code", "fact", "hint", "test", "when")

    def __init__(
        self, fact: str, test: Any, code: str, *, when: Mapping[str, Any] | None = None, hint: str | None = None
    ) -> None:
        if not is_text(fact):
            raise RegistrationError(f"requirement on {fact!r}: write the fact's name")
        if code not in CODES:
            raise RegistrationError(f"requirement on {fact}: unknown code {code!r}; write one of {', '.join(CODES)}")
        self.fact = fact
        self.test = test
        self.code = code
        self.when = Condition(when, where=f"requirement on {fact}")
        self.hint = hint
        self._test = Condition({fact: test}, where="requirement")

    def met(self, facts: Mapping[str, Any]) -> bool:
        """Whether the facts satisfy it (an unknown fact does)."""
        return facts.get(self.fact) is None or self._test.holds(facts) or not self.when.holds(facts)

    def assumed(self, facts: Mapping[str, Any]) -> bool:
        """Whether it passes only because nobody knows the fact."""
        return facts.get(self.fact) is None and not self._test.holds(facts) and self.when.holds(facts)

    @property
    def condition(self) -> Condition:
        """The test as a condition on its fact."""
        return self._test

    @property
    def required(self) -> Any:
        """What the fact must be, as plain data for a rejection."""
        if isinstance(self.test, Mapping):
            return words(next(iter(self.test.items())) if "not" not in self.test else ("not", _many(self.test["not"])))
        return self.test

    def __repr__(self) -> str:
        return f"Need({self.fact!r}, {self.test!r}, {self.code!r})"


def _many(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _words(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


_NAMES = Shape("a name or a sequence of names", WORDS.holds)
_SHAPES = {
    **dict.fromkeys(("device", "arch", "device_features", "components", "toolkit", "dtypes", "features"), _NAMES),
    "head_sizes": Shape(
        "a positive whole number or a sequence of them",
        lambda value: value in ((), []) or SIZES.holds(tuple(_iterated(value))),
    ),
    "any_page": FLAG,
    "library": Shape("a library's name, or None", lambda value: value is None or is_text(value)),
    "known_issue": Shape("a sentence, or None", lambda value: value is None or is_text(value)),
    "native_ops": Shape(
        "a NativeOp or a sequence of them", lambda value: all(isinstance(o, NativeOp) for o in _iterated(value))
    ),
    "needs": Shape(
        "a Need or a sequence of them", lambda value: all(isinstance(one, Need) for one in _iterated(value))
    ),
}


def _iterated(value: Any) -> Iterable[Any]:
    """The members of a sequence; anything else is its only one."""
    return value if isinstance(value, (list, tuple)) else (value,)


@dataclass(frozen=True, init=False)
class Requires(Spelled):
    """The requirements of one implementation, or of one value of a setting. Everything left out is no requirement.

    device: device kinds (the registry knows which exist), one or several.
    arch: the closed set of architectures; one that nobody declared is rejected, not assumed (`sm_90` and `sm90a` mean
        sm90).
    device_features: features of the machine (xmx, amx).
    components: `name` or `name>=1.0`, read from installed metadata.
    toolkit: `cuda>=12.9`, `cann>=8.5`, `nvcc>=12.9`; what the platform does not know fails.
    native_ops: schemas, compared at bind.
    library: the name of a registered Library that carries them.
    dtypes: model dtypes.
    head_sizes: of model.head_dim.
    page_sizes: the default first; None is no requirement.
    any_page: every size, page_sizes[0] being the default.
    branching_page_sizes: replaces page_sizes where draft branches exceed 1.
    features: what of the op's `asks` it can do.
    known_issue: a sentence with a link that keeps it from being chosen.
    needs: any other requirement on a fact.
    """

    device: tuple[str, ...]
    arch: tuple[str, ...]
    device_features: tuple[str, ...]
    components: tuple[str, ...]
    toolkit: tuple[str, ...]
    native_ops: tuple[NativeOp, ...]
    library: str | None
    dtypes: tuple[str, ...]
    head_sizes: tuple[int, ...]
    page_sizes: tuple[int, ...] | None
    any_page: bool
    branching_page_sizes: tuple[int, ...] | None
    features: tuple[str, ...]
    known_issue: str | None
    needs: tuple[Need, ...]
    parsed_components: tuple[Specified, ...]
    parsed_toolkit: tuple[Specified, ...]

    def __init__(
        self,
        device: str | Iterable[str] = (),
        arch: str | Iterable[str] = (),
        device_features: str | Iterable[str] = (),
        components: str | Iterable[str] = (),
        toolkit: str | Iterable[str] = (),
        native_ops: NativeOp | Iterable[NativeOp] = (),
        library: str | None = None,
        dtypes: str | Iterable[str] = (),
        head_sizes: int | Iterable[int] = (),
        page_sizes: int | Iterable[int] | None = None,
        any_page: bool = False,
        branching_page_sizes: int | Iterable[int] | None = None,
        features: str | Iterable[str] = (),
        known_issue: str | None = None,
        needs: Need | Iterable[Need] = (),
    ) -> None:
        from confbag.backends.platforms.arch import normalise

        put = object.__setattr__
        given = {name: value for name, value in locals().items() if name in _SHAPES}
        for name, shape in _SHAPES.items():
            if not shape.holds(given[name]):
                raise RegistrationError(f"{name}: expected {shape.says}, got {described(given[name])}")
            put(self, name, given[name])
        for name in ("device", "device_features", "components", "toolkit", "dtypes", "features"):
            put(self, name, _words(given[name]))
        put(self, "arch", tuple(normalise(name) for name in _words(arch)))
        for name in ("native_ops", "head_sizes", "needs"):
            put(self, name, tuple(_iterated(given[name])))
        for name, sizes in (("page_sizes", page_sizes), ("branching_page_sizes", branching_page_sizes)):
            if sizes is not None and not SIZES.holds(tuple(_iterated(sizes))):
                raise RegistrationError(
                    f"{name} {described(sizes)}: expected at least one positive integer, the default first"
                )
            put(self, name, None if sizes is None else tuple(_iterated(sizes)))
        if self.any_page and not self.page_sizes:
            raise RegistrationError("any_page: name the default size in page_sizes")
        put(self, "parsed_components", tuple(Specified.parse(text, "component") for text in self.components))
        put(self, "parsed_toolkit", tuple(Specified.parse(text, "toolkit") for text in self.toolkit))
        if self.library is not None and not self.native_ops:
            raise RegistrationError(f"library {self.library!r} without native_ops: name the schemas that it must carry")

    def having(self, component: str) -> Requires:
        """The same with one more component."""
        names = [each.name for each in fields(self) if not each.name.startswith("parsed_")]
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        return Requires(**{**given, "components": (*self.components, component)})
