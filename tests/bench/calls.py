"""A call through bound ops against a direct call of the same function, in one interleaved run; and other shapes beside.

Run `python tests/bench/calls.py`: it prints nanoseconds a call and the ratio, and exits 1 where the ratio is above 1.5.

Both names are module globals, as they are in an engine. Calls are written out forty to a turn of the loop, so that
the loop does not flatter the ratio; the turns of all shapes alternate, and the fastest of each counts, because noise
only ever adds. The other shapes are what the ops object could have been: they are printed, and do not decide the exit
status.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from confbag import load
from confbag.backends import Op, Platform, Registry, make_plan

LIMIT = 1.5
TURNS = 40
LOOPS = 1_000
WRITTEN_OUT = 40


def step(x: Any) -> Any:
    """A contract."""


def plain(x: Any) -> Any:
    """The implementation: as little as a function can do, which is the hardest case for the ratio."""
    return x


class Slots:
    """The object with one slot."""

    __slots__ = ("step",)

    def __init__(self) -> None:
        self.step = plain


def bound() -> Any:
    """The ops of a plan with a bound op and a declared-only one."""
    registry = Registry()
    op = Op("bench.step", step)
    op.implement("plain", plain, priority=1)
    registry.add(op)
    other = Op("bench.attention", step)
    other.implement("theirs", None, engine="another engine", priority=1)
    registry.add(other)
    return make_plan(load(env={}, overrides={"exec.graph": False}), Platform("cpu"), registry=registry).bind()


def module() -> ModuleType:
    """A module with the PEP 562 hook that declared-only ops would need."""
    made = ModuleType("ops")
    vars(made).update(step=plain, __getattr__=lambda name: None)
    return made


def timer(call: str, **names: Any) -> Callable[[], float]:
    """A function that makes the calls once and returns nanoseconds a call."""
    body = f"        {call}\n" * WRITTEN_OUT
    space: dict[str, Any] = {**names, "clock": time.perf_counter_ns, "x": 1}
    exec(f"def run():\n    begin = clock()\n    for _ in range({LOOPS}):\n{body}    return clock() - begin\n", space)
    run: FunctionType = space["run"]
    return lambda: run() / (LOOPS * WRITTEN_OUT)


def measure() -> dict[str, float]:
    """Nanoseconds of one call by shape."""
    timers = {
        "direct": timer("step(x)", step=plain),
        "ops.step": timer("ops.step(x)", ops=bound()),
        "slots object": timer("ops.step(x)", ops=Slots()),
        "module with __getattr__": timer("ops.step(x)", ops=module()),
        "dict": timer("ops['step'](x)", ops={"step": plain}),
    }
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(TURNS):
        for shape, run in timers.items():
            best[shape] = min(best[shape], run())
    return best


def main() -> int:
    """Print the ratios; 1 where that of the bound op is above the limit."""
    best = measure()
    for shape, nanoseconds in best.items():
        print(f"{shape:<24} {nanoseconds:6.1f} ns  {nanoseconds / best['direct']:.2f}")
    ratio = best["ops.step"] / best["direct"]
    print(f"a call through ops costs {ratio:.2f} of a direct call (at most {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
