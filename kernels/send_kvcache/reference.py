"""disagg.send_kvcache within one process: real bytes moved between registered tensors, on whatever device they are."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from concurrent.futures import Executor

import torch
from torch import Tensor

from confbag.kernels.send_kvcache.engine import require
from confbag.kernels.send_kvcache.errors import EngineError
from confbag.kernels.send_kvcache.schedule import schedule
from confbag.kernels.send_kvcache.sender import Sender
from confbag.kernels.send_kvcache.transfer import transfer

REFUSED = -1

_numbers = itertools.count(1)
_open: weakref.WeakValueDictionary[str, InProcessEngine] = weakref.WeakValueDictionary()


class InProcessEngine:
    """An engine whose peers are the others of this process. session: what a peer sends to, until it is closed.

    It moves nothing that is not registered: at the sender the source, at the peer the destination.
    """

    def __init__(self) -> None:
        number = next(_numbers)  # ratchet: allow CB121 -- no two sessions of a process share a number
        self.session = f"in-process:{number}"
        self._pools: dict[int, Tensor] = {}
        _open[self.session] = self  # ratchet: allow CB121 -- peers within one process find each other here

    def register(self, pool: Tensor) -> None:
        """Make a contiguous tensor known, by its address, and keep it alive until `close`."""
        if not pool.is_contiguous():
            raise EngineError(f"pool: expected a contiguous tensor, found strides {list(pool.stride())}")
        if pool.numel():
            self._pools[pool.data_ptr()] = pool.view(-1).view(torch.uint8)

    def close(self) -> None:
        """Give up the session and every pool; what is sent to it afterwards is refused."""
        _open.pop(self.session, None)  # ratchet: allow CB121 -- as above
        self._pools.clear()

    def batch_transfer_sync_write(
        self, session: str, sources: Sequence[int], destinations: Sequence[int], lengths: Sequence[int]
    ) -> int:
        """Copy each block to the peer of that session, in order; a block that is refused ends it."""
        peer = _open.get(session)
        if peer is None:
            return REFUSED
        for source, destination, length in zip(sources, destinations, lengths, strict=True):
            read, written = self._bytes(source, length), peer._bytes(destination, length)
            if read is None or written is None:
                return REFUSED
            written.copy_(read)
        return 0

    def _bytes(self, address: int, length: int) -> Tensor | None:
        """The bytes of one pool; None unless all of them are in it."""
        for start, pool in list(self._pools.items()):
            if start <= address and address + length <= start + pool.numel():
                return pool[address - start : address - start + length]
        return None


def send_kvcache(
    sender: Sender,
    mooncake_session_id: str,
    prefill_kv_indices: Tensor,
    dst_kv_ptrs: Sequence[int],
    dst_kv_indices: Tensor,
    executor: Executor | None,
    dst_layer_ids: Sequence[int] | None = None,
    dst_device_kv_indices: Tensor | None = None,
    dst_kv_item_len: int | None = None,
    dst_attn_tp_size: int | None = None,
) -> int:
    """See the contract. The engine is an InProcessEngine."""
    layers = schedule(
        sender,
        mooncake_session_id,
        prefill_kv_indices,
        dst_kv_ptrs,
        dst_kv_indices,
        executor,
        dst_layer_ids,
        dst_device_kv_indices,
        dst_kv_item_len,
        dst_attn_tp_size,
    )
    require(sender.engine, InProcessEngine, f"{__name__}.InProcessEngine()")
    return transfer(sender, mooncake_session_id, layers, executor)
