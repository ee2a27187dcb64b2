"""`confbag why`: the whole story of one op or one setting, in at most a screen."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from confbag.cli.common import add_sources, emit, plan_of, registry_of, status_of, wants_colour
from confbag.errors import ConfigError, Fault

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding, Plan
    from confbag.backends.declare.registry import Registry
    from confbag.backends.declare.slots import Slot


NAMED = 40
"""So many names are listed."""


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand's arguments."""
    summary = "the whole story of one op or one setting"
    parser = subparsers.add_parser(
        "why",
        help=summary,
        description="Tell who set it, which candidates there were, what each needs and finds, and which rule decided.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "subject",
        metavar="SLOT|KEY",
        help="an op (attention), a regime of it (attention@decode), a site of one that declares sites (acme.mix/3), or "
        "a setting (exec.graph)",
    )
    add_sources(parser)


def run(args: Namespace) -> int:
    """Print the story; 2 for a name that is neither an op nor a key, 3 when nothing satisfies the plan."""
    from confbag.backends.render.story import key_story, op_story

    registry = registry_of(args)
    plan = plan_of(args, registry)
    subject: str = args.subject
    bindings = _bindings(plan, subject)
    if bindings:
        emit(op_story(plan, bindings, colour=wants_colour()))
    elif subject in registry.keys:
        emit(key_story(plan, subject, colour=wants_colour()))
    else:
        raise ConfigError([Fault("why", None, _unknown(subject, plan, registry))])
    return status_of(plan)


def _bindings(plan: Plan, subject: str) -> list[Binding]:
    """The bindings of an op, of one regime of it, and of those sites that are named."""
    from confbag.backends.declare.slots import Slot

    slot = Slot.parse(subject)
    found = [binding for binding in plan.bindings if binding.op == slot.op and _speaks_of(slot, binding.regime)]
    if slot.site is None:
        return found
    named = [binding for binding in found if binding.site == slot.site]
    return named or [
        binding
        for binding in found
        if any(
            slot.covers(binding.op, slot.regime or binding.regime, site, counted=site.isdecimal())
            for site in binding.sites or ()
        )
    ]


def _speaks_of(slot: Slot, regime: str | None) -> bool:
    """Whether a slot means a binding of this regime; None is all of a measured op, and so any of its ranges."""
    return slot.regime is None or regime is None or slot.regime == regime


def _unknown(subject: str, plan: Plan, registry: Registry) -> str:
    """What to write instead of a name that is neither an op nor a key."""
    from confbag.backends.decide.places import wrong
    from confbag.backends.declare.slots import Slot
    from confbag.schema.leaves import retired
    from confbag.words.suggest import nearest
    from confbag.words.text import listed

    if Slot.parse(subject).op in registry.ops:
        told = wrong(subject, plan.asked.values(), registry)
        if told is not None:
            return told
    replacement = retired(plan.asked.schema).get(subject)
    if replacement is not None:
        return f"{subject} is a retired key; write {replacement}"
    keys = list(registry.keys)
    within = [key for key in keys if key.startswith(f"{subject}.")]
    if within:
        return f"{subject} is a namespace; write {_or(within)}"
    ending = [key for key in keys if key.endswith(f".{subject}")]
    if ending:
        return f"no op and no key is called {subject!r}; write {_or(ending)}"
    slots = [f"{binding.op}@{binding.regime}" for binding in plan.bindings if binding.regime]
    close = nearest(subject, [*registry.ops, *slots, *keys])
    return f"no op and no key is called {subject!r}; " + (
        f"did you mean {close}?" if close else f"the ops are {listed(registry.ops)}"
    )


def _or(names: list[str]) -> str:
    *rest, last = names if len(names) <= NAMED else [*names[:NAMED], f"one of {len(names) - NAMED} more"]
    return f"{', '.join(rest)} or {last}" if rest else last
