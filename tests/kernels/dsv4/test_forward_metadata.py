"""Forward metadata: lengths of every mode from CPU sources, what is refused, captured buffers, mirrors compared."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from confbag import load
from confbag.kernels.dsv4.forward_metadata.lengths import Batch, Mode
from confbag.kernels.dsv4.forward_metadata.metadata import ForwardMetadata
from confbag.kernels.dsv4.forward_metadata.mirrors import MirrorError
from confbag.kernels.dsv4.forward_metadata.tables import Kind, Scheduler, kinds
from confbag.kernels.dsv4.sparse_metadata.reference import sparse_metadata
from confbag.process.context import override, publish

INT32 = torch.int32
MOST = 2**31 - 1


def build(mode: Mode, seq_lens: Any = (), **fields: Any) -> ForwardMetadata:
    return ForwardMetadata.build(Batch(mode, seq_lens, **fields), "cpu")


def lists(metadata: ForwardMetadata) -> tuple[list[int] | None, list[int]]:
    """Query starts and KV lengths, which mirror and device must hold alike, all of them int32."""
    metadata.check_mirrors()
    starts = metadata.cu_seqlens_q_cpu
    for tensor in (metadata.seqused_kv, metadata.seq_lens_cpu_int, *([] if starts is None else [starts])):
        assert tensor.dtype is INT32
    return None if starts is None else starts.tolist(), metadata.seq_lens_cpu_int.tolist()


# Eager


@pytest.mark.parametrize("source", [list, torch.tensor, lambda values: torch.tensor(values, dtype=INT32), tuple])
def test_prefill_starts_come_from_query_lengths(source: Any) -> None:
    made = build(Mode.PREFILL, source([10, 1, 4]), query_lens=source([3, 1, 4]))
    assert lists(made) == ([0, 3, 4, 8], [10, 1, 4])
    assert made.batch_size == 3


@pytest.mark.parametrize(
    ("mode", "lengths", "fields", "starts", "kv"),
    [
        (Mode.DECODE, [5, 6, 7], {}, [0, 1, 2, 3], [5, 6, 7]),
        (Mode.DECODE, [5, 6, 7], {"step": 0}, [0, 1, 2, 3], [6, 7, 8]),
        (Mode.DECODE, [5, 6, 7], {"step": 2}, [0, 1, 2, 3], [8, 9, 10]),
        (Mode.DECODE, [0, 6], {}, [0, 1, 2], [0, 6]),
        (Mode.TARGET_VERIFY, [5, 6, 7], {"tokens": 2}, [0, 2, 4, 6], [7, 8, 9]),
        (Mode.TARGET_VERIFY, [5, 6, 7], {"tokens": 2, "expanded": True}, [0, 2, 4, 6], [5, 6, 7]),
        (Mode.DRAFT_EXTEND, [5, 6, 7], {"tokens": 2}, [0, 2, 4, 6], [5, 6, 7]),
        (Mode.IDLE, [], {}, None, []),
    ],
)
def test_eager(mode: Mode, lengths: list[int], fields: dict[str, Any], starts: list[int] | None, kv: list[int]) -> None:
    assert lists(build(mode, lengths, **fields)) == (starts, kv)


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": Mode.PREFILL, "query_lens": []},
        {"mode": Mode.DECODE},
        {"mode": Mode.TARGET_VERIFY, "tokens": 2},
        {"mode": Mode.DRAFT_EXTEND, "tokens": 5},
    ],
)
def test_no_requests(fields: dict[str, Any]) -> None:
    """The peer's eager verify of no requests raises in arange."""
    made = ForwardMetadata.build(Batch(**fields), "cpu", scheduler=SCHEDULER)
    assert lists(made) == ([0], [])
    assert made.tables["window"][:8].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]


@given(st.lists(st.integers(0, 10**6), max_size=40), st.integers(1, 9), st.integers(0, 5))
def test_the_formulas(lengths: list[int], tokens: int, step: int) -> None:
    queries = [length % 7 for length in lengths]
    total = [sum(queries[:place]) for place in range(len(lengths) + 1)]
    blocks = [place * tokens for place in range(len(lengths) + 1)]
    assert lists(build(Mode.PREFILL, lengths, query_lens=queries)) == (total, lengths)
    assert lists(build(Mode.DECODE, lengths, step=step)) == (
        list(range(len(lengths) + 1)),
        [length + step + 1 for length in lengths],
    )
    assert lists(build(Mode.TARGET_VERIFY, lengths, tokens=tokens)) == (blocks, [n + tokens for n in lengths])
    assert lists(build(Mode.DRAFT_EXTEND, lengths, tokens=tokens)) == (blocks, lengths)


# What is refused


@pytest.mark.parametrize(
    ("mode", "lengths", "fields", "error", "says"),
    [
        (
            Mode.PREFILL,
            [MOST, 1],
            {"query_lens": [MOST, 1]},
            ValueError,
            "query_lens: expected at most 2147483647 tokens in all, found 2147483648",
        ),
        (Mode.PREFILL, [1], {}, TypeError, "query_lens: expected the new tokens of each request, found None"),
        (Mode.PREFILL, [1, 2], {"query_lens": [1]}, ValueError, r"query_lens: expected \[2\].*found \[1\]"),
        (
            Mode.PREFILL,
            [1],
            {"query_lens": [-1]},
            ValueError,
            r"query_lens\[0\]: expected from 0 to 2147483647, found -1",
        ),
        (Mode.DECODE, [4, 2**31], {}, ValueError, r"seq_lens\[1\]: expected from 0 to 2147483647, found 2147483648"),
        (Mode.DECODE, [4, 2**32], {}, ValueError, r"seq_lens\[1\]: .*found 4294967296"),
        (Mode.DECODE, [4, 2**80], {}, ValueError, "seq_lens: expected whole numbers up to 2147483647"),
        (Mode.DECODE, [-4], {}, ValueError, r"seq_lens\[0\]: expected from 0"),
        (
            Mode.DECODE,
            [MOST],
            {"step": 0},
            ValueError,
            r"seq_lens\[0\]: expected from 0 to 2147483646 before this pass adds 1, found 2147483647",
        ),
        (Mode.DECODE, [4], {"step": -1}, ValueError, "step: expected a speculative step from 0, found -1"),
        (Mode.DECODE, [4], {"step": 1.0}, TypeError, "step: expected an int or None, found 1.0"),
        (
            Mode.TARGET_VERIFY,
            [MOST - 1],
            {"tokens": 2},
            ValueError,
            r"seq_lens\[0\]: expected from 0 to 2147483645 before this pass adds 2",
        ),
        (Mode.TARGET_VERIFY, [4], {"tokens": 0}, ValueError, "tokens: expected at least 1 query token"),
        (Mode.TARGET_VERIFY, [4], {"tokens": True}, TypeError, "tokens: expected an int, found True"),
        (
            Mode.DRAFT_EXTEND,
            [4, 4],
            {"tokens": 2**30},
            ValueError,
            r"cu_seqlens_q\[2\]: .*2 requests of 1073741824 tokens",
        ),
        (Mode.IDLE, [4], {}, ValueError, r"seq_lens: expected none in an idle pass, found \[1\]"),
        (Mode.DECODE, [4.5], {}, TypeError, r"seq_lens: expected whole numbers, found \[4.5\]"),
        (Mode.DECODE, [True], {}, TypeError, "seq_lens: expected whole numbers"),
        (Mode.DECODE, ["4"], {}, ValueError, "seq_lens: expected whole numbers"),
        (Mode.DECODE, [[4]], {}, ValueError, r"seq_lens: expected 1 dimension\(s\), found shape \[1, 1\]"),
        (Mode.DECODE, torch.ones(2), {}, TypeError, "seq_lens: expected dtype int32 or int64, found float32"),
        (Mode.DECODE, torch.ones(2, 1, dtype=INT32), {}, ValueError, "seq_lens: expected 1 dimension"),
        (
            Mode.DECODE,
            torch.ones(2, dtype=INT32, device="meta"),
            {},
            ValueError,
            "seq_lens: expected numbers on the CPU, found a tensor on meta",
        ),
    ],
)
def test_refused(mode: Mode, lengths: Any, fields: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        build(mode, lengths, **fields)


def test_the_largest_length_is_taken() -> None:
    assert lists(build(Mode.DECODE, [MOST, 0])) == ([0, 1, 2], [MOST, 0])
    assert lists(build(Mode.PREFILL, [MOST], query_lens=[MOST])) == ([0, MOST], [MOST])


# Captured


@pytest.mark.parametrize(
    ("batch", "size", "starts"),
    [
        (Batch(Mode.DECODE), 3, [0, 1, 2, 3]),
        (Batch(Mode.DECODE, tokens=4), 3, [0, 1, 2, 3]),
        (Batch(Mode.TARGET_VERIFY, tokens=2), 3, [0, 2, 4, 6]),
        (Batch(Mode.DRAFT_EXTEND, tokens=4), 1, [0, 4]),
        (Batch(Mode.TARGET_VERIFY, tokens=2), 0, [0]),
    ],
)
def test_capture(batch: Batch, size: int, starts: list[int]) -> None:
    made = ForwardMetadata.capture(batch, size, "cpu", kinds=KINDS)
    assert lists(made) == (starts, [1] * size)
    assert {name: int(table.abs().sum()) for name, table in made.tables.items()} == dict.fromkeys(made.tables, 0)
    assert list(made.tables) == ["window", "c4", "c128"]


def replayed(
    mode: Mode, size: int, seq_lens: list[int], live: Any = None, **fields: Any
) -> tuple[list[int], list[int]]:
    made = ForwardMetadata.capture(Batch(mode, **fields), size, "cpu")
    addresses = made.seqused_kv.data_ptr(), made.cu_seqlens_q.data_ptr()
    starts = made.cu_seqlens_q.clone()
    made.refresh(seq_lens, live)
    assert (made.seqused_kv.data_ptr(), made.cu_seqlens_q.data_ptr()) == addresses
    assert torch.equal(made.cu_seqlens_q, starts)
    made.check_mirrors()
    return made.seq_lens_cpu_int.tolist(), made.seqused_kv.tolist()


@pytest.mark.parametrize(
    ("mode", "lengths", "live", "fields", "mirror", "device"),
    [
        (Mode.DECODE, [0, 5, MOST], None, {}, [1, 5, MOST], [1, 5, MOST]),
        (Mode.DECODE, [5], None, {}, [5, 1, 1], [5, 1, 1]),
        (Mode.DECODE, [], None, {}, [1, 1, 1], [1, 1, 1]),
        (Mode.DECODE, [5, 6], None, {"step": 1}, [7, 8, 2], [7, 8, 2]),
        (Mode.DRAFT_EXTEND, [5, 0], None, {"tokens": 4}, [5, 1, 1], [5, 1, 1]),
        (Mode.TARGET_VERIFY, [12, 7, 4], [8, 0, 0], {"tokens": 4, "expanded": True}, [12, 0, 0], [12, 1, 1]),
        (Mode.TARGET_VERIFY, [12, 7, 4], [8], {"tokens": 4, "expanded": True}, [12, 0, 0], [12, 1, 1]),
        (Mode.TARGET_VERIFY, [12, 7, 4], None, {"tokens": 4, "expanded": True}, [12, 7, 0], [12, 7, 1]),
        (Mode.TARGET_VERIFY, [8], None, {"tokens": 4}, [12, 0, 0], [12, 1, 1]),
        (Mode.TARGET_VERIFY, [8, 0, 3], None, {"tokens": 4}, [12, 0, 7], [12, 1, 7]),
        (Mode.TARGET_VERIFY, [], None, {"tokens": 4}, [0, 0, 0], [1, 1, 1]),
    ],
)
def test_replay(
    mode: Mode, lengths: list[int], live: Any, fields: dict[str, Any], mirror: list[int], device: list[int]
) -> None:
    """Mirror and device may differ in padded rows of a verify, and nowhere else."""
    assert replayed(mode, 3, lengths, live, **fields) == (mirror, device)


@pytest.mark.parametrize(
    ("batch", "lengths", "live", "says"),
    [
        (Batch(Mode.DECODE), [1, 2, 3, 4], None, "seq_lens: expected at most 3 requests, what was captured, found 4"),
        (Batch(Mode.DECODE), [2**31], None, r"seq_lens\[0\]: expected from 0 to 2147483647, found 2147483648"),
        (Batch(Mode.DECODE), [2**32], None, r"seq_lens\[0\]: expected from 0 to 2147483647, found 4294967296"),
        (
            Batch(Mode.DECODE, step=0),
            [MOST],
            None,
            r"seq_lens\[0\]: expected from 0 to 2147483646 before this pass adds 1",
        ),
        (
            Batch(Mode.TARGET_VERIFY, tokens=2),
            [5, MOST],
            None,
            r"seq_lens\[1\]: expected from 0 to 2147483645 before this pass adds 2",
        ),
        (Batch(Mode.DECODE), [1], [1], "live_lens: expected None in a replay of decode"),
        (Batch(Mode.TARGET_VERIFY, tokens=2), [1], [1], "live_lens: expected None where seq_lens are live ones"),
        (Batch(Mode.TARGET_VERIFY, tokens=2, expanded=True), [1], [1] * 4, "live_lens: expected at most 3 requests"),
        (Batch(Mode.DECODE), torch.ones(1, dtype=INT32, device="meta"), None, "seq_lens: expected numbers on the CPU"),
    ],
)
def test_a_refused_replay_writes_nothing(batch: Batch, lengths: Any, live: Any, says: str) -> None:
    made = ForwardMetadata.capture(batch, 3, "cpu", kinds=KINDS)
    with pytest.raises(ValueError, match=says):
        made.refresh(lengths, live, SCHEDULER)
    assert (made.seq_lens_cpu_int.tolist(), made.seqused_kv.tolist()) == ([1, 1, 1], [1, 1, 1])
    assert not made.tables["window"].any()


def test_what_is_not_captured() -> None:
    for mode in (Mode.PREFILL, Mode.IDLE):
        with pytest.raises(ValueError, match=f"mode: expected decode, .*found {mode.value}"):
            ForwardMetadata.capture(Batch(mode), 3, "cpu")
    with pytest.raises(ValueError, match="batch_size: expected at least 0, found -1"):
        ForwardMetadata.capture(Batch(Mode.DECODE), -1, "cpu")
    with pytest.raises(TypeError, match=r"batch_size: expected an int, found 2\.0"):
        ForwardMetadata.capture(Batch(Mode.DECODE), 2.0, "cpu")
    with pytest.raises(ValueError, match="refresh: expected metadata of a captured graph"):
        build(Mode.DECODE, [1]).refresh([1])
    with pytest.raises(ValueError, match="placement: expected host or device, found 'gpu'"):
        ForwardMetadata.build(Batch(Mode.DECODE, [1]), "cpu", "gpu")


# Tables

KINDS = kinds([0, 4, 128, 4], 512)
SCHEDULER = Scheduler(sparse_metadata, 64, 512, 128, KINDS)


def test_kinds_are_the_models_ratios() -> None:
    assert (Kind("window"), Kind("c4", 4, 512), Kind("c128", 128, 0)) == KINDS
    assert kinds([0, 1], 512) == (Kind("window"),)


@pytest.mark.parametrize("placement", ["host", "device"])
def test_one_table_a_kind_from_the_lengths(placement: Any) -> None:
    made = ForwardMetadata.build(Batch(Mode.DECODE, [128, 256, 1000]), "cpu", placement, SCHEDULER)
    plain = (64, 1, 512, "TND", "PA_ND", made.cu_seqlens_q_cpu, made.seq_lens_cpu_int, 3)
    assert torch.equal(made.tables["window"], sparse_metadata(*plain, has_cmp_kv=False))
    assert torch.equal(made.tables["c4"], sparse_metadata(*plain, 512, 4))
    assert torch.equal(made.tables["c128"], sparse_metadata(*plain, 0, 128))
    # What a host op would need is kept where tables are computed on the device.
    assert made.seq_lens_cpu_int.tolist() == [128, 256, 1000]
    host = placement == "host"
    assert made.operands[0] is (made.cu_seqlens_q_cpu if host else made.cu_seqlens_q)
    assert made.operands[1] is (made.seq_lens_cpu_int if host else made.seqused_kv)


def test_an_idle_pass_has_no_tables() -> None:
    assert ForwardMetadata.build(Batch(Mode.IDLE), "cpu", scheduler=SCHEDULER).tables == {}


def test_a_draft_block_widens_the_window() -> None:
    asked = []

    def spy(**arguments: Any) -> torch.Tensor:
        asked.append(arguments)
        return torch.zeros(1024, dtype=INT32)

    for block in (0, 5):
        scheduler = Scheduler(spy, 64, 512, 128, KINDS[:1], draft_block=block)
        ForwardMetadata.build(Batch(Mode.DECODE, [9]), "cpu", scheduler=scheduler)
    assert [each["ori_win_left"] for each in asked] == [127, 132]
    assert all(each["has_cmp_kv"] is False and each["batch_size"] == 1 for each in asked)


def test_a_replay_writes_tables_where_the_graph_reads_them() -> None:
    made = ForwardMetadata.capture(Batch(Mode.TARGET_VERIFY, tokens=2), 3, "cpu", kinds=KINDS)
    tables = dict(made.tables)
    made.refresh([100, 200], scheduler=SCHEDULER)
    assert all(made.tables[name] is table and table[0] == 1 for name, table in tables.items())
    assert torch.equal(
        made.tables["window"],
        sparse_metadata(64, 1, 512, "TND", "PA_ND", made.cu_seqlens_q_cpu, made.seq_lens_cpu_int, 3, has_cmp_kv=False),
    )
    other = Scheduler(sparse_metadata, 64, 512, 128, (Kind("c8", 8),))
    with pytest.raises(ValueError, match="scheduler: expected kinds that were captured, window, c4, c128, found c8"):
        made.refresh([1], scheduler=other)
    assert made.seq_lens_cpu_int.tolist() == [102, 202, 0]


# The debug switch


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_bag", "_process", "_role"):
        monkeypatch.setattr(f"confbag.process.context.{name}", None)
    monkeypatch.setattr("confbag.process.context._swaps", [])
    publish(load(env={}), role="test", allow_auto=True)


def test_the_first_index_that_differs_is_named() -> None:
    made = build(Mode.DECODE, [5, 6, 7])
    made.seqused_kv[1:] = 9
    with pytest.raises(MirrorError, match=r"seqused_kv\[1\]: the device holds 9, its mirror seq_lens_cpu_int 6"):
        made.check_mirrors()
    made = build(Mode.DECODE, [5, 6, 7])
    made.cu_seqlens_q[3] = 0
    with pytest.raises(MirrorError, match=r"cu_seqlens_q\[3\]: the device holds 0, its mirror cu_seqlens_q_cpu 3"):
        made.check_mirrors()
    made.cu_seqlens_q = made.cu_seqlens_q[:3]
    with pytest.raises(MirrorError, match=r"cu_seqlens_q: the device holds \[3\], its mirror cu_seqlens_q_cpu \[4\]"):
        made.check_mirrors()


def test_only_a_padded_verify_row_may_differ() -> None:
    made = ForwardMetadata.capture(Batch(Mode.TARGET_VERIFY, tokens=2), 3, "cpu")
    made.refresh([5])
    made.check_mirrors()
    made.seqused_kv[2] = 2
    with pytest.raises(MirrorError, match=r"seqused_kv\[2\]: the device holds 2, its mirror seq_lens_cpu_int 0"):
        made.check_mirrors()
    eager = build(Mode.TARGET_VERIFY, [0], tokens=1, expanded=True)
    eager.seqused_kv[0] = 1
    with pytest.raises(MirrorError, match=r"seqused_kv\[0\]"):
        eager.check_mirrors()
    decode = ForwardMetadata.capture(Batch(Mode.DECODE), 1, "cpu")
    decode.seq_lens_cpu_int = torch.zeros(1, dtype=INT32)
    with pytest.raises(MirrorError, match=r"seqused_kv\[0\]"):
        decode.check_mirrors()


def test_the_switch_compares_after_every_build_and_refresh(published: None, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr(ForwardMetadata, "check_mirrors", lambda self: compared.append(self.mode.value))
    captured = ForwardMetadata.capture(Batch(Mode.DRAFT_EXTEND, tokens=2), 2, "cpu")
    build(Mode.DECODE, [1])
    captured.refresh([1])
    assert compared == []
    with override("a test", {"exec.debug.mirrors": True}):
        build(Mode.DECODE, [1])
        build(Mode.IDLE)
        captured.refresh([1])
    assert compared == ["decode", "idle", "draft_extend"]
