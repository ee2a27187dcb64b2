"""The capability registry, the planner and the binder; importing it loads no torch."""

from __future__ import annotations

from confbag.words.exports import exported

__getattr__, __dir__, __all__ = exported(
    globals(),
    {
        "confbag.backends.decide.plan": "Binding Plan",
        "confbag.backends.decide.planner": "make_plan",
        "confbag.backends.declare.implementation": "Implementation",
        "confbag.backends.declare.libraries": "Library",
        "confbag.backends.declare.op": "Op",
        "confbag.backends.declare.registry": "Registry",
        "confbag.backends.declare.requires": "NativeOp Need Requires",
        "confbag.backends.platforms.evidence": "Evidence",
        "confbag.backends.platforms.platform": "Platform",
        "confbag.backends.platforms.probe_facts": "Accelerator Software",
        "confbag.backends.words.levels": "ALWAYS BATCH_INVARIANT NEVER NONE PIECEWISE RUN_TO_RUN UNIFORM_BATCH",
        "confbag.backends.words.rejection": "Rejection",
    },
)
