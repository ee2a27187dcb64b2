"""What the registry holds of our ops: read without torch, signatures as the contracts say, declared facts."""

import inspect
import json
import subprocess
import sys

import pytest

from confbag.backends.declare.registry import Registry
from confbag.backends.words.levels import ALWAYS, BATCH_INVARIANT
from confbag.kernels import register
from confbag.testing import check_implementation


@pytest.fixture(scope="module")
def ops():
    registry = Registry()
    register(registry)
    return registry.ops


def test_ops_are_added_in_the_order_in_which_they_are_planned(ops):
    names = list(ops)
    assert names[:3] == ["attention", "kvcache.last_loc", "speculative.draft_extend_fill"]
    assert names[3:5] == ["dsv4.compressor", "dsv4.sparse_attention"]


def test_declaring_the_ops_imports_no_torch():
    script = (
        "import json, sys\n"
        "from confbag.backends.declare.registry import Registry\n"
        "from confbag.kernels import register\n"
        "register(Registry())\n"
        "print(json.dumps([name for name in ('torch', 'triton', 'numpy') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize(
    ("op", "providers"),
    [
        ("kvcache.last_loc", {"reference": (), "triton": ("cuda", "xpu"), "triton_int32_safe": ("hip", "npu")}),
        ("speculative.draft_extend_fill", {"reference": (), "triton": ("cuda", "hip", "xpu")}),
    ],
)
def test_providers(ops, op, providers):
    rows = {row.provider: row for row in ops[op].implementations}
    assert {name: row.requires.device for name, row in rows.items()} == providers
    for row in rows.values():
        assert row.determinism_in(None) == BATCH_INVARIANT
        assert row.graph == ALWAYS
        check_implementation(ops[op], row)


def test_torch_native_has_the_signature_of_the_attention_contract(ops):
    from confbag.kernels.attention.torch_native import attention

    check_implementation(ops["attention"], attention)


def test_contracts_say_everything_and_lower_to_a_graph(ops):
    for op in ops.values():
        assert "Raises" in op.contract.__doc__
        for parameter in inspect.signature(op.contract).parameters.values():
            assert parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            assert parameter.name in op.contract.__doc__ or parameter.name.startswith("src_")


def test_the_native_fill_is_first_class_on_npu(ops):
    assert ops["speculative.draft_extend_fill"].reference_on == ("npu",)
