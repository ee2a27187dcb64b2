"""What only a loaded library can tell, asked in a child process: each function here runs there, never in the planner.

Every function answers plain data, with `error` in place of facts that it could not get.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any


def libcuda() -> dict[str, Any]:
    """The driver's own word: its newest CUDA version, how many devices it shows us, and their compute capabilities."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"error": str(error)}
    number = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(number))
    found: dict[str, Any] = {
        "cuda": f"{number.value // 1000}.{number.value % 1000 // 10}",
        "count": 0,
        "capabilities": [],
    }
    status = cuda.cuInit(0)
    if status == _NO_DEVICE:
        return found
    if status != 0:
        return {**found, "error": f"cuInit answered {status}"}
    cuda.cuDeviceGetCount(ctypes.byref(number))
    found["count"] = number.value
    for index in range(found["count"]):
        device = ctypes.c_int()
        cuda.cuDeviceGet(ctypes.byref(device), index)
        pair = []
        for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
            cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
            pair.append(number.value)
        found["capabilities"].append(pair)
    return found


_NO_DEVICE, _CAPABILITY_MAJOR, _CAPABILITY_MINOR = 100, 75, 76


def ascendcl() -> dict[str, Any]:
    """CANN's own word: the SoC's name and how many devices it shows us."""
    try:
        acl = ctypes.CDLL("libascendcl.so")
    except OSError as error:
        return {"error": str(error)}
    acl.aclInit.argtypes = [ctypes.c_char_p]
    acl.aclrtGetDeviceCount.argtypes = [ctypes.POINTER(ctypes.c_uint32)]
    acl.aclrtGetSocName.restype = ctypes.c_char_p
    status = acl.aclInit(None)
    if status != 0:
        return {"error": f"aclInit answered {status}"}
    count = ctypes.c_uint32()
    status = acl.aclrtGetDeviceCount(ctypes.byref(count))
    name = acl.aclrtGetSocName()
    return {"soc": name.decode() if name else None, "count": count.value if status == 0 else None}


def first_unloadable(names: list[str]) -> str | None:
    """The first of these libraries that the loader does not load; None when it loads all."""
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            return name
    return None


def torch_facts(modules: list[str] | None = None, namespaces: list[str] | None = None) -> dict[str, Any]:
    """What torch says of itself and its devices, and the native ops of `namespaces` after `modules` were imported."""
    try:
        torch: Any = importlib.import_module("torch")
    except Exception as error:  # a child's whole purpose is to survive this; the answer says it
        return {"error": _said(error.__cause__ or error)}
    facts: dict[str, Any] = {"version": str(torch.__version__), "cuda": torch.version.cuda, "hip": torch.version.hip}
    loaded, failed = [], {}
    for module in modules or []:
        try:
            importlib.import_module(module)
            loaded.append(module)
        except Exception as error:
            failed[module] = _said(error)
    facts["loaded"], facts["failed"] = loaded, failed
    facts["devices"] = {
        name: _device(torch, name) for name in ("cuda", "npu", "xpu", "musa", "mps") if hasattr(torch, name)
    }
    if loaded and namespaces:
        schemas = (str(schema) for schema in torch._C._jit_get_all_schemas())
        facts["native_ops"] = sorted({text for text in schemas if text.partition("::")[0] in namespaces})
    return facts


def _device(torch: Any, name: str) -> dict[str, Any]:
    module = getattr(torch, name)
    try:
        found: dict[str, Any] = {"available": bool(module.is_available())}
        if found["available"] and hasattr(module, "device_count"):
            found["count"] = int(module.device_count())
        if found["available"] and name in ("cuda", "musa") and torch.version.hip is None:
            found["capability"] = [int(part) for part in module.get_device_capability()]
        if found["available"] and name == "cuda" and torch.version.hip is not None:
            found["name"] = str(module.get_device_properties(0).gcnArchName)
        if found["available"] and name in ("npu", "xpu"):
            found["name"] = str(module.get_device_name())
    except Exception as error:
        return {"available": False, "error": _said(error)}
    return found


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
