"""Reading a setting: `get_exec().deterministic` against the shape that SGLang's readers have, in one interleaved run.

Run `python tests/bench/reads.py`: it prints nanoseconds a read and their ratio, and exits 1 where the ratio is above
0.45.

The peer's shape: a function calls a method of a context, which checks that it was published and that roles are not
held, and looks the namespace up in a dict of bags; a bag holds real attributes, and its class defines `__getattr__`
for others. Both are timed in turns in one process, the loop around them included, and the fastest turn of each counts,
because noise only ever adds.
"""

from __future__ import annotations

import sys
import timeit

from confbag import get_exec, load, publish

LIMIT = 0.45
TURNS = 60
READS = 20_000


class PeerBag:
    """Values as attributes, and a `__getattr__` for what is missing."""

    def __init__(self, **values: object) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(name)


class PeerContext:
    """Bags by the name of their namespace."""

    def __init__(self, bags: dict[str, PeerBag] | None) -> None:
        self._bags = bags

    def bag_of(self, name: str) -> PeerBag:
        """The bag of a namespace, once there is one."""
        bags = self._bags
        if not bags or name not in bags:
            raise ValueError(name)
        if _hold != "off":
            raise NotImplementedError
        return bags[name]


_hold = "off"
_context = PeerContext({"exec": PeerBag(deterministic=False, graph=True, compile=False), "spec": PeerBag(topk=1)})


def peer_exec() -> PeerBag:
    """The peer's accessor."""
    return _context.bag_of("exec")


def measure() -> tuple[float, float]:
    """Nanoseconds of one read, ours and the peer's."""
    publish(load(env={}), replace=True, allow_auto=True)
    ours = timeit.Timer("get_exec().deterministic", globals={"get_exec": get_exec})
    peers = timeit.Timer("peer_exec().deterministic", globals={"peer_exec": peer_exec})
    best = [float("inf"), float("inf")]
    for _ in range(TURNS):
        for index, timer in enumerate((ours, peers)):
            best[index] = min(best[index], timer.timeit(READS) / READS * 1e9)
    return best[0], best[1]


def main() -> int:
    """Print the ratio; 1 where it is above the limit."""
    mine, theirs = measure()
    ratio = mine / theirs
    print(
        f"get_exec().deterministic {mine:.1f} ns, the peer's shape {theirs:.1f} ns: ratio {ratio:.2f} (at most {LIMIT})"
    )
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
