"""dsv4.compressor's Triton kernels compile for real devices, which the interpreter does not show; needs no device."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from confbag.kernels.dsv4.compressor import triton_kernels as kernels

types = {name: "*fp32" for name in ("new", "state", "ape", "norm_weight", "rope_sin", "rope_cos")}
types |= {name: "*i32" for name in ("table", "bounds", "used", "starts", "last")}
types |= {name: "*bf16" for name in ("x", "wkv", "wgate", "result")} | {"norm_eps": "fp32"}
fixed = dict(TOKENS=64, HIDDEN=64, WIDEN=kernels.INTERPRETED, HEAD_DIM=512, ROPE=64, RATIO=4, COFF=2, IN_PAIRS=True,
             BLOCKS=False, PADDED=False, BATCH=64, WIDTH=1024, CLAIM=False)
backend, arch, warp = json.loads(sys.argv[1])
for kernel, channels in ((kernels.project, 64), (kernels.compress, 512), (kernels.keep, 1024)):
    constants = {**fixed, "CHANNELS": channels}
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in kernel.arg_names}
    given = {(place,): constants[name] for place, name in enumerate(kernel.arg_names) if name in constants}
    triton.compile(ASTSource(kernel, signature, constexprs=given), target=GPUTarget(backend, arch, warp))
print(kernels.INTERPRETED)
"""


@pytest.mark.parametrize("target", ['["cuda", 75, 32]', '["cuda", 90, 32]', '["hip", "gfx942", 64]'])
def test_every_kernel_compiles(target, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, target],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "TRITON_CACHE_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "False", "a device multiplies bfloat16 itself"
