"""From `module:callable` to the callable, with every way in which that fails as a rejection."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from confbag.backends.bind.library_loading import import_fault
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.op import Op
from confbag.backends.declare.signature import difference, sides
from confbag.backends.words.rejection import Rejection
from confbag.words.suggest import nearest

SIGNATURE = "signature of"
"""How the field of a signature's fault begins."""


def resolve(op: Op, implementation: Implementation) -> Callable[..., Any] | Rejection:
    """The implementation's function, its signature compared with the contract's; or why there is none.

    A signature that is not the contract's is `op-schema` on the field `signature of TARGET`, with both signatures.
    """
    located = locate(implementation)
    if isinstance(located, Rejection):
        return located
    if not callable(located):
        actual, hint = type(located).__name__, "name the function that implements the contract"
        return Rejection(None, "op-missing", f"target {implementation.target_name}", "callable", actual, hint=hint)
    function: Callable[..., Any] = located
    found = difference(op.contract, function)
    if found is None:
        return function
    needed, given = sides(op.name, op.contract, function)
    field = f"{SIGNATURE} {implementation.target_name}"
    hint = f"{found}; give it the contract's parameters"
    return Rejection(None, "op-schema", field, needed, given, hint=hint)


def locate(implementation: Implementation) -> Any:
    """What the target names, imported; or why it cannot be. The implementation is not declared only."""
    target = implementation.target
    if not isinstance(target, str):
        return target
    module, _, name = target.partition(":")
    failed = import_fault(module, f"target {target}")
    if failed is not None:
        return failed
    found: Any = sys.modules[module]
    for part in name.split("."):
        holder = found
        found = getattr(found, part, None)
        if found is None:
            public = (
                sorted(word for word in vars(holder) if not word.startswith("_")) if hasattr(holder, "__dict__") else []
            )
            near = nearest(part, public)
            hint = f"did you mean {near}?" if near else f"define {part} there, or name what does"
            has = ", ".join(public[:12]) or "nothing"
            return Rejection(
                None, "op-missing", f"target {target}", f"{part!r} in {module}", f"not there; it has {has}", hint=hint
            )
    return found
