"""Whether a registered native op is the one that an implementation was written against."""

from __future__ import annotations

from typing import Any

from confbag.backends.bind import _torch_compat
from confbag.backends.declare.requires import NativeOp
from confbag.backends.words.dispatch import device_key
from confbag.backends.words.rejection import Rejection


def verify(torch: Any, native: NativeOp, device: str, library: str | None) -> Rejection | None:
    """The rejection when the op is missing, its schema another one, or no kernel is registered for the device.

    device: the device kind whose dispatch key is meant where the op names none. library: what should carry it, for
    the hint. Raises _torch_compat.NotVerifiable when this torch cannot tell.
    """
    source = f"the library {library}" if library else "what registers it"
    try:
        expected = _torch_compat.parse(torch, native.schema)
    except _torch_compat.MalformedSchema as error:
        hint = "mend the schema in the requirement"
        return Rejection(
            None, "op-schema", native.name, native.schema, f"not a schema that torch reads: {error}", hint=hint
        )
    found = _torch_compat.installed(torch, expected)
    if found is None:
        hint = f"install the version of {source} that has it"
        return Rejection(None, "op-missing", native.name, native.schema, _instead(torch, native), hint=hint)
    if not _torch_compat.compatible(found, expected):
        differs = _torch_compat.difference(found, expected) or "the order of its arguments"
        hint = f"{differs}; install the version of {source} that this was written for"
        return Rejection(None, "op-schema", native.name, native.schema, str(found), hint=hint)
    key = native.dispatch_key or device_key(device)
    if not _torch_compat.has_kernel(torch, _registered_name(expected), key):
        hint = f"install the build of {source} for this device"
        return Rejection(
            None,
            "op-kernel",
            native.name,
            f"registered with a {key} kernel",
            f"without one (found: {found})",
            hint=hint,
        )
    return None


def traceable(torch: Any, native: NativeOp) -> bool:
    """Whether torch.compile can trace a call of the op: it has a Meta kernel, written by hand or by register_fake."""
    return _torch_compat.has_kernel(torch, _registered_name(_torch_compat.parse(torch, native.schema)), "Meta")


def _registered_name(schema: Any) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def _instead(torch: Any, native: NativeOp) -> str:
    """What is there in its place: other overloads, the namespace's other ops, or nothing."""
    namespace, _, op = native.name.partition("::")
    names = _torch_compat.names_in(torch, namespace)
    overloads = [name for name in names if name.partition(".")[0] == op]
    if overloads:
        return f"not there; it has the overloads {', '.join(f'{namespace}::{name}' for name in overloads)}"
    if not names:
        return f"not there; nothing is registered in {namespace}"
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"not there; {namespace} has {shown}"
