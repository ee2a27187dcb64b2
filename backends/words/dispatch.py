"""The dispatch key under which torch calls the kernels of a device kind."""

from __future__ import annotations

DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "hip": "CUDA", "xpu": "XPU", "mps": "MPS"}
"""torch presents HIP under CUDA's key; every device that is not its own (npu, musa, a vendor's) is PrivateUse1."""


def device_key(device: str) -> str:
    """The dispatch key of a device kind."""
    return DEVICE_KEYS.get(device, "PrivateUse1")
