"""Ranks that hold one plan, and ranks that do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from confbag.backends.compare.agree import explain

RANK = """
import json, sys
from datetime import timedelta
import torch.distributed as dist
from confbag import load
from confbag.backends import Op, Platform, Registry, Requires, make_plan
from confbag.backends.compare.agree import agree
from confbag.errors import AgreementError

rank, store, differing = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
dist.init_process_group(
    "gloo", init_method=f"file://{store}", rank=rank, world_size=2, timeout=timedelta(seconds=60)
)

def step(x):
    "A contract."

def one(x): return x
def two(x): return x

def plan_of(settings, device="cpu"):
    registry = Registry()
    for name in ("a.first", "a.second"):
        op = Op(name, step)
        op.implement("one", one, priority=1, requires=Requires(device=["cpu"]))
        op.implement("two", two)
        registry.add(op)
    return make_plan(load(env={}, overrides={"exec.graph": False, **settings}), Platform(device), registry=registry)

said = []
for settings, device in differing:
    plan = plan_of(settings if rank else {}, device if rank else "cpu")
    try:
        agree(plan)
        said.append(None)
    except AgreementError as error:
        said.append(str(error))
group = dist.new_group([0])
try:
    agree(plan_of({}), group)
    said.append("alone")
except AgreementError as error:
    said.append(str(error))
dist.barrier()
dist.destroy_process_group()
print(json.dumps(said))
"""

CASES = [
    ({}, "cpu"),
    ({"exec.kernels.pin": {"a.second": "two"}}, "cpu"),
    ({"memory.fraction_static": 0.5}, "cpu"),
    ({}, "cuda"),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[list[str | None]]:
    """What two ranks said of every case, one list a rank."""
    pytest.importorskip("torch")
    store = tmp_path_factory.mktemp("agree") / "store"
    command = [sys.executable, "-c", RANK]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), str(store), json.dumps(CASES)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(2)
    ]
    outputs = [rank.communicate(timeout=240) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], outputs
    return [json.loads(out.splitlines()[-1]) for out, _ in outputs]


def test_ranks_with_one_plan_agree(answers: list[list[str | None]]) -> None:
    assert [rank[0] for rank in answers] == [None, None]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (1, ["a.second: rank 0: one", "rank 1: two"]),
        (2, ["memory.fraction_static: rank 0: None; rank 1: 0.5"]),
        (3, ["rank 1: no plan: "]),
    ],
)
def test_every_rank_is_told_who_holds_what(answers: list[list[str | None]], case: int, said: list[str]) -> None:
    first, second = (rank[case] for rank in answers)
    assert first == second
    assert first is not None
    for part in said:
        assert part in first


def test_a_rank_outside_the_group_is_told_so(answers: list[list[str | None]]) -> None:
    assert answers[0][-1] == "alone"
    assert answers[1][-1] == "rank 1 is not a member of the group that agree was given"


def test_without_a_process_group_it_says_what_to_call(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from confbag import load
    from confbag.backends import Platform, Registry, make_plan
    from confbag.backends.compare.agree import agree
    from confbag.errors import AgreementError

    plan = make_plan(load(env={}, overrides={"exec.graph": False}), Platform("cpu"), registry=Registry())
    with pytest.raises(AgreementError, match="init_process_group"):
        agree(plan)


def test_the_first_binding_that_differs_is_named_with_its_ranks() -> None:
    same = {"a": "x", "b": "y"}
    said = explain({0: same, 1: {"a": "x", "b": "z"}, 2: same, 3: {"a": "x"}})
    assert "b: ranks 0, 2: y; rank 1: z; rank 3: absent" in said
    assert "not hold the same plan: ranks 0, 1: " not in said
    many = explain({rank: {"a": str(rank == 0)} for rank in range(64)})
    assert "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 55 more: False" in many
