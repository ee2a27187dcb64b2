"""disagg.send_kvcache over mooncake's transfer engine: RDMA between machines, TCP where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from mooncake.engine import TransferEngine

from confbag.kernels.send_kvcache.engine import initialise, require
from confbag.kernels.send_kvcache.schedule import schedule
from confbag.kernels.send_kvcache.sender import Sender
from confbag.kernels.send_kvcache.transfer import transfer

if TYPE_CHECKING:
    from torch import Tensor


def open_engine(host: str, protocol: str = "rdma", device: str = "") -> tuple[TransferEngine, str]:
    """An engine on an address of this host, and its session. protocol: rdma or tcp. device: RDMA devices, all if empty.

    The engine's own time limit is MC_TRANSFER_TIMEOUT in seconds, 30 where it is unset and never below 5.
    """
    engine = TransferEngine()
    return engine, initialise(engine, host, protocol, device)


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
    """See the contract. The engine is one of mooncake.engine, open and with the sender's pools registered."""
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
    require(sender.engine, TransferEngine, f"{__name__}.open_engine(...)")
    return transfer(sender, mooncake_session_id, layers, executor)
