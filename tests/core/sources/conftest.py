"""Keys for the tests of sources: the real ones' shape, written out, so that no test here needs the schema."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from confbag.sources.keys import Keys

# How long an example takes says how busy the machine is, not what is right.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

LEAVES = [
    "exec.deterministic",
    "exec.determinism",
    "exec.graph",
    "exec.compile",
    "exec.sampling_backend",
    "exec.attention.backend",
    "exec.attention.prefill",
    "exec.attention.decode",
    "exec.attention.draft",
    "exec.attention.num_splits",
    "exec.kernels.pin",
    "exec.kernels.prefer",
    "exec.kernels.reference_only",
    "exec.debug.bounds",
    "exec.debug.mirrors",
    "device.kind",
    "device.index",
    "device.arch",
    "model.path",
    "model.revision",
    "model.kind",
    "model.dtype",
    "parallel.tp_size",
    "parallel.pp_size",
    "parallel.dp_size",
    "parallel.ep_size",
    "parallel.num_nodes",
    "parallel.node_rank",
    "parallel.custom_all_reduce",
    "parallel.symm_mem_all_reduce",
    "spec.algorithm",
    "spec.num_steps",
    "spec.topk",
    "spec.num_draft_tokens",
    "spec.attention_mode",
    "memory.page_size",
    "memory.radix_cache",
    "memory.kv_cache_dtype",
    "memory.fraction_static",
    "disagg.mode",
    "disagg.transfer_backend",
]


@pytest.fixture(scope="session")
def keys() -> Keys:
    return Keys(LEAVES, ["exec"], {"attention": "exec.attention.backend", "deterministic": "exec.deterministic"})
