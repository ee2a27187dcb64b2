"""Bind: native libraries loaded, schemas verified, plain functions out; or one error that holds every fault."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from confbag.backends.bind import _torch_compat, environment, library_loading, native
from confbag.backends.bind.bound import Absent, NotBoundError, Ops, assemble, by_site
from confbag.backends.bind.library_loading import torch_fault
from confbag.backends.bind.targets import SIGNATURE, resolve
from confbag.backends.bind.torch_import import import_torch
from confbag.backends.platforms.evidence import Evidence
from confbag.backends.platforms.probe import software
from confbag.backends.words.place import Parts
from confbag.backends.words.rejection import Rejection
from confbag.errors import BindError, ConfigError, DeclaredOnlyError, Fault, RegistrationError, SignatureError
from confbag.words.given import wrong_type
from confbag.words.suggest import SUGGESTED, nearest
from confbag.words.text import capped, count, listed

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding, Plan
    from confbag.backends.declare.implementation import Implementation


class BindWarning(UserWarning):
    """Something bound that could not be verified, or that will not do all that the configuration asks."""


class _SignatureBindError(BindError, SignatureError):
    """A bind error with a signature among its faults: a caller may catch it as either."""


def bind(plan: Plan, ops: Iterable[str] | None = None, set_environment: bool = True) -> Ops:
    """The implementations that the plan chose, as attributes of one object and by slot: `ops.last_loc`,
    `ops.attention_decode`, `ops["moe.experts", "mlp.3"]`.

    ops: the ops to bind, as `op` or `op@regime`; None binds every op of the plan that has a target, and leaves a
        declared-only provider to its engine.
    set_environment: set the variables that the plan needs and that are unset, and keep them when bind succeeds. With
        False nothing is set, and one that is unset is a fault like one that differs: whoever says False has set them
        before.

    Raises PlanError when the plan has faults, ConfigError for an unknown op, NotBoundError for an op that the plan
    does not use, DeclaredOnlyError when `ops` names a declared-only provider, RegistrationError when two bound ops
    have one last name, and BindError with every fault of every op. After an error the environment is as it was, and a
    library that was loaded stays loaded. Warns with BindWarning where this torch cannot verify a schema, and where
    exec.compile is on and an op cannot be traced.
    """
    plan.raise_for_faults()
    chosen = _chosen(plan, None if ops is None else _slots_of(ops))
    names = _names(plan, chosen)
    faults = environment.conflicts(plan.environment, os.environ, _wanted(plan), unset_too=not set_environment)
    with environment.applied(plan.environment) if set_environment and not faults else nullcontext():
        functions: dict[Implementation, Callable[..., Any]] = {}
        if not faults:
            functions, faults = _functions(plan, names)
        if faults:
            text = f"{count(len(faults), 'fault')} while binding; nothing is bound:\n{_listed(faults)}"
            signature = any(fault.field.startswith(SIGNATURE) for fault in faults)
            raise (_SignatureBindError if signature else BindError)(text, faults)
    attributes = {name: _attribute(plan, held, functions) for name, held in names.items()}
    return assemble(attributes, dict(_slots(plan, names, functions)), names, _absent(plan, names))


def attribute(op: str, regime: str | None) -> str:
    """The attribute that an op is bound as: its last name, and its phase; ranges are one chain under the last name."""
    last = op.rpartition(".")[2]
    return last if regime is None else f"{last}_{regime}"


def _attribute_of(plan: Plan, binding: Binding) -> str:
    measured = plan.registry.ops[binding.op].measure is not None
    return attribute(binding.op, None if measured else binding.regime)


def _wanted(plan: Plan) -> dict[str, str]:
    """Which rule wants each variable."""
    return {
        name: f"rule {fill.name}"
        for fill in plan.registry.fills
        for name, value in fill.environment.items()
        if plan.environment.get(name) == value
    }


def _slots_of(ops: Any) -> list[str]:
    """The slots that bind was told, each a text; TypeError for anything else."""
    slots = [ops] if isinstance(ops, str) or not isinstance(ops, Iterable) else list(ops)
    for slot in slots:
        if not isinstance(slot, str):
            raise wrong_type("bind(ops=...)", "names of slots", slot, "ops=['attention@decode'], as plan.bindings have")
    return slots


def _chosen(plan: Plan, wanted: Sequence[str] | None) -> list[Binding]:
    usable = [binding for binding in plan.bindings if binding.members]
    if wanted is None:
        ours = {_place(binding) for binding in usable if not _declared_only(binding)}
        return [binding for binding in usable if _place(binding) in ours and not _siteless(plan, binding)]
    known = list(dict.fromkeys(name for each in plan.bindings for name in (each.op, _place(each))))
    places = {name: name.partition("/")[0] for name in wanted}  # of an op with sites all are bound, or none
    unknown = [name for name, place in places.items() if place not in known]
    if unknown:
        faults = (Fault("bind(ops=...)", name, _unknown(name, known)) for name in unknown)
        raise ConfigError(capped(faults, lambda more: Fault("bind(ops=...)", None, f"and {more} more"), SUGGESTED))
    for name, place in places.items():
        named = [binding for binding in plan.bindings if place in (binding.op, _place(binding))]
        if not any(binding in usable for binding in named):
            raise NotBoundError(f"{name}: {_unused(named[0])}; leave it out of ops")
    picked = [binding for binding in usable if {binding.op, _place(binding)} & set(places.values())]
    for binding in picked:
        if _declared_only(binding):
            raise DeclaredOnlyError(_left_to_engine(binding))
        if _siteless(plan, binding):
            raise NotBoundError(_no_sites(plan, binding))
    return picked


def _names(plan: Plan, chosen: Iterable[Binding]) -> dict[str, tuple[Binding, ...]]:
    """Attribute -> the bindings that it holds: one, or the parts of an op's sites and ranges."""
    names: dict[str, tuple[Binding, ...]] = {}
    for binding in chosen:
        name = _attribute_of(plan, binding)
        others = names.get(name, ())
        measured = plan.registry.ops[binding.op].measure is not None
        if others and not (others[0].op == binding.op and (measured or others[0].regime == binding.regime)):
            raise RegistrationError(
                f"{others[0].slot} and {binding.slot} would both be ops.{name}; bind one of them by name with ops=[...]"
            )
        names[name] = (*others, binding)
    return names


def _place(binding: Binding) -> str:
    """The binding's slot without sites."""
    return binding.slot.partition("/")[0]


def _siteless(plan: Plan, binding: Binding) -> bool:
    """Whether nobody knows the sites of an op that declares them."""
    return binding.sites is None and plan.registry.ops[binding.op].sites is not None


def _no_sites(plan: Plan, binding: Binding) -> str:
    return f"{plan.registry.ops[binding.op].sites} is unknown, so {binding.slot} has no sites to bind; set it"


def _functions(
    plan: Plan, names: Mapping[str, tuple[Binding, ...]]
) -> tuple[dict[Implementation, Callable[..., Any]], list[Rejection]]:
    """Every implementation's function, or all faults: libraries, then targets, which may register ops, then schemas."""
    functions: dict[Implementation, Callable[..., Any]] = {}
    faults: list[Rejection] = []
    users: dict[Implementation, list[Binding]] = {}
    for binding in (each for held in names.values() for each in held):
        for row in (member.implementation for member in binding.members):
            if row.declared_only:  # beside sites or bounds that are ours
                functions[row] = _refusing(_left_to_engine(binding))
            elif binding not in users.setdefault(row, []):
                users[row].append(binding)
    for one, used in zip(bind_rows(plan, list(users)), users.values(), strict=True):
        row = one.implementation
        if one.function is not None:
            functions[row] = one.function
        for note in one.notes:
            _warn(f"{row.op} ({row.name}): {note}")
        regime = used[0].regime if len(used) == 1 else None
        faults += [replace(fault, provider=row.provider, op=row.op, regime=regime) for fault in one.faults]
    return ({}, faults) if faults else (functions, [])


def _attribute(plan: Plan, held: Sequence[Binding], functions: Mapping[Implementation, Callable[..., Any]]) -> Any:
    """What an attribute holds: a function, or a chain of them; of an op with sites one for each."""
    measured = plan.registry.ops[held[0].op].measure is not None
    if held[0].sites is None:
        return _value(held, functions, measured=measured, alone=True)
    sites = [site for binding in held for site in binding.sites or ()]
    return by_site(
        {
            site: _value(
                [each for each in held if site in (each.sites or ())], functions, measured=measured, alone=False
            )
            for site in sites
        }
    )


def _value(
    held: Sequence[Binding], functions: Mapping[Implementation, Callable[..., Any]], *, measured: bool, alone: bool
) -> Any:
    """The function of one place, or of a measured op its chain. alone: a chain of one is its function."""
    members = [member for binding in held for member in binding.members]
    if not measured:
        return functions[members[0].implementation]
    chain: list[tuple[int | None, Callable[..., Any]]] = []
    for member in members:
        function = functions[member.implementation]
        if chain and chain[-1][1] is function:
            chain.pop()
        chain.append((member.most, function))
    return chain[0][1] if alone and len(chain) == 1 else tuple(chain)


def _slots(
    plan: Plan, names: Mapping[str, tuple[Binding, ...]], functions: Mapping[Implementation, Callable[..., Any]]
) -> Iterator[tuple[Parts, Any]]:
    """Every slot by op, site and regime; a measured op also as a whole, its ranges one chain."""
    for held in names.values():
        measured = plan.registry.ops[held[0].op].measure is not None
        for site in dict.fromkeys(site for binding in held for site in binding.sites or (None,)):
            here = [binding for binding in held if site is None or site in (binding.sites or ())]
            for binding in here:
                yield (binding.op, site, binding.regime), _value([binding], functions, measured=measured, alone=False)
            if measured:
                yield (held[0].op, site, None), _value(here, functions, measured=True, alone=False)


@dataclass(frozen=True)
class BoundRow:
    """What became of one implementation: its function, or every fault. notes: what bind warns of. unverified: the
    native ops whose schema this torch cannot verify."""

    implementation: Implementation
    function: Callable[..., Any] | None
    faults: tuple[Rejection, ...] = ()
    notes: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()


def bind_rows(plan: Plan, rows: Sequence[Implementation]) -> list[BoundRow]:
    """Each implementation with its libraries loaded, its target resolved and its schemas verified; it has a target."""
    failed = _prepare(plan, rows)
    made = []
    for row in rows:
        function = failed.get(row) or resolve(plan.registry.ops[row.op], row)
        if isinstance(function, Rejection):
            made.append(BoundRow(row, None, (function,)))
            continue
        faults, notes, unverified = _verify(plan, row)
        made.append(BoundRow(row, function, tuple(faults), notes, unverified))
    return made


def _refusing(message: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise DeclaredOnlyError(message)

    return refuse


def _prepare(plan: Plan, rows: Sequence[Implementation]) -> dict[Implementation, Rejection]:
    """Import torch and load libraries for the rows that need them; why a row cannot have its."""
    native_rows = [row for row in rows if row.requires.native_ops]
    # A target's own `import torch` fails beyond recovery where an extension lacks its libraries; import_torch does not.
    broken = "torch" not in sys.modules and bool(software(Evidence.here()).missing)
    fault = torch_fault() if native_rows or broken else None
    if fault is not None:
        return dict.fromkeys(native_rows, fault)
    needed: dict[str, list[str]] = {}
    for row in native_rows:
        if row.requires.library is not None:
            needed.setdefault(row.requires.library, []).extend(op.name for op in row.requires.native_ops)
    loaded = {name: library_loading.ensure(plan.registry.libraries[name], ops) for name, ops in needed.items()}
    failed = {row: loaded.get(row.requires.library or "") for row in native_rows}
    return {row: rejection for row, rejection in failed.items() if rejection is not None}


def _verify(plan: Plan, implementation: Implementation) -> tuple[list[Rejection], tuple[str, ...], tuple[str, ...]]:
    """What is wrong with its native ops, what to note of them, and the names of those that this torch cannot verify."""
    requires = implementation.requires
    if not requires.native_ops:
        return [], (), ()
    torch = import_torch()
    found, notes, unverified = [], [], []
    for op in requires.native_ops:
        try:
            rejection = native.verify(torch, op, plan.platform.device, requires.library)
            if rejection is not None:
                found.append(rejection)
            elif plan.bag["exec.compile"] and not native.traceable(torch, op):
                notes.append(f"{op.name} has no Meta kernel, so torch.compile cannot trace it")
        except _torch_compat.NotVerifiable as error:
            notes.append(f"{op.name}: schema not verified; this torch lacks {error}")
            unverified.append(op.name)
    return found, tuple(notes), tuple(unverified)


def _absent(plan: Plan, names: Mapping[str, tuple[Binding, ...]]) -> dict[str, Absent]:
    """The attributes that raise, with what they say: declared only, not used, left out, or a name without its phase."""
    absent: dict[str, Absent] = {}
    for binding in plan.bindings:
        name, last = _attribute_of(plan, binding), attribute(binding.op, None)
        if not binding.members:
            said = Absent(NotBoundError, f"ops.{name}: {_unused(binding)}")
        elif _declared_only(binding):
            said = Absent(DeclaredOnlyError, f"ops.{name}: {_left_to_engine(binding)}")
        elif _siteless(plan, binding):
            said = Absent(NotBoundError, f"ops.{name}: {_no_sites(plan, binding)}")
        else:
            said = Absent(NotBoundError, f"ops.{name}: {binding.slot} is not among the ops that bind was given")
        if name not in names:
            absent.setdefault(name, said)
        if last not in names and last != name:
            slots = [f"ops.{_attribute_of(plan, each)}" for each in plan.bindings if each.op == binding.op]
            whole = DeclaredOnlyError if binding.used and _declared_only(binding) else NotBoundError
            absent.setdefault(last, Absent(whole, f"ops.{last}: {binding.op} has phases; write {', '.join(slots)}"))
    return absent


def _declared_only(binding: Binding) -> bool:
    """Whether bind has nothing to do for it: every implementation is an engine's own class."""
    return bool(binding.members) and all(member.implementation.declared_only for member in binding.members)


def _left_to_engine(binding: Binding) -> str:
    row = next(member.implementation for member in binding.members if member.implementation.declared_only)
    return f"{binding.slot} is {row.provider}, which is declared only: {row.engine} constructs its own class for it"


def _unused(binding: Binding) -> str:
    if binding.used:
        return f"nothing can run {binding.slot} here"
    return f"{binding.slot} is not used by this plan" + (
        f" ({binding.skipped_because})" if binding.skipped_because else ""
    )


def _unknown(name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    return f"unknown op; {f'did you mean {near}?' if near else 'the plan has ' + listed(known)}"


def _listed(faults: Iterable[Rejection]) -> str:
    lines = []
    for fault in faults:
        whose = f"{fault.slot or 'plan'} ({fault.provider})" if fault.provider else fault.slot or "plan"
        lines.append(f"  {whose}: {fault}")
    return "\n".join(lines)


def _warn(message: str) -> None:
    warnings.warn(message, BindWarning, stacklevel=2)
