"""disagg.send_kvcache: pages of the KV cache, sent from the prefill process into the pools of the decode process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from confbag.backends.declare.op import Op
from confbag.backends.declare.requires import Requires
from confbag.backends.words.levels import BATCH_INVARIANT, PIECEWISE

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from torch import Tensor

    from confbag.kernels.send_kvcache.sender import Sender


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
    """Write pages `prefill_kv_indices` of every entry of the sender's pools into pages `dst_kv_indices` of its partner.

    sender: a confbag.kernels.send_kvcache.sender.Sender; an entry is one buffer of one layer, a page is `item_lens`
        bytes of it.
    mooncake_session_id: the peer's, host:port.
    prefill_kv_indices: int32 [n] on the CPU (NumPy or PyTorch); may be empty, which sends nothing.
    dst_kv_ptrs: the address of each of the peer's entries.
    dst_kv_indices: int32 [n] on the CPU, as long as prefill_kv_indices; may be empty too.
    executor: for a sender with a custom memory pool, else unused and may be None.
    dst_layer_ids: the layer of each of the peer's entries; only a pipeline stage of a hybrid MLA model pairs by it.
    dst_device_kv_indices: None.
    dst_kv_item_len: of the peer; only compared with unified memory.
    dst_attn_tp_size: of the peer; only compared with unified memory.

    Partners. A hybrid MLA stage (pp_size > 1): entries of one layer id are paired in order, what the peer has beyond is
    left alone; without ids on both sides by position, if the counts are equal. pp_size 1: by position, the peer may
    have more. Any other stage: its slice of each of the peer's groups, from start_layer on (of the layers that have the
    sender's compression ratio, where it has one). Entries whose pages have 0 bytes are skipped.
    Pages that are consecutive on both sides travel as one block: byte i of page prefill_kv_indices[k] goes to byte i of
    page dst_kv_indices[k], and no other byte of the peer is written.

    Returns 0 once every byte has arrived. Operands are only read; the source pages must be complete (synchronise the
    device first) and both sides' pages stay as they are until it returns or raises.
    Raises, before anything is sent: TypeError or ValueError for an operand (lengths that differ are a ValueError),
    PairingError (a RuntimeError) for entries without partners or, with unified memory, other page bytes or TP size,
    UnsupportedError (a NotImplementedError) for dst_device_kv_indices. Raises TransferError (a RuntimeError) with
    session, layer and the status of every entry when the peer refuses, dies or does not answer within
    `sender.time_limit` seconds: nothing that is half written is `done`.
    Source: AscendKVManager.send_kvcache of sglang 0.5.23 and its successors, whose return code is our exception.
    """


SEND_KVCACHE = Op(
    "disagg.send_kvcache",
    send_kvcache,
    applies={"disagg.mode": {"not": "off"}},
    settings={None: ("disagg.transfer_backend",)},
)

# Sent between steps by the host: a graph is captured around it, and the bytes are the same whatever travels with them.
SEND_KVCACHE.implement(
    "reference",
    "confbag.kernels.send_kvcache.reference:send_kvcache",
    requires=Requires(components=("torch",)),
    determinism=BATCH_INVARIANT,
    graph=PIECEWISE,
    description="between two pools of one process; it reaches no other",
)
SEND_KVCACHE.implement(
    "mooncake",
    "confbag.kernels.send_kvcache.mooncake:send_kvcache",
    requires=Requires(device=("cuda", "hip", "musa", "cpu"), components=("mooncake>=0.3.8",)),
    determinism=BATCH_INVARIANT,
    graph=PIECEWISE,
    description="RDMA or TCP; 0.3.13 over TCP was tried, between two processes",
)
SEND_KVCACHE.implement(
    "ascend",
    "confbag.kernels.send_kvcache.ascend:send_kvcache",
    requires=Requires(
        device=("npu",), components=("torch-npu", "mooncake-transfer-engine-npu>=0.3.11"), toolkit=("cann>=8.2rc1",)
    ),
    determinism=BATCH_INVARIANT,
    graph=PIECEWISE,
    description="between NPUs; bound, never tried",
)
