"""The command: one config in, the road walked once (load, plan, bind, publish), prompts served, and what ran shown."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from confbag import Bag, PlanError, load, publish
from confbag.backends import Plan, Platform, make_plan
from confbag.errors import ConfbagError, DeclaredOnlyError
from mini_engine.refusals import refuse
from mini_engine.settings import EngineConfig, get_serve

if TYPE_CHECKING:
    from mini_engine.engine import Engine, Report

PROMPTS = (
    b"one two three one two three one two",
    b"Hello, world",
    b"abcabcabcabcabcabc",
    b"\x00\x01\x02\x03 any bytes will do \xff\xfe",
    b"the cat sat on the mat; the cat sat on the",
    b"Q",
    b"0123456789012345678901234567890123456789",
    b"paged, batched, speculative",
)
OPS = ("attention", "kvcache.last_loc", "speculative.draft_extend_fill", "serve.look_up")
DSV4_OPS = ("dsv4.compressor", "dsv4.sparse_attention", "dsv4.sparse_metadata", *OPS[1:])


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 served, 2 usage or configuration, 3 no plan satisfies it here."""
    arguments = _parser().parse_args(argv)
    settings = [part for text in arguments.set for part in ("--set", text)]
    try:
        given = {"preset": arguments.preset, "model": arguments.model, "argv": settings}
        plan, ops = walk(load(*arguments.config, schema=EngineConfig, **given))
    except (PlanError, DeclaredOnlyError) as error:
        return _fail(3, error)
    except ConfbagError as error:
        return _fail(2, error)
    # Only now: a plan is made without torch, and a machine without it is told so by the plan.
    import torch

    from mini_engine.scheduler import RequestError

    # Tensors this small are slower on many threads.
    torch.set_num_threads(1)

    engine = engine_of(plan.bag, ops)
    prompts = [text.encode() for text in arguments.prompt] or PROMPTS
    count = arguments.requests if arguments.requests is not None else len(prompts)
    try:
        for number in range(count):
            engine.submit(
                prompts[number % len(prompts)],
                arguments.max_new_tokens,
                temperature=arguments.temperature,
                seed=get_serve().seed + number,
            )
    except RequestError as error:
        return _fail(2, error)
    report = engine.run()
    _show([*_providers(plan), *_served(report), *_totals(report, engine)])
    return 0


def walk(bag: Bag, platform: Platform | None = None) -> tuple[Plan, Any]:
    """Plan, bind, publish: the plan, and the ops of it that this engine calls. platform: None is this machine."""
    plan = make_plan(bag, platform)
    resolved = plan.bag
    refuse(resolved)
    called = ops_of(resolved)
    ops = plan.bind(ops=[row.slot for row in plan.bindings if row.used and row.op in called])
    publish(resolved, role="engine")
    return plan, ops


def ops_of(bag: Bag) -> tuple[str, ...]:
    """The ops that the engine calls for a kind of model."""
    return DSV4_OPS if bag["model.kind"] == "dsv4" else OPS


def engine_of(bag: Bag, ops: Any) -> Engine:
    """The engine for the kind of model that was published."""
    if bag["model.kind"] == "dsv4":
        from mini_engine.dsv4.engine import Dsv4Engine

        return Dsv4Engine(ops)
    from mini_engine.engine import Engine

    return Engine(ops)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mini_engine", description=__doc__, allow_abbrev=False)
    parser.add_argument("config", nargs="*", help="config files; later ones win")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one setting over the files")
    parser.add_argument("--preset", help="a named set of values below the files")
    parser.add_argument("--model", metavar="CONFIG.JSON", help="read model.* facts from a checkpoint's config.json")
    parser.add_argument("--requests", type=_positive, metavar="N", help="how many requests; the prompts repeat")
    parser.add_argument("--prompt", action="append", default=[], help="a prompt of your own; may be repeated")
    parser.add_argument("--max-new-tokens", type=_positive, default=32, metavar="N")
    parser.add_argument("--temperature", type=_temperature, default=0.0, help="0 is greedy")
    return parser


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return value


def _fail(status: int, error: Exception) -> int:
    print(error, file=sys.stderr)
    return status


def _show(lines: list[str]) -> None:
    try:
        print("\n".join(lines), flush=True)
    except BrokenPipeError:  # a reader such as `head` has seen enough; keep the interpreter from flushing once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _providers(plan: Plan) -> list[str]:
    lines = []
    called = ops_of(plan.bag)
    for row in plan.bindings:
        if row.used and row.op in called:
            lines.append(f"{row.slot:<32} {row.provider}")
    return lines


def _served(report: Report) -> list[str]:
    return ["", *(f"{request.prompt!r}\n    -> {request.output!r}" for request in report.requests)]


def _totals(report: Report, engine: Engine) -> list[str]:
    steps = ", ".join(f"{count} {kind}" for kind, count in sorted(report.steps.items()))
    lines = [
        "",
        f"served {len(report.requests)} requests: {report.new_tokens} tokens in {report.steps.total()} steps "
        f"({steps}), {report.new_tokens / report.seconds:.0f} tokens per second",
    ]
    if engine.buffers is None:
        return [*lines, "speculation: none"]
    rate = f"{report.guessed_right / report.guessed:.0%}" if report.guessed else "no guesses to accept"
    return [
        *lines,
        f"speculation: {engine.buffers.width} tokens a window, {report.guessed_right} of {report.guessed} guesses "
        f"right, acceptance rate {rate}",
    ]
