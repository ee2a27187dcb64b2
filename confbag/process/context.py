"""What this process reads: one published bag behind plain functions, swapped whole or not at all."""

# ratchet: allow-file CB121 -- what `publish` put up is kept for the process, here and nowhere else

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from confbag.errors import AlreadyPublishedError, NotPublishedError, RoleError, SwapError, UnresolvedError
from confbag.words.given import expect, wrong_type
from confbag.words.locks import ForkSafeLock
from confbag.words.provenance import AUTO
from confbag.words.suggest import nearest

if TYPE_CHECKING:
    from confbag.bag.bag import Bag
    from confbag.namespaces.device import Device
    from confbag.namespaces.disagg import Disagg
    from confbag.namespaces.exec import Exec
    from confbag.namespaces.memory import Memory
    from confbag.namespaces.model import Model
    from confbag.namespaces.parallel import Parallel
    from confbag.namespaces.spec import Spec

N = TypeVar("N")
Hold = Literal["off", "record", "enforce"]

_log = logging.getLogger("confbag")

_bag: Bag | None = None
"""The published bag. One global, so that a swap is whole; a plain one, because torch.compile cannot trace a
ContextVar."""


@dataclass(frozen=True, slots=True)
class _Process:
    """How the bag of this process was published."""

    role: str | None
    pid: int
    allow_auto: bool
    view: Callable[[Bag], Bag]
    read: Collection[str]


@dataclass(slots=True, eq=False)
class _Swap:
    """One `override` or `use_context` that was entered and not yet left: what is read within it, and what was read
    before."""

    source: str
    bag: Bag
    beneath: Bag


_process: _Process | None = None
_role: str | None = None
_swaps: list[_Swap] = []
_lock = ForkSafeLock()


def get_exec() -> Exec:
    """How kernels are chosen and run."""
    if _bag is None:
        raise _not_published("exec")
    return _bag.exec


def get_device() -> Device:
    """The accelerator that this process runs on."""
    if _bag is None:
        raise _not_published("device")
    return _bag.device


def get_model() -> Model:
    """What is served."""
    if _bag is None:
        raise _not_published("model")
    return _bag.model


def get_parallel() -> Parallel:
    """How the model is spread over devices and nodes."""
    if _bag is None:
        raise _not_published("parallel")
    return _bag.parallel


def get_spec() -> Spec:
    """Speculative decoding."""
    if _bag is None:
        raise _not_published("spec")
    return _bag.spec


def get_memory() -> Memory:
    """The KV cache and its pages."""
    if _bag is None:
        raise _not_published("memory")
    return _bag.memory


def get_disagg() -> Disagg:
    """Prefill and decode on different machines."""
    if _bag is None:
        raise _not_published("disagg")
    return _bag.disagg


def accessor(name: str, namespace: type[N]) -> Callable[[], N]:
    """The function that reads an engine's own namespace: `get_mine = accessor("mine", Mine)`, then
    `get_mine().answer`."""
    expect(name, str, "accessor", "first the namespace's name", "accessor('mine', Mine)")
    expect(namespace, type, "accessor", "second the namespace's class", "accessor('mine', Mine)")

    def get() -> N:
        if _bag is None:
            raise _not_published(name)
        found: N | None = getattr(_bag, name, None)
        if found is None:
            raise NotPublishedError(
                f"the published bag, a {_bag.schema.__qualname__}, has no namespace {name}; "
                "load with the schema that has it"
            )
        return found

    get.__name__ = get.__qualname__ = f"get_{name}"
    get.__doc__ = namespace.__doc__
    return get


def attention_backends() -> tuple[str, str]:
    """The attention backends of prefill and decode. UnresolvedError where one is still `auto`."""
    get_exec()  # a role is asked for the namespace that it reads
    values = published().values()
    backend = values["exec.attention.backend"]
    prefill, decode = (
        named if (named := values[f"exec.attention.{phase}"]) != AUTO else backend for phase in ("prefill", "decode")
    )
    for phase, found in (("prefill", prefill), ("decode", decode)):
        if found == AUTO:
            raise UnresolvedError(
                f"exec.attention.{phase} is still auto; publish the bag of a plan, make_plan(bag).bag, or name one"
            )
    return prefill, decode


def is_published() -> bool:
    """Whether this process has a bag to read."""
    return _bag is not None


def published() -> Bag:
    """The published bag itself, for what needs more than one namespace: handoff, a draft's bag."""
    if _bag is None:
        raise _not_published("the bag")
    return _bag


def namespaces_read() -> frozenset[str]:
    """The namespaces read so far, under hold "record" or "enforce" (eager code only: torch.compile reads once, when it
    traces)."""
    return frozenset(_process.read if _process is not None else ())


class Planned(Protocol):
    """A plan, as far as it is read here."""

    @property
    def bag(self) -> Bag:
        """The bag with every `auto` replaced. Raises PlanError when the plan has faults."""
        raise NotImplementedError


def bag_in(given: Bag | Planned, what: str) -> Bag:
    """A bag, or that of a plan. TypeError of `what` for anything else."""
    from confbag.bag.bag import Bag

    found = given if isinstance(given, Bag) else getattr(given, "bag", None)
    if not isinstance(found, Bag):
        raise wrong_type(what, "a Bag or a Plan", given, f"{what}(make_plan(load('serve.yaml')))")
    return found


def publish(
    bag: Bag | Planned,
    role: str | None = None,
    *,
    replace: bool = False,
    allow_auto: bool = False,
    declares: Collection[str] | None = None,
    hold: Hold = "off",
) -> None:
    """Make a bag, or that of a plan, what this process reads: once, or again with replace=True.

    bag: what is read from now on; a plan stands for its own.
    role: the kind of process, which errors name.
    replace: take the place of a bag that is published already; without it that is an AlreadyPublishedError.
    allow_auto: let a bag pass that still holds `auto`; without it an UnresolvedError names the keys.
    declares: the namespaces that the role reads.
    hold: "off", "record" (namespaces_read() tells), or "enforce" (RoleError for a namespace that is not declared).
    """
    global _bag, _process, _role
    bag = bag_in(bag, "publish")
    with _lock:
        _role = role
        if _bag is not None and not replace:
            raise AlreadyPublishedError(f"{_published_by()}; publish(..., replace=True) replaces what it reads")
        if _swaps:
            raise AlreadyPublishedError(
                f"override {_swaps[-1].source!r} is still active; leave it before publishing another bag"
            )
        _refuse_auto(bag, allow_auto)
        read: set[str] = set()
        view = _view_of(bag, role, declares, hold, read)
        process = _Process(role, os.getpid(), allow_auto, view, read)
        seen = view(bag)
        _bag, _process = seen, process
    _log.info("published %s for role %s", bag.fingerprint()[:12], role)


def unpublish() -> None:
    """Forget the published bag and every override of it: for tests, each of which publishes its own."""
    global _bag, _process, _role
    with _lock:
        _bag, _process, _role = None, None, None
        _swaps.clear()


@contextmanager
def override(source: str, changes: Mapping[str, Any]) -> Iterator[Bag]:
    """Read other values for the length of a `with` block: `with override("warm-up", {"exec.graph": False}): ...`. Keys
    dotted or nested.

    The whole process reads them, every thread of it. Overrides nest, and must be left in the opposite order. What the
    plan chose stays chosen: for a change that asks for other kernels, plan again and use_context(plan.bag).
    """
    with _lock:
        swap = _enter(source, published().override(source, changes))
    _log.info("override %s: %s", source, ", ".join(_changed(swap.bag, source)))
    try:
        yield swap.bag
    finally:
        _leave(swap)


@contextmanager
def use_context(bag: Bag | Planned) -> Iterator[Bag]:
    """Read another bag, or a plan's, for the length of a `with` block, as a draft model's step does beside its target.

    The swap is process-wide: every thread reads the other bag until the block ends. It serves work that is serialized,
    draft then target in one thread; threads that need different bags at once need different processes.
    """
    bag = bag_in(bag, "use_context")
    with _lock:
        swap = _enter("use_context", bag)
    _log.debug("use_context: reading %s", bag.fingerprint()[:12])
    try:
        yield swap.bag
    finally:
        _leave(swap)


def _enter(source: str, bag: Bag) -> _Swap:
    """Swap the published bag, under the lock."""
    global _bag
    if _bag is None or _process is None:
        raise _not_published("the bag")
    _refuse_auto(bag, _process.allow_auto)
    swap = _Swap(source, _process.view(bag), _bag)
    _swaps.append(swap)
    _bag = swap.bag
    return swap


def _leave(swap: _Swap) -> None:
    """Swap back. Left out of order, the younger swaps keep what they read, and the last one out restores what was
    there before all."""
    global _bag
    with _lock:
        at = next((index for index, active in enumerate(_swaps) if active is swap), None)
        if at is None:
            raise SwapError(f"override {swap.source!r} was undone by unpublish before it was left")
        del _swaps[at]
        if at == len(_swaps):
            _bag = swap.beneath
            _log.info("override %s: left", swap.source)
            return
        younger = _swaps[at]
        younger.beneath = swap.beneath
    raise SwapError(
        f"override {swap.source!r} was left before {younger.source!r}, which was entered inside it; "
        "leave them in the opposite order"
    )


def _changed(bag: Bag, source: str) -> list[str]:
    from confbag.schema.leaves import leaves

    origin = f"override {source}"
    secret = {key for key, leaf in leaves(bag.schema).items() if leaf.secret}
    return [key if key in secret else f"{key}={bag[key]!r}" for key in bag.values() if bag.origin(key) == origin]


def _refuse_auto(bag: Bag, allow_auto: bool) -> None:
    unresolved = () if allow_auto else bag.unresolved()
    if unresolved:
        raise UnresolvedError(
            f"{len(unresolved)} of the bag's values are still auto: {', '.join(unresolved)}; publish a plan's bag, "
            "make_plan(bag).bag, or set them (allow_auto=True publishes them as they are)"
        )


def _view_of(
    bag: Bag, role: str | None, declares: Collection[str] | None, hold: str, read: set[str]
) -> Callable[[Bag], Bag]:
    """How a bag is seen by this process: itself, or through a class whose namespaces are properties that record or
    refuse."""
    if hold not in ("off", "record", "enforce"):
        raise RoleError(f"hold is {hold!r}; write 'off', 'record' or 'enforce'")
    known = tuple(bag.schema.model_fields)
    if declares is not None and (isinstance(declares, str) or not isinstance(declares, Collection)):
        raise wrong_type("declares", "a collection of namespaces", declares, "declares=['exec', 'model']")
    for name in declares or ():
        if name not in known:
            near = nearest(name, known)
            raise RoleError(
                f"role {role} declares {name!r}, which is no namespace" + (f"; did you mean {near}?" if near else "")
            )
    if hold == "off":
        return _itself
    if hold == "enforce" and declares is None:
        raise RoleError("hold='enforce' needs declares=, the namespaces that the role reads")
    from confbag.process.view import view_of

    return view_of(role, known, frozenset(declares or ()) if hold == "enforce" else None, read)


def _itself(bag: Bag) -> Bag:
    return bag


def _published_by() -> str:
    role, pid = (_process.role, _process.pid) if _process is not None else (None, os.getpid())
    before = " before this process was forked from it" if pid != os.getpid() else ""
    return f"process {pid} published already, as role {role or 'unnamed'}{before}"


def _not_published(what: str) -> NotPublishedError:
    multiprocessing = sys.modules.get("multiprocessing")
    name, start = "MainProcess", None
    if multiprocessing is not None:
        name, start = multiprocessing.current_process().name, multiprocessing.get_start_method(allow_none=True)
    return NotPublishedError(
        f"{what} was read before anything was published in process {name} (pid {os.getpid()}, "
        f"role {_role or 'unknown'}, start method {start or 'not chosen'}); call publish(plan.bag, role=...) first, "
        "in a spawned child adopt(blob, role=...), and keep reads out of module level, where they run at import"
    )
