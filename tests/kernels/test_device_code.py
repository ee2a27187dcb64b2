"""The Triton kernels compile for real devices, which the interpreter does not show; no device is needed for that."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, re, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from confbag.kernels.draft_extend import triton as fill
from confbag.kernels.last_loc import triton as last_loc

backend, arch, warp = json.loads(sys.argv[1])
target = GPUTarget(backend, arch, warp)
BUFFERS = {"seq_lens": "*i32", "num_correct_drafts": "*i32", "num_accept_tokens": "*i32", "temperatures": "*fp32",
           "src_temperatures": "*fp32", "hidden_states": "*bf16", "src_hidden_states": "*bf16",
           "global_num_tokens": "*i32", "global_num_tokens_for_logprob": "*i32", "input_ids": "*i64",
           "positions": "*i64", "out_cache_loc": "*i64", "req_pool_indices": "*i64", "select_index": "*i64",
           "table": "*i32", "requests_of": "*i32", "prefixes": "*i64", "found": "*i64", "row_stride": "i64"}


def compiled(module, kernel, absent=(), aligned=()):
    signature, constants, attributes = {}, {}, {}
    for place, name in enumerate(kernel.arg_names):
        if name.endswith("BLOCK") or name in absent:
            signature[name] = "constexpr"
            constants[(place,)] = getattr(module, name, None)
        else:
            signature[name] = BUFFERS.get(name, "*i64" if name.startswith("src_") else "i32")
        if name in aligned:
            attributes[(place,)] = [["tt.divisibility", 16]]
    done = triton.compile(ASTSource(kernel, signature, constexprs=constants, attrs=attributes), target=target)
    code = done.asm["ptx" if backend == "cuda" else "amdgcn"]
    return sorted(set(re.findall(r"(?:ld|st)\\.global[.\\w]*|global_(?:load|store)_\\w+", code)))


optional = ("temperatures", "src_temperatures", "hidden_states", "src_hidden_states", "global_num_tokens",
            "global_num_tokens_for_logprob")
print(json.dumps({
    "last_loc": compiled(last_loc, last_loc._last_loc),
    "fill": compiled(fill, fill._fill, aligned=("hidden_states", "src_hidden_states", "num_hidden")),
    "fill, nothing optional": compiled(fill, fill._fill, absent=optional),
}))
"""


@pytest.mark.parametrize(
    ("target", "wide"),
    [
        (("cuda", 75, 32), ("ld.global.v4.b32", "st.global.v4.b32")),
        (("cuda", 90, 32), ("ld.global.v4.b32", "st.global.v4.b32")),
        (("hip", "gfx942", 64), ("global_load_dwordx4", "global_store_dwordx4")),
    ],
    ids=["sm75", "sm90", "gfx942"],
)
def test_kernels_compile_and_copy_hidden_states_16_bytes_wide(target, wide, tmp_path):
    # A cache of its own, so that the compiler runs; the second variable only silences a notice of Triton 3.9.
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "TRITON_DEFAULT_FP_FUSION": "1"}
    del environment["TRITON_INTERPRET"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(target)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    accesses = json.loads(done.stdout)
    assert all(accesses.values())
    assert set(wide) <= set(accesses["fill"])
