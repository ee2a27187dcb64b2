"""The facts that conditions and requirements read: the bag's values, the platform's, and what follows from both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confbag.backends.conditions import Condition
from confbag.backends.platforms.components import component_version
from confbag.backends.platforms.platform import Platform
from confbag.bag import Bag
from confbag.provenance import AUTO

PLAIN_DTYPES = ("float32", "float16", "bfloat16")

DERIVED_FROM: Mapping[str, tuple[str, ...]] = {
    "spec.active": ("spec.algorithm",),
    "spec.branches": ("spec.algorithm", "spec.topk"),
    "memory.paged_asked": ("memory.page_size",),
    "memory.kv_cache": ("memory.kv_cache_dtype", "model.dtype"),
    "model.heads_per_rank": ("model.num_heads", "parallel.tp_size"),
    "model.kv_heads_per_rank": ("model.num_kv_heads", "parallel.tp_size"),
    "model.row_widths_differ": ("model.head_dim", "model.v_head_dim"),
}
"""A fact that `gather` derives -> the settings it is derived from."""

DERIVED = frozenset({*DERIVED_FROM, "platform.device", "platform.arch", "platform.features", "phase"})
"""Every fact that is no setting, but for those with a name of the registry's, a toolkit's or a component's in them."""


def gather(
    bag: Bag, platform: Platform, named: Mapping[str, Condition], components: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Every fact of one bag on one platform, by dotted name.

    Beside the bag's own keys: `platform.device`, `.arch`, `.features`, `.toolkit.NAME`; `component.NAME` (whether it is
    installed; None when nobody knows) for the components asked about; `spec.active`, `spec.branches` (0 without
    speculation, else topk, 1 where it is unset); `memory.paged_asked` (somebody asked for pages above 1);
    `memory.kv_cache` (`model` or a dtype of its own); `model.heads_per_rank`, `model.kv_heads_per_rank`;
    `model.row_widths_differ`; and the named conditions of the registry, each true or false.
    """
    facts: dict[str, Any] = dict(bag.values())
    facts["platform.device"] = platform.device
    facts["platform.arch"] = platform.arch
    facts["platform.features"] = platform.features
    for tool, version in platform.toolkit.items():
        facts[f"platform.toolkit.{tool}"] = version
    for component in components:
        facts[f"component.{component}"] = (
            None if platform.packages is None else component_version(platform, component) is not None
        )
    active = facts["spec.algorithm"] != "none"
    facts["spec.active"] = active
    facts["spec.branches"] = (facts["spec.topk"] or 1) if active else 0
    page = facts["memory.page_size"]
    facts["memory.paged_asked"] = page != AUTO and page > 1
    facts["memory.kv_cache"] = _kv_cache(facts["memory.kv_cache_dtype"], facts["model.dtype"])
    heads = facts["model.num_heads"]
    facts["model.heads_per_rank"] = None if heads is None else heads // facts["parallel.tp_size"]
    heads = facts["model.num_kv_heads"]
    facts["model.kv_heads_per_rank"] = None if heads is None else max(1, heads // facts["parallel.tp_size"])
    widths = (facts["model.head_dim"], facts["model.v_head_dim"])
    facts["model.row_widths_differ"] = None not in widths and widths[0] != widths[1]
    for name, condition in named.items():
        facts[name] = condition.holds(facts)
    return facts


def _kv_cache(asked: str, model: str | None) -> str:
    """`model` where the cache holds the model's own dtype, else the dtype asked for."""
    if asked in (AUTO, "model") or asked == model or (model is None and asked in PLAIN_DTYPES):
        return "model"
    return asked
