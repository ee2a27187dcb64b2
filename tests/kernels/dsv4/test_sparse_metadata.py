"""dsv4.sparse_metadata: the worked tables, a naive second scheduler, every partition valid, everything refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from confbag.kernels.dsv4.sparse_metadata import torch_npu_device, torch_npu_host
from confbag.kernels.dsv4.sparse_metadata.cases import BOUNDARIES, Shape, cases, random_shape
from confbag.kernels.dsv4.sparse_metadata.contract import SPARSE_METADATA
from confbag.kernels.dsv4.sparse_metadata.reference import sparse_metadata
from confbag.testing import check_implementation

INT32 = torch.int32


def int32(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=INT32)


def table_of(shape: Shape) -> list[int]:
    found = sparse_metadata(*shape.arguments("cpu"))
    assert (found.dtype, found.shape, found.device.type) == (INT32, (1024,), "cpu")
    return found.tolist()


def rows_of(table: list[int]) -> list[list[int]]:
    """The enabled cube rows; everything else must be zero."""
    rows = [table[8 * core : 8 * core + 8] for core in range(36)]
    used = sum(row[0] for row in rows)
    assert not any(table[8 * used :])
    assert all(row[0] == 1 for row in rows[:used])
    return rows[:used]


# The worked tables


@pytest.mark.parametrize(
    ("queries", "lengths", "options", "rows"),
    [
        (
            (1, 1, 1),
            (128, 256, 1000),
            {},
            [[1, 0, 0, 0, 1, 0, 0, 0], [1, 1, 0, 0, 2, 0, 0, 0], [1, 2, 0, 0, 3, 0, 0, 0]],
        ),
        ((1,) * 5, (128,) * 5, {"aic_cores": 2}, [[1, 0, 0, 0, 3, 0, 0, 0], [1, 3, 0, 0, 5, 0, 0, 0]]),
        ((3,), (3,), {}, [[1, 0, 0, 0, 0, 1, 0, 0], [1, 0, 1, 0, 0, 2, 0, 0], [1, 0, 2, 0, 1, 0, 0, 0]]),
        ((5,), (5,), {"aic_cores": 2}, [[1, 0, 0, 0, 0, 3, 0, 0], [1, 0, 3, 0, 1, 0, 0, 0]]),
        ((1, 1), (0, 0), {}, [[1, 0, 0, 0, 2, 0, 0, 0]]),
        ((1, 0, 1), (10, 0, 20), {"aic_cores": 4}, [[1, 0, 0, 0, 2, 0, 0, 0], [1, 2, 0, 0, 3, 0, 0, 0]]),
        ((1, 1, 1), (10, 0, 20), {"aic_cores": 4}, [[1, 0, 0, 0, 2, 0, 0, 0], [1, 2, 0, 0, 3, 0, 0, 0]]),
        ((1,), (4096,), {"cmp_ratio": 4, "cmp_topk": 512}, [[1, 0, 0, 0, 1, 0, 0, 0]]),
        (
            (1, 1),
            (4096, 131072),
            {"cmp_ratio": 128, "aic_cores": 2},
            [[1, 0, 0, 0, 1, 0, 0, 0], [1, 1, 0, 0, 2, 0, 0, 0]],
        ),
        (
            (5, 5),
            (205, 305),
            {"ori_win_left": 132},
            [
                *([1, 0, token, 0, 0, token + 1, 0, 0] for token in range(4)),
                [1, 0, 4, 0, 1, 0, 0, 0],
                *([1, 1, token, 0, 1, token + 1, 0, 0] for token in range(4)),
                [1, 1, 4, 0, 2, 0, 0, 0],
            ],
        ),
    ],
)
def test_worked_tables(
    queries: tuple[int, ...], lengths: tuple[int, ...], options: dict[str, Any], rows: list[list[int]]
) -> None:
    assert rows_of(table_of(Shape(queries, lengths, **options))) == rows


@pytest.mark.parametrize(
    ("name", "requests"),
    [("BSND", 3), ("no query starts", 3), ("no KV lengths", 3), ("no requests", 0), ("no queries", 2), ("no KV", 2)],
)
def test_without_lengths_one_core_does_everything(name: str, requests: int) -> None:
    assert rows_of(table_of(BOUNDARIES[name])) == [[1, 0, 0, 0, requests, 0, 0, 0]]


def test_leading_rows_without_a_visible_token_are_somebodys_too() -> None:
    """More queries than KV: the first stand before position 0, and the first core takes them."""
    assert rows_of(table_of(Shape((4,), (1,)))) == [[1, 0, 0, 0, 1, 0, 0, 0]]
    assert rows_of(table_of(Shape((7,), (2,), aic_cores=2))) == [[1, 0, 0, 0, 0, 6, 0, 0], [1, 0, 6, 0, 1, 0, 0, 0]]


# A second implementation, from the formulas: what is visible is enumerated, costs are added up block by block


def naive_rows(shape: Shape) -> list[list[tuple[int, int]]]:
    """(cost, cost of the last block) of each row of each request."""
    wide = "ascend950" in shape.soc.lower()
    height, step = (64, 128) if wide else (shape.num_heads_q, 512)
    found = []
    for n, length in zip(shape.queries or (), shape.lengths or (), strict=True):
        packed = [token for token in range(n) for _ in range(shape.num_heads_q)] if length else []
        rows = []
        for start in range(0, len(packed), height):
            block = packed[start : start + height]
            seen = sorted({x for token in set(block) for x in range(length) if visible(shape, length - n + token, x)})
            last_seen = seen[-1] + 1 if seen else 1
            groups = (
                [x for x in range(last_seen) if x % shape.cmp_ratio == shape.cmp_ratio - 1] if shape.cmp_ratio else []
            )
            if shape.cmp_ratio and shape.cmp_topk:
                groups = groups[: shape.cmp_topk]
            costs = [
                6 * len(range(0, len(block), 16)) + 10 * len(range(0, len(part[at : at + step]), 64))
                for part in (seen, groups)
                for at in range(0, len(part), step)
            ]
            rows.append((sum(costs), costs[-1] if costs else 0))
        found.append(rows)
    return found


def visible(shape: Shape, position: int, x: int) -> bool:
    if shape.ori_mask_mode == 0:
        return True
    left, right = (-1, 0) if shape.ori_mask_mode == 3 else (shape.ori_win_left, shape.ori_win_right)
    return (left < 0 or x >= position - left) and (right < 0 or x <= position + right)


def naive_table(shape: Shape) -> list[list[int]]:
    """The rows by walking a flat list of what is left, request by request, and adding it up anew at every step."""
    requests = naive_rows(shape)
    batch = len(requests)
    if not any(cost for rows in requests for cost, _ in rows):
        return [[1, 0, 0, 0, batch, 0, 0, 0]]
    largest = max(cost for rows in requests for cost, _ in rows)
    todo = [list(enumerate(rows)) for rows in requests]
    place, table = (0, 0), []
    for core in range(shape.aic_cores):
        if place[0] == batch:
            break
        begin, spent = place, 0
        everything = sum(cost for rows in todo[place[0] :] for _, (cost, _) in rows)
        limit = max(everything // (shape.aic_cores - core), largest)
        while place[0] < batch:
            rest = [row for _, row in todo[place[0]]]
            costly = [last for cost, last in requests[place[0]] if cost]
            if sum(cost for cost, _ in rest) and spent + sum(cost for cost, _ in rest) > limit + costly[-1] // 2:
                break
            spent += sum(cost for cost, _ in rest)
            todo[place[0]] = []
            place = (place[0] + 1, 0)
        while place[0] < batch and spent + todo[place[0]][0][1][0] <= limit + todo[place[0]][0][1][1] // 2:
            spent += todo[place[0]].pop(0)[1][0]
            while todo[place[0]][0][1][0] == 0:
                todo[place[0]].pop(0)
            place = (place[0], todo[place[0]][0][0])
        table.append([1, *begin, 0, *place, 0, 0])
    return table


@pytest.mark.parametrize("block", range(6))
def test_random_tables_are_the_naive_schedulers(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        shape = random_shape(seed)
        assert rows_of(table_of(shape)) == naive_table(shape), shape


@pytest.mark.parametrize("name", [name for name, shape in BOUNDARIES.items() if max(shape.lengths or (0,)) < 2000])
def test_boundary_tables_are_the_naive_schedulers(name: str) -> None:
    shape = BOUNDARIES[name]
    if shape.layout_q == "TND" and shape.queries is not None and shape.lengths is not None:
        assert rows_of(table_of(shape)) == naive_table(shape)
    else:
        assert len(rows_of(table_of(shape))) == 1


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5000)), max_size=12),
    st.sampled_from([1, 7, 16, 64, 128]),
    st.sampled_from([(None, 0), (4, 0), (4, 512), (4, 1024), (128, 0)]),
    st.sampled_from([(0, 127, 0), (3, 127, 0), (4, 127, 0), (4, 0, 0), (4, -1, 3), (4, 5, -1)]),
    st.integers(1, 36),
    st.sampled_from(["ascend910b", "ascend910_93", "ASCEND950DT"]),
)
def test_every_table_is_a_full_contiguous_partition(
    batch: list[tuple[int, int]],
    heads: int,
    compressed: tuple[int | None, int],
    mask: tuple[int, int, int],
    cores: int,
    soc: str,
) -> None:
    queries, lengths = tuple(n for n, _ in batch), tuple(length for _, length in batch)
    shape = Shape(queries, lengths, heads, "TND", *compressed, *mask, cores, soc)
    rows = rows_of(table_of(shape))
    height = 64 if "950" in soc else heads
    assert 1 <= len(rows) <= cores
    place = [0, 0]
    for _, start, first, zero, end, last, *zeros in rows:
        assert [start, first] == place
        assert not any((zero, *zeros))
        assert (start, first) < (end, last) or not batch
        assert end == len(batch) or last < max(1, -(-queries[end] * heads // height))
        place = [end, last]
    assert place == [len(batch), 0]


# What is refused

TENSORS = {"cu_seqlens_q": int32(0, 1, 2), "seqused_kv": int32(5, 6), "batch_size": 2, "has_cmp_kv": False}

REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_heads_kv": 2}, ValueError, "num_heads_kv: expected 1, found 2"),
    ({"num_heads_q": 0}, ValueError, "num_heads_q: expected a number from 1 to"),
    ({"num_heads_q": 64.0}, TypeError, "num_heads_q: expected an integer, found 64.0"),
    ({"batch_size": True}, TypeError, "batch_size: expected an integer, found True"),
    ({"batch_size": -1}, ValueError, "batch_size: expected a number from 0"),
    ({"ori_win_left": 2**31}, ValueError, "ori_win_left: expected a number"),
    ({"has_cmp_kv": True}, ValueError, "cmp_ratio: expected 4 or 128, found -1; pass has_cmp_kv=False"),
    ({"has_cmp_kv": True, "cmp_ratio": 8}, ValueError, "cmp_ratio: expected 4 or 128, found 8"),
    (
        {"has_cmp_kv": True, "cmp_ratio": 4, "cmp_topk": 511},
        ValueError,
        "cmp_topk: expected 0 or 512 or 1024, found 511",
    ),
    ({"has_cmp_kv": 1}, TypeError, "has_cmp_kv: expected True or False, found 1"),
    ({"has_ori_kv": None}, TypeError, "has_ori_kv: expected True or False, found None"),
    ({"layout_q": "TDN"}, ValueError, "layout_q: expected TND or BSND, found 'TDN'"),
    ({"layout_kv": "TND"}, ValueError, "layout_kv: expected PA_ND, found 'TND'"),
    ({"ori_mask_mode": 1}, ValueError, "ori_mask_mode: expected 0 or 3 or 4, found 1"),
    ({"aic_cores": 37}, ValueError, "aic_cores: expected a number from 1 to 36, found 37"),
    ({"aic_cores": 0}, ValueError, "aic_cores: expected a number from 1 to 36, found 0"),
    ({"aiv_cores": 73}, ValueError, "aiv_cores: expected a number from 1 to 72, found 73"),
    ({"soc": None}, TypeError, "soc: expected a SoC's name, found None"),
    ({"cu_seqlens_q": int32(0, 1, 2).long()}, TypeError, "cu_seqlens_q: expected dtype int32, found int64"),
    ({"seqused_kv": torch.ones(2)}, TypeError, "seqused_kv: expected dtype int32, found float32"),
    ({"cu_seqlens_q": int32(0, 1)}, ValueError, r"cu_seqlens_q: expected \[3\], for batch_size 2, found \[2\]"),
    (
        {"cu_seqlens_q": int32(0, 1, 2, 3)},
        ValueError,
        r"cu_seqlens_q: expected \[3\].*pass batch_size=3 or cu_seqlens_q\[:3\]",
    ),
    ({"seqused_kv": int32(5)}, ValueError, r"seqused_kv: expected \[2\], for batch_size 2, found \[1\]"),
    ({"batch_size": 0}, ValueError, r"cu_seqlens_q: expected \[1\], for batch_size 0, found \[3\]; pass batch_size=2"),
    ({"seqused_kv": int32(5, 6).view(2, 1)}, ValueError, "seqused_kv: expected 1 dimension"),
    ({"cu_seqlens_q": int32(0, 9, 1, 9, 2, 9)[::2]}, ValueError, "cu_seqlens_q: expected a contiguous tensor"),
    ({"seqused_kv": int32(5, 9, 6, 9)[::2]}, ValueError, "seqused_kv: expected a contiguous tensor"),
    ({"cu_seqlens_q": int32(1, 1, 2)}, ValueError, r"cu_seqlens_q\[0\]: expected 0, found 1"),
    ({"cu_seqlens_q": int32(0, 3, 2)}, ValueError, r"cu_seqlens_q\[2\]: expected at least 3, .*found 2"),
    ({"seqused_kv": int32(5, -1)}, ValueError, r"seqused_kv\[1\]: expected at least 0 tokens, found -1"),
    ({"cu_seqlens_q": int32(0, 2**26, 2**26)}, ValueError, r"cu_seqlens_q\[1\]: expected fewer than 2\*\*32 rows"),
]


@pytest.mark.parametrize(("changed", "error", "says"), REFUSED)
@pytest.mark.parametrize("function", [sparse_metadata, torch_npu_host.sparse_metadata])
def test_refused_before_anything_is_called(
    function: Any, changed: dict[str, Any], error: type[Exception], says: str
) -> None:
    """No native op is registered here: a call that came through would be an AttributeError."""
    arguments = {"num_heads_q": 64, "num_heads_kv": 1, "head_dim": 512, "layout_q": "TND", "layout_kv": "PA_ND"}
    with pytest.raises(error, match=says):
        function(**{**arguments, **TENSORS, **changed})


@pytest.mark.parametrize(("changed", "error", "says"), [case for case in REFUSED if "tensor" not in str(case[0])])
def test_the_device_binding_checks_the_same_numbers(changed: dict[str, Any], error: type[Exception], says: str) -> None:
    arguments = {"num_heads_q": 64, "num_heads_kv": 1, "head_dim": 512, "layout_q": "TND", "layout_kv": "PA_ND"}
    if "batch_size" in changed and changed["batch_size"] == 0:
        error, says = ValueError, "cu_seqlens_q: expected a tensor on npu, found one on cpu"
    with pytest.raises(error, match=says):
        torch_npu_device.sparse_metadata(**{**arguments, **TENSORS, **changed})


def test_each_binding_takes_its_tensors_where_it_computes() -> None:
    plain = (64, 1, 512, "TND", "PA_ND")
    elsewhere = torch.zeros(3, dtype=INT32, device="meta")
    with pytest.raises(ValueError, match="cu_seqlens_q: expected a tensor on cpu, found one on meta; pass its mirror"):
        torch_npu_host.sparse_metadata(*plain, elsewhere, int32(5, 6), 2, has_cmp_kv=False)
    with pytest.raises(ValueError, match="seqused_kv: expected a tensor on cpu"):
        torch_npu_host.sparse_metadata(*plain, int32(0, 1, 2), elsewhere[:2], 2, has_cmp_kv=False)
    with pytest.raises(ValueError, match="cu_seqlens_q: expected a tensor on npu, found one on cpu; pass the device"):
        torch_npu_device.sparse_metadata(*plain, int32(0, 1, 2), int32(5, 6), 2, has_cmp_kv=False)
    for function in (torch_npu_host.sparse_metadata, torch_npu_device.sparse_metadata):
        with pytest.raises(ValueError, match="expected at least one tensor, found None and None"):
            function(*plain, None, None, 2, has_cmp_kv=False)
    with pytest.raises(ValueError, match="seqused_kv: expected a tensor on meta, where the other operands are"):
        sparse_metadata(*plain, elsewhere, int32(5, 6), 2, has_cmp_kv=False)


def test_what_decides_nothing_is_ignored() -> None:
    plain = (64, 1, 512, "TND", "PA_ND", int32(0, 3), int32(300), 1)
    wanted = sparse_metadata(*plain, has_cmp_kv=False)
    for other in (
        {"has_ori_kv": False},
        {"cmp_mask_mode": 0},
        {"cmp_topk": 7, "cmp_ratio": 9},
        {"aiv_cores": 1},
        {"soc": "ascend310p"},
    ):
        assert torch.equal(sparse_metadata(*plain, has_cmp_kv=False, **other), wanted)
    assert torch.equal(sparse_metadata(64, 1, 1, *plain[3:], has_cmp_kv=False), wanted)


def test_nothing_is_written_to_the_operands() -> None:
    starts, lengths = int32(0, 2, 5), int32(700, 3)
    sparse_metadata(64, 1, 512, "TND", "PA_ND", starts, lengths, 2, has_cmp_kv=False)
    assert (starts.tolist(), lengths.tolist()) == ([0, 2, 5], [700, 3])


# What is declared


@pytest.mark.parametrize("provider", ["reference", "torch_npu_host", "torch_npu_device"])
def test_signatures_are_the_contracts(provider: str) -> None:
    check_implementation(SPARSE_METADATA, provider)


def test_the_host_op_is_looked_up_under_the_cpus_key() -> None:
    rows = {row.provider: row.requires.native_ops for row in SPARSE_METADATA.implementations}
    assert [(op.name, op.dispatch_key) for op in rows["torch_npu_host"]] == [
        ("npu::sparse_attn_sharedkv_metadata_host", "CPU")
    ]
    assert [(op.name, op.dispatch_key) for op in rows["torch_npu_device"]] == [
        ("custom::npu_sparse_attn_sharedkv_metadata", "")
    ]


def test_cases_are_what_the_contract_allows() -> None:
    for case in cases("cpu", 20):
        rows_of(sparse_metadata(*case.arguments()).tolist())
