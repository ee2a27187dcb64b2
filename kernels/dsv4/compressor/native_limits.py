"""What the native compressors need beyond the contract, refused before a call that would fail late or silently."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import torch
from torch import Tensor

from confbag.kernels.checks.operands import require_contiguous
from confbag.kernels.dsv4.compressor.operands import PAIRS, Operands

HEAD_DIMS: Final = (128, 512)
ROPE_HEAD_DIM: Final = 64
HIDDEN_STEP, HIDDEN_LEAST, HIDDEN_MOST = 512, 1024, 10240
CHANNELS_PER_CORE: Final = 64


def check_native(given: Operands, head_dim: int) -> None:
    """Refuse what the kernels on npu cannot do. head_dim: the length of norm_weight."""
    x, rope_head_dim, rotary_mode = given.x, given.rope_head_dim, given.rotary_mode
    if x.device.type != "npu":
        raise ValueError(f"x: expected a tensor on npu, found one on {x.device}")
    if rotary_mode != PAIRS:
        raise ValueError(
            f"rotary_mode: expected {PAIRS}, found {rotary_mode}; the kernel has no other one, and with it returns "
            "memory that nobody wrote and leaves the state as it was"
        )
    if rope_head_dim != ROPE_HEAD_DIM:
        raise ValueError(f"rope_head_dim: expected {ROPE_HEAD_DIM}, found {rope_head_dim}")
    if head_dim not in HEAD_DIMS:
        raise ValueError(f"norm_weight: expected 128 or 512 elements, found {head_dim}")
    hidden = x.shape[-1]
    if hidden % HIDDEN_STEP or not HIDDEN_LEAST <= hidden <= HIDDEN_MOST:
        raise ValueError(
            f"x: expected a hidden size from {HIDDEN_LEAST} to {HIDDEN_MOST} in steps of {HIDDEN_STEP}, found {hidden}"
        )
    for name, operand in given._asdict().items():
        if isinstance(operand, Tensor):
            require_contiguous(name, operand)
    cores = _cores(x.device)
    if cores is not None and cores < head_dim // CHANNELS_PER_CORE:
        raise ValueError(
            f"x: expected a device with at least {head_dim // CHANNELS_PER_CORE} AI cores, one for {CHANNELS_PER_CORE} "
            f"channels of norm_weight, found {cores} on {x.device}"
        )


@lru_cache(maxsize=64)
def _cores(device: torch.device) -> int | None:
    """The AI cores of a device; None where this torch_npu does not tell, and the op itself checks."""
    properties = getattr(getattr(torch, "npu", None), "get_device_properties", None)
    return None if properties is None else getattr(properties(device), "cube_core_num", None)
