"""Whether every rank of a job holds the same plan and settings, before the first token shows that one does not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from confbag.backends.bind.torch_import import import_torch
from confbag.errors import AgreementError

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Member, Plan


def agree(plan: Plan, group: Any = None) -> None:
    """Return when every rank of the group holds the same plan; raise AgreementError on every rank when one does not.

    A collective: every rank of the group calls it, also one whose plan has faults. group: a torch.distributed process
    group, None is the default one. The error names the ranks and the first binding that differs, else the first
    setting or variable. Values that were opted out of the fingerprint (the rank's own device index) may differ.
    """
    dist = import_torch().distributed
    if not (dist.is_available() and dist.is_initialized()):
        raise AgreementError(
            "torch.distributed is not initialised; call torch.distributed.init_process_group before agree"
        )
    rank = dist.get_rank()
    if dist.get_rank(group) < 0:
        raise AgreementError(f"rank {rank} is not a member of the group that agree was given")
    fingerprints = _gather(dist, group, (rank, plan.fingerprint()))
    if len(set(fingerprints.values())) == 1 and None not in fingerprints.values():
        return
    # Every rank has seen the same fingerprints, so every rank takes this second round.
    raise AgreementError(explain(_gather(dist, group, (rank, portrait(plan)))))


def portrait(plan: Plan) -> dict[str, str]:
    """What a plan decided, a line each: bindings in the plan's order, then settings, then variables; or its faults."""
    if plan.faults:
        return {"the plan": f"no plan: {'; '.join(str(fault) for fault in plan.faults)}"}
    lines: dict[str, str] = {}
    for binding in plan.bindings:
        lines[binding.slot] = ", ".join(map(_told, binding.members)) or "not used"
    lines.update(_settings(plan))
    lines.update({f"env {name}": value for name, value in sorted(plan.environment.items())})
    return lines


def _told(member: Member) -> str:
    row = member.implementation
    schemas = [native.schema for native in row.requires.native_ops]
    most = None if member.most is None else f"up to {member.most}"
    what = filter(None, [most, row.variant, row.target_name, f"schemas {_digest(schemas)}" if schemas else None])
    return f"{row.provider} ({', '.join(what) or 'declared only'})"


def _settings(plan: Plan) -> Mapping[str, str]:
    from confbag.schema.leaves import leaves

    shown = leaves(plan.bag.schema)
    values = plan.bag.values()
    return {key: repr(values[key]) for key in sorted(values) if shown[key].fingerprint and not shown[key].secret}


def explain(portraits: Mapping[int, Mapping[str, str]]) -> str:
    """The first thing in which the ranks' portraits differ, with the ranks that hold each version of it."""
    faulty = {rank: lines["the plan"] for rank, lines in portraits.items() if "the plan" in lines}
    if faulty:
        said = "; ".join(f"{ranks}: {text}" for text, ranks in _by_version(faulty).items())
        return f"the ranks do not hold the same plan: {said}"
    names = list(dict.fromkeys(name for lines in portraits.values() for name in lines))
    for name in names:
        versions = _by_version({rank: lines.get(name, "absent") for rank, lines in portraits.items()})
        if len(versions) > 1:
            said = "; ".join(f"{ranks}: {text}" for text, ranks in versions.items())
            return f"the ranks do not hold the same plan: {name}: {said}. Start every rank from the same configuration"
    groups = "; ".join(_ranks([rank]) for rank in portraits)
    return f"the ranks do not hold the same plan: their fingerprints differ, and nothing they may show does ({groups})"


def _by_version(lines: Mapping[int, str]) -> dict[str, str]:
    versions: dict[str, list[int]] = {}
    for rank, text in sorted(lines.items()):
        versions.setdefault(text, []).append(rank)
    return {text: _ranks(ranks) for text, ranks in versions.items()}


def _ranks(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:8])) + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}"


def _gather(dist: Any, group: Any, mine: tuple[int, Any]) -> dict[int, Any]:
    everyone: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(everyone, mine, group=group)
    return dict(everyone)


def _digest(schemas: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(list(schemas)).encode()).hexdigest()[:12]
