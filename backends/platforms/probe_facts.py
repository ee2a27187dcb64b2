"""What a probe found: facts with the place each was learnt at, the software that is installed, one accelerator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from confbag.backends.platforms.evidence import Evidence
from confbag.backends.platforms.probe_packages import Distribution, Extension, TorchBuild


@dataclass(frozen=True)
class Fact:
    """One fact for a person to read. value: in the source's own spelling. learnt: the file, program or variable."""

    name: str
    value: str
    learnt: str


@dataclass(frozen=True)
class Software:
    """What is installed, known without importing any of it. missing: extension module -> the first library it lacks."""

    distributions: Mapping[str, Distribution] = field(default_factory=dict)
    torch: TorchBuild | None = None
    extensions: tuple[Extension, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Accelerator:
    """One kind of accelerator that this machine has.

    device: its kind.
    seen: the evidence of the hardware.
    unusable: why nothing here can use it; None when something can.
    remedy: what to do about it.
    explained: whether another note already says so.
    arch: in our spelling; None when it could not be told.
    count: how many this process sees.
    features: what the hardware has beside.
    toolkit: versions by name.
    facts: what `confbag doctor` says of it, in order.
    notes: warnings, each one sentence.
    """

    device: str
    seen: str
    unusable: str | None = None
    remedy: str = ""
    explained: bool = False
    arch: str | None = None
    count: int | None = None
    features: frozenset[str] = frozenset()
    toolkit: Mapping[str, str] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()


Look = Callable[[Evidence, Software], Accelerator | None]
"""Looks for one device kind; None when the machine has none."""
