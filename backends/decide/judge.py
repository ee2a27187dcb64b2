"""Settings judged against the machine: values that a setting names by a word, and ranks against devices and heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

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
    rows = situation.registry.choices.get(key, {}).get(value, ()) if isinstance(value, str) else ()
    judged = [reasons(row, situation) for row in rows]
    if not judged or not all(judged):
        return None
    return min((found[0] for found in judged), key=lambda fault: -fault.rank)


def reasons(choice: Choice, situation: Situation) -> list[Rejection]:
    """Every reason against one value of a setting, first codes first."""
    found = list(unmet(choice.value, choice.requires, situation))
    if choice.disabled:
        found.append(Rejection(choice.value, "disabled", choice.key, None, choice.disabled, None, choice.disabled))
    told = [_told(choice, rejection, situation) for rejection in found]
    return sorted(told, key=lambda rejection: rejection.rank)


def _told(choice: Choice, no: Rejection, situation: Situation) -> Rejection:
    """A reason against a value, by who set it."""
    others = [
        value
        for value, rows in situation.registry.choices[choice.key].items()
        if value != choice.value and any(not list(unmet(value, row.requires, situation)) for row in rows)
    ]
    hint = no.hint or (f"{choice.key} may be {' or '.join(sorted(others))} here" if others else None)
    origin = situation.origin(choice.key) or no.origin
    return Rejection(f"{choice.key} {no.provider}", no.code, no.field, no.required, no.actual, origin, hint)


def machine(situation: Situation) -> Iterator[Rejection]:
    """What was said of the device and is not the platform's, and ranks that no device or head is there for."""
    yield from _device(situation)
    yield from _ranks(situation)
    yield from _heads(situation)


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


def _ranks(situation: Situation) -> Iterator[Rejection]:
    """Tensor-parallel ranks of every pipeline stage each need a device; replicas may share them."""
    facts, count = situation.facts, situation.platform.count
    if count is None or situation.platform.device == "cpu":
        return
    ranks = facts["parallel.tp_size"] * facts["parallel.pp_size"]
    devices = max(count, 1) * facts["parallel.num_nodes"]
    if ranks > devices:
        key = "parallel.tp_size" if facts["parallel.tp_size"] > 1 else "parallel.pp_size"
        nodes = facts["parallel.num_nodes"]
        hint = f"{nodes} of {count} devices have {devices}; raise parallel.num_nodes or write fewer ranks"
        actual = f"{ranks} ranks (tp_size times pp_size)"
        yield Rejection(None, "topology", key, f"at most {devices} ranks", actual, situation.origin(key), hint)


def _heads(situation: Situation) -> Iterator[Rejection]:
    """Heads are split evenly over tensor-parallel ranks; fewer KV heads than ranks are repeated evenly."""
    facts = situation.facts
    key = "parallel.tp_size"
    # With data-parallel attention an engine splits heads over fewer ranks than tp_size.
    sizes = [size for size in (facts[key], facts[key] // facts["parallel.dp_size"]) if size]
    for field in ("model.num_heads", "model.num_kv_heads"):
        heads = facts[field]
        shared = field == "model.num_kv_heads"
        if heads is not None and not any(_even(heads, size, shared) for size in sizes):
            fitting = [size for size in range(1, heads + 1) if heads % size == 0]
            hint = f"write a {key} that divides {heads}: {', '.join(map(str, fitting[:12]))}"
            origin = situation.origin(key)
            yield Rejection(None, "topology", key, f"ranks that divide {heads}", facts[key], origin, f"{field}: {hint}")


def _even(heads: int, ranks: int, shared: bool) -> bool:
    return heads % ranks == 0 or (shared and ranks % heads == 0)


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
            whose = ", ".join(dict.fromkeys(f"{one.provider} of {one.slot}" for one in alike))
            install = fault.hint or f"install {fault.field}"
            found.append(replace(fault, provider=None, op=None, regime=None, hint=f"{install}; needed by {whose}"))
    return found
