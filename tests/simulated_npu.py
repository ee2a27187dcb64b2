"""A simulated npu: tensors that say `npu:0`, are computed on the CPU, and whose every copy to the host is counted.

Not hardware, and no proof about hardware. torch lets a Python program play a device (PrivateUse1); this one refuses
what a real one refuses (mixed devices, ops without a kernel for it), and registers the schemas of the native libraries
with our references behind them. A device is renamed for good, so it runs in a process of its own:

    npu = simulate()
    with npu.counted() as copies:
        ...
    assert copies == []

Every underscore API of torch that this needs is in this module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from confbag.backends.declare.libraries import Library
from confbag.backends.declare.registry import Registry

KEY = "PrivateUse1"

WAITS = frozenset(
    {
        *("_local_scalar_dense", "is_nonzero", "equal", "nonzero", "masked_select", "_unique2", "unique_dim"),
        *("unique_consecutive", "bincount", "repeat_interleave.Tensor", "nonzero_static"),
    }
)
"""aten ops whose result, or its size, the host must wait for."""

MOVES = frozenset({"copy_", "_to_copy", "_copy_from"})
"""aten ops whose operands may lie on two devices."""

SHAPES_OF_ITSELF = frozenset({"resize_", "resize_as_", "set_", "squeeze_", "unsqueeze_", "transpose_", "t_"})
"""aten ops that change the shape of the tensor object itself, which a wrapper cannot follow."""

REFERENCES = {
    "npu::compressor": "confbag.kernels.dsv4.compressor.reference:compressor",
    "custom::compressor": "confbag.kernels.dsv4.compressor.reference:compressor",
    "npu::sparse_attn_sharedkv": "confbag.kernels.dsv4.sparse_attention.reference:sparse_attention",
    "custom::npu_sparse_attn_sharedkv": "confbag.kernels.dsv4.sparse_attention.reference:sparse_attention",
    "npu::sparse_attn_sharedkv_metadata_host": "confbag.kernels.dsv4.sparse_metadata.reference:sparse_metadata",
    "custom::npu_sparse_attn_sharedkv_metadata": "confbag.kernels.dsv4.sparse_metadata.reference:sparse_metadata",
}
"""Native op -> what computes it here. Arguments that the reference does not have must hold their defaults."""

IGNORED = frozenset({"device", "cu_seqlens_ori_kv", "cu_seqlens_cmp_kv"})
"""Arguments that a native op takes and that decide nothing here."""


class NpuTensor(Tensor):
    """A tensor on the simulated npu; `held` is the CPU tensor with its values."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: Tensor) -> NpuTensor:
        made: NpuTensor = Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device="npu:0",
        )
        return made

    def __init__(self, held: Tensor) -> None:
        self.held = held

    def __repr__(self) -> str:
        return f"NpuTensor({self.held!r})"

    def tolist(self) -> Any:
        """torch has none for subclasses; like a real device's, it waits."""
        NPU.copy("tolist")
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NPU.run(func, args, dict(kwargs or {}))


class SimulatedNpu:
    """The device: which native ops it has, and every copy to the host since `counted` began."""

    def __init__(self) -> None:
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.copies: list[str] = []
        self.calls: list[str] = []
        self._libraries: dict[str, torch.library.Library] = {}

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """The copies to the host, and waits for a value, that happen within."""
        outer, self.copies = self.copies, []
        try:
            yield self.copies
        finally:
            self.copies = outer

    def copy(self, what: str) -> None:
        """Note one copy to the host."""
        self.copies.append(what)

    def define(self, schema: str, key: str, kernel: Callable[..., Any] | None) -> None:
        """Register a native op. kernel: takes CPU tensors by the schema's names; None registers a schema alone."""
        namespace, _, signature = schema.partition("::")
        library = self._libraries.setdefault(namespace, torch.library.Library(namespace, "FRAGMENT"))
        name = signature.partition("(")[0].strip()
        library.define(signature)
        if kernel is None:
            return
        packet = getattr(getattr(torch.ops, namespace), name).default

        def on_the_host(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(packet.name())
            return tree_map(_to_npu, kernel(**_named(packet, args, kwargs)))

        def on_the_device(*args: Any, **kwargs: Any) -> Any:
            raise AssertionError(f"{packet.name()}: the Python key comes before {key}")

        if key == KEY:
            self.kernels[packet.name()] = kernel
        library.impl(name, on_the_device if key == KEY else on_the_host, key)

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """One op with at least one tensor of this device among its operands."""
        namespace, _, name = func.name().partition("::")
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        if namespace not in ("aten", "prims"):
            return self._native(func, tensors, args, kwargs)
        base = name.partition(".")[0]
        if base in SHAPES_OF_ITSELF:
            raise NotImplementedError(f"{func.name()}: the simulated npu has no kernel for it")
        if base not in MOVES:
            _refuse_mixed(func, tensors)
        device = kwargs.get("device")
        to_host = device is not None and torch.device(device).type == "cpu"
        into_host = base == "copy_" and not isinstance(args[0], NpuTensor)
        if to_host or into_host or name in WAITS or base in WAITS or _masks(base, args):
            self.copy(func.name())
        if device is not None:
            kwargs["device"] = "cpu"
        if kwargs.pop("pin_memory", None):
            raise RuntimeError(f"{func.name()}: only CPU tensors can be pinned")
        out = func(*tree_map(_held, args), **tree_map(_held, kwargs))
        return out if to_host or into_host else _wrapped(out, tensors)

    def _native(self, func: Any, tensors: list[Tensor], args: Any, kwargs: dict[str, Any]) -> Any:
        kernel = self.kernels.get(func.name())
        if kernel is None or not torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), KEY):
            raise NotImplementedError(f"Could not run {func.name()!r} with arguments from the 'npu' backend")
        _refuse_mixed(func, tensors, scalars=False)
        self.calls.append(func.name())
        named = tree_map(_held, _named(func, args, kwargs))
        return _wrapped(kernel(**named), tensors)


NPU = SimulatedNpu()


def simulate(libraries: dict[str, Library] | None = None) -> SimulatedNpu:
    """Play a npu in this process, once; with the ops of these libraries (None: of the shipped catalogue)."""
    _setup_privateuseone_for_python_backend(rename="npu")
    # Kept alive: a Library that is collected takes its kernels along.
    aten = NPU._libraries["aten"] = torch.library.Library("aten", "IMPL")
    aten.impl("empty.memory_format", _empty, KEY)
    aten.impl("empty_strided", _empty_strided, KEY)
    aten.impl("arange", lambda end, **options: _arange(0, end, **options), KEY)
    aten.impl("arange.start", _arange, KEY)
    aten.impl("arange.start_step", _arange, KEY)
    aten.impl("_copy_from", _copy_from, KEY)
    # torch has no hook for a Python device's pinned memory; a pinned tensor is a CPU tensor here.
    aten.impl("_pin_memory", lambda tensor, device=None: tensor.clone(), "CPU")
    if libraries is None:
        registry = Registry()
        registry.catalogue("libraries.yaml")
        libraries = registry.libraries
    for library in libraries.values():
        for op in library.ops:
            NPU.define(op.schema, op.dispatch_key or KEY, _reference(op.name))
    return NPU


def _reference(name: str) -> Callable[..., Any] | None:
    """The function behind a native op, found at the first call: an op that no test calls needs no reference."""
    target = REFERENCES.get(name)
    if target is None:
        return None
    module, _, function = target.partition(":")

    def kernel(**named: Any) -> Any:
        reference = getattr(import_module(module), function)
        known = inspect.signature(reference).parameters
        extra = {key for key, value in named.items() if key not in known and key not in IGNORED and value}
        assert not extra, f"{name}: the reference has no {', '.join(sorted(extra))}"
        return reference(**{key: value for key, value in named.items() if key in known})

    return kernel


def _named(func: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the schema's names, defaults filled in."""
    named = {}
    for place, argument in enumerate(func._schema.arguments):
        if place < len(args):
            named[argument.name] = args[place]
        elif argument.name in kwargs:
            named[argument.name] = kwargs[argument.name]
        else:
            named[argument.name] = argument.default_value
    return named


def _held(leaf: Any) -> Any:
    return leaf.held if isinstance(leaf, NpuTensor) else leaf


def _to_npu(leaf: Any) -> Any:
    return NpuTensor(leaf) if isinstance(leaf, Tensor) and not isinstance(leaf, NpuTensor) else leaf


def _wrapped(out: Any, operands: list[Tensor]) -> Any:
    """Results as tensors of this device; what an op wrote into and returns stays the same object."""
    written = {id(operand.held): operand for operand in operands if isinstance(operand, NpuTensor)}
    return tree_map(lambda leaf: written[id(leaf)] if id(leaf) in written else _to_npu(leaf), out)


def _refuse_mixed(func: Any, tensors: list[Tensor], scalars: bool = True) -> None:
    """As torch does: CPU tensors beside npu ones are refused, but for a number in a tensor of no dimension."""
    for tensor in tensors:
        if not isinstance(tensor, NpuTensor) and not (scalars and tensor.dim() == 0):
            raise RuntimeError(
                f"{func.name()}: Expected all tensors to be on the same device, but found at least two devices, "
                f"npu:0 and {tensor.device}!"
            )


def _masks(base: str, args: Any) -> bool:
    """Whether an index is a mask, whose number of true elements the host must know."""
    return base in ("index", "index_put", "index_put_") and any(
        isinstance(index, Tensor) and index.dtype is torch.bool for index in args[1]
    )


def _empty(
    size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> NpuTensor:
    return NpuTensor(torch.empty(size, dtype=dtype))


def _empty_strided(
    size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> NpuTensor:
    return NpuTensor(torch.empty_strided(size, stride, dtype=dtype))


def _arange(
    start: Any,
    end: Any,
    step: Any = 1,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> NpuTensor:
    return NpuTensor(torch.arange(start, end, step, dtype=dtype))


def _copy_from(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    _held(target).copy_(_held(source))
    return target
