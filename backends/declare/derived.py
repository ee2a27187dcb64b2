"""Facts that follow from others: those made of settings, in one table, and conditions that have a name, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any, NamedTuple

from confbag.backends.words.conditions import Condition
from confbag.errors import RegistrationError
from confbag.words.provenance import AUTO

PLAIN_DTYPES = ("float32", "float16", "bfloat16")


class Derived(NamedTuple):
    """A fact that no source sets. keys: the settings that it is made of, in the order that `make` takes them. blamed:
    the one whose source an error names."""

    keys: tuple[str, ...]
    blamed: str
    make: Callable[..., Any]


def _branches(algorithm: str, topk: int | None) -> int:
    return 0 if algorithm == "none" else topk or 1


def _paged_asked(page_size: Any) -> bool:
    return bool(page_size != AUTO and page_size > 1)


def _kv_cache(asked: str, model: str | None) -> str:
    own = asked in (AUTO, "model") or asked == model or (model is None and asked in PLAIN_DTYPES)
    return "model" if own else asked


def _heads_per_rank(heads: int | None, ranks: int) -> int | None:
    return None if heads is None else heads // ranks


def _kv_heads_per_rank(heads: int | None, ranks: int) -> int | None:
    return None if heads is None else max(1, heads // ranks)


def _row_widths_differ(key: int | None, value: int | None) -> bool:
    return key is not None and value is not None and key != value


DERIVED: Mapping[str, Derived] = MappingProxyType(
    {
        "spec.active": Derived(("spec.algorithm",), "spec.algorithm", lambda algorithm: algorithm != "none"),
        "spec.branches": Derived(("spec.algorithm", "spec.topk"), "spec.topk", _branches),
        "memory.paged_asked": Derived(("memory.page_size",), "memory.page_size", _paged_asked),
        "memory.kv_cache": Derived(("memory.kv_cache_dtype", "model.dtype"), "memory.kv_cache_dtype", _kv_cache),
        "model.heads_per_rank": Derived(("model.num_heads", "parallel.tp_size"), "parallel.tp_size", _heads_per_rank),
        "model.kv_heads_per_rank": Derived(
            ("model.num_kv_heads", "parallel.tp_size"), "parallel.tp_size", _kv_heads_per_rank
        ),
        "model.row_widths_differ": Derived(
            ("model.head_dim", "model.v_head_dim"), "model.head_dim", _row_widths_differ
        ),
    }
)
"""By name. spec.branches: draft branches, 0 without speculation, 1 where topk is unset. memory.paged_asked: somebody
asked for pages above 1. memory.kv_cache: `model` where the cache holds the model's own dtype, else the dtype."""

PLATFORM_FACTS = frozenset({"platform.device", "platform.arch", "platform.features"})
"""What is read of every platform; beside it `platform.toolkit.NAME` and `component.NAME`."""


def made_of(fact: str) -> tuple[str, ...]:
    """The settings that a derived fact is made of; any other fact is its own."""
    derived = DERIVED.get(fact)
    return (fact,) if derived is None else derived.keys


def in_order(named: Mapping[str, Condition]) -> tuple[str, ...]:
    """The names of conditions, each after those that it reads. RegistrationError for a circle of them."""
    read = {name: sorted(named.keys() & set(condition.facts_named())) for name, condition in sorted(named.items())}
    try:
        return tuple(TopologicalSorter(read).static_order())
    except CycleError as error:
        circle = sorted(set(error.args[1]))
        told = f"{' and '.join(circle)} read each other" if len(circle) > 1 else f"{circle[0]} reads itself"
        raise RegistrationError(f"facts that never end: {told}; let one read other facts") from None
