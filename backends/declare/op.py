"""An op, which is a contract with a meaning, and its implementations, which are the providers of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from confbag.backends.declare.requires import PHASES, Requires
from confbag.backends.words.conditions import Condition
from confbag.backends.words.levels import DETERMINISM, GRAPH, NEVER, NONE
from confbag.backends.words.shapes import (
    FLAG,
    TEXT,
    TEXT_TO_TEXT,
    WHOLE,
    WORDS,
    Shape,
    described,
    is_text,
    shaped,
    texts,
)
from confbag.errors import RegistrationError

Target: TypeAlias = "str | Callable[..., Any] | None"

ANYWHERE = Requires()
REFERENCE = "reference"


@dataclass(frozen=True, eq=False)
class Implementation:
    """One provider of one op; with a variant where one provider differs by model kind or device.

    target: `module:callable`, imported only at bind; or the function; or None for a provider that is declared only,
    whose class `engine` constructs. phases: the op's phases that it takes. determinism: a level for each phase,
    undeclared is none. graph: how far it can be captured. compile: whether torch.compile traces it. priority: decides
    among those that can run when no rule does. slow: what is slow about it and when; a plan that chooses it by itself
    warns. aliases: old names, each still accepted with a warning. companions: the provider another phase takes when
    this one was named for the whole op and lacks that phase. emulated_pages: it takes any page size through per-token
    tables. unconfirmed: the columns of its row that nobody confirmed. cases: what `confbag verify` runs it on instead
    of the op's cases.
    """

    op: str
    provider: str
    target: Target
    variant: str | None = None
    priority: int = 0
    requires: Requires = ANYWHERE
    phases: tuple[str, ...] = ()
    determinism: Mapping[str | None, str] = field(default_factory=dict)
    graph: str = NEVER
    compile: bool = False
    replaces: str | None = None
    engine: str | None = None
    slow: str | None = None
    disabled: str | None = None
    aliases: tuple[str, ...] = ()
    companions: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    description: str = ""
    emulated_pages: bool = False
    unconfirmed: tuple[str, ...] = ()
    cases: str | None = None

    @property
    def name(self) -> str:
        """`provider`, or `provider (variant)`."""
        return f"{self.provider} ({self.variant})" if self.variant else self.provider

    @property
    def declared_only(self) -> bool:
        """Whether the plan may name it but bind leaves it to the engine."""
        return self.target is None

    @cached_property
    def allowed(self) -> dict[str, tuple[str, tuple[Any, ...]]]:
        """Facts that it needs whatever else holds -> `in` or `not`, and the values."""
        found: dict[str, tuple[str, tuple[Any, ...]]] = {}
        for need in self.requires.needs:
            if not need.when:
                kind = "not" if isinstance(need.test, Mapping) else "in"
                found.update({fact: (kind, values) for fact, values in need.condition.values_named()})
        if self.requires.device:
            found["platform.device"] = ("in", self.requires.device)
        if self.requires.arch:
            found["platform.arch"] = ("in", self.requires.arch)
        return found

    @property
    def target_name(self) -> str | None:
        """The target as `module:callable`."""
        if self.target is None or isinstance(self.target, str):
            return self.target
        return f"{self.target.__module__}:{self.target.__qualname__}"

    def determinism_in(self, phase: str | None) -> str:
        """The level declared for a phase."""
        return self.determinism.get(phase, NONE)


class Op:
    """A named operation: the contract's signature and docstring, and what the planner must know of it.

    contract: a function whose signature and docstring are the contract; its body is never run. phases: of prefill,
    decode, draft; empty for an op without phases. applies: a condition on the bag; where it does not hold, the op is
    listed as not used and can neither warn nor fail. reference_on: devices on which the reference is first class, a
    choice and not a fallback. reference: the provider that gives the op its meaning, or several that do so for models
    of different kinds. settings: for each phase (None without phases) the keys that may name a provider, the first
    that is not `auto` wins. asks: feature -> condition under which the model asks for it; an implementation that does
    not list the feature is rejected. layers: the settings key that holds the number of layers, or their names, where
    one layer may run another implementation than the next. cases: `module:callable`, imported only by `confbag verify`,
    a function of a device and a number that yields inputs, at least those at the boundaries and so many random ones;
    each has a name and a method `difference(reference, implementation)`, the first difference in words or None, as
    `confbag.kernels.agreement.Case` has. Attributes are read-only by convention; `implement` adds to
    `implementations`.
    """

    def __init__(
        self,
        name: str,
        contract: Callable[..., Any],
        phases: Sequence[str] = (),
        applies: Mapping[str, Any] | None = None,
        reference_on: Sequence[str] = (),
        reference: str | Sequence[str] = REFERENCE,
        settings: Mapping[str | None, Sequence[str]] | None = None,
        asks: Mapping[str, Mapping[str, Any]] | None = None,
        layers: str | None = None,
        cases: str | None = None,
    ) -> None:
        if name.count(".") > 3 or not all(part.isidentifier() for part in name.split(".")):
            raise RegistrationError(f"op {name!r}: a name is identifiers joined by dots, such as 'kvcache.last_loc'")
        for phase in phases:
            if phase not in PHASES:
                raise RegistrationError(f"op {name}: unknown phase {phase!r}; write one of {', '.join(PHASES)}")
        from confbag.backends.declare.signature import check_contract

        check_contract(name, contract)
        self.name = name
        self.contract = contract
        self.phases = tuple(phases)
        self.applies = Condition(applies, where=f"op {name}: applies")
        self.reference_on = tuple(reference_on)
        self.references = (reference,) if isinstance(reference, str) else tuple(reference)
        self.settings = {phase: tuple(keys) for phase, keys in (settings or {}).items()}
        self.asks = {
            feature: Condition(when, where=f"op {name}: asks {feature}") for feature, when in (asks or {}).items()
        }
        self.layers = layers
        self.cases = None if cases is None else _place("cases", cases, f"op {name}")
        self.implementations: list[Implementation] = []

    @property
    def last_name(self) -> str:
        """The attribute under which bind offers it: `last_loc` of `kvcache.last_loc`."""
        return self.name.rpartition(".")[2]

    @property
    def slots(self) -> tuple[str | None, ...]:
        """Its phases, or one None."""
        return self.phases or (None,)

    def implement(
        self,
        provider: str,
        target: Target,
        *,
        variant: str | None = None,
        priority: int = 0,
        requires: Requires = ANYWHERE,
        determinism: str | Mapping[str, str] = NONE,
        graph: str = NEVER,
        compile: bool = False,
        phases: Sequence[str] | None = None,
        replaces: str | None = None,
        engine: str | None = None,
        slow: str | None = None,
        disabled: str | None = None,
        aliases: Sequence[str] = (),
        companions: Mapping[str, str] | None = None,
        source: str | None = None,
        description: str = "",
        cases: str | None = None,
    ) -> Implementation:
        """Declare one provider of this op and return it.

        Raises RegistrationError when the row contradicts itself or another of the op, SignatureError when `target` is a
        function whose parameters are not the contract's. The fields are Implementation's.
        """
        made = build(
            self,
            provider,
            target,
            variant=variant,
            priority=priority,
            requires=requires,
            determinism=determinism,
            graph=graph,
            compile=compile,
            phases=phases,
            replaces=replaces,
            engine=engine,
            slow=slow,
            disabled=disabled,
            aliases=aliases,
            companions=companions,
            source=source,
            description=description,
            cases=cases,
        )
        self.implementations.append(made)
        return made

    def __repr__(self) -> str:
        return f"Op({self.name!r})"


_ROW = {
    **dict.fromkeys(("variant", "graph", "replaces", "engine", "slow", "disabled", "source", "cases"), TEXT),
    "description": Shape("a text", lambda value: isinstance(value, str)),
    "priority": WHOLE,
    "requires": Shape("a Requires", lambda value: isinstance(value, Requires)),
    "phases": WORDS,
    "determinism": Shape(
        "a level, or a mapping of phases to levels", lambda value: is_text(value) or TEXT_TO_TEXT.holds(value)
    ),
    "compile": FLAG,
    "emulated_pages": FLAG,
    "unconfirmed": WORDS,
    "aliases": WORDS,
    "companions": TEXT_TO_TEXT,
}


def build(op: Op, provider: str, target: Target, **row: Any) -> Implementation:
    """One Implementation of an op from a row's fields, checked against the op; the op itself is not changed."""
    where = row.get("source") or f"{op.name}, {provider}"
    row = shaped({name: value for name, value in row.items() if value is not None}, _ROW, where)
    if not is_text(provider):
        raise RegistrationError(f"{where}: provider: expected {TEXT.says}, got {described(provider)}")
    if row.get("priority", 0) < 0:
        raise RegistrationError(f"{where}: priority is {row['priority']}; write 0 for none, or a positive number")
    phases = texts(row.get("phases", op.phases))
    for phase in phases:
        if phase not in op.phases:
            raise RegistrationError(
                f"{where}: unknown phase {phase!r}; {op.name} has {', '.join(op.phases) or 'no phases'}"
            )
    if op.phases and not phases:
        raise RegistrationError(f"{where}: it takes no phase of {op.name}; name at least one of {', '.join(op.phases)}")
    row["phases"] = phases
    row["determinism"] = _levels(row.get("determinism", NONE), phases or (None,), where)
    if row.get("graph", NEVER) not in GRAPH:
        raise RegistrationError(f"{where}: unknown graph level {row['graph']!r}; write one of {', '.join(GRAPH)}")
    for name in ("aliases", "unconfirmed"):
        row[name] = texts(row.get(name, ()))
    row["companions"] = dict(row.get("companions") or {})
    if target is None and not row.get("engine"):
        raise RegistrationError(
            f"{where}: a provider without a target is declared only; name the engine that constructs it"
        )
    if "cases" in row:
        _place("cases", row["cases"], where)
    if isinstance(target, str):
        _place("target", target, where)
    elif target is not None:
        if not callable(target):
            raise RegistrationError(f"{where}: target: expected 'package.module:callable' or a function")
        from confbag.backends.declare.signature import check_signature

        check_signature(op.name, provider, op.contract, target)
    return Implementation(op=op.name, provider=provider, target=target, **row)


def _place(what: str, text: str, where: str) -> str:
    """The text, where it is a `module:callable`."""
    module, _, name = text.partition(":")
    if not name or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise RegistrationError(f"{where}: {what} {text!r}; write 'package.module:callable'")
    return text


def _levels(declared: str | Mapping[str, str], phases: Sequence[str | None], where: str) -> dict[str | None, str]:
    levels: dict[str | None, str] = dict.fromkeys(phases, declared) if isinstance(declared, str) else {}
    if not isinstance(declared, str):
        levels.update(declared)
    for phase, level in levels.items():
        if level not in DETERMINISM:
            raise RegistrationError(
                f"{where}: unknown determinism level {level!r}; write one of {', '.join(DETERMINISM)}"
            )
        if phase not in phases:
            raise RegistrationError(f"{where}: determinism for phase {phase!r}, which it does not take")
    return levels
