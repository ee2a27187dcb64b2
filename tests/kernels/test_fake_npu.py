"""The references take tensors of any device: fake `npu` tensors go through them, in a process of their own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from confbag.kernels.draft_extend.reference import draft_extend_fill
from confbag.kernels.last_loc.reference import last_loc

_setup_privateuseone_for_python_backend(rename="npu")

with FakeTensorMode(allow_non_fake_inputs=False):
    def of(*shape, dtype=torch.int64):
        return torch.empty(shape, dtype=dtype, device="npu:0")
    i32 = torch.int32
    found = last_loc(of(8, 16, dtype=i32), of(5), of(5, dtype=i32))
    print(found.device, found.dtype, tuple(found.shape))
    draft_extend_fill(
        of(12), of(12), of(12), of(6), of(6), of(6),
        of(4, dtype=i32), of(4), of(4, dtype=i32), of(4, dtype=i32), of(4), of(4, 1, dtype=torch.float32),
        of(2), of(2), of(2), of(2), of(2, 1, dtype=torch.float32),
        of(12, 8, dtype=torch.bfloat16), of(6, 8, dtype=torch.bfloat16), of(3, dtype=i32), of(3, dtype=i32),
        2, 3, 3, 0, 1,
    )
    print("filled")
"""


def test_fake_npu_tensors_go_through_every_device_neutral_reference() -> None:
    """vllm-ascend#6834: ops registered for CUDA and CPU alone failed on tensors of any other device."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["npu:0 torch.int32 (5,)", "filled"]
