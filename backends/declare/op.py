"""An op, which is a contract with a meaning, and its implementations, which are the providers of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confbag.backends.declare.implementation import ANYWHERE, Implementation, Target
from confbag.backends.declare.requires import Requires
from confbag.backends.declare.slots import PHASES, Regime
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
    is_whole,
    shaped,
    texts,
)
from confbag.backends.words.spelling import Spelled
from confbag.errors import RegistrationError

REFERENCE = "reference"
SITE = "site."
"""How the facts of a site begin."""


class Op(Spelled):
    """A named operation: the contract's signature and docstring, and what the planner must know of it.

    name: identifiers joined by dots, such as kvcache.last_loc.
    contract: a function whose signature and docstring are the contract; its body is never run.
    phases: its regimes where an engine's steps tell them apart, of prefill, decode, draft.
    applies: a condition on the bag; where it does not hold, the op is listed as not used and can neither warn nor fail.
    reference_on: devices on which the reference is first class, a choice and not a fallback.
    reference: the provider that gives the op its meaning, or several that do so for models of different kinds.
    settings: for each regime (None without) the keys that may name a provider, the exact one first.
    asks: feature -> condition under which the model asks for it; an implementation that does not list the feature is
        rejected.
    sites: the settings key that holds the sites: their number (of layers, say), their names, or names with facts.
    site_facts: the facts that a site may say of itself; conditions read them as `site.NAME`.
    measure: what a call has more or less of, such as rows or bytes; implementations may then have a bound, and a
        binding may be a chain of them.
    ranges: its regimes where the measure tells them apart: name -> the most that is in it, ascending; None is the rest.
    cases: `module:callable`, imported only by `confbag verify`, a function of a device and a number that yields inputs,
        at least those at the boundaries and so many random ones; each has a name and a method
        `difference(reference, implementation)`, the first difference in words or None.

    Attributes are read-only by convention; `implement` adds to `implementations`.
    """

    def __init__(
        self,
        name: str,
        contract: Callable[..., Any],
        phases: str | Sequence[str] = (),
        applies: Mapping[str, Any] | None = None,
        reference_on: str | Sequence[str] = (),
        reference: str | Sequence[str] = REFERENCE,
        settings: Mapping[str | None, str | Sequence[str]] | None = None,
        asks: Mapping[str, Mapping[str, Any]] | None = None,
        sites: str | None = None,
        site_facts: str | Sequence[str] = (),
        measure: str | None = None,
        ranges: Mapping[str, int | None] | None = None,
        cases: str | None = None,
    ) -> None:
        if not is_text(name) or name.count(".") > 3 or not all(part.isidentifier() for part in name.split(".")):
            raise RegistrationError(f"op {name!r}: a name is identifiers joined by dots, such as 'kvcache.last_loc'")
        from confbag.backends.declare.signature import check_contract

        check_contract(name, contract)
        given = {name: value for name, value in locals().items() if name in _OP and value is not None}
        shaped(given, _OP, f"op {name}")
        self.name = name
        self.contract = contract
        self.regimes = _regimes(name, texts(phases), measure, ranges or {})
        self.applies = Condition(applies, where=f"op {name}: applies")
        self.reference_on = texts(reference_on)
        self.references = texts(reference)
        self.settings = {regime: texts(keys) for regime, keys in (settings or {}).items()}
        self.asks = {
            feature: Condition(when, where=f"op {name}: asks {feature}") for feature, when in (asks or {}).items()
        }
        self.sites = sites
        self.site_facts = tuple(f"{SITE}{_bare(fact, name)}" for fact in texts(site_facts))
        self.measure = measure
        self.cases = None if cases is None else _place("cases", cases, f"op {name}")
        self.implementations: list[Implementation] = []
        if site_facts and sites is None:
            raise RegistrationError(f"op {name}: site_facts without sites; name the settings key that holds the sites")
        for regime in self.settings:
            if regime not in self.regime_names:
                known = ", ".join(map(str, self.regime_names))
                raise RegistrationError(f"op {name}: settings: unknown regime {regime!r}; it has {known}")

    @property
    def regime_names(self) -> tuple[str | None, ...]:
        """The names of its regimes, or one None."""
        return tuple(regime.name for regime in self.regimes) or (None,)

    @property
    def kind_of_regime(self) -> str:
        """What its regimes are called: phases, or ranges."""
        return "phase" if self.measure is None else "range"

    def regime(self, name: str | None) -> Regime | None:
        """The regime of that name."""
        return next((regime for regime in self.regimes if regime.name == name), None)

    def implement(
        self,
        provider: str,
        target: Target,
        *,
        variant: str | None = None,
        priority: int = 0,
        requires: Requires = ANYWHERE,
        determinism: str | Mapping[str, str] = NONE,
        graph: str | None = None,
        compile: bool = False,
        phases: Sequence[str] | None = None,
        most: int | None = None,
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

        provider: its name.
        target: `module:callable`, imported only at bind; or the function; or None for one that is declared only.
        variant: a name, where one provider differs by model kind or device.
        priority: decides among those that can run when no rule does.
        requires: what it needs.
        determinism: the level that it keeps, or one for each regime; undeclared is none.
        graph: how far it can be captured; undeclared is never, and a rejection says so.
        compile: whether torch.compile traces it.
        phases: the regimes of the op that it takes; None is all.
        most: the largest amount of the op's measure that it takes; None is without bound.
        replaces: the provider, or the row, that it stands in for.
        engine: who constructs the class of one that is declared only.
        slow: what is slow about it and when; a plan that chooses it by itself warns.
        disabled: why it may not be chosen.
        aliases: old names, each still accepted with a warning.
        companions: for a regime that it lacks, the provider that takes it where this one is named for the whole op.
        source: the file and row that declares it.
        description: a line for the catalogue.
        cases: what `confbag verify` runs it on instead of the op's cases.

        Raises RegistrationError when the row contradicts itself or another of the op, SignatureError when `target` is a
        function whose parameters are not the contract's.
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
            most=most,
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


_OP = {
    **dict.fromkeys(("phases", "reference_on", "reference", "site_facts"), WORDS),
    **dict.fromkeys(("sites", "measure"), TEXT),
    "applies": Shape("a condition, such as {'spec.active': True}", lambda value: isinstance(value, Mapping)),
    "settings": Shape(
        "a mapping of regimes to keys, such as {'decode': ['exec.attention.decode']}, or {None: [KEY]} without regimes",
        lambda value: isinstance(value, Mapping) and all(map(WORDS.holds, value.values())),
    ),
    "asks": Shape(
        "a mapping of features to conditions, such as {'sink': {'model.sink': True}}",
        lambda value: isinstance(value, Mapping),
    ),
    "ranges": Shape(
        "a mapping of names to bounds, such as {'few': 32, 'many': None}", lambda value: isinstance(value, Mapping)
    ),
    "cases": Shape("a text, 'package.module:callable'", is_text),
}
_ROW = {
    **dict.fromkeys(("variant", "graph", "replaces", "engine", "slow", "disabled", "source", "cases"), TEXT),
    "description": Shape("a text", lambda value: isinstance(value, str)),
    "priority": WHOLE,
    "most": Shape("a positive whole number", lambda value: is_whole(value) and value > 0),
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
    if "most" in row and op.measure is None:
        raise RegistrationError(f"{where}: most is a bound on the op's measure, and {op.name} has none; leave it out")
    regimes = _taken(op, row.pop("phases", None), where)
    row["regimes"] = regimes
    row["determinism"] = _levels(row.get("determinism", NONE), regimes or (None,), where)
    row["graph_declared"] = "graph" in row
    if row.setdefault("graph", NEVER) not in GRAPH:
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


def _regimes(
    name: str, phases: Sequence[str], measure: str | None, ranges: Mapping[str, int | None]
) -> tuple[Regime, ...]:
    """The regimes that an op declares, phases or ranges."""
    if measure is None:
        if ranges:
            raise RegistrationError(f"op {name}: ranges of what? name the measure, such as rows or bytes")
        for phase in phases:
            if phase not in PHASES:
                raise RegistrationError(f"op {name}: unknown phase {phase!r}; write one of {', '.join(PHASES)}")
        return tuple(map(Regime, phases))
    if not is_text(measure):
        raise RegistrationError(f"op {name}: measure: expected {TEXT.says}, got {described(measure)}")
    if phases:
        raise RegistrationError(f"op {name}: it has phases or a measure, not both; declare two ops")
    below = 0
    for number, (regime, most) in enumerate(ranges.items(), 1):
        last = number == len(ranges)
        if (
            not is_text(regime)
            or not regime.isidentifier()
            or not (last if most is None else is_whole(most) and most > below)
        ):
            raise RegistrationError(
                f"op {name}: range {regime!r} up to {most!r}: a range has a name of letters and digits and a larger "
                "bound than the one before it; only the last may have none"
            )
        below = most or below
    return tuple(Regime(regime, most) for regime, most in ranges.items())


def _bare(fact: str, name: str) -> str:
    """A fact of a site, as its op declares it."""
    if fact.startswith(SITE):
        raise RegistrationError(
            f"op {name}: site_facts: {fact!r} is how conditions read it; write {fact.removeprefix(SITE)!r}"
        )
    return fact


def _taken(op: Op, phases: Any, where: str) -> tuple[str, ...]:
    """The regimes that a row takes; all of the op's where it says nothing."""
    every = tuple(regime.name for regime in op.regimes)
    if phases is None:
        return every
    if op.measure is not None:
        raise RegistrationError(f"{where}: {op.name} has no phases but a measure; bound it with most=")
    taken = texts(phases)
    for phase in taken:
        if phase not in every:
            known = ", ".join(every) or "no phases"
            raise RegistrationError(f"{where}: unknown phase {phase!r}; {op.name} has {known}")
    if every and not taken:
        raise RegistrationError(f"{where}: it takes no phase of {op.name}; name at least one of {', '.join(every)}")
    return taken


def _place(what: str, text: str, where: str) -> str:
    """The text, where it is a `module:callable`."""
    module, _, name = text.partition(":")
    if not name or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise RegistrationError(f"{where}: {what} {text!r}; write 'package.module:callable'")
    return text


def _levels(declared: str | Mapping[str, str], regimes: Sequence[str | None], where: str) -> dict[str | None, str]:
    levels: dict[str | None, str] = dict.fromkeys(regimes, declared) if isinstance(declared, str) else {}
    if not isinstance(declared, str):
        levels.update(declared)
    for regime, level in levels.items():
        if level not in DETERMINISM:
            raise RegistrationError(
                f"{where}: unknown determinism level {level!r}; write one of {', '.join(DETERMINISM)}"
            )
        if regime not in regimes:
            taken = f"; it takes {', '.join(map(str, regimes))}" if None not in regimes else "; write one level for all"
            raise RegistrationError(f"{where}: determinism for {regime!r}, which it does not take{taken}")
    return levels
