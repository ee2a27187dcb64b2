"""Runs what is to be verified: each implementation bound as the plan would bind it, against its reference."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from confbag.backends.bind import environment
from confbag.backends.bind.bind import BoundRow, bind_rows
from confbag.backends.bind.library_loading import import_fault, torch_fault
from confbag.backends.bind.verification import AGREES, DISAGREES, FAILED, NOT_RUN, Outcome, Task
from confbag.backends.words.rejection import Rejection
from confbag.errors import BindError

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Plan

_TORCH_CALLS = {"hip": "cuda"}
"""The device kinds that PyTorch calls by another's name."""


class Case(Protocol):
    """One input, as an op's cases yield it."""

    @property
    def name(self) -> str: ...

    def difference(self, reference: Callable[..., Any], implementation: Callable[..., Any]) -> str | None: ...


Progress = Callable[[Task, int], None]
"""Told of each task and how many of its inputs have been run."""


def verify(plan: Plan, tasks: Sequence[Task], count: int, progress: Progress | None = None) -> Iterator[Outcome]:
    """The outcome of each task, in order, as soon as it is known. count: random inputs beside those at the boundaries.

    The variables that the plan needs are set and stay set. Whatever a kernel raises is its outcome. Raises BindError
    where a variable that the plan needs has another value, or a torch that is installed cannot be imported.
    """
    faults = environment.conflicts(plan.environment, os.environ, {}, unset_too=False)
    running = [task for task in tasks if task.reference is not None]
    if any(
        component.name == "torch" for task in running for component in task.implementation.requires.parsed_components
    ):
        faults += filter(None, [torch_fault()])
    if faults:
        raise BindError("nothing can be verified: " + "; ".join(map(str, faults)), faults)
    with environment.applied(plan.environment):
        for task in tasks:
            yield _outcome(plan, task, count, progress)


def _outcome(plan: Plan, task: Task, count: int, progress: Progress | None) -> Outcome:
    if task.reference is None:
        return Outcome(task, NOT_RUN, said=task.reason or str(task.rejection))
    pair = [task.reference, task.implementation]
    reference, implementation = bind_rows(plan, pair[1:] * 2 if pair[0] is pair[1] else pair)
    schemas = tuple(_schemas(implementation))

    def outcome(status: str, ran: int = 0, said: str | None = None) -> Outcome:
        return Outcome(task, status, ran, said, schemas, implementation.notes)

    for whose, bound in (("", implementation), ("its reference: ", reference)):
        if bound.faults or bound.function is None:
            return outcome(FAILED, said=whose + "; ".join(map(str, bound.faults)))
    assert reference.function is not None
    assert implementation.function is not None
    made = _cases(task.cases or "")
    if isinstance(made, Rejection):
        return outcome(FAILED, said=f"its cases: {made}")
    device = plan.platform.device
    ran, name = 0, "making its cases"
    try:
        for case in made(_TORCH_CALLS.get(device, device), count):
            name = case.name
            if progress is not None:
                progress(task, ran)
            found = case.difference(reference.function, implementation.function)
            ran += 1
            if found is not None:
                return outcome(DISAGREES, ran, found)
            name = f"the case after {name}"
    except Exception as error:
        return outcome(FAILED, ran, f"{name}: {type(error).__name__}: {_first_line(error)}")
    if ran == 0:
        return outcome(FAILED, said=f"{task.cases} yielded no case")
    return outcome(AGREES, ran)


def _cases(place: str) -> Callable[[str, int], Iterable[Case]] | Rejection:
    """What yields the cases; or why there is none."""
    module, _, name = place.partition(":")
    failed = import_fault(module, f"cases {place}")
    if failed is not None:
        return failed
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        return Rejection(None, "op-missing", f"cases {place}", "callable", type(found).__name__)
    made: Callable[[str, int], Iterable[Case]] = found
    return made


def _schemas(bound: BoundRow) -> Iterator[tuple[str, bool]]:
    """The native ops that were looked at, and whether each is the one that was expected."""
    wrong = {fault.field for fault in bound.faults}
    if bound.function is None:
        return
    for op in bound.implementation.requires.native_ops:
        yield op.name, op.name not in wrong and op.name not in bound.unverified


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0]
