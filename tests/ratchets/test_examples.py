"""The configurations for SGLang and vLLM, on small excerpts of our own writing in the shapes of theirs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Engine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ratchets"

SGLANG = {
    "sglang/srt/server_args.py": "class ServerArgs:\n    tp_size: int = 1\n    model_path: str = ''\n",
    "sglang/srt/runtime_context.py": (
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    from sglang.srt.server_args import ServerArgs\n"
        "class RuntimeContext:\n"
        "    @property\n"
        "    def server_args(self) -> ServerArgs:\n"
        "        return self._server_args\n"
        "_CONTEXT = RuntimeContext()\n"
        "def get_context() -> RuntimeContext:\n"
        "    return _CONTEXT\n"
        "def get_parallel():\n"
        "    return _CONTEXT.parallel\n"
        "def get_server_args() -> ServerArgs:\n"
        "    return _CONTEXT.server_args\n"
    ),
    "sglang/launch_server.py": (
        "def run_server(server_args):\n"
        "    if server_args.grpc_mode and server_args.tokenizer_path is None:\n"
        "        server_args.tokenizer_path = server_args.model_path\n"
    ),
    "sglang/benchmark/latency.py": (
        "from sglang.srt.server_args import ServerArgs\n"
        "def run(server_args: ServerArgs):\n"
        "    return server_args.tp_size\n"
    ),
    "sglang/test/kit.py": "def launch(server_args):\n    return server_args.model_path\n",
    # The diffusion runtime: a record of its own by the same name, and one of the other kind inside of it.
    "sglang/multimodal_gen/runtime/server_args/__init__.py": (
        "from sglang.multimodal_gen.runtime.server_args.server_args import ServerArgs, get_global_server_args\n"
    ),
    "sglang/multimodal_gen/runtime/server_args/server_args.py": (
        "class ServerArgs:\n    num_gpus: int = 1\n_global_server_args = None\n"
        "def get_global_server_args() -> ServerArgs:\n    return _global_server_args\n"
    ),
    "sglang/multimodal_gen/configs/pipeline.py": (
        "class Pipeline:\n    def validate_server_args(self, server_args):\n        server_args.num_gpus = 1\n"
    ),
    "sglang/multimodal_gen/runtime/stage.py": (
        "from sglang.multimodal_gen.runtime.server_args import ServerArgs, get_global_server_args\n"
        "class Stage:\n"
        "    def __init__(self):\n"
        "        self.server_args = get_global_server_args()\n"
        "    def parallel(self):\n"
        "        return self.server_args.num_gpus > 1\n"
        "    def forward(self, batch, server_args: ServerArgs):\n"
        "        return server_args.num_gpus\n"
        "class Encoder:\n"
        "    def load(self):\n"
        "        from sglang.srt.server_args import ServerArgs as SRTServerArgs\n"
        "        self.server_args = SRTServerArgs(model_path='m')\n"
        "    def size(self):\n"
        "        return self.server_args.chunked_prefill_size\n"
    ),
    "sglang/multimodal_gen/test/test_stage.py": (
        "from types import SimpleNamespace\n"
        "def test_a_stand_in(server_args):\n"
        "    assert server_args.num_gpus\n"
        "def test_another():\n"
        "    server_args = SimpleNamespace(num_gpus=1)\n"
        "    server_args.num_gpus = 2\n"
    ),
    "sglang/srt/arg_groups/hook.py": "def hook(server_args):\n    server_args.tp_size = 2\n",
    "sglang/srt/utils/__init__.py": "from sglang.srt.utils.common import *\n",
    "sglang/srt/utils/common.py": "def is_npu():\n    return False\ndef is_cuda():\n    return True\n",
    "sglang/srt/managers/scheduler.py": (
        "from __future__ import annotations\n"
        "from sglang.srt.runtime_context import get_server_args\n"
        "from sglang.srt.server_args import ServerArgs\n"
        "class Scheduler:\n"
        "    def __init__(self, server_args: ServerArgs):\n"
        "        self.server_args = server_args\n"
        "    def width(self):\n"
        "        return self.server_args.tp_size\n"
        "    def published(self):\n"
        "        return get_server_args().model_path\n"
        "    def grow(self):\n"
        "        self.server_args.tp_size += 1\n"
    ),
    "sglang/srt/layers/activation.py": (
        "from sglang.srt.utils import is_cuda, is_npu\n"
        "_is_npu = is_npu()\n"
        "if _is_npu:\n"
        "    from sgl_kernel_npu import silu_and_mul\n"
        "else:\n"
        "    from sgl_kernel import silu_and_mul\n"
        "if is_cuda():\n"
        "    print('a log line')\n"
    ),
}
VLLM = {
    "vllm/config/__init__.py": "from vllm.config.vllm import VllmConfig, get_current_vllm_config\n",
    "vllm/config/vllm.py": (
        "class VllmConfig:\n    cache_config = None\n_current = None\n"
        "def get_current_vllm_config() -> VllmConfig:\n    return _current\n"
    ),
    "vllm/engine/arg_utils.py": "class EngineArgs:\n    pass\n",
    "vllm/envs.py": "def __getattr__(name):\n    raise AttributeError(name)\n",
    "vllm/platforms/__init__.py": "current_platform = None\n",
    "vllm/model_executor/layers/attention.py": (
        "import vllm.envs as envs\n"
        "from vllm.config import VllmConfig, get_current_vllm_config\n"
        "from vllm.platforms import current_platform\n"
        "class Attention:\n"
        "    def __init__(self, *, vllm_config: VllmConfig):\n"
        "        self.block_size = vllm_config.cache_config.block_size\n"
        "        config = get_current_vllm_config()\n"
        "        self.compile = config.compilation_config\n"
        "        self.backend = envs.VLLM_ATTENTION_BACKEND\n"
        "if current_platform.is_rocm():\n"
        "    from vllm.rocm import attend\n"
        "else:\n"
        "    from vllm.cuda import attend\n"
    ),
    "vllm/v1/worker/worker.py": (
        "from typing import TYPE_CHECKING\n"
        "from vllm import envs\n"
        "from vllm.config import get_current_vllm_config\n"
        "if TYPE_CHECKING:\n"
        "    from vllm.config import VllmConfig\n"
        "class WorkerBase:\n"
        "    def __init__(self, vllm_config: 'VllmConfig', rank: int):\n"
        "        self.vllm_config = vllm_config\n"
        "        self.cache_config = vllm_config.cache_config\n"
    ),
    "vllm/v1/worker/gpu_worker.py": (
        "from vllm import envs\n"
        "from vllm.v1.worker.worker import WorkerBase\n"
        "class Worker(WorkerBase):\n"
        "    def profile(self):\n"
        "        if envs.VLLM_TORCH_PROFILER_DIR:\n"
        "            self.vllm_config.cache_config.block_size = 16\n"
        "        return self.vllm_config.scheduler_config.max_num_seqs\n"
        "    def other(self):\n"
        "        return self.cache_config.block_size, envs.environment_variables\n"
    ),
}


@pytest.fixture
def excerpt(new_engine: Callable[[str], Engine]) -> Callable[[str, dict[str, str]], Engine]:
    """A tree with one of the configurations."""

    def make(name: str, files: dict[str, str]) -> Engine:
        made = new_engine(name)
        for path, text in files.items():
            made.write(path, text.encode())
        for file in (EXAMPLES / name).iterdir():
            shutil.copy(file, made.folder)
        return made

    return make


def found(engine: Engine) -> set[tuple[str, str, str, str]]:
    return {
        (each["code"], each["path"].rpartition("/")[2], each["qualname"], each["symbol"])
        for each in engine.check()["findings"]
    }


def test_sglang(excerpt: Callable[[str, dict[str, str]], Engine]) -> None:
    engine = excerpt("sglang", SGLANG)
    assert found(engine) == {
        ("CB101", "scheduler.py", "Scheduler.published", "record.model_path"),
        ("CB102", "scheduler.py", "Scheduler.width", "record.tp_size"),
        ("CB111", "scheduler.py", "Scheduler.grow", "record.tp_size"),
        ("CB102", "launch_server.py", "run_server", "record.grpc_mode"),
        ("CB102", "launch_server.py", "run_server", "record.tokenizer_path"),
        ("CB102", "launch_server.py", "run_server", "record.model_path"),
        ("CB111", "launch_server.py", "run_server", "record.tokenizer_path"),
        ("CB102", "latency.py", "run", "record.tp_size"),
        ("CB102", "kit.py", "launch", "record.model_path"),
        ("CB111", "pipeline.py", "Pipeline.validate_server_args", "record.num_gpus"),
        ("CB101", "stage.py", "Stage.parallel", "record.num_gpus"),
        ("CB102", "stage.py", "Stage.forward", "record.num_gpus"),
        ("CB102", "stage.py", "Encoder.size", "record.chunked_prefill_size"),
        ("CB131", "activation.py", "<module>", "silu_and_mul"),
    }


def test_sglangs_two_records_are_told_apart(excerpt: Callable[[str, dict[str, str]], Engine]) -> None:
    messages = {each["qualname"]: each["message"] for each in excerpt("sglang", SGLANG).check()["findings"]}
    assert "the published diffusion_server_args" in messages["Stage.parallel"]
    assert "the diffusion_server_args" in messages["Stage.forward"]
    assert "of the diffusion_server_args" in messages["Pipeline.validate_server_args"]
    for qualname in ("Encoder.size", "Scheduler.width", "Scheduler.published", "run", "launch"):
        assert "diffusion" not in messages[qualname]
        assert "server_args" in messages[qualname]


def test_sglangs_reads_are_fixed_with_its_own_getters(excerpt: Callable[[str, dict[str, str]], Engine]) -> None:
    engine = excerpt("sglang", SGLANG)
    assert engine.run("fix").status == 1
    text = engine.read("sglang/srt/managers/scheduler.py")
    assert "return get_model().model_path\n" in text
    assert "from sglang.srt.runtime_context import get_model\n" in text


def test_vllm(excerpt: Callable[[str, dict[str, str]], Engine]) -> None:
    assert found(excerpt("vllm", VLLM)) == {
        ("CB101", "attention.py", "Attention.__init__", "record.compilation_config"),
        ("CB102", "attention.py", "Attention.__init__", "record.cache_config"),
        ("CB131", "attention.py", "<module>", "attend"),
        ("CB142", "attention.py", "Attention.__init__", "vllm.envs.VLLM_ATTENTION_BACKEND"),
        ("CB102", "worker.py", "WorkerBase.__init__", "record.cache_config"),
        ("CB111", "gpu_worker.py", "Worker.profile", "record.cache_config"),
        ("CB102", "gpu_worker.py", "Worker.profile", "record.scheduler_config"),
        ("CB142", "gpu_worker.py", "Worker.profile", "vllm.envs.VLLM_TORCH_PROFILER_DIR"),
    }


def test_every_engine_that_has_an_example_is_tested() -> None:
    assert sorted(folder.name for folder in EXAMPLES.iterdir()) == ["sglang", "vllm"]
