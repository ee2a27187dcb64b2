"""A program: serve the prompts on stdin with the Triton kernels, interpreted on the CPU; JSON on stdout."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from mini_engine.engine import Engine  # noqa: E402
from mini_engine.main import walk  # noqa: E402
from mini_engine.settings import EngineConfig  # noqa: E402

from confbag import load  # noqa: E402
from confbag.kernels.draft_extend.triton import draft_extend_fill  # noqa: E402
from confbag.kernels.last_loc import triton, triton_int32_safe  # noqa: E402

NEW_TOKENS = 16
SERVE = {"serve.max_batch": 4, "serve.pages": 96, "serve.context": 256}


def main() -> None:
    prompts = [bytes.fromhex(text) for text in json.load(sys.stdin)]
    _, bound = walk(load(ROOT / "examples" / "configs" / "cpu-laptop.yaml", SERVE, schema=EngineConfig, env={}))
    calls: Counter[str] = Counter()

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*operands: Any) -> Any:
            calls[function.__name__] += 1
            return function(*operands)

        return call

    outputs = {}
    for name, last_loc in (("triton", triton.last_loc), ("triton_int32_safe", triton_int32_safe.last_loc)):
        ops = SimpleNamespace(
            attention_prefill=bound.attention_prefill,
            attention_decode=bound.attention_decode,
            attention_draft=bound.attention_draft,
            last_loc=counted(last_loc),
            draft_extend_fill=counted(draft_extend_fill),
            look_up=bound.look_up,
        )
        engine = Engine(ops)
        for number, prompt in enumerate(prompts):
            engine.submit(prompt, NEW_TOKENS, seed=number)
        outputs[name] = [request.output.hex() for request in engine.run().requests]
    json.dump({"new": NEW_TOKENS, "outputs": outputs, "calls": calls}, sys.stdout)


main()
