"""Probing never raises, whatever is on the machine and whatever a child answers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.backends.platforms.evidence import Evidence, Ran
from confbag.backends.platforms.file import parse_platform
from confbag.backends.platforms.probe import probe

FILES = (
    "/proc/cpuinfo",
    "/etc/ld.so.cache",
    "/proc/driver/nvidia/version",
    "/sys/class/kfd/kfd/topology/nodes/1/properties",
    "/opt/rocm/.info/version",
    "/sys/class/drm/renderD128/device/vendor",
    "/sys/class/drm/renderD128/device/device",
    "/usr/local/Ascend/cann/version.info",
    "/usr/local/Ascend/driver/version.info",
    "/site/torch/version.py",
    "/site/torch-2.13.0.dist-info/METADATA",
    "/site/torch_npu-2.13.0.dist-info/entry_points.txt",
    "/site/torch_npu-2.13.0.dist-info/METADATA",
    "/site/triton-3.0.dist-info/RECORD",
    "/dev/nvidia0",
    "/dev/davinci0",
    "/dev/kfd",
    "/dev/mtgpu.0",
    "/dev/dri/renderD128",
    "/usr/bin/nvidia-smi",
)
TELLING = (
    b"flags : amx_tile\n",
    b"Version=8.3.RC1\nversion_dir=\xff\n",
    b"[torch.backends]\ntorch_npu = torch_npu:_autoload\n",
    b"[torch.backends]\n = [torch.backends\n",
    b"__version__ = '2.13.0+cpu'\ncuda: Optional[str] = '13.0'\nhip = '6.4'\nxpu = 3\n",
    b"cuda: Optional[str] = ''\n__version__ = ('x',)\n",
    b"gfx_target_version 99999999999999999999\n",
    b"0x8086\n",
    b"0x0bd5\n",
)
contents = st.one_of(st.binary(max_size=60), st.sampled_from(TELLING))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 99) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "soc", "count", "capabilities", "cuda", "devices", "failed", "version", "npu", "native_ops"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(FILES), contents, max_size=len(FILES)),
    st.one_of(json_values.map(lambda value: Ran(out=json.dumps(value))), st.text(max_size=20).map(Ran)),
    st.booleans(),
    st.dictionaries(st.sampled_from(["CUDA_HOME", "ASCEND_HOME_PATH", "LD_LIBRARY_PATH", "PATH"]), st.text(max_size=8)),
)
def test_probing_never_raises(files: dict[str, bytes], answer: Ran, deep: bool, environ: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder, name.lstrip("/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755)
        evidence = Evidence(
            Path(folder), environ, (f"{folder}/site",), "x86_64", "Linux", "/usr/bin/python3", lambda *_: answer
        )
        platform = probe(evidence, deep=deep).platform
    assert platform.device in ("cpu", "cuda", "hip", "npu", "xpu", "musa")
    assert parse_platform(platform.dump_yaml().encode(), "dumped.yaml") == platform


def test_a_probe_that_breaks_is_a_note(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a surprise")

    monkeypatch.setattr("confbag.backends.platforms.probe.probe_host.cpu", broken)
    platform = stage.probe().platform
    assert (platform.device, platform.arch) == ("cpu", None)
    assert "probing the CPU failed (RuntimeError: a surprise)" in platform.notes[0]
