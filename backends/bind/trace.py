"""Recording which bound ops are called eagerly: re-bound to recording wrappers, bounded, taken back on exit."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from confbag.backends.bind.bound import Ops, bindings_of, by_layer, held

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding

NOT_OBSERVED = "from plan, not observed"


@dataclass(frozen=True, slots=True)
class Call:
    """One eager call. slot: `op` or `op@phase`. arguments: a word each, no tensors. raised: an exception's type."""

    slot: str
    provider: str
    arguments: tuple[str, ...]
    raised: str | None = None


class Trace:
    """What was called while open. calls: the first `limit` in order; counts: of all, by slot; dropped: not kept."""

    def __init__(self, bindings: Mapping[str, tuple[Binding, ...]], limit: int) -> None:
        self._bindings = tuple(binding for held in bindings.values() for binding in held)
        self._limit = limit
        self._lock = threading.Lock()
        self.calls: list[Call] = []
        self.counts: dict[str, int] = {binding.slot: 0 for binding in self._bindings}

    @property
    def dropped(self) -> int:
        """How many calls were counted and not kept."""
        return sum(self.counts.values()) - len(self.calls)

    @property
    def not_observed(self) -> tuple[str, ...]:
        """The bound slots that no eager call went through: called only inside compiled code, or not at all."""
        return tuple(slot for slot, count in self.counts.items() if not count)

    def __str__(self) -> str:
        rows = []
        for binding in self._bindings:
            count = self.counts[binding.slot]
            said = f"{count} call{'s' if count > 1 else ''}" if count else NOT_OBSERVED
            rows.append(f"{binding.slot}: {binding.provider}: {said}")
        return "\n".join(rows)

    def _record(
        self, binding: Binding, arguments: tuple[Any, ...], keywords: dict[str, Any], raised: str | None
    ) -> None:
        with self._lock:
            self.counts[binding.slot] += 1
            if len(self.calls) < self._limit:
                words = (*map(_word, arguments), *(f"{name}={_word(value)}" for name, value in keywords.items()))
                self.calls.append(Call(binding.slot, str(binding.provider), words, raised))


@dataclass(frozen=True)
class _Open:
    """The traces open on one ops object, and what its attributes were before the first."""

    originals: Mapping[str, Any]
    traces: list[Trace]


_LOCK = threading.RLock()
_OPEN: WeakKeyDictionary[type, _Open] = WeakKeyDictionary()


@contextmanager
def trace(ops: Ops, limit: int = 10_000) -> Iterator[Trace]:
    """Record every eager call through `ops` in this process, from every thread, while the context is open.

    limit: calls that are kept; the rest are only counted. Inside torch.compile nothing is recorded, for bookkeeping
    in a compiled call path compiles again at every call: there the plan is the trace, and the report says `from plan,
    not observed`. Entering and leaving each cost a compiled function that calls through `ops` one guard failure. A
    function taken off `ops` before is not seen.
    """
    if limit < 0:
        raise ValueError(f"limit {limit}: write how many calls to keep, 0 or more")
    owner = cast(type, ops)
    bindings = bindings_of(ops)
    opened = Trace(bindings, limit)
    with _LOCK:
        state = _OPEN.get(owner)
        if state is None:
            state = _Open({name: vars(owner)[name] for name in bindings}, [])
            _OPEN[owner] = state  # ratchet: allow CB121 -- the process knows who records which ops
            for name, parts in bindings.items():
                setattr(owner, name, _recorded(getattr(owner, name), parts, state.traces))
        state.traces.append(opened)  # ratchet: allow CB121 -- as above
    try:
        yield opened
    finally:
        with _LOCK:
            # By identity: the traces of two threads may close in either order.
            state.traces[:] = [each for each in state.traces if each is not opened]  # ratchet: allow CB121 -- as above
            if not state.traces:
                del _OPEN[owner]  # ratchet: allow CB121 -- as above
                for name, original in state.originals.items():
                    setattr(owner, name, original)


def _recorded(bound: Any, parts: tuple[Binding, ...], traces: list[Trace]) -> Any:
    """What an attribute holds, each function of it recording: one, or one a layer."""
    if parts[0].layers is None:
        return held(_recording(bound, parts[0], traces))
    found = []
    for binding in parts:
        layer = (binding.layers or ("0",))[0]
        function = bound[int(layer)] if isinstance(bound, tuple) else bound[layer]
        found.append(_recording(function, binding, traces))
    return by_layer(found, parts)


def _recording(function: Callable[..., Any], binding: Binding, traces: list[Trace]) -> Callable[..., Any]:
    @wraps(function)
    def recorded(*arguments: Any, **keywords: Any) -> Any:
        if _compiling():
            return function(*arguments, **keywords)
        raised = None
        try:
            return function(*arguments, **keywords)
        except BaseException as error:
            raised = type(error).__name__
            raise
        finally:
            for each in tuple(traces):
                each._record(binding, arguments, keywords, raised)

    return recorded


def _compiling() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.compiler.is_compiling())


def _word(value: Any) -> str:
    """A tensor as `float32[2, 3] cpu`; a plain value as itself; anything else as its type."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        device = getattr(value, "device", None)
        return f"{str(dtype).removeprefix('torch.')}{list(shape)}" + (f" {device}" if device is not None else "")
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return type(value).__name__
