"""`confbag why`: the whole story of one op or one setting, in at most a screen."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from confbag.cli.common import add_sources, emit, plan_of, status_of, wants_colour
from confbag.errors import ConfigError, Fault

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding, Plan
    from confbag.backends.declare.registry import Registry


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
        metavar="OP[@PHASE]|KEY",
        help="an op (attention, attention@decode), a layer of one that declares layers (acme.mix/3), or a setting "
        "(exec.graph)",
    )
    add_sources(parser)


def run(args: Namespace) -> int:
    """Print the story; 2 for a name that is neither an op nor a key, 3 when nothing satisfies the plan."""
    from confbag.backends.declare.plugins import installed
    from confbag.backends.render.story import key_story, op_story

    registry = installed()
    plan = plan_of(args, registry)
    subject: str = args.subject
    bindings = _bindings(plan, subject)
    if bindings:
        emit(op_story(plan, bindings, colour=wants_colour()))
    elif subject in plan.asked.values():
        emit(key_story(plan, subject, colour=wants_colour()))
    else:
        raise ConfigError([Fault("why", None, _unknown(subject, plan, registry))])
    return status_of(plan)


def _bindings(plan: Plan, subject: str) -> list[Binding]:
    """The bindings of an op, of one phase of it, and of those layers that are named."""
    from confbag.backends.declare.slots import Slot

    slot = Slot.parse(subject)
    found = [binding for binding in plan.bindings if binding.op == slot.op and slot.phase in (None, binding.phase)]
    if slot.layers is None:
        return found
    named = [binding for binding in found if binding.part == slot.layers]
    return named or [
        binding
        for binding in found
        if any(
            slot.covers(binding.op, binding.phase, layer, counted=layer.isdecimal()) for layer in binding.layers or ()
        )
    ]


def _unknown(subject: str, plan: Plan, registry: Registry) -> str:
    """What to write instead of a name that is neither an op nor a key."""
    from confbag.backends.decide.places import wrong
    from confbag.schema.leaves import retired
    from confbag.words.suggest import nearest

    op, _, phase = subject.partition("@")
    op, slash, _ = op.partition("/")
    if op in registry.ops:
        told = wrong(subject, plan.asked.values(), registry) if slash or "/" in phase else None
        if told is not None:
            return told
        slots = [f"{op}@{known}" for known in registry.ops[op].phases]
        return f"{op} has no phase {phase!r}; write {_or(slots or [op])}"
    replacement = retired(plan.asked.schema).get(subject)
    if replacement is not None:
        return f"{subject} is a retired key; write {replacement}"
    keys = list(plan.asked.values())
    within = [key for key in keys if key.startswith(f"{subject}.")]
    if within:
        return f"{subject} is a namespace; write {_or(within)}"
    ending = [key for key in keys if key.endswith(f".{subject}")]
    if ending:
        return f"no op and no key is called {subject!r}; write {_or(ending)}"
    slots = [f"{binding.op}@{binding.phase}" for binding in plan.bindings if binding.phase]
    close = nearest(subject, [*registry.ops, *slots, *keys])
    return f"no op and no key is called {subject!r}; " + (
        f"did you mean {close}?" if close else f"the ops are {', '.join(registry.ops)}"
    )


def _or(names: Iterable[str]) -> str:
    *rest, last = names
    return f"{', '.join(rest)} or {last}" if rest else last
