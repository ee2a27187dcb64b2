"""The time of one plan, in a process that makes thousands; and how much 200 more implementations add to it.

Plans with and without them are interleaved, so that a busy machine slows both. Exit status 1 over a limit.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Sequence

import confbag.kernels
from confbag import Bag, load
from confbag.backends import Need, Plan, Platform, Registry, Requires, make_plan

MILLISECONDS = 2.0
RATIO = 2.0
MORE = 200
PLATFORMS = ("cuda:sm90", "cuda:sm100", "hip:gfx942", "npu:ascend910_93", "xpu:pvc", "cpu:x86_64")


def registry_with(more: int) -> Registry:
    """What we ship, and so many implementations more: a third of them rejected by device, a third by a fact, a third
    candidates that could run, all spread over the ops."""
    registry = Registry()
    confbag.kernels.register(registry)
    ops = itertools.cycle(list(registry.ops))
    needs = (
        Requires(device=("musa",)),
        Requires(needs=[Need("model.head_dim", 96, "head-size")]),
        Requires(components=("torch",)),
    )
    for number in range(more):
        registry.implement(next(ops), f"more_{number}", "more:run", requires=needs[number % 3], graph="always")
    registry.check()
    return registry


def bags() -> list[Bag]:
    """Bags that differ in what decides most."""
    facts = itertools.product(("mha", "mla", "dsv4"), (False, True), (None, 1), ("auto", 64))
    return [
        load(
            env={},
            overrides={
                "model.kind": kind,
                "exec.deterministic": deterministic,
                "memory.page_size": page,
                **({} if topk is None else {"spec.algorithm": "EAGLE", "spec.topk": topk}),
            },
        )
        for kind, deterministic, topk, page in facts
    ]


def seconds(bag: Bag, platform: Platform, registry: Registry) -> tuple[float, Plan]:
    """Make one plan."""
    start = time.perf_counter()
    plan = make_plan(bag, platform, registry=registry)
    return time.perf_counter() - start, plan


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--plans", type=int, default=5000)
    args = parser.parse_args(argv)
    few, many = registry_with(0), registry_with(MORE)
    asked = list(itertools.product(bags(), map(Platform.known, PLATFORMS)))
    alone: list[float] = []
    beside: list[float] = []
    for bag, platform in itertools.islice(itertools.cycle(asked), args.plans):
        took, plan = seconds(bag, platform, few)
        longer, other = seconds(bag, platform, many)
        assert [b.provider for b in plan.bindings] == [b.provider for b in other.bindings], "more of them decided"
        alone.append(took)
        beside.append(longer)
    median = statistics.median(alone) * 1000
    ratio = statistics.median(beside) / statistics.median(alone)
    rows = sum(len(few.rows(op)) for op in few.ops)
    print(
        f"{args.plans} plans over {rows} implementations of {len(few.ops)} ops: median {median:.2f} ms "
        f"(at most {MILLISECONDS:g})"
    )
    print(f"with {MORE} implementations more: {ratio:.2f} times that (at most {RATIO:g})")
    return 0 if median <= MILLISECONDS and ratio <= RATIO else 1


if __name__ == "__main__":
    raise SystemExit(main())
