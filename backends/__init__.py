"""The capability registry, the planner and the binder; importing it loads no torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confbag.backends.decide.plan import Binding as Binding
    from confbag.backends.decide.plan import Plan as Plan
    from confbag.backends.decide.planner import make_plan as make_plan
    from confbag.backends.declare.implementation import Implementation as Implementation
    from confbag.backends.declare.libraries import Library as Library
    from confbag.backends.declare.op import Op as Op
    from confbag.backends.declare.registry import Registry as Registry
    from confbag.backends.declare.requires import NativeOp as NativeOp
    from confbag.backends.declare.requires import Need as Need
    from confbag.backends.declare.requires import Requires as Requires
    from confbag.backends.platforms.evidence import Evidence as Evidence
    from confbag.backends.platforms.platform import Platform as Platform
    from confbag.backends.platforms.probe_facts import Accelerator as Accelerator
    from confbag.backends.platforms.probe_facts import Software as Software
    from confbag.backends.words.levels import ALWAYS as ALWAYS
    from confbag.backends.words.levels import BATCH_INVARIANT as BATCH_INVARIANT
    from confbag.backends.words.levels import NEVER as NEVER
    from confbag.backends.words.levels import NONE as NONE
    from confbag.backends.words.levels import PIECEWISE as PIECEWISE
    from confbag.backends.words.levels import RUN_TO_RUN as RUN_TO_RUN
    from confbag.backends.words.levels import UNIFORM_BATCH as UNIFORM_BATCH
    from confbag.backends.words.rejection import Rejection as Rejection

_WHERE = {
    **dict.fromkeys(
        ("ALWAYS", "BATCH_INVARIANT", "NEVER", "NONE", "PIECEWISE", "RUN_TO_RUN", "UNIFORM_BATCH"),
        "confbag.backends.words.levels",
    ),
    "Library": "confbag.backends.declare.libraries",
    "Implementation": "confbag.backends.declare.implementation",
    "Op": "confbag.backends.declare.op",
    "Binding": "confbag.backends.decide.plan",
    "Plan": "confbag.backends.decide.plan",
    "make_plan": "confbag.backends.decide.planner",
    "Accelerator": "confbag.backends.platforms.probe_facts",
    "Evidence": "confbag.backends.platforms.evidence",
    "Platform": "confbag.backends.platforms.platform",
    "Software": "confbag.backends.platforms.probe_facts",
    "Registry": "confbag.backends.declare.registry",
    "Rejection": "confbag.backends.words.rejection",
    "NativeOp": "confbag.backends.declare.requires",
    "Need": "confbag.backends.declare.requires",
    "Requires": "confbag.backends.declare.requires",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module 'confbag.backends' has no attribute {name!r}")
    return getattr(import_module(where), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
