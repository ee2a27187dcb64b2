"""What a plan's page says, in order; the table, Markdown and HTML are three ways to set it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from confbag.backends.decide.library_needs import library_needs
from confbag.backends.words.rejection import Rejection, say
from confbag.errors import PlanError
from confbag.schema.identity import OURS, name_of
from confbag.schema.leaves import Leaf, leaves
from confbag.words.text import amount, capped, count, printable

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding, Member, Plan
    from confbag.bag.bag import Bag

SHORT = 12


class Row(NamedTuple):
    """One slot, or one member of a chain that it runs, the slot named before the first: what runs it and what
    decided."""

    slot: str
    implementation: str
    decided: str


class Against(NamedTuple):
    """One reason, and the providers that it is shown against."""

    providers: str
    reason: str


class Group(NamedTuple):
    """The slots of one op that were decided alike, and the reasons that they share."""

    rows: tuple[Row, ...]
    because: str | None
    assumed: tuple[str, ...]
    against: tuple[Against, ...]


class Page(NamedTuple):
    """Everything that a reader of a plan is told. Texts are whole sentences or names, never padded or wrapped."""

    head: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]
    unused: tuple[tuple[str, str], ...]
    faults: tuple[tuple[str, str, str | None], ...]
    filled: tuple[tuple[str, str, str], ...]
    environment: tuple[tuple[str, str], ...]
    libraries: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    not_arranged: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...]
    not_covered: tuple[str, ...]


def slots(group: Group) -> str:
    """The slots of a group."""
    return ", ".join(row.slot for row in group.rows if row.slot)


def page(plan: Plan, *, all: bool = False) -> Page:
    """The page of a plan; with `all` every reason against every provider, else the first of each."""
    used = [binding for binding in plan.bindings if binding.used]
    return Page(
        head=tuple(_head(plan)),
        groups=tuple(_groups(plan, used, all)),
        unused=tuple((slot(b), printable(b.skipped_because or "not used")) for b in plan.bindings if not b.used),
        faults=tuple(
            (fault_subject(fault), printable(reason(fault)), printable(fault.hint) if fault.hint else None)
            for fault in plan.faults
        ),
        filled=tuple(_filled(plan)),
        environment=tuple((printable(name), printable(value)) for name, value in sorted(plan.environment.items())),
        libraries=tuple(_libraries(plan)),
        notes=tuple(printable(text) for text in plan.notes),
        not_arranged=tuple((printable(name), printable(why)) for name, why in plan.not_arranged),
        warnings=tuple(printable(text) for text in plan.warnings),
        ignored=tuple(_ignored(plan)),
        not_covered=tuple(printable(text) for text in plan.not_covered),
    )


def _ignored(plan: Plan) -> Iterator[tuple[str, str]]:
    told = ((printable(name), printable(why)) for name, why in plan.asked.ignored.items())
    return capped(told, lambda more: (f"and {more} more", "--format json lists them"))


def settled(plan: Plan) -> Bag:
    """The resolved bag; where faults keep the plan from one, what was asked for."""
    try:
        return plan.bag
    except PlanError:
        return plan.asked


def slot(binding: Binding) -> str:
    """`op` or `op@regime`, with sites where those differ, as a pin and `why` name it."""
    return printable(binding.slot)


def runs(member: Member) -> str:
    """What runs: `provider (variant)`."""
    return printable(member.implementation.name)


def bound(plan: Plan, op: str, member: Member) -> str | None:
    """So much of the op's measure at most, in words; None without bound."""
    measure = plan.registry.ops[op].measure
    return None if member.most is None or measure is None else f"up to {printable(amount(member.most, measure))}"


def provider(plan: Plan, binding: Binding) -> str:
    """What runs it: `provider (variant)`, a chain of them, or that nothing does."""
    if not binding.members:
        return "nothing" if binding.used else "not used"
    if len(binding.members) == 1:
        return runs(binding.members[0])
    bounds = [bound(plan, binding.op, member) for member in binding.members]
    parts = (runs(member) + (f" {most}" if most else "") for member, most in zip(binding.members, bounds, strict=True))
    return ", then ".join(parts)


def decided(binding: Binding) -> str:
    """What decided, in a word or two: setting, pin, a rule by its name."""
    return printable(", ".join(dict.fromkeys(str(each.decider) for each in binding.members)) or "nothing can run")


def reason(rejection: Rejection) -> str:
    """A rejection without its hint: code, fact, what it must be, what it is, and who asked."""
    return str(replace(rejection, hint=None))


def fault_subject(fault: Rejection) -> str:
    """Whom a fault is about: the slot and the provider, as far as it names them."""
    return printable(" ".join(part for part in (fault.slot, fault.provider) if part) or "the plan")


def platform_line(plan: Plan) -> str:
    """The machine in one line: name, count, tool versions, and which facts nobody measured."""
    platform = plan.platform
    name = platform.name
    kind = " ".join(part for part in (platform.device, platform.arch) if part)
    parts = [name if kind.replace(" ", ":") == name else f"{name} ({kind})"]
    if platform.count is not None:
        parts.append(count(platform.count, "device"))
    parts += [f"{tool} {version}" for tool, version in sorted(platform.toolkit.items())]
    if platform.assumed:
        kinds = dict.fromkeys(fact.partition(".")[0] for fact in sorted(platform.assumed))
        parts.append(f"assumed: {', '.join(kinds)}")
    return printable(", ".join(parts))


def config_line(bag: Bag) -> str:
    """Which sources set anything, lowest first."""
    return printable(", ".join(bag.sources()) or "defaults only")


def against(group: Sequence[Binding], *, all: bool = False) -> Iterator[Against]:
    """The first reason of every other provider, those that share one together; with `all` every reason, one by one.

    A provider is named with its regime, `triton@decode`, where the regimes or sites of the group differ about it.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for binding in group:
        for rejection in binding.rejected if all else binding.first_rejections():
            found.setdefault((printable(rejection.provider or "-"), printable(reason(rejection))), []).append(
                printable(binding.slot.removeprefix(binding.op))
            )
    shared: dict[str, list[str]] = {}
    for (name, why), places in found.items():
        names = [name] if len(places) >= len(group) else [f"{name}{place}" for place in places]
        if all:
            yield Against(", ".join(names), why)
        else:
            shared.setdefault(why, []).extend(names)
    for why, names in shared.items():
        yield Against(", ".join(names), why)


def _head(plan: Plan) -> Iterator[tuple[str, str]]:
    fingerprint = plan.fingerprint()
    yield "plan", fingerprint[:SHORT] if fingerprint else f"none: {count(len(plan.faults), 'fault')}"
    yield "platform", platform_line(plan)
    yield "config", config_line(plan.asked)
    schema = name_of(plan.asked.schema)
    if schema != OURS:
        yield "schema", schema


def _groups(plan: Plan, bindings: Sequence[Binding], all: bool) -> Iterator[Group]:
    def alike(binding: Binding) -> tuple[Any, ...]:
        # A range is bounded by itself, so that two that run the same differ in bounds alone.
        said = [(runs(each), each.why, each.assumed) for each in binding.members]
        return binding.op, said, binding.why

    for _, members in groupby(bindings, key=alike):
        group = list(members)
        yield Group(
            rows=tuple(row for binding in group for row in _rows(plan, binding)),
            because=because(plan, group[0]),
            assumed=tuple(printable(fact) for fact in group[0].assumed),
            against=tuple(against(group, all=all)),
        )


def _rows(plan: Plan, binding: Binding) -> Iterator[Row]:
    if not binding.members:
        yield Row(slot(binding), "nothing", "nothing can run")
    for number, member in enumerate(binding.members):
        most = bound(plan, binding.op, member)
        name = f"{most}: {runs(member)}" if most else f"beyond: {runs(member)}" if number else runs(member)
        yield Row("" if number else slot(binding), name, printable(str(member.decider)))


def because(plan: Plan, binding: Binding) -> str | None:
    """Why it runs what it runs; of a chain why each of its members."""
    whys = dict.fromkeys(member.why for member in binding.members if member.why)
    if not binding.members:
        return printable(binding.why) if binding.why else None
    if len(whys) <= 1:
        return printable(next(iter(whys))) if whys else None
    parts = ((bound(plan, binding.op, each) or "beyond", each.why) for each in binding.members)
    return printable("; ".join(f"{most}: {why}" for most, why in parts))


def _libraries(plan: Plan) -> Iterator[tuple[str, str]]:
    """Each library with the version that it takes and where it is looked for, then the ops that need it."""
    for need in library_needs(plan):
        version = need.version
        yield (
            printable(need.library.name),
            printable(f"{version}; {need.library.where}" if version else need.library.where),
        )
        for one in need.needed:
            yield printable(one.op), printable(f"{one.native.schema}, with a {one.key} kernel")


def _filled(plan: Plan) -> Iterator[tuple[str, str, str]]:
    known = leaves(plan.asked.schema)
    for key, by in plan.filled.items():
        yield printable(key), value_text(known[key], by.value), printable(f"{by.rule}: {by.why}" if by.why else by.rule)


def value_text(leaf: Leaf, value: Any) -> str:
    """A setting's value as YAML would write it; a secret as ***."""
    return data_text(leaf.written(value))


def data_text(value: Any) -> str:
    """Plain data as YAML would write it."""
    return printable(_yaml(value))


def _yaml(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    return say(value)
