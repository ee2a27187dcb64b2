"""Why a provider was not taken: a code, the fact that failed, and what would have to be true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CODES = (
    "disabled",
    "plugin-failed",
    "device",
    "arch",
    "phase",
    "feature",
    "dtype",
    "head-size",
    "page-size",
    "bound",
    "determinism",
    "graph",
    "topology",
    "package-missing",
    "package-version",
    "toolchain",
    "library-not-found",
    "library-load",
    "library-conflict",
    "op-missing",
    "op-schema",
    "op-kernel",
    "known-issue",
    "environment",
    "pinned-away",
    "lower-priority",
)
"""In the order in which the first reason of a provider is shown: what no installation could mend comes first."""

_RANK = {code: rank for rank, code in enumerate(CODES)}


@dataclass(frozen=True, slots=True)
class Rejection:
    """One reason against one provider, or one fault of a plan.

    provider: None when the fault belongs to no single provider.
    code: one of CODES.
    field: the fact that failed (a settings key, `platform.arch`, a component, a native op).
    required: what it needs, as plain data.
    actual: what is there, as plain data.
    origin: who asked for the value that failed (a source's place, a rule); None when nobody did.
    hint: what to do instead.
    op: the op of the slot, set where the rejection is a fault.
    regime: the regime of the slot, likewise.
    site: the sites of the slot, likewise.
    """

    provider: str | None
    code: str
    field: str
    required: Any
    actual: Any
    origin: str | None = None
    hint: str | None = None
    op: str | None = None
    regime: str | None = None
    site: str | None = None

    @property
    def rank(self) -> int:
        """The place of `code` in CODES."""
        return _RANK[self.code]

    @property
    def slot(self) -> str | None:
        """`op`, `op@regime`, `op@regime/sites`; None where the rejection is not a fault of an op."""
        if self.op is None:
            return None
        place = self.op if self.regime is None else f"{self.op}@{self.regime}"
        return place if self.site is None else f"{place}/{self.site}"

    def __str__(self) -> str:
        text = f"{self.code}: {self.field} must be {say(self.required)}, is {say(self.actual)}"
        if self.code in ("lower-priority", "pinned-away"):
            text = f"{self.code}: {say(self.required)} decided" if self.required else self.code
        elif self.code == "package-missing":
            text = f"{self.code}: {say(self.required)} is {say(self.actual)}"
        elif self.code == "known-issue":
            text = f"{self.code}: {say(self.actual)}"
        if self.origin:
            text += f" ({self.origin})"
        return f"{text}; {self.hint}" if self.hint else text


def say(value: Any) -> str:
    """A fact in words: a list as `a, b or c`, nothing as `unknown`, true and false as YAML writes them."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset)):
        words = [say(item) for item in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)]
        if not words:
            return "none"
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    return str(value)
