"""What a plan's page says, in order; the table, Markdown and HTML are three ways to set it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from confbag.backends.decide.library_needs import library_needs
from confbag.backends.words.rejection import Rejection, say
from confbag.errors import PlanError
from confbag.schema.leaves import Leaf, leaves
from confbag.words.text import count, printable

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding, Plan
    from confbag.bag.bag import Bag

SHORT = 12
STEPS = ("setting", "pin", "prefer", "priority", "fallback", "no rule")


class Row(NamedTuple):
    """One op and phase: what runs it and what decided."""

    slot: str
    implementation: str
    decided: str


class Against(NamedTuple):
    """One reason, and the providers that it is shown against."""

    providers: str
    reason: str


class Group(NamedTuple):
    """The phases of one op that were decided alike, and the reasons that they share."""

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
    warnings: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...]
    not_covered: tuple[str, ...]


def page(plan: Plan, *, all: bool = False) -> Page:
    """The page of a plan; with `all` every reason against every provider, else the first of each."""
    used = [binding for binding in plan.bindings if binding.used]
    return Page(
        head=tuple(_head(plan)),
        groups=tuple(_groups(used, all)),
        unused=tuple((slot(b), printable(b.skipped_because or "not used")) for b in plan.bindings if not b.used),
        faults=tuple(
            (fault_subject(fault), printable(reason(fault)), printable(fault.hint) if fault.hint else None)
            for fault in plan.faults
        ),
        filled=tuple(_filled(plan)),
        environment=tuple((printable(name), printable(value)) for name, value in sorted(plan.environment.items())),
        libraries=tuple(_libraries(plan)),
        warnings=tuple(printable(text) for text in plan.warnings),
        ignored=tuple((printable(name), printable(why)) for name, why in plan.asked.ignored.items()),
        not_covered=tuple(printable(text) for text in plan.not_covered),
    )


def settled(plan: Plan) -> Bag:
    """The resolved bag; where faults keep the plan from one, what was asked for."""
    try:
        return plan.bag
    except PlanError:
        return plan.asked


def slot(binding: Binding) -> str:
    """`op` or `op@phase`, with layers where those differ, as a pin and `why` name it."""
    return printable(binding.slot)


def provider(binding: Binding) -> str:
    """What runs it: `provider (variant)`, or that nothing does."""
    if binding.provider is None:
        return "nothing" if binding.used else "not used"
    return printable(f"{binding.provider} ({binding.variant})" if binding.variant else binding.provider)


def decided(binding: Binding) -> str:
    """What decided, in a word or two: setting, pin, a rule by its name."""
    return rule_name(binding.rule or "no rule") if binding.provider is not None else "nothing can run"


def rule_name(rule: str) -> str:
    """A rule by its name; a step of the choice, or the key that decided, as it is."""
    return printable(rule if rule in STEPS or "." in rule else f"rule {rule}")


def reason(rejection: Rejection) -> str:
    """A rejection without its hint: code, fact, what it must be, what it is, and who asked."""
    return str(replace(rejection, hint=None))


def fault_subject(fault: Rejection) -> str:
    """Whom a fault is about: the op and phase and the provider, as far as it names them."""
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

    A provider is named with its phase, `triton@decode`, where the phases or layers of the group differ about it.
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


def _groups(bindings: Sequence[Binding], all: bool) -> Iterator[Group]:
    def alike(binding: Binding) -> tuple[Any, ...]:
        return binding.op, provider(binding), binding.why, binding.assumed

    for (_, _, why, assumed), members in groupby(bindings, key=alike):
        group = list(members)
        yield Group(
            rows=tuple(Row(slot(binding), provider(binding), decided(binding)) for binding in group),
            because=printable(why) if why else None,
            assumed=tuple(printable(fact) for fact in assumed),
            against=tuple(against(group, all=all)),
        )


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
    for key, (value, rule, why) in plan.filled.items():
        yield printable(key), value_text(known[key], value), printable(f"{rule}: {why}" if why else rule)


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
