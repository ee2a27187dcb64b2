"""CB132 beyond its own cases: ways to a native op, and what only looks like one."""

from __future__ import annotations

import pytest

FILES = {
    "engine/native.py": "import torch\nlib = torch.ops.x\nroot = torch.ops\nrms = torch.ops.x.rms\n",
    "engine/again.py": "from engine.native import *\nfrom .native import rms as norm\n",
    "engine/npu.py": "try:\n    import torch_npu as vendor\nexcept ImportError:\n    vendor = None\n",
}
A = ["torch.ops.x.a"]
SHAPES = {
    # Ways to an op
    "overload, called": ("import torch\ntorch.ops.x.a.default(1)\n", A),
    "overload, kept": ("import torch\nop = torch.ops.x.a.out\n", A),
    "called twice through a name": ("import torch\nop = torch.ops.x.a\nop(1)\nop(2)\n", A),
    "getattr of the op": ("import torch\ngetattr(torch.ops.x, 'a')(1)\n", A),
    "getattr of the namespace": ("import torch\ngetattr(torch.ops, 'x').a(1)\n", A),
    "getattr of both": ("import torch\ngetattr(getattr(torch.ops, 'x'), 'a')(1)\n", A),
    "getattr with a default": ("import torch\nop = getattr(torch.ops.x, 'a', None)\n", A),
    "getattr of a computed op": ("import torch\nop = getattr(torch.ops.x, name)\n", ["torch.ops.x.*"]),
    "getattr of a computed namespace": ("import torch\ngetattr(torch.ops, name).a(1)\n", ["torch.ops.*.a"]),
    "from torch import ops": ("from torch import ops as o\no.x.a(1)\n", A),
    "from torch.ops import": ("from torch.ops import x\nx.a(1)\n", A),
    "from torch.ops.x import": ("from torch.ops.x import a as op\nop(1)\n", A),
    "the private door": ("import torch\ntorch._ops.ops.x.a(1)\n", A),
    "two names on the way": ("import torch\no = torch.ops\nns = o.x\ndef f():\n    return ns.a(1)\n", A),
    "a chosen namespace": ("import torch\nns = torch.ops.x if y else torch.ops.aten\nns.a(1)\n", A),
    "a closure": ("import torch\ndef f():\n    ns = torch.ops.x\n    def g(y):\n        return ns.a(y)\n", A),
    "an op or another function under one name": (
        "import torch\nif y:\n    from b import f\nelse:\n    f = torch.ops.x.a\nf(1)\nf(2)\n", A),
    "a default of a parameter": ("import torch\ndef f(op=torch.ops.x.a):\n    return op(1)\n", A),
    "a namespace on self": ("import torch\nclass C:\n    def __init__(self):\n        self.ns = torch.ops.x\n"
                            "    def f(self):\n        return self.ns.a(1)\n", A),
    "a namespace on the class": ("import torch\nclass C:\n    ns = torch.ops.x\n    def f(self):\n"
                                 "        return self.ns.a(1)\nC.ns.b\n", ["torch.ops.x.a", "torch.ops.x.b"]),
    "partial and compile": ("import torch, functools\nf = functools.partial(torch.ops.x.a, 1)\n"
                            "g = torch.compile(torch.ops.x.b)\n", ["torch.ops.x.a", "torch.ops.x.b"]),
    "in a comprehension, a walrus and an await": (
        "import torch\nasync def f(y):\n    z = [torch.ops.x.a(i) for i in y]\n    if (op := torch.ops.x.b):\n"
        "        await op(z)\n", ["torch.ops.x.a", "torch.ops.x.b"]),
    "in a match": ("import torch\nmatch y:\n    case 1:\n        torch.ops.x.a(1)\n", A),
    "a decorator": ("import torch\n@torch.ops.x.a\ndef f(): ...\n", A),
    "handed on by another module": ("from engine.native import lib\nlib.a(1)\n", A),
    "handed on by a star and renamed": ("from engine.again import norm, root\nnorm(1)\nroot.x.a(1)\n",
                                        ["torch.ops.x.rms", "torch.ops.x.a"]),
    "through the module that holds it": ("import engine.native as n\nn.lib.a(1)\n", A),
    "in an else after ImportError": ("try:\n    import torch\nexcept ImportError:\n    torch = None\nelse:\n"
                                     "    torch.ops.x.a(1)\n", A),
    "an import that nothing here uses": ("from torch_npu import npu_swiglu\n", ["torch_npu.npu_swiglu"]),
    "torch_npu under a name": ("import torch_npu as t\nt.npu_swiglu(1)\n", ["torch_npu.npu_swiglu"]),
    "torch_npu by star": ("from torch_npu import *\nnpu_swiglu(1)\n", ["torch_npu.npu_swiglu"]),
    "torch_npu renamed": ("from torch_npu import npu_swiglu as s\ns(1)\n", ["torch_npu.npu_swiglu"]),
    "torch_npu of another module": ("from engine.npu import vendor\nvendor._npu_x(1)\n", ["torch_npu._npu_x"]),
    "torch_npu by getattr": ("import torch_npu\ngetattr(torch_npu, 'npu_swiglu')(1)\n", ["torch_npu.npu_swiglu"]),
    "torch_npu by import_module": ("import importlib\nt = importlib.import_module('torch_npu')\nt.npu_x(1)\n",
                                   ["torch_npu.npu_x"]),
    # No finding
    "PyTorch's own": (
        "import torch\nfor n in (torch.ops.aten.add, torch.ops.prims.add, torch.ops.higher_order.cond,\n"
        "          torch.ops.symm_mem.x, torch.ops.c10d.y, torch.ops._c10d_functional.z):\n    n()\n", []),
    "a name like PyTorch's own": ("import torch\ntorch.ops.aten_extra.a(1)\n", ["torch.ops.aten_extra.a"]),
    "PyTorch's own by getattr": ("import torch\ngetattr(torch.ops.aten, name)(1)\n", []),
    "loading": ("import torch\ntorch.ops.load_library('x.so')\ntorch.classes.load_library('y.so')\n"
                "torch.ops.loaded_libraries.add\n", []),
    "asking": ("import torch, torch_npu\nhasattr(torch.ops.x, 'a')\nhasattr(torch_npu, 'npu_x')\n"
               "hasattr(torch.ops.x.a, 'default')\n'a' in dir(torch.ops.x)\n", []),
    "registering": ("import torch\nlib = torch.library.Library('x', 'IMPL')\nlib.impl('a', fast)\n"
                    "torch.library.register_fake('x::a', fake)\ntorch.library.custom_op('x::b', f, mutates_args=())\n"
                    "torch.library.register_kernel(torch.ops.x.a, 'cpu', f)\n"
                    "@torch.library.impl('x::a', 'CUDA')\ndef f(): ...\n", []),
    "a namespace alone": ("import torch\nns = torch.ops.x\nprint(torch.ops.x)\ndef f(n=torch.ops.x): ...\n", []),
    "parts of a namespace that are no ops": ("import torch\ntorch.ops.x.__name__\n", []),
    "text": ("x = 'torch.ops.x.a'\ny = f'torch.ops.x.{x}'\n# torch.ops.x.a\n", []),
    "another torch": ("from engine import torch\ntorch.ops.x.a(1)\n", []),
    "a parameter of the name": ("import torch\ndef f(torch, ops):\n    ops.x.a(1)\n    torch.ops.x.a(1)\n", []),
    "a loop variable of the name": ("from torch import ops\nz = [ops.x.a for ops in y]\n", []),
    "a name bound anew": ("import torch\nns = torch.ops.x\nns = other\nns.a(1)\n", []),
    "what torch_npu offers beside ops": ("import torch_npu\ntorch_npu.npu.synchronize()\ntorch_npu.npu.npu_x\n"
                                         "torch_npu.contrib.transfer_to_npu\n", []),
    "a module named like torch_npu": ("import torch_npu_extra as t\nt.npu_x(1)\n", []),
    "an attribute ops of something else": ("self.ops.x.a(1)\nengine.ops.x.a(1)\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("triage", [True, False])
def test_shape(judge_files, name, triage):
    text, symbols = SHAPES[name]
    judged = judge_files({"engine/case.py": text, **FILES}, codes=("CB132",), triage=triage)
    assert judged.analysis.unanalysed == ()
    assert judged.symbols() == [f"CB132 {symbol}" for symbol in symbols]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("engine/kernels/a.py", 0),
        ("engine/kernels/deep/a.py", 0),
        ("engine/kernels.py", 1),
        ("engine/kernels_extra/a.py", 1),
        ("other/engine/kernels/a.py", 1),
        ("engine/one/fast.py", 0),
        ("engine/one/fast_too.py", 1),
    ],
)
def test_kernels_are_folders_or_files_by_components(judge_files, path, found):
    judged = judge_files(
        {path: "import torch\ntorch.ops.x.a(1)\n"},
        codes=("CB132",),
        options={"kernels": ("engine/kernels/", "engine/one/fast.py")},
    )
    assert len(judged.analysis.findings) == found
