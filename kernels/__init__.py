"""The NPU, Triton and reference kernels, one folder per op; importing a contract loads no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confbag.backends.declare.registry import Registry


def register(registry: Registry) -> None:
    """Add our ops, in the order in which they are planned: the first member of the group `confbag.backends`."""
    from confbag.kernels.attention.contract import ATTENTION
    from confbag.kernels.draft_extend.contract import DRAFT_EXTEND_FILL
    from confbag.kernels.dsv4.compressor.contract import COMPRESSOR
    from confbag.kernels.dsv4.sparse_attention.contract import SPARSE_ATTENTION
    from confbag.kernels.dsv4.sparse_metadata.contract import SPARSE_METADATA
    from confbag.kernels.last_loc.contract import LAST_LOC
    from confbag.kernels.send_kvcache.contract import SEND_KVCACHE

    for op in (ATTENTION, LAST_LOC, DRAFT_EXTEND_FILL, COMPRESSOR, SPARSE_ATTENTION, SPARSE_METADATA, SEND_KVCACHE):
        registry.add(op)
    registry.catalogue("libraries.yaml")
    registry.catalogue("attention.yaml")
    registry.catalogue("rules.yaml")
