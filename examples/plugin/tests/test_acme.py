"""What the plug-in promises, tested where it is installed beside confbag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from confbag_acme import probe
from confbag_acme.expert_counts import native, reference
from confbag_acme.expert_counts.cases import cases
from torch import Tensor

from confbag import load
from confbag.backends import Evidence, Plan, Platform, Software, make_plan
from confbag.backends.declare.plugins import installed
from confbag.testing import check_implementation


@pytest.fixture
def acme_ops() -> Iterator[None]:
    """The native op, registered as its library would register it."""

    def kernel(expert_ids: Tensor, num_experts: int) -> Tensor:
        one_hot = expert_ids.reshape(-1, 1) == torch.arange(num_experts)
        return one_hot.sum(0, dtype=torch.int32)

    library: Any = torch.library
    library = library.Library("acme", "DEF")
    library.define("expert_counts(Tensor expert_ids, int num_experts) -> Tensor")
    library.impl("expert_counts", kernel, "CPU")
    yield
    library._destroy()


def plan_of(settings: Mapping[str, object] | None = None, platform: Platform | None = None) -> Plan:
    registry = installed()
    assert not registry.failures
    return make_plan(load(env={}, overrides=settings), platform or registry.platforms["acme:a1"], registry=registry)


@pytest.mark.parametrize("provider", ["reference", "acme"])
def test_signatures_are_the_contracts(provider: str) -> None:
    check_implementation("moe.expert_counts", provider)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("ids", [[], [[-1, -1]], [[0, 3], [3, -1], [2, 3]], [[7] * 4] * 9])
def test_the_kernel_is_the_reference(acme_ops: None, ids: list[list[int]], dtype: torch.dtype) -> None:
    expert_ids = torch.tensor(ids, dtype=dtype)
    wanted = reference.expert_counts(expert_ids, 8)
    got = native.expert_counts(expert_ids, 8)
    assert torch.equal(got, wanted)
    assert (got.dtype, got.shape) == (torch.int32, (8,))


def test_the_kernel_is_the_reference_on_what_verify_runs(acme_ops: None) -> None:
    found = [case.difference(reference.expert_counts, native.expert_counts) for case in cases("cpu", 20)]
    assert found == [None] * 23


@pytest.mark.parametrize("wrong", [-2, 8])
def test_ids_out_of_range(wrong: int) -> None:
    with pytest.raises(IndexError, match="between -1 and 7"):
        reference.expert_counts(torch.tensor([[0, wrong]]), 8)


def test_our_attention_goes_first_on_our_device_and_nowhere_else() -> None:
    plan = plan_of()
    assert not plan.faults
    for phase in ("prefill", "decode"):
        assert plan[f"attention@{phase}"].provider == "acme_flash"
        assert plan[f"attention@{phase}"].rule == "acme-attention"
    assert plan["moe.expert_counts"].provider == "acme"
    assert (plan.bag["memory.page_size"], plan.bag["exec.sampling_backend"]) == (32, "acme")
    assert plan.bag.origin("exec.sampling_backend") == "rule acme-sampling"
    cuda = plan_of(platform=Platform.known("cuda:sm90"))
    assert cuda["attention@decode"].provider == "fa3"
    assert cuda["moe.expert_counts"].provider == "reference"
    assert cuda.bag["exec.sampling_backend"] != "acme"


def test_what_we_cannot_do_is_said() -> None:
    plan = plan_of({"exec.deterministic": True, "exec.attention.backend": "acme_flash", "memory.page_size": 16})
    assert [(fault.provider, fault.code) for fault in plan.faults] == [("acme_flash", "page-size")]
    plan = plan_of({"exec.deterministic": True})
    assert (plan.environment, plan.faults) == ({"ACME_QUEUES": "1"}, ())


def test_our_default_is_ours_until_somebody_writes_another() -> None:
    assert load(env={}).origin("memory.fraction_static") == "plugin acme"
    assert load(env={}, overrides={"memory.fraction_static": 0.5})["memory.fraction_static"] == 0.5


def test_the_device_is_found_by_its_files(tmp_path: Path) -> None:
    assert probe.look(Evidence(tmp_path), Software()) is None
    for name, content in {"dev/acme0": "", "dev/acme1": "", "sys/class/acme/acme0/arch": "a1\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    bare = probe.look(Evidence(tmp_path), Software())
    assert bare is not None
    assert bare.unusable == "acme-runtime is not installed"
    simulated = probe.look(Evidence(tmp_path, {probe.SIMULATOR: "a1"}), Software())
    assert simulated is not None
    assert (simulated.arch, simulated.unusable) == ("a1", None)
