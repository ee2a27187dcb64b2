"""What a bag may ask that this engine cannot honour: said before anything is bound or published, never ignored."""

from __future__ import annotations

from typing import Any

from confbag import Bag, ConfigError
from confbag.errors import Fault

NGRAM = "NGRAM"
DTYPES = ("float32", "float64")
WIDEST_HIDDEN = 512
KINDS = ("mha", "dsv4")
DSV4_DTYPES = ("bfloat16", "float16")
DSV4_WIDEST = 64 * 512
RING = 16
"""Rows of a ring of state of ratio 4, with speculation; half of them without."""
NEEDED_WINDOW = 8
"""A group and the one before it."""
WIDEST_VERIFY = RING - NEEDED_WINDOW + 1
"""One token more would take the ring's place of the oldest row that is needed after every guess was wrong."""

_ONE_PROCESS = "the mini engine is one process; write 1"
# key -> the values it honours and, for every other, what to write instead.
_HONOURED: dict[str, tuple[tuple[Any, ...], str]] = {
    "exec.graph": ((False,), "the mini engine captures no graph; write false"),
    "exec.compile": ((False,), "the mini engine compiles nothing; write false"),
    "model.path": ((None,), "the mini engine draws its weights from a seed and loads none; leave it out"),
    "model.revision": ((None,), "the mini engine loads no checkpoint; leave it out"),
    "model.kind": (KINDS, "the mini engine has multi-head and grouped-query attention, and dsv4; write mha or dsv4"),
    "model.encoder_decoder": ((False,), "the mini engine is a decoder; write false"),
    "model.multimodal": ((False,), "the mini engine reads bytes only; write false"),
    "parallel.tp_size": ((1,), _ONE_PROCESS),
    "parallel.pp_size": ((1,), _ONE_PROCESS),
    "parallel.dp_size": ((1,), _ONE_PROCESS),
    "parallel.ep_size": ((1,), _ONE_PROCESS),
    "parallel.num_nodes": ((1,), _ONE_PROCESS),
    "spec.topk": ((None, 1), "prompt look-up follows one branch; write 1"),
    "memory.radix_cache": ((False,), "the mini engine shares no prefixes; write false"),
    "memory.fraction_static": ((None,), "the mini engine's pool has as many pages as it is told; leave it out"),
    "disagg.mode": (("off",), "the mini engine prefills and decodes in one process; write off"),
}

_OF_KIND: dict[str, dict[str, tuple[tuple[Any, ...], str]]] = {
    "mha": {
        "model.dtype": ((None, *DTYPES), f"the mini engine computes in {' or '.join(DTYPES)}; write one of them"),
        "model.sliding_window": ((None,), "the mini engine attends to the whole context; leave it out"),
        "model.attention_sinks": ((False,), "the mini engine has no attention sinks; write false"),
    },
    "dsv4": {
        "model.dtype": (DSV4_DTYPES, f"the compressor takes {' or '.join(DSV4_DTYPES)}; write one of them"),
        "model.num_kv_heads": ((1,), "one head is key and value for all query heads; write 1"),
        "model.attention_sinks": ((True,), "the mini engine's model of this kind has them; write true"),
        "memory.state_dtype": (("float32",), "the compressor keeps its state in float32; write float32"),
    },
}


def refuse(bag: Bag) -> None:
    """Raise ConfigError with everything in a resolved bag that the engine cannot honour, naming who set it."""
    kind = bag["model.kind"]
    honoured = {**_HONOURED, **_OF_KIND.get(kind, _OF_KIND["mha"])}
    found = [_fault(bag, key, instead) for key, (values, instead) in honoured.items() if bag[key] not in values]
    found += (_dsv4_faults(bag) if kind == "dsv4" else _shape_faults(bag)) + _speculation_faults(bag)
    if bag["memory.kv_cache_dtype"] not in {"auto", "model", bag["model.dtype"] or "float32"}:
        found.append(_fault(bag, "memory.kv_cache_dtype", "the pool holds the model's own dtype; write model"))
    if found:
        raise ConfigError(found)


def _shape_faults(bag: Bag) -> list[Fault]:
    sizes = {key: bag[key] for key in ("model.num_heads", "model.num_kv_heads", "model.head_dim")}
    unknown = [key for key, value in sizes.items() if value is None]
    if unknown:
        return [_fault(bag, key, "the mini engine needs a number; write one, or name a checkpoint") for key in unknown]
    heads, kv_heads, head_dim = sizes.values()
    found = []
    if heads % kv_heads:
        found.append(
            _fault(bag, "model.num_kv_heads", f"it does not divide the {heads} query heads; write one that does")
        )
    if head_dim % 2:
        found.append(_fault(bag, "model.head_dim", "rotary positions turn pairs; write an even number"))
    if heads * head_dim > WIDEST_HIDDEN:
        reason = f"{heads} heads of {head_dim} are wider than the {WIDEST_HIDDEN} that the mini engine computes"
        found.append(_fault(bag, "model.num_heads", f"{reason}; write fewer"))
    return found


def _dsv4_faults(bag: Bag) -> list[Fault]:
    unknown = [key for key in ("model.num_heads", "model.head_dim", "model.sliding_window") if bag[key] is None]
    if unknown:
        return [_fault(bag, key, "the mini engine needs a number; write one, or name a checkpoint") for key in unknown]
    found = []
    if bag["model.head_dim"] % 4:
        found.append(_fault(bag, "model.head_dim", "half of a head turns in pairs; write a multiple of 4"))
    if bag["model.v_head_dim"] not in {None, bag["model.head_dim"]}:
        found.append(_fault(bag, "model.v_head_dim", "keys are values; write model.head_dim, or leave it out"))
    if bag["model.num_heads"] * bag["model.head_dim"] > DSV4_WIDEST:
        found.append(_fault(bag, "model.num_heads", f"heads times head_dim are above {DSV4_WIDEST}; write fewer"))
    if bag["model.sliding_window"] < NEEDED_WINDOW:
        reason = f"the compressor's state of the last {NEEDED_WINDOW - 1} tokens lies in the window"
        found.append(_fault(bag, "model.sliding_window", f"{reason}; write {NEEDED_WINDOW} or more"))
    page_size = bag["memory.page_size"]
    if page_size != "auto" and page_size % RING:
        found.append(_fault(bag, "memory.page_size", f"a page holds whole rings of state; write a multiple of {RING}"))
    width = bag["spec.num_draft_tokens"]
    if bag["spec.algorithm"] != "none" and width is not None and width > WIDEST_VERIFY:
        reason = f"a ring of {RING} rows holds what is needed before a verify step of {WIDEST_VERIFY}"
        found.append(_fault(bag, "spec.num_draft_tokens", f"{reason}; write no more"))
    return found


def _speculation_faults(bag: Bag) -> list[Fault]:
    algorithm = bag["spec.algorithm"]
    if algorithm == "none":
        return []
    if algorithm.upper() != NGRAM:
        return [_fault(bag, "spec.algorithm", f"the mini engine guesses by prompt look-up; write {NGRAM} or none")]
    steps, width = bag["spec.num_steps"], bag["spec.num_draft_tokens"]
    if width is None:
        return [_fault(bag, "spec.num_draft_tokens", "the verify step needs its width; write 2 or more")]
    if width < 2:
        return [
            _fault(
                bag, "spec.num_draft_tokens", "one token is the committed one, which leaves no guess; write 2 or more"
            )
        ]
    if steps not in {None, width - 1}:
        return [
            _fault(bag, "spec.num_steps", f"{width} draft tokens are {width - 1} steps; write that, or leave it out")
        ]
    draft, verifying = "exec.attention.draft", f"exec.attention.{bag['spec.attention_mode']}"
    if bag[draft] != bag[verifying]:
        reason = f"prompt look-up has no draft model, and its guesses are verified by {verifying}, {bag[verifying]}"
        return [_fault(bag, draft, f"{reason}; leave it out")]
    return []


def _fault(bag: Bag, key: str, instead: str) -> Fault:
    return Fault(bag.origin(key), key, f"is {bag[key]!r}; {instead}")
