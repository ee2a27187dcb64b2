"""What one send is made of: every operand checked, entries paired, pages grouped, before an engine is touched."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, NamedTuple

from confbag.kernels.send_kvcache.blocks import Block, group, place
from confbag.kernels.send_kvcache.errors import PairingError, UnsupportedError
from confbag.kernels.send_kvcache.pairing import Pairs, pair_by_layer_id, pair_stage
from confbag.kernels.send_kvcache.sender import Sender

if TYPE_CHECKING:
    from torch import Tensor


class Layer(NamedTuple):
    """One entry that is to be sent: its layer, its place among the source's pools, and its bytes."""

    layer: int
    entry: int
    blocks: list[Block]


def schedule(
    sender: Sender,
    session: str,
    source_pages: Tensor,
    destination_ptrs: Sequence[int],
    destination_pages: Tensor,
    executor: Executor | None,
    destination_ids: Sequence[int] | None,
    device_pages: Tensor | None,
    item_len: int | None,
    attn_tp_size: int | None,
) -> list[Layer]:
    """The entries to send, in the source's order; those whose pages have no bytes are left out.

    The parameters are the contract's, in its order; so are the errors.
    """
    if not isinstance(sender, Sender):
        raise TypeError(f"sender: expected a Sender, found {type(sender).__name__}")
    if not isinstance(session, str):
        raise TypeError(f"mooncake_session_id: expected text, found {type(session).__name__}")
    if not session:
        raise ValueError("mooncake_session_id: expected host:port, found nothing")
    source = _pages("prefill_kv_indices", source_pages)
    pointers = _integers("dst_kv_ptrs", destination_ptrs, 2**64)
    destination = _pages("dst_kv_indices", destination_pages)
    if executor is None and sender.custom_mem_pool:
        raise TypeError("executor: expected an executor, which a custom memory pool sends its layers on, found None")
    ids = () if destination_ids is None else _integers("dst_layer_ids", destination_ids, 2**32)
    if device_pages is not None:
        raise UnsupportedError(
            "dst_device_kv_indices: expected None, found pages; device pages of their own are not sent"
        )
    if sender.unified_memory:
        _same_envelope(sender, item_len, attn_tp_size)
    runs = group(source, destination)
    pairs = _pairs(sender, len(pointers), ids)
    if not runs:
        return []
    layers = []
    needed = max(source) + 1
    for entry, partner in pairs:
        page = sender.item_lens[entry]
        if page == 0:
            continue
        if needed * page > sender.data_lens[entry]:
            raise ValueError(
                f"prefill_kv_indices: expected pages below {sender.data_lens[entry] // page}, which is what entry "
                f"{entry} of the sender holds, found {needed - 1}"
            )
        blocks = place(runs, sender.data_ptrs[entry], pointers[partner], page)
        layers.append(Layer(sender.layer_of(entry), entry, blocks))
    return layers


def _pairs(sender: Sender, destination_count: int, ids: Sequence[int]) -> Pairs:
    count = len(sender.data_ptrs)
    if sender.hybrid_mla and sender.pp_size > 1:
        return pair_by_layer_id(count, destination_count, sender.layer_ids, ids, sender.pp_size)
    if sender.pp_size == 1:
        return pair_by_layer_id(count, destination_count, (), (), 1)
    return pair_stage(
        count,
        destination_count,
        sender.groups,
        sender.start_layer,
        sender.compression_ratios,
        sender.ratio,
        sender.end_layer,
    )


def _same_envelope(sender: Sender, item_len: int | None, attn_tp_size: int | None) -> None:
    """With unified memory a page is one envelope: both sides must cut it in the same way."""
    if attn_tp_size != sender.attn_tp_size:
        raise PairingError(
            f"dst_attn_tp_size: expected {sender.attn_tp_size}, as the sender has with unified memory, "
            f"found {attn_tp_size}"
        )
    own = sorted(set(sender.item_lens) - {0})
    if own and own != [item_len]:
        raise PairingError(
            f"dst_kv_item_len: expected {' and '.join(map(str, own))} bytes, as the sender has with unified memory, "
            f"found {item_len}"
        )


def _pages(name: str, pages: Any) -> list[int]:
    """An int32 array as integers: NumPy's, or a tensor on the CPU, the only one that is read without a wait."""
    dtype = str(getattr(pages, "dtype", type(pages).__name__)).removeprefix("torch.")
    if dtype != "int32":
        raise TypeError(f"{name}: expected an array of int32, found {dtype}")
    if pages.ndim != 1:
        raise ValueError(f"{name}: expected 1 dimension(s), found shape {list(pages.shape)}")
    device = str(getattr(pages, "device", "cpu"))
    if device != "cpu":
        raise ValueError(f"{name}: expected an array on the CPU, found one on {device}")
    found: list[int] = pages.tolist()
    for at, page in enumerate(found):
        if page < 0:
            raise ValueError(f"{name}[{at}]: expected a page of at least 0, found {page}")
    return found


def _integers(name: str, values: Any, above: int) -> list[int]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"{name}: expected a list of integers, found {type(values).__name__}")
    for at, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name}[{at}]: expected an integer, found {type(value).__name__}")
        if not 0 <= value < above:
            raise ValueError(f"{name}[{at}]: expected 0 to {above - 1}, found {value}")
    return list(values)
