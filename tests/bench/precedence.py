"""Random configurations against an oracle that knows the documented order of sources and nothing else.

    python tests/bench/precedence.py [COUNT]       # 5,000 unless said; a tenth of them is a test

The order, lowest first: record, first file, second file, environment, --set, overrides. The highest source that says
something of a phase decides it; within one source a pin of the phase goes before a pin of the op, and the phase's own
key before the general one. A pin and a key of one source that name different providers are a fault. `auto` takes back
what lower sources said by the same key; pins merge by entry, and `null` takes one back.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any

from confbag import ConfigError, Record, load
from confbag.backends import ALWAYS, Op, Plan, Platform, Registry, make_plan

PHASES = ("prefill", "decode", "draft")
PROVIDERS = ("north", "south", "east", "west")
GENERAL = "exec.attention.backend"
OP = "demo.attend"
SOURCES = ("record", "file", "file", "environment", "set", "overrides")
FLAGS = {
    GENERAL: "--attention-backend",
    "exec.attention.prefill": "--prefill-attention-backend",
    "exec.attention.decode": "--decode-attention-backend",
    "exec.attention.draft": "--speculative-draft-attention-backend",
}
MACHINE = Platform("cpu", "x86_64", packages={})
Said = dict[str, Any]
"""What one source says: key -> provider or auto, and `pin` -> slot -> provider or None."""


def attend(x: int) -> int:
    """Any."""
    raise NotImplementedError


def registry() -> Registry:
    """One op whose providers are equal in everything but their names."""
    made = Registry()
    op = Op(OP, attend, phases=PHASES, settings={phase: (f"exec.attention.{phase}", GENERAL) for phase in PHASES})
    for number, provider in enumerate(PROVIDERS):
        op.implement(provider, lambda x: x, graph=ALWAYS, priority=1 + number)
    made.add(op)
    return made


REGISTRY = registry()


def drawn(dice: random.Random) -> list[Said]:
    """What each source says."""
    return [_said(source, dice) for source in SOURCES]


def _said(source: str, dice: random.Random) -> Said:
    said: Said = {}
    for key in (GENERAL, *(f"exec.attention.{phase}" for phase in PHASES)):
        if dice.random() < 0.25:
            said[key] = "auto" if source != "record" and dice.random() < 0.2 else dice.choice(PROVIDERS)
    if source != "record" and dice.random() < 0.35:
        slots = dice.sample((OP, *(f"{OP}@{phase}" for phase in PHASES)), dice.randint(1, 2))
        said["pin"] = {slot: None if dice.random() < 0.25 else dice.choice(PROVIDERS) for slot in slots}
    return said


def expected(sources: list[Said]) -> dict[str, str] | None:
    """Phase -> provider, `priority` where nobody named one; None where a source contradicts itself."""
    pins: dict[str, tuple[int, str]] = {}
    keys: dict[str, tuple[int, str]] = {}
    for place, said in enumerate(sources):
        for slot, provider in said.get("pin", {}).items():
            pins.pop(slot, None)
            if provider is not None:
                pins[slot] = (place, provider)
        for key, provider in said.items():
            for covered in {"pin": (), GENERAL: FLAGS}.get(key, (key,)):
                if covered == key or covered not in said:
                    keys.pop(covered, None)
            if key != "pin" and provider != "auto":
                keys[key] = (place, provider)
    found: dict[str, str] = {}
    for phase in PHASES:
        named = keys.get(f"exec.attention.{phase}") or keys.get(GENERAL)
        for pin in (pins.get(f"{OP}@{phase}"), pins.get(OP)):
            # A pin that is as high as the key that would decide without it: one of them is a mistake.
            if pin is not None and named is not None and pin[0] == named[0] and pin[1] != named[1]:
                return None
        pinned = [(pins.get(f"{OP}@{phase}"), 2), (pins.get(OP), 1)]
        candidates = [(one[0], weight, one[1]) for one, weight in [*pinned, (named, 0)] if one is not None]
        found[phase] = max(candidates)[2] if candidates else "priority"
    return found


def planned(sources: list[Said]) -> Plan:
    """The plan of what the sources say, each said its own way. ConfigError where one contradicts itself."""
    record, first, second, environment, settings, overrides = sources
    argv = [word for key, provider in record.items() for word in (FLAGS[key], provider)]
    env = {_variable(key): _text(value) for key, value in environment.items()}
    words = [word for key, value in settings.items() for word in ("--set", f"{_key(key)}={_text(value)}")]
    bag = load(
        _tree(first),
        _tree(second),
        record=Record("sglang", argv=["--speculative-algorithm", "EAGLE", *argv]),
        env=env,
        argv=words,
        overrides=_tree(overrides),
    )
    return make_plan(bag, MACHINE, registry=REGISTRY)


def _key(key: str) -> str:
    return "exec.kernels.pin" if key == "pin" else key


def _variable(key: str) -> str:
    return "CONFBAG__" + _key(key).upper().replace(".", "__")


def _tree(said: Said) -> Mapping[str, Any]:
    return {_key(key): value for key, value in said.items()}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{slot}: {'null' if one is None else one}" for slot, one in value.items()) + "}"
    return str(value)


def difference(seed: int) -> str | None:
    """What a plan of random sources does otherwise than the oracle; None where they agree."""
    sources = drawn(random.Random(seed))
    wanted = expected(sources)
    try:
        plan = planned(sources)
    except ConfigError as error:
        return None if wanted is None else f"{sources}: wanted {wanted}, refused: {error}"
    if wanted is None:
        return f"{sources}: a source contradicts itself, and a plan was made"
    for phase, provider in wanted.items():
        binding = plan[f"{OP}@{phase}"]
        got = "priority" if binding.rule == "priority" else binding.provider
        if got != provider:
            return f"{sources}: {phase}: wanted {provider}, got {got} by {binding.rule}"
    if plan.warnings:
        return f"{sources}: what a higher source drops is no warning: {plan.warnings}"
    return None


def main(count: int) -> int:
    """Run so many, print what differs, and how many there were."""
    differing = [text for seed in range(count) if (text := difference(seed)) is not None]
    refused = sum(expected(drawn(random.Random(seed))) is None for seed in range(count))
    print("\n".join(differing[:10]))
    print(f"{count} configurations, {refused} that contradict themselves, {len(differing)} differences")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000))
