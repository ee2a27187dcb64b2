"""The engine on kind dsv4: every step is what the whole sequence gives at once, and speculation changes no text."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from mini_engine.dsv4.engine import Dsv4Engine
from mini_engine.main import DSV4_OPS, engine_of
from mini_engine.main import walk as road
from mini_engine.refusals import refuse
from mini_engine.settings import EngineConfig

from confbag import ConfigError, load
from confbag.process import context

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "examples" / "configs" / "cpu-deepseek-v4-mini.yaml"
NO_SPECULATION = {"spec.algorithm": "none", "spec.topk": None, "spec.num_draft_tokens": None}
# bfloat16 keeps 8 bits: a value that falls on the other side of a rounding is 1/256 off, and layers add up.
TOLERANCE = 0.03
PHASES = ("prefill", "decode", "draft")
OTHERS = ("compressor", "sparse_metadata", "last_loc", "draft_extend_fill", "look_up")
BOUND = (*(f"sparse_attention_{phase}" for phase in PHASES), *OTHERS)

_spec = importlib.util.spec_from_file_location("dense_dsv4", Path(__file__).with_name("dense_dsv4.py"))
assert _spec is not None
assert _spec.loader is not None
dense_dsv4 = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(dense_dsv4)

Start = Callable[..., Any]


def noise(length: int, seed: int = 3) -> bytes:
    """Bytes in which nothing repeats for long."""
    dice = random.Random(seed)
    return bytes(dice.randrange(256) for _ in range(length))


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, unpublished: None) -> Start:
    """An engine under other settings and limits; `replaced` puts other functions in the place of bound ones."""

    def start(
        settings: Mapping[str, Any] | None = None,
        *,
        replaced: Mapping[str, Callable[[Any], Any]] | None = None,
        **serve: int,
    ) -> Any:
        monkeypatch.setattr(context, "_bag", None)
        held = {"max_batch": 4, "pages": 80, "context": 320, **serve}
        overrides = {f"serve.{name}": value for name, value in held.items()}
        overrides = {**overrides, "exec.debug.mirrors": True, **(settings or {})}
        plan, ops = road(load(CONFIG, schema=EngineConfig, env={}, overrides=overrides))
        if replaced:
            held = {name: getattr(ops, name, None) for name in BOUND}
            ops = SimpleNamespace(**{name: replaced.get(name, lambda op: op)(op) for name, op in held.items()})
        return engine_of(plan.bag, ops)

    return start


@pytest.fixture
def serve(start: Start) -> Callable[..., tuple[list[bytes], Any]]:
    """Serve prompts to their end: (outputs, engine)."""

    def serve(
        prompts: list[bytes], settings: Any = None, *, new: int = 12, temperature: float = 0.0, **more: Any
    ) -> Any:
        engine = start(settings, **more)
        for number, prompt in enumerate(prompts):
            engine.submit(prompt, new, temperature=temperature, seed=number)
        engine.run()
        return [request.output for request in engine.report.requests], engine

    return serve


# Prefill, decode and verify against the whole sequence at once


@pytest.mark.parametrize(
    "settings",
    [NO_SPECULATION, {"spec.num_draft_tokens": 4}, {"spec.num_draft_tokens": 9}],
    ids=["plain", "4 tokens", "9 tokens"],
)
def test_every_step_is_what_the_whole_sequence_gives(start: Start, settings: dict[str, Any]) -> None:
    """Prompts whose texts pass the ends of groups of 4 and 128, of pages and of the window."""
    engine = start(settings)
    walked = dense_dsv4.Walk(engine)
    for prompt in (b"abcabcabc" * 14, noise(250), b"Q", noise(5) * 7):
        engine.submit(prompt, 14)
    while (kind := engine.step()) is not None:
        walked.check(kind)
        assert walked.worst < TOLERANCE, (kind, walked.checked)
    assert walked.checked["prefill"] == 126 + 250 + 1 + 35
    if settings is NO_SPECULATION:
        assert walked.checked["decode"] == 4 * 13
    else:
        assert walked.checked["verify"] > engine.report.guessed_right
        assert engine.report.guessed > engine.report.guessed_right > 0


def forgetful(ratio: int) -> Callable[[Any], Any]:
    """A compressor of this ratio that keeps no state."""

    def wrap(op: Any) -> Any:
        def compressor(**named: Any) -> Any:
            state = named["state_cache"]
            before = state.clone()
            result = op(**named)
            if named["cmp_ratio"] == ratio:
                state.copy_(before)
            return result

        return compressor

    return wrap


def windowless(op: Any) -> Any:
    """Attention that sees one token too few."""
    return lambda *q, **named: op(*q, **{**named, "ori_win_left": named["ori_win_left"] - 1})


def uncompressed(op: Any) -> Any:
    """Attention without compressed tokens."""
    return lambda *q, **named: op(*q, **{**named, "cmp_kv": None, "cmp_block_table": None, "cmp_ratio": 1})


@pytest.mark.parametrize(
    "replaced",
    [
        {"compressor": forgetful(4)},
        {"compressor": forgetful(128)},
        {"sparse_attention_decode": windowless},
        {"sparse_attention_decode": uncompressed},
    ],
    ids=["no state of 4", "no state of 128", "a shorter window", "nothing compressed"],
)
def test_the_comparison_sees_what_is_wrong(start: Start, replaced: dict[str, Any]) -> None:
    engine = start(NO_SPECULATION, replaced=replaced)
    walked = dense_dsv4.Walk(engine)
    engine.submit(noise(120), 12)
    while (kind := engine.step()) is not None:
        walked.check(kind)
    assert walked.worst > 3 * TOLERANCE


# Speculation, batches and pages


@pytest.mark.parametrize(("temperature", "widths"), [(0.0, (2, 9)), (0.8, (4,))], ids=["greedy", "sampled"])
def test_speculation_changes_the_steps_and_nothing_else(
    serve: Callable[..., Any], temperature: float, widths: tuple[int, ...]
) -> None:
    """Guesses, most of them wrong, at places around the end of a group of 128, and some that are right."""
    prompts = [*((b"xyzw" * 40)[:length] for length in (123, 126, 127)), noise(7) * 3]
    plain, without = serve(prompts, NO_SPECULATION, temperature=temperature)
    assert without.report.steps["verify"] == 0
    assert [len(output) for output in plain] == [12] * len(prompts)
    for width in widths:
        guessed, engine = serve(prompts, {"spec.num_draft_tokens": width}, temperature=temperature)
        assert guessed == plain
        assert engine.report.guessed > engine.report.guessed_right


def test_right_guesses_save_steps(serve: Callable[..., Any]) -> None:
    """A text that has run into a loop is guessed."""
    prompts = [b"one two three one two three one two", b"Hello, world"]
    plain, without = serve(prompts, NO_SPECULATION, new=30)
    guessed, engine = serve(prompts, new=30)
    assert guessed == plain
    assert engine.report.guessed_right > 0
    assert engine.report.steps.total() < without.report.steps.total()


@pytest.mark.parametrize("settings", [NO_SPECULATION, {}], ids=["plain", "speculation"])
def test_neither_the_batch_nor_the_page_changes_a_text(serve: Callable[..., Any], settings: dict[str, Any]) -> None:
    prompts = [b"abcabcabc", noise(33), b"Q" * 127]
    alone = [serve([prompt], settings)[0][0] for prompt in prompts]
    for page_size, max_batch in ((32, 2), (128, 3)):
        paged = {**settings, "memory.page_size": page_size}
        together, _ = serve(prompts, paged, max_batch=max_batch, pages=1024 // page_size)
        assert together == alone


# What it is built from


def test_the_steps_run_through_the_bound_ops(start: Start) -> None:
    calls: Counter[str] = Counter()

    def counted(name: str) -> Callable[[Any], Any]:
        def wrap(op: Any) -> Any:
            def call(*operands: Any, **named: Any) -> Any:
                calls[name] += 1
                return op(*operands, **named)

            return call

        return wrap

    engine = start(replaced={name: counted(name) for name in BOUND})
    engine.submit(b"Hello, world", 20)
    steps = engine.run().steps
    assert min(steps["prefill"], steps["decode"], steps["verify"]) > 0
    ratios = engine.decoder.shape.ratios
    for phase, kind in (("prefill", "prefill"), ("decode", "decode"), ("draft", "verify")):
        assert calls[f"sparse_attention_{phase}"] == len(ratios) * steps[kind]
    assert calls["compressor"] == 2 * steps.total()
    assert calls["sparse_metadata"] == 3 * steps.total()
    assert calls["draft_extend_fill"] == steps["verify"]


def test_verify_metadata_is_captured_once_and_refreshed(start: Start) -> None:
    engine = start(max_batch=2)
    for _ in range(2):
        engine.submit(b"Hello, world", 20)
    seen: dict[int, tuple[int, ...]] = {}
    while engine.step() is not None:
        for size, made in engine.passes.captured.items():
            tensors = (made.cu_seqlens_q, made.seqused_kv, *made.tables.values())
            addresses = tuple(tensor.data_ptr() for tensor in tensors)
            assert seen.setdefault(size, addresses) == addresses
    assert engine.report.steps["verify"] > 1
    assert set(seen) <= set(engine.buffers.sizes)


def test_pages_that_the_window_has_passed_are_given_back(start: Start) -> None:
    engine = start(NO_SPECULATION)
    engine.submit(noise(100), 60)
    memory = engine.memory
    while engine.step() is not None:
        (request,) = engine.scheduler.running or [None]
        if request is not None and engine.report.steps["decode"]:
            # The window's 16 tokens and the new one lie in two pages of 16; the tokens' own pages all stay.
            assert memory.pages - memory.free_window_pages <= 2
            assert memory.pages - memory.free_pages == memory.pages_for(request.cached)
    assert memory.free_window_pages == memory.free_pages == memory.pages
    assert bool((memory.full_to_window == -1).all())
    assert not memory.window_table.any()


def test_a_page_with_two_owners_is_noticed(start: Start) -> None:
    engine = start()
    engine.submit(b"abc", 4)
    engine.step()
    engine.memory._free_windows.append(engine.memory._windows[1][0])
    with pytest.raises(RuntimeError, match="the window's pages are not each owned once"):
        engine.step()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model.dtype": "float32"}, "model.dtype: is 'float32'; the compressor takes bfloat16 or float16"),
        ({"model.num_kv_heads": 2}, "model.num_kv_heads: is 2; one head is key and value"),
        ({"model.attention_sinks": False}, "model.attention_sinks: is False"),
        ({"model.sliding_window": None}, "model.sliding_window: is None; the mini engine needs a number"),
        ({"model.sliding_window": 7}, "the compressor's state of the last 7 tokens lies in the window; write 8"),
        ({"model.head_dim": 30}, "model.head_dim: is 30; half of a head turns in pairs; write a multiple of 4"),
        ({"model.v_head_dim": 16}, "model.v_head_dim: is 16; keys are values"),
        ({"model.num_heads": 2048}, "heads times head_dim are above 32768"),
        ({"memory.page_size": 8}, "memory.page_size: is 8; a page holds whole rings of state; write a multiple of 16"),
        ({"memory.state_dtype": "bfloat16"}, "memory.state_dtype: is 'bfloat16'"),
        ({"spec.num_draft_tokens": 10}, "spec.num_draft_tokens: is 10; a ring of 16 rows holds what is needed"),
        ({"parallel.tp_size": 2}, "parallel.tp_size: is 2"),
    ],
)
def test_refusals(settings: dict[str, Any], message: str) -> None:
    refuse(load(CONFIG, env={}))
    with pytest.raises(ConfigError) as refused:
        refuse(load(CONFIG, env={}, overrides=settings))
    assert message in str(refused.value)


def test_the_command_serves_it() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "mini_engine", str(CONFIG), "--requests", "2", "--max-new-tokens", "6"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=300,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {line.split()[0].partition("@")[0] for line in ran.stdout.split("\n\n")[0].splitlines()} == set(DSV4_OPS)
    assert "served 2 requests: 12 tokens" in ran.stdout


def test_the_engine_is_the_one_of_its_kind(start: Start) -> None:
    assert isinstance(start(), Dsv4Engine)
    assert start().decoder.forward.__module__ == "mini_engine.dsv4.decoder"
    assert torch.get_num_threads() == 1


# The bindings


@pytest.mark.parametrize(("placement", "prompt"), [("host", b"abc" * 42), ("device", b"abcabc")])
def test_on_a_simulated_npu_with_the_bindings_of_the_plan(placement: str, prompt: bytes) -> None:
    """Guesses, groups of 4 and one of 128, through the native schemas; nothing but the sampled tokens is waited for."""
    asked = {
        "settings": {"exec.metadata_placement": placement},
        "new": 5,
        "prompts": [prompt.hex(), b"QQ".hex()],
    }
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("on_simulated_npu.py"))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    served = json.loads(ran.stdout)
    assert served["providers"]["dsv4.compressor"] == "torch_npu"
    assert served["providers"]["dsv4.sparse_metadata"] == f"torch_npu_{placement}"
    assert {served["providers"][f"dsv4.sparse_attention@{phase}"] for phase in PHASES} == {"torch_npu"}
    assert served["steps"]["verify"] > 0
    steps = sum(served["steps"].values())
    native = {"host": "npu::sparse_attn_sharedkv_metadata_host", "device": "custom::npu_sparse_attn_sharedkv_metadata"}
    assert served["calls"] == {
        "npu::compressor": 2 * steps,
        "npu::sparse_attn_sharedkv": 3 * steps,
        native[placement]: 3 * steps,
    }
    assert served["waits"] == {"metadata": 0, "forward": 0}
    assert served["worst"] < TOLERANCE
    assert [len(output) // 2 for output in served["outputs"]] == [5, 5]
