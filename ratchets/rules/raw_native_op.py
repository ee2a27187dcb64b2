"""CB132 raw-native-op: a native op called or referred to outside of the kernels' folders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding
from confbag.ratchets.names import asking, references
from confbag.ratchets.names.exports import STARS, Echoes, Tree
from confbag.ratchets.names.naming import foreign
from confbag.ratchets.names.references import Facts, Reference
from confbag.ratchets.paths import normal, within
from confbag.ratchets.rules.case import Case, case
from confbag.ratchets.source.parse import Module

CODE = "CB132"
NAME = "raw-native-op"
MEANS = (
    "`torch.ops.NS.OP` or `torch_npu.npu_*` is called or referred to, through whatever alias, outside of the folders "
    "that `kernels` lists. PyTorch's own namespaces (aten, prims, higher_order, symm_mem, c10d, _c10d_functional), "
    "loading a library, asking with hasattr, registering, and a namespace by itself are no findings."
)
WHY = (
    "The op is there only where some library was loaded, for some devices, with one signature: the plan cannot verify "
    "what it does not know of, and the caller fails at the first request instead of at start-up."
)
INSTEAD = (
    'Wrap the op in a function under `kernels` that is registered with `native_ops=(NativeOp("NS::OP(...) -> ..."),)`, '
    "and call what the plan has bound."
)

_OWN = frozenset({"aten", "prims", "higher_order", "symm_mem", "c10d", "_c10d_functional"})
_LOADING = frozenset({"load_library", "loaded_libraries", "import_module"})
_OP = re.compile(r"torch\.ops\.(\w+|\*)\.(?!__)(\w+|\*)\Z")
_NPU = re.compile(r"torch_npu\._?npu_\w+\Z")
_DOOR = "torch._ops.ops"
_BEFORE = (b".", b" ", b"\t", b"\n", b"\r", b"\f", b"(", b",", b'"', b"'")
_KERNELS = {"kernels": ("engine/kernels",)}


def triggers(configuration: Configuration) -> tuple[bytes, ...]:
    """What can stand before the word `ops` where torch.ops is written or imported."""
    return (*(before + b"ops" for before in _BEFORE), b"torch_npu", *STARS)


def wanted(tree: ast.Module, configuration: Configuration) -> bool:
    """Names are resolved later."""
    return True


def collect(module: Module, configuration: Configuration) -> Facts:
    """What the module offers, and its references that may be an op."""
    facts = references.collect(module, _may_be)
    kept = tuple(one for one in facts.references if not one.context and not one.alias)
    return Facts(facts.exports, kept)


def echoes(facts: Mapping[str, Facts], configuration: Configuration) -> Echoes:
    """Names under which modules hand on torch.ops, a namespace, an op or torch_npu."""
    tree = Tree(references.everything(facts))
    targets = {
        path
        for one in facts.values()
        for paths in one.exports.names.values()
        for path in paths
        if path in ("torch.ops", "torch._ops", _DOOR) or path.startswith(("torch.ops.", f"{_DOOR}.", "torch_npu"))
    }
    seen = (path for one in facts.values() for reference in one.references for path in reference.paths)
    return asking.echoes(tree, targets, {"ops", "torch_npu"}, seen)


def judge(facts: Mapping[str, Facts], configuration: Configuration) -> Iterator[Finding]:
    """One finding at the token that names the op."""
    tree = Tree(references.everything(facts))
    for path, one in facts.items():
        inside = path.removeprefix(configuration.prefix)
        if any(within(inside, normal(folder)) for folder in configuration.kernels):
            continue
        ops = [(op, reference) for reference in one.references if (op := _op(reference, tree)) is not None]
        used = {op for op, reference in ops if reference.kind != "import"}
        for op, reference in ops:
            # An import counts where the file does not use what it imports.
            if reference.kind != "import" or op not in used:
                at = reference.place
                yield Finding(
                    path,
                    at.line,
                    at.column,
                    CODE,
                    op,
                    at.qualname,
                    f"`{op}` is used outside of the kernels; call the implementation that the plan has bound",
                    end_line=at.end_line,
                    end_column=at.end_column,
                    first=at.first,
                    last=at.last,
                )


def _may_be(path: str) -> bool:
    return path.startswith(("torch.ops.", f"{_DOOR}.", "torch_npu.")) or not foreign(path)


def _op(reference: Reference, tree: Tree) -> str | None:
    """The op that a reference is of."""
    names = {name for given in reference.paths for name in tree.all(given)}
    shown = sorted("torch.ops." + name.removeprefix(f"{_DOOR}.") if name.startswith(_DOOR) else name for name in names)
    return next((name for name in shown if _is_op(name)), None)


def _is_op(path: str) -> bool:
    found = _OP.match(path)
    if found is not None:
        return found[1] not in _OWN and found[1] not in _LOADING
    return _NPU.match(path) is not None


CASES: tuple[Case, ...] = (
    case("call", """
        def f(x):
            return torch.ops.sgl_kernel.rmsnorm(x)
    """, "CB132 torch.ops.sgl_kernel.rmsnorm"),
    case("overload is one reference", """
        def f(x):
            return torch.ops.sgl_kernel.rmsnorm.default(x)
    """, "CB132 torch.ops.sgl_kernel.rmsnorm"),
    case("reference and aliases", """
        import torch as t
        from torch import ops
        ns = ops.sgl_kernel
        one = t.ops.sgl_kernel.one
        def f(x):
            mine = ns
            one(x)
            return mine.two(x)
    """, "CB132 torch.ops.sgl_kernel.one", "CB132 torch.ops.sgl_kernel.two"),
    case("getattr", """
        def f(x, name):
            getattr(torch.ops.sgl_kernel, "one")(x)
            return getattr(torch.ops.sgl_kernel, name)(x)
    """, "CB132 torch.ops.sgl_kernel.one", "CB132 torch.ops.sgl_kernel.*"),
    case("namespace from another module under another name", """
        from engine.native import lib as library
        def f(x):
            return library.one(x)
    """, "CB132 torch.ops.sgl_kernel.one", files={"engine/native.py": """
        import torch
        lib = torch.ops.sgl_kernel
    """}),
    case("torch_npu", """
        import torch_npu
        from torch_npu import npu_rotary_mul
        def f(x):
            torch_npu._npu_reshape_and_cache(x)
            torch_npu.npu.synchronize()
            return npu_rotary_mul(torch_npu.npu_swiglu(x))
    """, "CB132 torch_npu._npu_reshape_and_cache", "CB132 torch_npu.npu_rotary_mul", "CB132 torch_npu.npu_swiglu"),
    case("a namespace that an attribute holds, computed names, an import that nothing uses", """
        from torch_npu import npu_swiglu
        class Norm:
            def __init__(self):
                self.ns = torch.ops.sgl_kernel
            def forward(self, x, name):
                return self.ns.rmsnorm(x), getattr(torch.ops, name).one(x)
    """, "CB132 torch_npu.npu_swiglu", "CB132 torch.ops.sgl_kernel.rmsnorm", "CB132 torch.ops.*.one"),
    case("an op or another function under one name counts where it is named", """
        from kernels import norm
        if fast:
            norm = torch.ops.sgl_kernel.rmsnorm
        def f(x):
            return norm(x)
    """, "CB132 torch.ops.sgl_kernel.rmsnorm"),
    case("PyTorch's own namespaces", """
        def f(x):
            torch.ops.aten.add(x, x)
            torch.ops.symm_mem.one_shot_all_reduce(x, "sum", "0")
            return torch.ops._c10d_functional.wait_tensor(x)
    """),
    case("loading, asking, registering, a namespace alone", """
        torch.ops.load_library("lib.so")
        ns = torch.ops.sgl_kernel
        HAS = hasattr(torch.ops.sgl_kernel, "one") and hasattr(torch.ops.sgl_kernel.one, "default")
        @torch.library.register_fake("sgl_kernel::one")
        def fake(x):
            return x
        torch.library.register_autograd(torch.ops.sgl_kernel.one, fake)
    """),
    case("a name that was bound anew", """
        def f(x, ops):
            ns = torch.ops.sgl_kernel
            ns = ops
            return ns.one(x), ops.sgl_kernel.one(x)
    """),
    case("in the kernels", """
        def f(x):
            return torch.ops.sgl_kernel.rmsnorm(x)
    """, path="engine/kernels/norm.py", options=_KERNELS),
    case("beside the kernels", """
        def f(x):
            return torch.ops.sgl_kernel.rmsnorm(x)
    """, "CB132 torch.ops.sgl_kernel.rmsnorm", path="engine/kernels_old/norm.py", options=_KERNELS),
)  # fmt: skip
