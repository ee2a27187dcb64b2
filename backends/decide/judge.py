"""Settings judged against the machine: values that a setting names by a word, and ranks against devices and heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from confbag.backends.decide import ranks
from confbag.backends.decide.check import unmet
from confbag.backends.decide.question import Situation
from confbag.backends.declare.choices import Choice
from confbag.backends.platforms.arch import normalise
from confbag.backends.words.rejection import Rejection
from confbag.words.provenance import AUTO


def choices(situation: Situation) -> Iterator[Rejection]:
    """A fault for each setting whose value cannot run here, with the first reason against it."""
    for key in situation.registry.choices:
        found = against(key, situation.facts[key], situation)
        if found is not None:
            yield found


def against(key: str, value: Any, situation: Situation) -> Rejection | None:
    """The first reason against a value of a judged setting; None where it can run, or nobody judges it."""
    known = situation.registry.choices.get(key, {})
    rows: Sequence[Choice] = known.get(value, ()) if isinstance(value, str) else ()
    found = _reasons(rows, situation)
    return _told(rows[0], found[0], situation) if found else None


def judged(situation: Situation) -> dict[str, dict[str, tuple[Rejection, ...]]]:
    """Of each setting that names something by a word every value, with what speaks against it here."""
    known = situation.registry.choices
    return {
        key: {value: tuple(_reasons(rows, situation)) for value, rows in values.items()}
        for key, values in known.items()
    }


def subject(key: str, value: str) -> str:
    """Whom a fault names that a setting's value cannot run."""
    return f"{key} {value}"


def _reasons(rows: Sequence[Choice], situation: Situation) -> list[Rejection]:
    """Every reason against one value of a setting, first codes first; of several declarations those against the one
    that comes nearest, none where one can run."""
    against = [_against(row, situation) for row in rows]
    return max(against, key=lambda found: found[0].rank) if against and all(against) else []


def _against(choice: Choice, situation: Situation) -> list[Rejection]:
    found = list(unmet(choice.value, choice.requires, situation))
    if choice.disabled:
        found.append(Rejection(choice.value, "disabled", choice.key, None, choice.disabled, None, choice.disabled))
    return sorted(found, key=lambda rejection: rejection.rank)


def _told(choice: Choice, no: Rejection, situation: Situation) -> Rejection:
    """A reason against a value, by who set it, with the values that could be written instead."""
    known = situation.registry.choices[choice.key]
    others = [value for value, rows in known.items() if value != choice.value and not _reasons(rows, situation)]
    hint = no.hint or (f"{choice.key} may be {' or '.join(sorted(others))} here" if others else None)
    origin = situation.origin(choice.key) or no.origin
    return replace(no, provider=subject(choice.key, choice.value), origin=origin, hint=hint)


def machine(situation: Situation) -> Iterator[Rejection]:
    """What was said of the device and is not the platform's, and ranks that no device or head is there for."""
    yield from _device(situation)
    yield from ranks.check(situation)


def _device(situation: Situation) -> Iterator[Rejection]:
    values, platform = situation.bag.values(), situation.platform

    def fault(code: str, key: str, required: Any) -> Rejection:
        hint = f"leave {key} out, or plan for another --platform"
        return Rejection(None, code, key, required, values[key], situation.bag.origin(key), hint)

    if values["device.kind"] not in (AUTO, platform.device):
        yield fault("device", "device.kind", platform.device)
    elif values["device.arch"] != AUTO and normalise(str(values["device.arch"])) != platform.arch:
        yield fault("arch", "device.arch", platform.arch)
    index, count = values["device.index"], platform.count
    if count is not None and index != AUTO and index >= max(count, 1):
        yield fault("device", "device.index", f"below {max(count, 1)}, the number of devices")


def together(faults: Sequence[Rejection]) -> list[Rejection]:
    """The faults, those of several slots that lack one package as one, which says what to install."""
    lacking: dict[str, list[Rejection]] = {}
    for fault in faults:
        if fault.code == "package-missing":
            lacking.setdefault(fault.field, []).append(fault)
    found: list[Rejection] = []
    for fault in faults:
        alike = lacking.get(fault.field, []) if fault.code == "package-missing" else []
        if len(alike) < 2:
            found.append(fault)
        elif fault is alike[0]:
            named = (f"{one.provider} of {one.slot}" if one.slot else str(one.provider) for one in alike)
            whose = ", ".join(dict.fromkeys(named))
            install = fault.hint or f"install {fault.field}"
            found.append(replace(fault, provider=None, op=None, regime=None, hint=f"{install}; needed by {whose}"))
    return found
