"""The children's own functions, where no vendor's library is installed."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pytest

from confbag.backends.platforms import child_facts


def test_a_library_that_is_not_there_is_an_error_in_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    assert child_facts.libcuda() == {"error": "libcuda.so.1: cannot open shared object file"}
    assert child_facts.ascendcl() == {"error": "libascendcl.so: cannot open shared object file"}
    assert child_facts.first_unloadable(["liba.so", "libb.so"]) == "liba.so"


class Driver:
    """libcuda as far as a probe asks it: two devices of capability 9.0."""

    status = 0

    def cuDriverGetVersion(self, number: Any) -> int:
        number._obj.value = 13020
        return 0

    def cuInit(self, flags: int) -> int:
        return self.status

    def cuDeviceGetCount(self, number: Any) -> int:
        number._obj.value = 2
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:
        device._obj.value = index
        return 0

    def cuDeviceGetAttribute(self, number: Any, attribute: int, device: Any) -> int:
        number._obj.value = {75: 9, 76: 0}[attribute]
        return 0


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (0, {"cuda": "13.2", "count": 2, "capabilities": [[9, 0], [9, 0]]}),
        (100, {"cuda": "13.2", "count": 0, "capabilities": []}),
        (999, {"cuda": "13.2", "count": 0, "capabilities": [], "error": "cuInit answered 999"}),
    ],
)
def test_the_drivers_word(monkeypatch: pytest.MonkeyPatch, status: int, answer: dict[str, Any]) -> None:
    driver = Driver()
    driver.status = status
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    assert child_facts.libcuda() == answer


def test_torch_tells_of_itself_and_of_native_ops() -> None:
    import torch

    facts = child_facts.torch_facts(["json", "no_such_module"], ["aten"])
    assert facts["version"] == torch.__version__
    assert facts["cuda"] == torch.version.cuda
    assert (facts["loaded"], list(facts["failed"])) == (["json"], ["no_such_module"])
    assert any(schema.startswith("aten::relu(Tensor self) -> Tensor") for schema in facts["native_ops"])
    assert all(schema.startswith("aten::") for schema in facts["native_ops"])
    assert facts["devices"]["cuda"]["available"] is torch.cuda.is_available()


def test_a_device_that_raises_is_not_available() -> None:
    class Broken:
        @staticmethod
        def is_available() -> bool:
            raise RuntimeError("no driver\nand a stack")

    class Torch:
        npu = Broken()

    assert child_facts._device(Torch, "npu") == {"available": False, "error": "RuntimeError: no driver"}


def test_a_torch_that_fails_is_an_error_in_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "ModuleNotFoundError" in child_facts.torch_facts()["error"]
