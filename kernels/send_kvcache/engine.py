"""Opening a transfer engine that the peers find without a metadata server, and making pools known to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confbag.kernels.send_kvcache.errors import EngineError

PEER_TO_PEER = "P2PHANDSHAKE"


def initialise(engine: Any, host: str, protocol: str, device: str) -> str:
    """Open an engine on an address of this host and return its session, which the peers send to."""
    status = engine.initialize(host, PEER_TO_PEER, protocol, device)
    if status != 0:
        raise EngineError(f"transfer engine: status {status} on {host} over {protocol}, device {device!r}; see its log")
    return f"{host}:{engine.get_rpc_port()}"


def register(engine: Any, pointers: Sequence[int], lengths: Sequence[int]) -> None:
    """Make pools known to an open engine: those it reads from, and on the peer those it writes to.

    Pools of 0 bytes are left out. Raises EngineError for the first that it does not take.
    """
    for place, (pointer, length) in enumerate(zip(pointers, lengths, strict=True)):
        status = engine.register_memory(pointer, length) if length else 0
        if status != 0:
            raise EngineError(f"transfer engine: status {status} for pool {place}, {length} bytes at {pointer:#x}")


def require(engine: object, kind: type, opened_by: str) -> None:
    """TypeError unless a sender's engine is of the provider that is to send with it."""
    if not isinstance(engine, kind):
        found = type(engine)
        raise TypeError(
            f"sender.engine: expected a {kind.__module__}.{kind.__qualname__}, found a "
            f"{found.__module__}.{found.__qualname__}; open it with {opened_by}"
        )
