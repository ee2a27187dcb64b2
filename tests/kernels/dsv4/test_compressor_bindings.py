"""The native compressors at schema level: what the bindings pass on, and what they refuse before the call.

Fake tensors of device npu carry shapes and no values; a process of its own, since torch names a device once.
"""

import json
import subprocess
import sys

import pytest
import torch

from confbag.kernels.dsv4.compressor import torch_npu, torch_npu_a5
from confbag.kernels.dsv4.compressor.cases import Shape

PROGRAM = r"""
import json, sys, types
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.library import Library, register_fake
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend(rename="npu")
from confbag.kernels.dsv4.compressor import reference, torch_npu, torch_npu_a5
from confbag.kernels.dsv4.compressor.contract import A5_SCHEMA, NPU_SCHEMA

libraries = []
for schema in (NPU_SCHEMA, A5_SCHEMA):
    namespace, _, rest = schema.partition("::")
    libraries.append(Library(namespace, "FRAGMENT"))
    libraries[-1].define(rest)

def shapes_of(x, wkv, wgate, state_cache, ape, norm_weight, rope_sin, rope_cos, *rest, **options):
    return x.new_empty((*rope_sin.shape[:-1], norm_weight.shape[0]))

register_fake("npu::compressor", shapes_of, lib=libraries[0])
register_fake("custom::compressor", shapes_of, lib=libraries[1])

calls = []
class Recorder:
    def __init__(self, namespace):
        self.namespace, self.op = namespace, getattr(torch.ops, namespace).compressor
    def __call__(self, *positional, **named):
        calls.append((self.namespace, len(positional), dict(named)))
        return self.op(*positional, **named)
    def __getattr__(self, name):
        return getattr(self.op, name)
torch.ops.npu.compressor = Recorder("npu")
torch.ops.custom.compressor = Recorder("custom")

def operands(tokens=6, batch=2, hidden=1024, head_dim=128, ratio=4, coff=2, padded=None, cycle=False, **changed):
    def of(*size, dtype=torch.float32):
        return torch.empty(size, dtype=dtype, device="npu:0")
    i32, width = torch.int32, coff * head_dim
    lead = (batch, padded) if padded else (tokens,)
    rows = (batch, -(-padded // ratio)) if padded else (min(tokens, tokens // ratio + batch),)
    table = (batch,) if cycle else (batch, coff * ratio + 9)
    return {**dict(
        x=of(*lead, hidden, dtype=torch.bfloat16), wkv=of(width, hidden, dtype=torch.bfloat16),
        wgate=of(width, hidden, dtype=torch.bfloat16), state_cache=of(10, 8, 2 * width), ape=of(ratio, width),
        norm_weight=of(head_dim), rope_sin=of(*rows, 64), rope_cos=of(*rows, 64),
        state_block_table=of(*table, dtype=i32), cu_seqlens=None if padded else of(batch + 1, dtype=i32),
        seqused=of(batch, dtype=i32), start_pos=of(batch, dtype=i32), cmp_ratio=ratio, coff=coff, rotary_mode=2,
        cache_mode=2), **changed}

def said(binding, **changed):
    before = len(calls)
    try:
        binding.compressor(**operands(**changed))
    except (TypeError, ValueError) as error:
        assert len(calls) == before, "the native op was called"
        return f"{type(error).__name__}: {error}"
    return "no error"

def last():
    namespace, positional, named = calls[-1]
    return [namespace, positional, {
        name: str(tuple(value.shape)) if isinstance(value, torch.Tensor) else value for name, value in named.items()}]

found = {}
with FakeTensorMode():
    result = torch_npu.compressor(**operands())
    found["npu"] = [*last(), str(result.device), str(result.dtype), list(result.shape)]
    found["npu BSH"] = list(torch_npu.compressor(**operands(padded=6)).shape)
    torch_npu.compressor(**operands(seqused=None, start_pos=None, norm_eps=1e-3, state_cache_stride_dim0=8 * 512))
    found["npu options"] = last()
    result = torch_npu_a5.compressor(**operands(cycle=True))
    found["custom"] = [*last(), list(result.shape)]
    torch_npu_a5.compressor(**operands(cache_mode=1))
    found["custom continuous"] = last()
    before = len(calls)
    found["empty"] = [list(torch_npu.compressor(**operands(tokens=0)).shape), len(calls) - before]

    for name, binding in (("npu", torch_npu), ("custom", torch_npu_a5)):
        cycle = name == "custom"
        strided = torch.empty(6, 2048, dtype=torch.bfloat16, device="npu:0")[:, ::2]
        found[name + " refuses"] = [
            said(binding, cycle=cycle, rotary_mode=1),
            said(binding, cycle=cycle, hidden=512),
            said(binding, cycle=cycle, hidden=10752),
            said(binding, cycle=cycle, hidden=1100),
            said(binding, cycle=cycle, head_dim=256),
            said(binding, cycle=cycle, rope_head_dim=32, rope_sin=torch.empty(3, 32, device="npu:0"),
                 rope_cos=torch.empty(3, 32, device="npu:0")),
            said(binding, cycle=cycle, x=strided),
            said(binding, cycle=cycle, state_cache=torch.empty(10, 8, 512, dtype=torch.bfloat16, device="npu:0")),
            said(binding, cycle=cycle, ape=torch.empty(4, 256)),
            said(binding, cycle=not cycle),
            said(binding, cycle=cycle, state_cache_stride_dim0=7),
        ]
    # The schema's default of rotary_mode is the one that the kernel does not have.
    short = operands()
    del short["rotary_mode"]
    try:
        torch_npu.compressor(**short)
        found["default rotary"] = "no error"
    except ValueError as error:
        found["default rotary"] = str(error)

    from confbag.kernels.dsv4.compressor import native_limits
    def cores(count):
        native_limits._cores.cache_clear()
        torch.npu.get_device_properties = lambda device: types.SimpleNamespace(cube_core_num=count)
        return said(torch_npu, head_dim=512)
    found["cores"] = [cores(7), cores(8)]

    # The reference reads no value of a tensor on npu: a fake tensor has none to read.
    result = reference.compressor(**operands(hidden=16, head_dim=64))
    found["reference"] = [str(result.device), list(result.shape)]
    padded = operands(hidden=16, head_dim=64, padded=6, cache_mode=1)
    found["reference BSH"] = list(reference.compressor(**padded).shape)

    from confbag.kernels.dsv4.state_pool.geometry import StateGeometry
    from confbag.kernels.dsv4.state_pool.locations import request_table, window_table
    def of(*size):
        return torch.empty(size, dtype=torch.int32, device="npu:0")
    found["tables"] = [
        list(window_table(StateGeometry(64, 4, 8, 8), of(9, 50), of(99), of(3), of(3), of(3), of(3), 2, 16).shape),
        list(request_table(StateGeometry(512, 128, 8, 128), of(3), of(3), of(3), of(3), 2).shape)]
print(json.dumps(found))
"""

NAMES = [
    *("x", "wkv", "wgate", "state_cache", "ape", "norm_weight", "rope_sin", "rope_cos"),
    *("state_block_table", "cu_seqlens", "seqused", "start_pos"),
    *("rope_head_dim", "cmp_ratio", "coff", "norm_eps", "rotary_mode", "cache_mode"),
]


@pytest.fixture(scope="module")
def found():
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_npu_gets_everything_by_keyword_and_every_default_explicitly(found):
    namespace, positional, named, device, dtype, shape = found["npu"]
    assert (namespace, positional) == ("npu", 0)
    assert sorted(named) == sorted([*NAMES, "state_cache_stride_dim0"])
    assert {name: named[name] for name in NAMES[12:]} == {
        "rope_head_dim": 64,
        "cmp_ratio": 4,
        "coff": 2,
        "norm_eps": 1e-6,
        "rotary_mode": 2,
        "cache_mode": 2,
    }
    assert named["state_cache_stride_dim0"] == 0
    assert (device, dtype, shape) == ("npu:0", "torch.bfloat16", [3, 128])
    assert found["npu BSH"] == [2, 2, 128]


def test_what_the_caller_says_is_passed_on(found):
    _, _, named = found["npu options"]
    assert named["seqused"] is None
    assert named["start_pos"] is None
    assert named["norm_eps"] == 1e-3
    assert named["state_cache_stride_dim0"] == 8 * 512


def test_a5_is_another_op_with_a_ring_for_each_request_and_no_stride(found):
    namespace, positional, named, shape = found["custom"]
    assert (namespace, positional) == ("custom", 0)
    assert sorted(named) == sorted(NAMES)
    assert named["state_block_table"] == "(2,)"
    assert (named["rotary_mode"], named["cache_mode"]) == (2, 2)
    assert shape == [3, 128]
    assert found["custom continuous"][2]["state_block_table"] == "(2, 17)"


def test_an_empty_call_does_not_reach_the_native_op(found):
    assert found["empty"] == [[0, 128], 0]


@pytest.mark.parametrize("provider", ["npu", "custom"])
def test_refused_before_the_native_call(found, provider):
    for said, message in zip(
        found[f"{provider} refuses"],
        [
            "ValueError: rotary_mode: expected 2, found 1; the kernel has no other one",
            "ValueError: x: expected a hidden size from 1024 to 10240 in steps of 512, found 512",
            "ValueError: x: expected a hidden size from 1024 to 10240 in steps of 512, found 10752",
            "ValueError: x: expected a hidden size from 1024 to 10240 in steps of 512, found 1100",
            "ValueError: norm_weight: expected 128 or 512 elements, found 256",
            "ValueError: rope_head_dim: expected 64, found 32",
            "ValueError: x: expected a contiguous tensor, found strides [2048, 2]",
            "TypeError: state_cache: expected dtype float32, found bfloat16",
            "ValueError: ape: expected a tensor on npu:0, where the other operands are, found one on cpu",
            "ValueError: state_block_table: expected ",
            "ValueError: state_cache_stride_dim0: expected 0 or 4096",
        ],
        strict=True,
    ):
        assert said.startswith(message)


def test_the_rotation_of_the_schemas_default_is_refused(found):
    assert "rotary_mode: expected 2, found 1" in found["default rotary"]


def test_a_device_with_too_few_cores_is_refused(found):
    few, enough = found["cores"]
    assert few == (
        "ValueError: x: expected a device with at least 8 AI cores, one for 64 channels of norm_weight, "
        "found 7 on npu:0"
    )
    assert enough == "no error"


def test_the_reference_takes_tensors_of_npu_and_never_waits_for_it(found):
    assert found["reference"] == ["npu:0", [3, 64]]
    assert found["reference BSH"] == [2, 2, 64]


def test_location_tables_are_built_on_npu_without_waiting_for_it(found):
    assert found["tables"] == [[3, 10], [3, 130]]


@pytest.mark.parametrize("binding", [torch_npu, torch_npu_a5])
def test_tensors_of_another_device_are_refused(binding):
    arguments = Shape().named("cpu")
    if binding is torch_npu_a5:
        arguments["state_block_table"] = torch.arange(3, dtype=torch.int32)
    with pytest.raises(ValueError, match="x: expected a tensor on npu, found one on cpu"):
        binding.compressor(**arguments)


@pytest.mark.parametrize("binding", [torch_npu, torch_npu_a5])
def test_values_are_checked_under_the_switch(binding, monkeypatch):
    monkeypatch.setattr("confbag.kernels.checks.bounds._switched_on", True)
    arguments = Shape().named("cpu")
    if binding is torch_npu_a5:
        arguments["state_block_table"] = torch.tensor([0, 3, 2], dtype=torch.int32)
    arguments["seqused"] = torch.tensor([6, 0, 9], dtype=torch.int32)
    with pytest.raises(ValueError, match=r"seqused\[0\]: expected at most 5"):
        binding.compressor(**arguments)
    if binding is torch_npu_a5:
        # Request 1 has no token, so its ring may be anything; request 2's must be there.
        arguments["seqused"] = None
        arguments["state_block_table"][2] = 3
        with pytest.raises(ValueError, match=r"state_block_table\[2, 0\]: expected a number in \[0, 3\), a block of"):
            binding.compressor(**arguments)
