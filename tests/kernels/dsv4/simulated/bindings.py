"""The native bindings of compressor and sparse attention on the simulated npu, held against the references."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3]))
from simulated_npu import NPU, NpuTensor, simulate

from confbag.kernels.dsv4.compressor import cases as compressor_cases
from confbag.kernels.dsv4.compressor import reference as compressor_reference
from confbag.kernels.dsv4.compressor import torch_npu as compressor_npu
from confbag.kernels.dsv4.compressor import torch_npu_a5 as compressor_a5
from confbag.kernels.dsv4.sparse_attention import cases as attention_cases
from confbag.kernels.dsv4.sparse_attention import reference as attention_reference
from confbag.kernels.dsv4.sparse_attention import torch_npu, torch_npu_custom

simulate()


def on_device(arguments: Any) -> list[Any]:
    return [each.to("npu") if isinstance(each, torch.Tensor) else each for each in arguments]


def named(cases: Any, *options: Any) -> dict[str, Any]:
    return {case.name: case for case in cases("cpu", *options)}


COMPRESSOR = named(compressor_cases.native_cases, 1)
CONTINUOUS = [name for name, case in COMPRESSOR.items() if case.arguments()[17] == compressor_cases.CONTINUOUS]
ATTENTION = named(attention_cases.cases, 1)
ALSO_CUSTOM = ("decode", "BSND", "CFA", "SCFA", "slots in place of the window")


@pytest.mark.parametrize(
    ("name", "binding", "op"),
    [
        *((name, compressor_npu, "npu::compressor") for name in COMPRESSOR),
        # Its other cache mode has no reference: how A5 addresses a ring is read from callers and not published.
        *((name, compressor_a5, "custom::compressor") for name in CONTINUOUS),
    ],
)
def test_the_compressor(name: str, binding: Any, op: str) -> None:
    case = COMPRESSOR[name]
    wanted, given = case.arguments(), on_device(case.arguments())
    result = compressor_reference.compressor(*wanted)
    NPU.calls.clear()
    with NPU.counted() as copies:
        found = binding.compressor(*given)
    assert copies == []
    assert NPU.calls == ([op] if wanted[0].numel() else [])
    assert isinstance(found, NpuTensor)
    torch.testing.assert_close(case.specified(found.cpu()), case.specified(result), rtol=0, atol=0)
    torch.testing.assert_close(given[3].cpu(), wanted[3], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "binding", "op"),
    [
        *((name, torch_npu, "npu::sparse_attn_sharedkv") for name in ATTENTION),
        *((name, torch_npu_custom, "custom::npu_sparse_attn_sharedkv") for name in ALSO_CUSTOM),
    ],
)
def test_sparse_attention(name: str, binding: Any, op: str) -> None:
    case = ATTENTION[name]
    wanted, given = case.arguments(), on_device(case.arguments())
    result = attention_reference.sparse_attention(*wanted)
    NPU.calls.clear()
    with NPU.counted() as copies:
        found = binding.sparse_attention(*given)
    assert copies == []
    assert NPU.calls == [op]
    assert all(isinstance(each, NpuTensor) for each in found)
    on_host = tuple(each.cpu() for each in found)
    torch.testing.assert_close(case.specified(on_host), case.specified(result), rtol=0, atol=0)
    assert on_host[1].numel() == 0


def test_mixed_devices_are_refused_before_any_call() -> None:
    given = on_device(ATTENTION["decode"].arguments())
    given[5] = given[5].cpu()
    NPU.calls.clear()
    with pytest.raises(ValueError, match=r"ori_block_table: .*npu:0.*found one on cpu"):
        torch_npu.sparse_attention(*given)
    given = on_device(COMPRESSOR["plain"].arguments())
    given[3] = given[3].cpu()
    with pytest.raises(ValueError, match=r"state_cache: .*npu:0.*found one on cpu"):
        compressor_npu.compressor(*given)
    assert NPU.calls == []
