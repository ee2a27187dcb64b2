"""What goes wrong while the KV cache is sent: every error names the session, and the layer where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from confbag.errors import ConfbagError

DONE: Final = "done"
FAILED: Final = "failed"
UNKNOWN: Final = "unknown"
NOT_SENT: Final = "not sent"
STATUSES: Final = (DONE, FAILED, UNKNOWN, NOT_SENT)
"""done: every byte has arrived. failed: refused or broken off, so some of its bytes may have arrived. unknown: the time
ran out while the engine held it, which may write it yet. not sent: no byte of it was given to the engine."""


class PairingError(ConfbagError, RuntimeError):
    """The entries of the two sides do not fit together; said before anything is sent."""


class UnsupportedError(ConfbagError, NotImplementedError):
    """The contract names it and this implementation does not do it; said before anything is sent."""


class EngineError(ConfbagError, RuntimeError):
    """The transfer engine could not be opened, or does not take a pool."""


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """How far one entry of the source's pools came. layer: its layer. entry: its place among the pools."""

    layer: int
    entry: int
    status: str


class TransferError(ConfbagError, RuntimeError):
    """The peer refused, died or did not answer in time, or the engine failed. Nothing is done that is not `done`.

    session: the peer's. layer: the one at which it was noticed. layers: the status of every entry that was to be sent,
    in order. Pages of a layer that is `unknown` may still be written, and the source's read, until the engine gives the
    session up: leave both alone.
    """

    def __init__(self, session: str, layer: int, layers: Sequence[LayerStatus], why: str) -> None:
        self.session = session
        self.layer = layer
        self.layers = tuple(layers)
        self.why = why
        found = [f"{sum(each.status == status for each in layers)} {status}" for status in STATUSES]
        counts = ", ".join(count for count in found if not count.startswith("0 "))
        hint = (
            "; leave the pages of what is unknown alone until the session is given up, the engine may still move them"
            if self.having(UNKNOWN)
            else ""
        )
        super().__init__(f"session {session}, layer {layer}: {why}; of {len(layers)} entries {counts}{hint}")

    def having(self, status: str) -> tuple[LayerStatus, ...]:
        """The entries with a status."""
        return tuple(each for each in self.layers if each.status == status)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.session, self.layer, self.layers, self.why)
