"""What a vendor's own tests call: does an implementation fit the contract it says it implements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confbag.backends.bind.targets import locate
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.op import Op
from confbag.backends.declare.plugins import installed
from confbag.backends.declare.registry import Registry
from confbag.backends.declare.signature import check_signature
from confbag.backends.words.rejection import Rejection
from confbag.errors import DeclaredOnlyError, RegistrationError
from confbag.words.given import expect
from confbag.words.suggest import nearest

_CALL = "check_implementation('kvcache.last_loc', "


def check_implementation(
    op: Op | str, implementation: str | Implementation | Callable[..., Any], registry: Registry | None = None
) -> None:
    """Return when the implementation's parameters are its contract's; else raise SignatureError with both signatures.

    op: the op, or its name in the registry (None: the installed one). implementation: a provider's name, which checks
    each of its variants; an Implementation; or a function. Imports the target. Raises DeclaredOnlyError for a
    provider without a target, RegistrationError for a name that is not there or a target that cannot be imported.
    """
    expect(op, (Op, str), "check_implementation", "first an Op or its name", f"{_CALL}'triton')")
    if not callable(implementation):
        takes = "second a provider's name, an Implementation or a function"
        expect(implementation, (str, Implementation), "check_implementation", takes, f"{_CALL}'triton')")
    if registry is not None:
        expect(
            registry, Registry, "check_implementation", "third a Registry", f"{_CALL}'triton', Registry.installed())"
        )
    source = registry if registry is not None else _registry_for(op, implementation)
    contract = _op(op, source)
    if isinstance(implementation, str):
        rows = _rows(contract, implementation, source)
    elif isinstance(implementation, Implementation):
        rows = [implementation]
    else:
        check_signature(
            contract.name, getattr(implementation, "__name__", "implementation"), contract.contract, implementation
        )
        return
    for row in rows:
        if row.declared_only:
            raise DeclaredOnlyError(
                f"{contract.name}, {row.name}: declared only; {row.engine} constructs its own class for it"
            )
        found = locate(row)
        if isinstance(found, Rejection):
            raise RegistrationError(f"{contract.name}, {row.name}: {found}")
        check_signature(contract.name, row.name, contract.contract, found)


def _registry_for(op: Op | str, implementation: object) -> Registry | None:
    """The installed registry where a name must be looked up and the op does not answer it."""
    if isinstance(op, Op) and (
        not isinstance(implementation, str) or any(implementation == row.provider for row in op.implementations)
    ):
        return None
    return installed()


def _op(op: Op | str, registry: Registry | None) -> Op:
    if isinstance(op, Op):
        return op
    assert registry is not None
    found = registry.ops.get(op)
    if found is None:
        near = nearest(op, registry.ops)
        raise RegistrationError(f"unknown op {op!r}; {f'did you mean {near}?' if near else 'register it first'}")
    return found


def _rows(op: Op, provider: str, registry: Registry | None) -> list[Implementation]:
    known = registry.rows(op.name) if registry is not None and op.name in registry.ops else op.implementations
    rows = [row for row in known if row.provider == provider]
    if not rows:
        near = nearest(provider, {row.provider for row in known})
        raise RegistrationError(
            f"{op.name} has no provider {provider!r}; {f'did you mean {near}?' if near else 'register it first'}"
        )
    return rows
