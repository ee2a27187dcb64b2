"""An engine's own settings through the registry, the planner, locks and diffs; and an engine that publishes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import Field

from confbag import Bag, Config, RegistrationError, load, schema_from
from confbag.backends import ALWAYS, Need, Op, Platform, Registry, Requires, make_plan
from confbag.backends.compare.agree import portrait
from confbag.backends.compare.diff import diff
from confbag.backends.compare.lock import Lock
from confbag.backends.compare.lock_file import parse_lock
from confbag.namespaces.fields import Auto, Name, Namespace, auto

CUDA = Platform(device="cuda", arch="sm90", packages={})


class Router(Namespace):
    """router: an engine's own."""

    experts: int = 8
    backend: Auto[Name] = auto


class RouterConfig(Config):
    """Its settings."""

    router: Router = Field(default_factory=Router)


def pick(x: int) -> int:
    """Any."""
    raise NotImplementedError


def one(x: int) -> int:
    return x


def registry(schema: type[Config] = RouterConfig, **op: Any) -> Registry:
    """With an op that has the first name of a namespace."""
    made = Registry(schema)
    declared = Op("router.pick", pick, **op)
    few = Requires(needs=(Need("router.experts", {"max": 16}, "bound"),))
    declared.implement("fast", one, priority=5, graph=ALWAYS, requires=few if schema is RouterConfig else Requires())
    declared.implement("reference", one, graph=ALWAYS)
    made.add(declared)
    return made


def bag(**settings: Any) -> Bag:
    return load(schema=RouterConfig, env={}, overrides=settings)


def test_an_op_may_share_its_first_name_with_a_namespace() -> None:
    made = registry(settings={None: ("router.backend",)}, applies={"router.experts": {"min": 2}})
    plan = make_plan(bag(), CUDA, registry=made)
    assert (plan["router.pick"].provider, plan.bag["router.backend"]) == ("fast", "fast")
    assert plan.bag.router.experts == 8  # type: ignore[attr-defined]
    many = make_plan(bag(**{"router.experts": 64}), CUDA, registry=made)
    assert many["router.pick"].provider == "reference"
    (no,) = many["router.pick"].rejected
    assert (no.code, no.field, no.actual, no.origin) == ("bound", "router.experts", 64, "override load")
    assert not make_plan(bag(**{"router.experts": 1}), CUDA, registry=made)["router.pick"].used
    named = make_plan(bag(**{"router.backend": "reference"}), CUDA, registry=made)
    assert named["router.pick"].rule == "setting"


MISSPELT = Requires(needs=(Need("modle.kind", "mha", "dtype"),))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda made: made.rule("r", "router.pick", propose="fast", when={"router.exprets": 3}), "router.experts"),
        (lambda made: made.rule("r", "router.pick", propose="fast", when={"modle.kind": "mha"}), "model.kind"),
        (lambda made: made.fact("router.large", {"ruoter.experts": {"min": 3}}), "router.experts"),
        (
            lambda made: made.implement(
                "router.pick", "n", one, requires=Requires(needs=(Need("modle.kind", "mha", "dtype"),))
            ),
            "model.kind",
        ),
        (lambda made: made.add(Op("router.other", pick, applies={"router.exprets": 3})), "router.experts"),
        (
            lambda made: made.add(Op("router.other", pick, asks={"window": {"model.slidng_window": 3}})),
            "model.sliding_window",
        ),
        (lambda made: made.add(Op("router.other", pick, settings={None: ("router.bakend",)})), "router.backend"),
        (lambda made: made.add(Op("router.other", pick, sites="router.exprets")), "router.experts"),
        (lambda made: made.choice("router.bakend", "x"), "router.backend"),
    ],
)
def test_a_fact_that_nobody_declares_is_a_fault_with_a_suggestion(change: Callable[[Registry], Any], told: str) -> None:
    made = registry()
    change(made)
    with pytest.raises(RegistrationError, match=f"did you mean {told}"):
        made.check()


def test_each_schema_has_a_registry_of_its_own() -> None:
    with pytest.raises(RegistrationError, match="unknown"):
        registry(Config, settings={None: ("router.backend",)}).check()
    with pytest.raises(TypeError, match=r"the registry is for .*RouterConfig, whose keys it lacks"):
        make_plan(load(env={}), CUDA, registry=registry())
    assert make_plan(bag(), CUDA, registry=registry(Config)).faults == ()
    assert Registry.installed(RouterConfig).schema is RouterConfig
    assert Registry.installed() is Registry.installed(Config)
    with pytest.raises(TypeError, match="takes a schema"):
        Registry("confbag")  # type: ignore[arg-type]


def test_a_value_of_a_setting_is_judged_like_a_backend() -> None:
    made = registry()
    made.choice("router.backend", "softmax")
    made.choice("router.backend", "sinkhorn", device="npu")
    assert make_plan(bag(**{"router.backend": "softmax"}), CUDA, registry=made).faults == ()
    (fault,) = make_plan(bag(**{"router.backend": "sinkhorn"}), CUDA, registry=made).faults
    assert (fault.code, fault.field, fault.origin) == ("device", "platform.device", "override load")
    assert fault.hint == "router.backend may be softmax here"


def test_the_schema_stands_in_lock_json_and_handoff() -> None:
    plan = make_plan(bag(), CUDA, registry=registry())
    lock = parse_lock(Lock.of(plan).text().encode(), "x.lock")
    assert (lock.schema, len(lock.digest)) == (f"{__name__}:RouterConfig", 64)
    assert plan.to_dict()["schema"] == {"name": lock.schema, "digest": lock.digest}
    other = make_plan(load(env={}), CUDA, registry=registry(Config))
    found = diff(lock, other)
    assert not found.same
    assert (found.a.schema, found.b.schema) == (lock.schema, "confbag")
    grown = parse_lock(Lock.of(plan).text().replace(lock.digest, "0" * 64).encode(), "x.lock")
    assert diff(grown, plan).same, "a key that was added changes no decision"


@dataclasses.dataclass
class Args:
    """The settings of an engine that knows nothing of confbag."""

    tp: int = 1
    backend: str | None = None
    graph: bool = True
    page: int = 1


ARGS = schema_from(Args, answers={"tp": "parallel.tp_size", "backend": "exec.attention.backend", "graph": "exec.graph"})


def test_an_engine_that_publishes_nothing_is_planned_locked_and_compared() -> None:
    one_, other = (
        make_plan(Bag.of(args, ARGS), "cuda:sm90") for args in (Args(tp=2), Args(tp=2, backend="triton", page=16))
    )
    assert not one_.faults
    assert (one_["attention@decode"].provider, other["attention@decode"].provider) == ("fa3", "triton")
    assert other["attention@decode"].rule == "setting"
    assert other.bag.origin("exec.attention.backend") == "Args.backend"
    text = Lock.of(other).text()
    assert "  args.page: 16\n" in text
    lock = parse_lock(text.encode(), "x.lock")
    assert diff(lock, other).same
    assert {change.slot for change in diff(one_, lock).bindings} == {"attention@prefill", "attention@decode"}
    assert portrait(one_)["args.tp"] == "2"
    assert portrait(one_) != portrait(other)


def test_two_models_of_one_process_each_have_their_own() -> None:
    """A target and its draft, of different quantization, interleaved: neither sees what the other was bound to."""
    made = registry()
    target, draft = (
        bag(**{"router.experts": 64}),
        bag(**{"router.experts": 4, "exec.kernels.pin": {"router.pick": "fast"}}),
    )
    plans = [make_plan(each, CUDA, registry=made) for each in (target, draft)]
    bound = [plan.bind(ops=["router.pick"]) for plan in plans]
    for _ in range(3):
        for ops, plan in zip(bound, plans, strict=True):
            assert ops.pick(3) == 3
            assert plan.bag["router.experts"] in (4, 64)
    assert [plan["router.pick"].provider for plan in plans] == ["reference", "fast"]
    assert plans[0].fingerprint() != plans[1].fingerprint()
