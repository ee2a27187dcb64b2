"""A program: serve the prompts on stdin on a simulated npu, with the bindings that the plan chose; JSON on stdout.

The native ops are the schemas of the real libraries with our references behind them. It says nothing about hardware.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
for folder in (ROOT, ROOT / "tests", Path(__file__).parent):
    sys.path.insert(0, str(folder))

from dense_dsv4 import Walk  # noqa: E402
from mini_engine.main import engine_of, walk  # noqa: E402
from mini_engine.settings import EngineConfig  # noqa: E402
from simulated_npu import NPU, NpuTensor, simulate  # noqa: E402

from confbag import load  # noqa: E402
from confbag.backends import Platform  # noqa: E402

# What the native attention was built for, on the machine of a plan for it; without Triton, which has no npu to run on.
SETTINGS = {
    "serve.max_batch": 2,
    "serve.pages": 8,
    "serve.context": 320,
    "device.kind": "npu",
    "exec.deterministic": False,
    "exec.debug.mirrors": False,
    "model.num_heads": 64,
    "model.head_dim": 512,
    "model.v_head_dim": 512,
    "memory.page_size": 128,
}
MACHINE = Platform(
    "npu",
    "ascend910_93",
    toolkit={"cann": "9.0.0"},
    packages={"torch": "2.14.0", "torch-npu": "2.14.0", "sgl-kernel-npu": "2026.8.0", "custom-ops": "1.0"},
    name="simulated",
)


def main() -> None:
    asked = json.load(sys.stdin)
    simulate()
    config = ROOT / "examples" / "configs" / "cpu-deepseek-v4-mini.yaml"
    plan, ops = walk(load(config, schema=EngineConfig, env={}, overrides={**SETTINGS, **asked["settings"]}), MACHINE)
    engine = engine_of(plan.bag, ops)
    walked = Walk(engine)
    for prompt in asked["prompts"]:
        engine.submit(bytes.fromhex(prompt), asked["new"])
    waits: Counter[str] = Counter()
    begin, forward = engine.passes.begin, engine.decoder.forward

    def counted(phase: str, function: Any) -> Any:
        def call(*operands: Any) -> Any:
            with NPU.counted() as copies:
                result = function(*operands)
            waits[phase] += len(copies)
            return result

        return call

    engine.passes.begin = counted("metadata", begin)
    engine.decoder.forward = counted("forward", forward)
    while (kind := engine.step()) is not None:
        walked.check(kind)
    assert isinstance(engine.memory.window_kv[0], NpuTensor)
    json.dump(
        {
            "providers": {row.slot: row.provider for row in plan.bindings if row.used},
            "outputs": [request.output.hex() for request in engine.report.requests],
            "steps": engine.report.steps,
            "calls": Counter(NPU.calls),
            "waits": waits,
            "checked": walked.checked,
            "worst": walked.worst,
        },
        sys.stdout,
    )


main()
