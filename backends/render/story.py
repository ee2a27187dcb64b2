"""The whole story of one decision in at most a screen: who set it, which candidates there were, which rule decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from confbag.backends.decide.judge import subject
from confbag.backends.render import terminal
from confbag.backends.render.page import (
    Against,
    against,
    because,
    bound,
    decided,
    fault_subject,
    platform_line,
    provider,
    reason,
    settled,
    slot,
    value_text,
)
from confbag.backends.render.terminal import (
    BOLD,
    Lines,
    Text,
    labelled,
    text_of,
)
from confbag.backends.words.rejection import say
from confbag.schema.leaves import leaves
from confbag.words.provenance import Layer, Setting
from confbag.words.text import capped, listed, printable

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding, Plan
    from confbag.backends.declare.choices import Choice
    from confbag.backends.words.rejection import Rejection
    from confbag.bag.bag import Bag

LABEL = 11
VALUES = 20
"""So many values of a setting are told one by one."""
_SAID_ALONE = ("package-missing", "known-issue", "pinned-away", "lower-priority")
"""Codes whose sentence says no more than one fact that must be another."""
KERNELS = ("exec.kernels.pin", "exec.kernels.reference_only", "exec.kernels.prefer", "exec.kernels.fallback")


def op_story(plan: Plan, bindings: Sequence[Binding], *, colour: bool = False) -> str:
    """Why each of these bindings of one op is what it is."""
    return text_of(_op_parts(plan, bindings), colour=colour)


def key_story(plan: Plan, key: str, *, colour: bool = False) -> str:
    """Who set a key, which rule filled it, and what it kept from being chosen."""
    return text_of(_key_parts(plan, key), colour=colour)


def chain_text(bag: Bag, key: str) -> str:
    """Every source that set a key, lowest first, each with its place: `auto (default) -> 128 (rule ascend-pages)`."""
    return " -> ".join(f"{_given(bag, setting)} ({printable(setting.origin)})" for setting in bag.chain(key))


def _given(bag: Bag, setting: Setting) -> str:
    leaf = leaves(bag.schema)[setting.key]
    return "***" if leaf.secret else value_text(leaf, setting.value)


def _op_parts(plan: Plan, bindings: Sequence[Binding]) -> Iterator[Lines | Text]:
    alike: dict[tuple[str | None, ...], list[Binding]] = {}
    for binding in bindings:
        decision = provider(plan, binding), because(plan, binding), binding.skipped_because, binding.target
        alike.setdefault(decision, []).append(binding)
    for group in alike.values():
        yield Text(f"{', '.join(slot(binding) for binding in group)}: {provider(plan, group[0])}", BOLD)
        yield labelled(_decision(plan, group), LABEL)
    yield labelled(_candidates([binding for binding in bindings if binding.used]), LABEL)
    keys = [key for binding in bindings for key in _keys(plan, binding)]
    slots = {binding.slot.partition("/")[0] for binding in bindings}
    yield labelled(_set_by(settled(plan), keys), LABEL)
    about = [("note", printable(note)) for note in plan.notes if note.partition(":")[0] in slots]
    yield labelled([*about, ("platform", platform_line(plan)), *_faults(plan, _about_op(bindings[0].op))], LABEL)


def _decision(plan: Plan, group: Sequence[Binding]) -> Iterator[tuple[str, str]]:
    binding = group[0]
    if not binding.used:
        yield "because", printable(binding.skipped_because or "the op does not apply to this configuration")
        return
    by = {decided(member): None for member in group}
    yield "decided by", ", ".join(by)
    why = because(plan, binding)
    if why:
        yield "because", why
    for number, member in enumerate(binding.members):
        row = member.implementation
        most = bound(plan, binding.op, member)
        target = row.target_name or f"declared only; {row.engine} constructs its own class"
        yield "" if number else "runs", printable(f"{most}: {target}" if most else target)
    yield from _sites(binding)
    assumed = dict.fromkeys(fact for member in group for fact in member.assumed)
    if assumed:
        yield "assumed", printable(", ".join(assumed))


def _sites(binding: Binding) -> Iterator[tuple[str, str]]:
    """The sites that a binding stands for, where they have names; of those that are counted the slot says which."""
    if binding.sites is not None and not binding.sites[0].isdecimal():
        yield "sites", printable(listed(binding.sites))


def _keys(plan: Plan, binding: Binding) -> tuple[str, ...]:
    """The settings that may name a provider of a binding, the first that is not auto wins."""
    return tuple(plan.registry.ops[binding.op].settings.get(binding.regime, ()))


def _set_by(bag: Bag, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    together: dict[str, dict[str, None]] = {}
    for key in (*keys, *(key for key in KERNELS if bag.is_set(key))):
        together.setdefault(chain_text(bag, key), {})[key] = None
    for number, (chain, alike) in enumerate(together.items()):
        yield "" if number else "settings", f"{', '.join(alike)}: {chain}"


def _candidates(group: Sequence[Binding]) -> Iterator[tuple[str, Text]]:
    """Every other provider with what it needs and what is there; those that one fact keeps out together."""
    reasons = {printable(reason(one)): one for binding in group for one in binding.first_rejections()}
    together: dict[tuple[str, ...], list[Against]] = {}
    for one in against(group):
        why = reasons[one.reason]
        fact = (one.reason,) if why.code in _SAID_ALONE else (why.code, why.field, say(why.actual), why.origin or "")
        together.setdefault(fact, []).append(one)
    for number, alike in enumerate(together.values()):
        label, why = "" if number else "candidates", reasons[alike[0].reason]
        if len(alike) == 1:
            yield label, terminal.against(*alike[0])
            continue
        wanted = "; ".join(f"{say(reasons[one.reason].required)} for {one.providers}" for one in alike)
        who = f" ({why.origin})" if why.origin else ""
        yield label, Text(printable(f"{why.code}: {why.field} is {say(why.actual)}{who}, must be {wanted}"))


def _faults(plan: Plan, concerns: Callable[[Rejection], bool]) -> Iterator[tuple[str, str]]:
    for fault in plan.faults:
        if concerns(fault):
            yield "fault", f"{fault_subject(fault)}: {printable(reason(fault))}"
            if fault.hint:
                yield "", f"-> {printable(fault.hint)}"


def _about_op(op: str) -> Callable[[Rejection], bool]:
    return lambda fault: fault.op in (op, None)


def _about_key(plan: Plan, key: str, value: Any) -> Callable[[Rejection], bool]:
    """Whether a fault is about a key: it failed itself, or the value that it has cannot run."""
    against = plan.choices.get(key, {}).get(value, ()) if isinstance(value, str) else ()
    whose = (subject(key, str(value)), None)  # None: a package that others lack too

    def concerns(fault: Rejection) -> bool:
        same = [one for one in against[:1] if (one.code, one.field) == (fault.code, fault.field)]
        return fault.field == key or (bool(same) and fault.provider in whose)

    return concerns


def _values(plan: Plan, key: str, chosen: Any) -> Iterator[tuple[str, str | Text]]:
    """Every other value of a judged setting, with what it needs and what is there: one line each."""
    known = plan.registry.choices.get(key, {})
    if chosen in known and (needs := _needs(known[chosen])):
        yield "needs", needs
    others = (value for value in plan.choices.get(key, {}) if value != chosen)
    told = (_value(plan, value, known[value], plan.choices[key][value]) for value in others)
    for number, line in enumerate(capped(told, lambda more: Text(f"and {more} more"), VALUES)):
        yield "" if number else "values", line


def _value(plan: Plan, value: str, rows: Sequence[Choice], against: Sequence[Rejection]) -> Text:
    needs = _needs(rows)
    means = next((f": {row.description}" for row in rows if row.description), "")
    packages = dict.fromkeys(f"package {name}" for row in rows for name in row.requires.components)
    if packages and (plan.platform.packages is None or "packages" in plan.platform.assumed):
        means += f" (assumed: {', '.join(packages)})"
    why = reason(against[0]) if against else f"can run{means}"
    return terminal.against(printable(f"{value} ({needs})" if needs else value), printable(why))


def _needs(rows: Sequence[Choice]) -> str:
    """The devices and packages that a value needs; of several declarations those of each."""
    told = []
    for requires in (row.requires for row in rows):
        machine = [*requires.device, *requires.arch, *requires.device_features]
        told.append(printable(", ".join((*machine, *requires.components, *requires.toolkit))))
    return " or ".join(dict.fromkeys(text for text in told if text))


def _key_parts(plan: Plan, key: str) -> Iterator[Lines | Text]:
    bag = settled(plan)
    leaf = leaves(bag.schema)[key]
    yield Text(f"{key} = {value_text(leaf, bag[key])}", BOLD)
    lines: list[tuple[str, str | Text]] = []
    if leaf.description:
        lines.append(("means", printable(leaf.description)))
    for number, setting in enumerate(bag.chain(key)):
        lines.append(("" if number else "set by", f"{_given(bag, setting)} from {printable(setting.origin)}"))
        if setting.layer is Layer.RULE and setting.why:
            lines.append(("", f"because {printable(setting.why)}"))
    named = [binding for binding in plan.bindings if binding.used and key in _keys(plan, binding)]
    first = [binding for binding in named if _keys(plan, binding)[0] == key] or named
    lines += [("" if at else "decides", f"{slot(b)}: {_outcome(plan, b)}") for at, b in enumerate(first)]
    lines += _values(plan, key, bag[key])
    faults = _faults(plan, _about_key(plan, key, bag[key]))
    yield labelled([*lines, *_candidates(first), *_kept_out(plan, key), *faults], LABEL)


def _outcome(plan: Plan, binding: Binding) -> str:
    return f"{provider(plan, binding)}, by {decided(binding)}" if binding.members else decided(binding)


def _kept_out(plan: Plan, key: str) -> Iterator[tuple[str, Text]]:
    """The providers whose first reason is this key, and what they were kept from."""
    kept: dict[tuple[str, str], list[str]] = {}
    for binding in plan.bindings:
        for rejection in binding.first_rejections() if binding.used else ():
            if rejection.field == key:
                kept.setdefault((printable(reason(rejection)), rejection.provider or "-"), []).append(slot(binding))
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (why, name), slots in kept.items():
        together.setdefault((why, tuple(slots)), []).append(printable(name))
    for number, ((why, places), names) in enumerate(together.items()):
        yield "" if number else "kept out", terminal.against(f"{', '.join(names)} of {', '.join(places)}", why)
