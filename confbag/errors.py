"""Every error that confbag raises on purpose: what is wrong, where, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with what somebody configured.

    where: `file:line:column`, `env NAME`, `--set`, `preset NAME` or another source's own words; None when no place
    exists. key: the dotted key; None when the fault is about the source as a whole. message: what is wrong and, after a
    semicolon, what to write instead. Never holds a secret or the value of an unknown key.
    """

    where: str | None
    key: str | None
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.key, self.message) if part)


class ConfbagError(Exception):
    """The base of every error here; catch it to catch them all."""


class ConfigError(ConfbagError):
    """The configuration is wrong. `faults` holds every fault of the run, not only the first (the command exits 2)."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        if isinstance(faults, (str, Fault)) or not isinstance(faults, Iterable):
            raise TypeError(
                f"ConfigError takes a list of Faults, not one {type(faults).__name__}; "
                "write ConfigError([Fault(where, key, message)])"
            )
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.faults,)


class UnresolvedError(ConfbagError):
    """A bag that still holds `auto` was about to be published, or was asked for a value that only a plan decides."""


class NotPublishedError(ConfbagError):
    """A setting was read before `publish` (or `adopt`) ran in this process."""


class AlreadyPublishedError(ConfbagError):
    """`publish` ran a second time in one process without `replace=True`."""


class SwapError(ConfbagError):
    """Overrides of one process were left in another order than the opposite of how they were entered."""


class RoleError(ConfbagError):
    """A process read a namespace that its role does not declare."""


class HandoffError(ConfbagError):
    """What a parent handed over cannot be taken: damaged, of another version, or with another fingerprint."""


class PlatformError(ConfbagError):
    """A platform is unknown, or its file says something impossible (the command exits 2)."""


class RegistrationError(ConfbagError):
    """An op, implementation, rule, library or platform contradicts itself or another; said when it is registered."""


class SignatureError(RegistrationError):
    """An implementation's signature is not its contract's. The message holds both."""


class PluginError(ConfbagError):
    """A plug-in that was named could not be loaded."""


class PlanError(ConfbagError):
    """Nothing satisfies the plan (the command exits 3). `faults` holds `confbag.backends.Rejection` objects."""

    def __init__(self, message: str, faults: Iterable[Any] = ()) -> None:
        self.faults: tuple[Any, ...] = tuple(faults)
        super().__init__(message)


class BindError(PlanError):
    """The plan could not be bound on this machine. `faults` holds one rejection for each op that cannot run."""


class DeclaredOnlyError(ConfbagError, AttributeError):
    """The provider is declared only: the plan names it, and the engine constructs its own class."""


class AgreementError(ConfbagError):
    """The ranks of one job do not hold the same plan."""
