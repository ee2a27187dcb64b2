"""What decided: a step of the choice, or a rule by its name."""

from __future__ import annotations

from typing import NamedTuple

from confbag.backends.decide.asked import PIN, PREFER, PREFER_ONLY, REFERENCE_ONLY

FALLBACK = "exec.kernels.fallback"


class Decider(NamedTuple):
    """A step, or a rule where `rule` is true. name: as plans and locks spell it."""

    name: str
    rule: bool = False

    def __str__(self) -> str:
        return f"rule {self.name}" if self.rule else self.name

    @property
    def keys(self) -> tuple[str, ...]:
        """The settings that a step reads beside those that may name a provider."""
        return () if self.rule else _KEYS.get(self.name, ())


SETTING = Decider("setting")
PINNED = Decider("pin")
REFERENCE = Decider(REFERENCE_ONLY)
PREFERRED = Decider("prefer")
PRIORITY = Decider("priority")
FALLEN = Decider("fallback")
FIRST_CLASS = Decider("first-class-reference")

_KEYS = {
    PINNED.name: (PIN,),
    PREFERRED.name: (PREFER, PREFER_ONLY),
    REFERENCE.name: (REFERENCE_ONLY,),
    FALLEN.name: (FALLBACK,),
}


def companion_of(provider: str) -> Decider:
    """The step that takes what goes with a provider that was named for the whole op and lacks a regime."""
    return Decider(f"companion-of-{provider}")


def by_rule(name: str) -> Decider:
    """A rule, by its name."""
    return Decider(name, rule=True)
