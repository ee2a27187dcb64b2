"""Bind: what comes out, what is refused, and that a refusal leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from confbag import load
from confbag.backends import Library, NativeOp, Op, Plan, Platform, Registry, Requires, make_plan
from confbag.backends.bind.bind import BindWarning
from confbag.backends.bind.bound import NotBoundError, bindings_of
from confbag.errors import (
    BindError,
    ConfigError,
    DeclaredOnlyError,
    PlanError,
    RegistrationError,
    SignatureError,
)

VARIABLE = "CONFBAG_T_LIBRARY"


def last_loc(x: Any, n: int = 1) -> Any:
    """A contract."""


def doubled(x: Any, n: int = 1) -> Any:
    return (x, x, n)


def op_of(
    name: str, target: Any = doubled, *, requires: Requires | None = None, phases: Sequence[str] = (), **row: Any
) -> Op:
    """An op with one provider called acme."""
    op = Op(name, last_loc, phases=phases)
    op.implement("acme", target, requires=requires or Requires(), priority=1, **row)
    return op


def plan_of(
    *ops: Op, device: str = "cpu", libraries: Sequence[Library] = (), fills: Sequence[Any] = (), **settings: Any
) -> Plan:
    """The plan of these ops alone, blind to this machine."""
    registry = Registry()
    for op in ops:
        registry.add(op)
    for library in libraries:
        registry.library(library)
    registry.fills.extend(fills)
    settings = {"exec.graph": False, **settings}
    return make_plan(load(env={}, overrides=settings), Platform(device), registry=registry)


def faults_of(plan: Plan, **arguments: Any) -> list[tuple[str | None, str | None, str]]:
    with pytest.raises(BindError) as caught:
        plan.bind(**arguments)
    for fault in caught.value.faults:
        assert fault.hint
        assert str(fault) in str(caught.value)
    return [(fault.op, fault.provider, fault.code) for fault in caught.value.faults]


# What comes out


def test_an_attribute_is_the_implementation_itself() -> None:
    ops = plan_of(op_of("kvcache.last_loc")).bind()
    assert ops.last_loc is doubled
    assert ops.last_loc(1, 2) == (1, 1, 2)


def test_an_op_with_phases_binds_one_attribute_a_phase() -> None:
    plan = plan_of(op_of("attention", phases=["prefill", "decode", "draft"]), **{"spec.algorithm": "eagle"})
    ops = plan.bind()
    assert ops.attention_prefill is ops.attention_decode is ops.attention_draft is doubled
    with pytest.raises(AttributeError, match=r"write ops\.attention_prefill, ops\.attention_decode"):
        _ = ops.attention
    assert set(bindings_of(plan.bind(ops=["attention@decode"]))) == {"attention_decode"}


def test_the_object_says_what_it_holds() -> None:
    ops = plan_of(op_of("kvcache.last_loc"), op_of("b.other")).bind()
    assert "last_loc=acme, other=acme" in repr(ops)
    assert {"last_loc", "other"} <= set(dir(ops))
    assert [binding.op for (binding,) in bindings_of(ops).values()] == ["kvcache.last_loc", "b.other"]


class Kernel:
    """A callable whose class is a descriptor, as functions are and as partials become."""

    def __call__(self, x: Any, n: int = 1) -> Any:
        return self, x, n

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise AssertionError("asked of a class attribute")


def test_a_callable_object_is_given_back_as_it_is() -> None:
    kernel = Kernel()
    op = Op("a.kernel", last_loc)
    op.implement("acme", "confbag_t_objects:kernel", priority=1)
    import sys
    from types import ModuleType

    holder = ModuleType("confbag_t_objects")
    holder.kernel = kernel  # type: ignore[attr-defined]
    sys.modules[holder.__name__] = holder
    try:
        ops = plan_of(op).bind()
    finally:
        del sys.modules[holder.__name__]
    assert ops.kernel is kernel
    assert ops.kernel(1) == (kernel, 1, 1)


def test_binding_what_needs_no_torch_imports_none(in_child: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = in_child(
        "import sys\n"
        "from confbag import load\n"
        "from confbag.backends import Op, Platform, Registry, make_plan\n"
        "def contract(text):\n    'A contract.'\n"
        "def own(text): return text.title()\n"
        "op = Op('a.title', contract); op.implement('acme', own, priority=1)\n"
        "registry = Registry(); registry.add(op)\n"
        "ops = make_plan(load(env={}), Platform('cpu'), registry=registry).bind()\n"
        "print(ops.title('once more'), 'torch' in sys.modules)\n"
    )
    assert done.stdout == "Once More False\n", done.stderr


# What is not bound


def test_a_declared_only_provider_is_left_to_its_engine() -> None:
    plan = plan_of(op_of("attention", None, engine="SGLang", phases=["prefill", "decode"]), op_of("kvcache.last_loc"))
    ops = plan.bind()
    assert ops.last_loc is doubled
    for name in ("attention_decode", "attention"):
        assert not hasattr(ops, name)
    with pytest.raises(DeclaredOnlyError, match=r"attention@decode is acme, which is declared only: SGLang constructs"):
        _ = ops.attention_decode
    for named in ("attention", "attention@prefill"):
        with pytest.raises(DeclaredOnlyError, match=r"acme.*SGLang"):
            plan.bind(ops=[named])


def test_an_op_that_the_plan_does_not_use_says_why() -> None:
    unused = Op("dsv4.compressor", last_loc, applies={"model.kind": "dsv4"})
    unused.implement("acme", doubled, priority=1)
    plan = plan_of(unused, op_of("attention", phases=["decode", "draft"]))
    ops = plan.bind()
    for name, why in (("compressor", "model.kind"), ("attention_draft", "spec.algorithm")):
        with pytest.raises(NotBoundError, match=f"is not used by this plan.*{why}"):
            getattr(ops, name)
    with pytest.raises(NotBoundError, match=r"dsv4\.compressor.*leave it out"):
        plan.bind(ops=["dsv4.compressor"])
    with pytest.raises(AttributeError):
        _ = ops.no_such_thing


def test_a_subset_binds_only_that() -> None:
    plan = plan_of(op_of("a.one"), op_of("a.two", "confbag_t_absent:f"))
    ops = plan.bind(ops=["a.one"])
    assert ops.one is doubled
    with pytest.raises(NotBoundError, match=r"a\.two is not among the ops"):
        _ = ops.two
    assert plan.bind(ops="a.one").one is doubled
    assert not bindings_of(plan.bind(ops=[]))


def test_unknown_names_are_errors_with_a_suggestion_all_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        plan_of(op_of("kvcache.last_loc")).bind(ops=["kvcache.last_lok", "nothing"])
    first, second = caught.value.faults
    assert "did you mean kvcache.last_loc?" in str(first)
    assert second.key == "nothing"


def test_two_bound_ops_with_one_last_name_are_refused() -> None:
    plan = plan_of(op_of("a.step"), op_of("b.step"))
    with pytest.raises(RegistrationError, match=r"a\.step and b\.step would both be ops\.step"):
        plan.bind()
    assert plan.bind(ops=["b.step"]).step is doubled


def test_a_plan_with_faults_is_not_bound() -> None:
    plan = plan_of(op_of("a.one", requires=Requires(device=["cuda"])))
    assert plan.faults
    with pytest.raises(PlanError) as caught:
        plan.bind()
    assert not isinstance(caught.value, BindError)
    assert caught.value.faults == plan.faults


# Targets


def test_every_target_that_cannot_be_had_is_named_at_once(module: Callable[[str, str], str]) -> None:
    name = module("confbag_t_targets", "def lastloc(x, n=1): ...\nclass Inside:\n    ready = 3\n")
    broken = module("confbag_t_broken", "raise ImportError('x.so: undefined symbol: _ZN3atb6Runner5SetupEv')\n")
    plan = plan_of(
        op_of("a.attribute", f"{name}:last_loc"),
        op_of("a.module", "confbag_t_no_module.deep:f"),
        op_of("a.broken", f"{broken}:f"),
        op_of("a.inside", f"{name}:Inside.ready"),
        op_of("a.fine"),
    )
    with pytest.raises(BindError) as caught:
        plan.bind()
    by_op = {fault.op: fault for fault in caught.value.faults}
    assert {op: fault.code for op, fault in by_op.items()} == {
        "a.attribute": "op-missing",
        "a.module": "package-missing",
        "a.broken": "library-load",
        "a.inside": "op-missing",
    }
    assert by_op["a.attribute"].actual == "not there; it has Inside, lastloc"
    assert by_op["a.attribute"].hint == "did you mean lastloc?"
    assert "confbag_t_no_module" in str(by_op["a.module"].actual)
    assert by_op["a.broken"].actual == "undefined symbol atb::Runner::Setup"
    assert (by_op["a.inside"].required, by_op["a.inside"].actual) == ("callable", "int")


def test_a_signature_that_is_not_the_contracts_is_refused_naming_both(module: Callable[[str, str], str]) -> None:
    name = module("confbag_t_short", "def last_loc(x): ...\n")
    plan = plan_of(op_of("kvcache.last_loc", f"{name}:last_loc"))
    with pytest.raises(SignatureError) as caught:
        plan.bind()
    assert isinstance(caught.value, BindError)
    assert "last_loc(x, n=1)" in str(caught.value)
    assert "confbag_t_short:last_loc(x)" in str(caught.value)
    assert [fault.code for fault in caught.value.faults] == ["op-schema"]


# Environment


def wanting(**environment: str) -> Any:
    from confbag.backends.declare.rules import Fill

    return Fill.of({"name": "hccl", "environment": environment}, "test")


def test_what_the_plan_needs_is_set_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFBAG_T_NEEDED", "before")
    monkeypatch.delenv("CONFBAG_T_NEEDED")
    plan = plan_of(op_of("a.one"), fills=[wanting(CONFBAG_T_NEEDED="strict")])
    plan.bind()
    assert os.environ["CONFBAG_T_NEEDED"] == "strict"
    plan.bind(set_environment=False)
    plan.bind()


def test_another_value_that_somebody_set_is_a_fault_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFBAG_T_NEEDED", "false")
    plan = plan_of(
        op_of("a.one", "confbag_t_absent:f"), fills=[wanting(CONFBAG_T_NEEDED="strict", CONFBAG_T_OTHER="1")]
    )
    for set_environment in (True, False):
        with pytest.raises(BindError) as caught:
            plan.bind(set_environment=set_environment)
        first = caught.value.faults[0]
        assert (first.code, first.field, first.required) == ("environment", "env CONFBAG_T_NEEDED", "'strict'")
        assert (first.actual, first.origin) == ("'false'", "rule hccl")
    assert os.environ["CONFBAG_T_NEEDED"] == "false"
    assert "CONFBAG_T_OTHER" not in os.environ


def test_without_leave_to_set_it_an_unset_variable_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONFBAG_T_NEEDED", raising=False)
    plan = plan_of(op_of("a.one"), fills=[wanting(CONFBAG_T_NEEDED="strict")])
    assert faults_of(plan, set_environment=False) == [(None, None, "environment")]
    assert "CONFBAG_T_NEEDED" not in os.environ


def test_a_bind_that_fails_takes_the_environment_back(
    monkeypatch: pytest.MonkeyPatch, module: Callable[[str, str], str]
) -> None:
    monkeypatch.delenv("CONFBAG_T_NEEDED", raising=False)
    monkeypatch.setenv("CONFBAG_T_SAME", "1")
    name = module("confbag_t_reads", "import os\nassert os.environ['CONFBAG_T_NEEDED'] == 'strict'\n")
    plan = plan_of(op_of("a.one", f"{name}:f"), fills=[wanting(CONFBAG_T_NEEDED="strict", CONFBAG_T_SAME="1")])
    assert faults_of(plan) == [("a.one", "acme", "op-missing")]
    assert "CONFBAG_T_NEEDED" not in os.environ
    assert os.environ["CONFBAG_T_SAME"] == "1"


# Native ops


def native(*schemas: str, key: str = "", library: str | None = None) -> Requires:
    return Requires(native_ops=tuple(NativeOp(schema, key) for schema in schemas), library=library)


@pytest.fixture
def npu_like(torch_namespace: Callable[[str], Any]) -> str:
    """A namespace with a host op on the CPU, one on the device, one without kernels, and one in its old shape."""
    library = torch_namespace("confbag_t_npu")
    library.define("host(Tensor x, int n=1) -> Tensor")
    library.impl("host", lambda x, n=1: x, "CPU")
    library.define("device(Tensor! cache, Tensor x, float eps=1e-6) -> Tensor")
    library.impl("device", lambda cache, x, eps=1e-6: x, "PrivateUse1")
    library.define("bare(Tensor x) -> Tensor")
    library.define("old(Tensor x, float eps=1e-5) -> Tensor")
    library.impl("old", lambda x, eps=1e-5: x, "CPU")
    library.define("composite(Tensor x) -> Tensor")
    library.impl("composite", lambda x: x, "CompositeExplicitAutograd")
    library.define("many.out(Tensor x) -> Tensor")
    return "confbag_t_npu"


def test_native_ops_that_fit_are_bound(npu_like: str) -> None:
    host = native("confbag_t_npu::host(Tensor x, int n=1) -> Tensor", key="CPU")
    device = native("confbag_t_npu::device(Tensor! cache, Tensor x, float eps=1e-06) -> Tensor")
    letters = native("confbag_t_npu::device(Tensor(a!) cache, Tensor x, float eps=1e-6) -> Tensor")
    composite = native("confbag_t_npu::composite(Tensor x) -> Tensor")
    plan = plan_of(
        *(op_of(f"a.op{index}", requires=each) for index, each in enumerate((host, device, letters, composite))),
        device="npu",
    )
    assert len(bindings_of(plan.bind())) == 4


@pytest.mark.parametrize(
    ("schema", "code", "actual", "hint"),
    [
        ("host(Tensor x, int n=1) -> Tensor", "op-kernel", "without one", "for this device"),
        ("bare(Tensor x) -> Tensor", "op-kernel", "without one", "for this device"),
        (
            "old(Tensor x, float eps=1e-6) -> Tensor",
            "op-schema",
            "eps=1.0",
            "argument 'eps': default must be 1e-06, is 1e-05",
        ),
        (
            "device(Tensor cache, Tensor x, float eps=1e-6) -> Tensor",
            "op-schema",
            "device(",
            "'cache' must not be written",
        ),
        ("device(Tensor! cache, Tensor x) -> (Tensor, Tensor)", "op-schema", "device(", "must return (Tensor, Tensor)"),
        (
            "device(Tensor x, Tensor! cache, float eps=1e-6) -> Tensor",
            "op-schema",
            "device(",
            "'x' must come before 'cache'",
        ),
        (
            "device(Tensor! cache, Tensor x, float eps=1e-6, int k=3) -> Tensor",
            "op-schema",
            "device(",
            "'k' is missing",
        ),
        ("third(Tensor x) -> Tensor", "op-missing", "confbag_t_npu has bare, composite, device", "that has it"),
        ("many(Tensor x) -> Tensor", "op-missing", "it has the overloads confbag_t_npu::many.out", "that has it"),
        ("host(Tensor x=1) -> Tensor", "op-schema", "not a schema that torch reads", "mend the schema"),
    ],
)
def test_a_native_op_that_does_not_fit_names_what_was_found_and_needed(
    npu_like: str, schema: str, code: str, actual: str, hint: str
) -> None:
    plan = plan_of(op_of("dsv4.compressor", requires=native(f"confbag_t_npu::{schema}")), device="npu")
    with pytest.raises(BindError) as caught:
        plan.bind()
    (fault,) = caught.value.faults
    assert (fault.op, fault.provider, fault.code) == ("dsv4.compressor", "acme", code)
    assert actual in str(fault.actual)
    assert hint in str(fault.hint)
    needed = f"confbag_t_npu::{schema}" if code != "op-kernel" else "registered with a PrivateUse1 kernel"
    assert fault.required == needed


def test_nothing_registered_is_said_as_such() -> None:
    pytest.importorskip("torch")
    plan = plan_of(op_of("a.one", requires=native("confbag_t_nobody::op(Tensor x) -> Tensor")))
    with pytest.raises(BindError, match="not there; nothing is registered in confbag_t_nobody"):
        plan.bind()


def test_a_module_that_imports_fine_and_defines_nothing_is_found_out(module: Callable[[str, str], str]) -> None:
    pytest.importorskip("torch")
    name = module("confbag_t_silent", "import torch\n")
    plan = plan_of(
        op_of("vision.nms", requires=native("confbag_t_vision::nms(Tensor x) -> Tensor", library="vision")),
        libraries=[Library("vision", "confbag_t_vision", prerequisites=(name,))],
    )
    assert faults_of(plan) == [("vision.nms", "acme", "op-missing")]


def test_faults_of_all_ops_come_together_and_phases_once(npu_like: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    plan = plan_of(
        op_of("attention", phases=["prefill", "decode"], requires=native("confbag_t_npu::none(Tensor x) -> Tensor")),
        op_of("a.two", "confbag_t_absent:f"),
        op_of("a.three", requires=native("confbag_t_lib::op(Tensor x) -> Tensor", library="acme_lib")),
        op_of(
            "a.four",
            requires=native(
                "confbag_t_npu::bare(Tensor x) -> Tensor", "confbag_t_npu::old(Tensor x, float eps=1e-6) -> Tensor"
            ),
        ),
        device="npu",
        libraries=[Library("acme_lib", "confbag_t_lib", VARIABLE)],
    )
    assert faults_of(plan) == [
        ("attention", "acme", "op-missing"),
        ("a.two", "acme", "package-missing"),
        ("a.three", "acme", "library-not-found"),
        ("a.four", "acme", "op-kernel"),
        ("a.four", "acme", "op-schema"),
    ]


def test_a_target_may_register_its_own_ops(module: Callable[[str, str], str]) -> None:
    pytest.importorskip("torch")
    name = module(
        "confbag_t_own",
        "import torch\nheld = torch.library.Library('confbag_t_own', 'DEF')\n"
        "held.define('op(Tensor x) -> Tensor')\nheld.impl('op', lambda x: x, 'CPU')\n"
        "def last_loc(x, n=1):\n    return torch.ops.confbag_t_own.op(x)\n",
    )
    plan = plan_of(op_of("a.one", f"{name}:last_loc", requires=native("confbag_t_own::op(Tensor x) -> Tensor")))
    ops = plan.bind()
    import torch

    assert ops.one(torch.ones(2)).tolist() == [1, 1]


def test_under_compile_an_op_without_a_meta_kernel_is_a_warning(torch_namespace: Callable[[str], Any]) -> None:
    library = torch_namespace("confbag_t_meta")
    library.define("host(Tensor x, int n=1) -> Tensor")
    library.impl("host", lambda x, n=1: x, "CPU")
    op = op_of("a.one", requires=native("confbag_t_meta::host(Tensor x, int n=1) -> Tensor", key="CPU"), compile=True)
    plan_of(op).bind()
    with pytest.warns(BindWarning, match="confbag_t_meta::host has no Meta kernel, so torch.compile cannot trace it"):
        plan_of(op, **{"exec.compile": True}).bind()
    library.impl("host", lambda x, n=1: x, "Meta")
    plan_of(op, **{"exec.compile": True}).bind()


@pytest.mark.parametrize("missing", ["parse_schema", "_get_schema", "_dispatch_has_kernel_for_dispatch_key"])
def test_a_torch_that_cannot_tell_is_a_warning_and_no_crash(
    npu_like: str, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    import torch

    plan = plan_of(op_of("a.one", requires=native("confbag_t_npu::host(Tensor x, int n=1) -> Tensor", key="CPU")))
    monkeypatch.setattr(torch._C, missing, None)
    with pytest.warns(
        BindWarning, match=rf"confbag_t_npu::host: schema not verified; this torch lacks torch._C.{missing}"
    ):
        assert plan.bind().one is doubled


LIBRARY = """
import os, sys, torch
from confbag import load
from confbag.backends import Library, NativeOp, Op, Platform, Registry, Requires, make_plan
from confbag.errors import BindError

def scaled(x, eps=1e-6):
    "A contract."

def bound(x, eps=1e-6):
    return torch.ops.confbag_t.scaled(x, eps)

def plan(*schemas, device="cpu"):
    registry = Registry()
    registry.library(Library("ops", "confbag_t", "CONFBAG_T_LIBRARY"))
    for index, schema in enumerate(schemas):
        op = Op(f"a.op{index}", scaled)
        requires = Requires(native_ops=(NativeOp("confbag_t::" + schema),), library="ops")
        op.implement("native", bound, requires=requires, priority=1)
        registry.add(op)
    return make_plan(load(env={}, overrides={"exec.graph": False}), Platform(device), registry=registry)

GOOD = "scaled(Tensor x, float eps=1e-6) -> Tensor"
CHANGED = "scaled(Tensor x, float eps=1e-5) -> Tensor"
print(plan(GOOD).bind().op0(torch.ones(1), 0.5).item())
try:
    plan(GOOD, CHANGED, "bare(Tensor x) -> Tensor", "third(Tensor x) -> Tensor").bind()
except BindError as error:
    print([(fault.op, fault.code) for fault in error.faults])
"""


def test_a_built_library_is_loaded_verified_and_run(
    native_libraries: SimpleNamespace, in_child: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = in_child(LIBRARY, **{VARIABLE: str(native_libraries.ops)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "2.5",
        "[('a.op1', 'op-schema'), ('a.op2', 'op-kernel'), ('a.op3', 'op-missing')]",
    ]


def test_a_load_that_kills_the_process_is_a_fault_of_the_op(
    native_libraries: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(native_libraries.dies))
    plan = plan_of(
        op_of("moe.kernel", requires=native("confbag_t_dies::op(Tensor x) -> Tensor", library="deadly")),
        libraries=[Library("deadly", "confbag_t_dies", VARIABLE)],
    )
    with pytest.raises(BindError, match="the process died with exit code 1 while loading it") as caught:
        plan.bind()
    assert [(fault.op, fault.code) for fault in caught.value.faults] == [("moe.kernel", "library-load")]
