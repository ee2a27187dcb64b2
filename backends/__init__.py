"""The capability registry, the planner and the binder; importing it loads no torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confbag.backends.levels import ALWAYS as ALWAYS
    from confbag.backends.levels import BATCH_INVARIANT as BATCH_INVARIANT
    from confbag.backends.levels import NEVER as NEVER
    from confbag.backends.levels import NONE as NONE
    from confbag.backends.levels import PIECEWISE as PIECEWISE
    from confbag.backends.levels import RUN_TO_RUN as RUN_TO_RUN
    from confbag.backends.levels import UNIFORM_BATCH as UNIFORM_BATCH
    from confbag.backends.libraries import Library as Library
    from confbag.backends.op import Implementation as Implementation
    from confbag.backends.op import Op as Op
    from confbag.backends.plan import Binding as Binding
    from confbag.backends.plan import Plan as Plan
    from confbag.backends.planner import make_plan as make_plan
    from confbag.backends.platforms.evidence import Evidence as Evidence
    from confbag.backends.platforms.platform import Platform as Platform
    from confbag.backends.platforms.probe_facts import Accelerator as Accelerator
    from confbag.backends.platforms.probe_facts import Software as Software
    from confbag.backends.registry import Registry as Registry
    from confbag.backends.rejection import Rejection as Rejection
    from confbag.backends.requires import NativeOp as NativeOp
    from confbag.backends.requires import Need as Need
    from confbag.backends.requires import Requires as Requires

_WHERE = {
    **dict.fromkeys(
        ("ALWAYS", "BATCH_INVARIANT", "NEVER", "NONE", "PIECEWISE", "RUN_TO_RUN", "UNIFORM_BATCH"),
        "confbag.backends.levels",
    ),
    "Library": "confbag.backends.libraries",
    "Implementation": "confbag.backends.op",
    "Op": "confbag.backends.op",
    "Binding": "confbag.backends.plan",
    "Plan": "confbag.backends.plan",
    "make_plan": "confbag.backends.planner",
    "Accelerator": "confbag.backends.platforms.probe_facts",
    "Evidence": "confbag.backends.platforms.evidence",
    "Platform": "confbag.backends.platforms.platform",
    "Software": "confbag.backends.platforms.probe_facts",
    "Registry": "confbag.backends.registry",
    "Rejection": "confbag.backends.rejection",
    "NativeOp": "confbag.backends.requires",
    "Need": "confbag.backends.requires",
    "Requires": "confbag.backends.requires",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module 'confbag.backends' has no attribute {name!r}")
    return getattr(import_module(where), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
