"""Rules as objects: named data that proposes a provider, or fills a setting that is still auto."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from confbag.backends.declare.slots import PHASES
from confbag.backends.words.conditions import Condition
from confbag.backends.words.rejection import CODES
from confbag.backends.words.shapes import FLAG, NAMED, SOME, TEXT, Shape, is_whole, shaped, texts
from confbag.errors import RegistrationError

_VARIABLES = Shape(
    "a mapping of variable names to texts or whole numbers",
    lambda value: NAMED.holds(value) and all(isinstance(one, str) or is_whole(one) for one in value.values()),
)
_RULE = {
    **dict.fromkeys(("name", "op", "propose", "same_as", "why"), TEXT),
    **dict.fromkeys(("only", "fallback", "first_class"), FLAG),
    "phases": SOME,
    "ranges": SOME,
    "up_to": Shape("a positive whole number", lambda value: is_whole(value) and value > 0),
    "when": NAMED,
}
_FILL = {
    **dict.fromkeys(("name", "after", "code", "why"), TEXT),
    "force": FLAG,
    "when": NAMED,
    "set": NAMED,
    "environment": _VARIABLES,
}
_COPY = {"value_of": TEXT, "otherwise": Shape("any value", lambda value: True)}


class Rule(NamedTuple):
    """Proposes one provider of one op where its condition holds.

    when: the condition.
    propose: a provider; or same_as: the phase whose decision is proposed.
    regimes: only in these phases or ranges of the op (empty: everywhere).
    up_to: so much of the op's measure at most is it proposed for; a later rule decides beyond.
    only: what it proposes is not passed over for a later rule, so a proposal that cannot run is a fault.
    fallback: it is asked only after rules and priorities found nothing, and exec.kernels.fallback governs it.
    first_class: what it proposes is a choice, never a fallback to warn of.
    why: a sentence's end for people.
    plugin: whose rule it is; ours are None.
    """

    name: str
    op: str
    when: Condition = Condition()
    propose: str | None = None
    same_as: str | None = None
    regimes: tuple[str, ...] = ()
    up_to: int | None = None
    only: bool = False
    fallback: bool = False
    first_class: bool = False
    why: str = ""
    plugin: str | None = None
    source: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any], where: str, plugin: str | None = None) -> Rule:
        """A rule from its data; RegistrationError names what is wrong and where."""
        fields = shaped(data, _RULE, where, needed=("name", "op"))
        if ("propose" in fields) == ("same_as" in fields):
            raise RegistrationError(f"{where}: a rule has either `propose: PROVIDER` or `same_as: PHASE`")
        phases, ranges = texts(fields.pop("phases", ())), texts(fields.pop("ranges", ()))
        for phase in (*phases, *((fields["same_as"],) if "same_as" in fields else ())):
            if phase not in PHASES:
                raise RegistrationError(f"{where}: unknown phase {phase!r}; write one of {', '.join(PHASES)}")
        fields["when"] = Condition(fields.get("when"), where=f"{where}: when")
        return cls(**fields, regimes=(*phases, *ranges), plugin=plugin, source=where)

    @property
    def place(self) -> str:
        """Where it was written: its file and number, and its name."""
        return _place(self)


class Fill(NamedTuple):
    """What a plan does to settings that are still auto, and to the environment, where its condition holds.

    when: the condition.
    after: the op that must have been decided first.
    set: key -> value, or `{value_of: FACT, otherwise: VALUE}`.
    environment: variables that bind sets.
    force: a value that somebody set explicitly and that differs is a fault with `code`; without it, only auto is
        filled.
    why: a sentence's end for people.
    plugin: whose rule it is; ours are None.
    """

    name: str
    when: Condition = Condition()
    after: str | None = None
    set: Mapping[str, Any] = MappingProxyType({})
    environment: Mapping[str, str] = MappingProxyType({})
    force: bool = False
    code: str | None = None
    why: str = ""
    plugin: str | None = None
    source: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any], where: str, plugin: str | None = None) -> Fill:
        """A fill from its data; RegistrationError names what is wrong and where."""
        fields = shaped(data, _FILL, where, needed=("name",))
        if fields.get("force") and fields.get("code") not in CODES:
            raise RegistrationError(
                f"{where}: a rule with force names the code of its fault, one of {', '.join(CODES)}"
            )
        if not fields.get("set") and not fields.get("environment"):
            raise RegistrationError(f"{where}: it fills nothing; write `set` or `environment`")
        for key, value in fields.get("set", {}).items():
            if isinstance(value, Mapping):
                shaped(value, _COPY, f"{where}: set {key}", needed=("value_of",))
        fields["environment"] = {name: str(value) for name, value in fields.get("environment", {}).items()}
        fields["when"] = Condition(fields.get("when"), where=f"{where}: when")
        return cls(**fields, plugin=plugin, source=where)

    def value(self, key: str, facts: Mapping[str, Any]) -> Any:
        """What it would set a key to."""
        value = self.set[key]
        if isinstance(value, Mapping):
            found = facts.get(value["value_of"])
            return value.get("otherwise") if found is None else found
        return value

    @property
    def place(self) -> str:
        """Where it was written: its file and number, and its name."""
        return _place(self)


def _place(rule: Rule | Fill) -> str:
    own = f"rule {rule.name}"
    return own if rule.source in ("", own) else f"{rule.source}: {own}"
