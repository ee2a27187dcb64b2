"""The fingerprints of bags and plans: every field counts unless it opts out; how a plan is printed never does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

import confbag.kernels
from confbag import Bag, Config, ConfigError, Secret, load
from confbag.backends import Platform, Registry, make_plan
from confbag.backends.compare.lock import Lock, covers
from confbag.backends.decide.plan import Plan
from confbag.backends.render import html, markdown, table
from confbag.backends.render import json as as_json
from confbag.namespaces.fields import Namespace
from confbag.schema.editor import json_schema
from confbag.schema.leaves import leaves

BESIDE: Mapping[str, Mapping[str, Any]] = {
    "parallel.node_rank": {"parallel.num_nodes": 100},
    "parallel.ep_size": {"parallel.tp_size": 12},
    "exec.kernels.prefer_only": {"exec.kernels.prefer": ["torch_native", "fa3", "triton", "reference"]},
}
"""What a value needs beside it, by key: a node's rank is below the number of nodes, experts lie within ranks."""


class Acme(Namespace):
    """An engine's own: one field of each kind that the core lacks."""

    token: Secret | None = None
    rank: int = Field(0, json_schema_extra={"fingerprint": False})
    host: str = Field("", json_schema_extra={"lock": False})
    ratio: float = 1.0
    names: tuple[str, ...] = ()


class EngineConfig(Config):
    """A schema with it."""

    acme: Acme = Field(default_factory=Acme)


LEAVES = leaves(EngineConfig)


def described(key: str) -> dict[str, Any]:
    """What the JSON schema for editors says of a key."""
    document = json_schema(EngineConfig)
    node: dict[str, Any] = document
    for part in key.split("."):
        node = node["properties"][part]
        while "$ref" in node or "allOf" in node:
            ref = node["$ref"] if "$ref" in node else node["allOf"][0]["$ref"]
            node = document["$defs"][ref.rpartition("/")[2]]
    return node


def legal(node: Mapping[str, Any]) -> Iterator[Any]:
    """Values that a JSON schema allows, several where it allows several."""
    for one in node.get("anyOf", ()):
        yield from legal(one)
    yield from node.get("enum", [node["const"]] if "const" in node else [])
    if "enum" in node or "const" in node:
        return
    match node.get("type"):
        case "boolean":
            yield from (True, False)
        case "integer":
            yield from range(node.get("minimum", 0), node.get("minimum", 0) + 4)
        case "number":
            yield from (0.25, 0.5)
        case "string":
            yield from ("alpha", "beta")
        case "array":
            yield from ([], ["alpha"], ["beta"], ["alpha", "beta"], ["beta", "alpha"])
        case "object":
            yield from ({}, {"alpha": "one"}, {"alpha": "two"}, {"beta": "one"}, {"alpha": "one", "beta": "one"})
        case "null":
            yield None


def bag_with(key: str, value: Any) -> Bag:
    """A bag with one value, and what that value needs beside it."""
    return load(env={}, schema=EngineConfig, overrides={**BESIDE.get(key, {}), key: value})


@pytest.mark.parametrize("key", LEAVES)
def test_any_one_field_changes_the_bags_fingerprint_unless_it_opts_out(key: str) -> None:
    made = [bag_with(key, value) for value in legal(described(key))]
    different = list({str(bag[key]) if not LEAVES[key].secret else id(bag): bag for bag in made}.values())
    assert len(different) >= 2, "one value only can show nothing"
    prints = {bag.fingerprint() for bag in different}
    assert len(prints) == (len(different) if LEAVES[key].fingerprint else 1)
    for bag in different:
        assert bag_with(key, bag[key] if not LEAVES[key].secret else "again").fingerprint() in prints


def test_only_what_differs_by_rank_and_secrets_opt_out() -> None:
    opted_out = [key for key, leaf in LEAVES.items() if not leaf.fingerprint]
    assert opted_out == ["device.index", "parallel.node_rank", "acme.token", "acme.rank"]
    assert [key for key, leaf in LEAVES.items() if leaf.fingerprint and not covers(leaf)] == ["model.path", "acme.host"]


def candidates(key: str, registry: Registry) -> Iterator[Any]:
    """Legal values, and names that the registry knows where a key takes one."""
    yield from registry.choices.get(key, ())
    for op in registry.ops.values():
        if any(key in keys for keys in op.settings.values()):
            yield from registry.providers(op.name)
            return
        if key == "exec.kernels.pin":
            yield from ({op.name: provider} for provider in registry.providers(op.name))
        elif key == "exec.kernels.prefer":
            yield from ([provider] for provider in registry.providers(op.name))
    if key not in ("exec.kernels.pin", "exec.kernels.prefer", *registry.choices):
        yield from legal(described(key))


def plans(key: str, registry: Registry, platform: Platform) -> Iterator[Plan]:
    """The plans that are satisfied, each with one value of a key."""
    for value in itertools.islice(candidates(key, registry), 40):
        try:
            plan = make_plan(bag_with(key, value), platform, registry=registry)
        except ConfigError:  # a name that no provider answers to
            continue
        if not plan.faults:
            yield plan


@pytest.mark.parametrize("key", LEAVES)
def test_any_one_field_changes_the_plans_fingerprint_and_its_lock(key: str, registry: Registry) -> None:
    found: dict[str, list[Plan]] = {}
    for name in ("cuda:sm90", "cpu:x86_64"):
        for plan in plans(key, registry, Platform.known(name)):
            found.setdefault(name, []).append(plan)
    assert any(len(alike) > 1 for alike in found.values()) or key.startswith("device."), "nothing was compared"
    for one, other in (pair for alike in found.values() for pair in itertools.combinations(alike, 2)):
        differs = one.bag[key] != other.bag[key]
        if differs and LEAVES[key].fingerprint:
            assert one.fingerprint() != other.fingerprint()
            assert not covers(LEAVES[key]) or Lock.of(one) != Lock.of(other)
        if one.bag == other.bag:
            assert one.fingerprint() == other.fingerprint()
    if not covers(LEAVES[key]):
        assert all(len({Lock.of(plan).text() for plan in alike}) == 1 for alike in found.values())


def test_how_a_plan_is_printed_never_changes_it(registry: Registry) -> None:
    plan = make_plan(load(env={}), Platform.known("cuda:sm90"), registry=registry)
    before = make_plan(load(env={}), Platform.known("cuda:sm90"), registry=registry).fingerprint()
    for all in (True, False):
        for render in (table.render, as_json.render, markdown.render, html.render):
            render(plan, all=all)
        table.render(plan, all=all, colour=True)
        assert plan.to_dict(all=all)["fingerprint"] == plan.fingerprint() == before
    Lock.of(plan).text()
    assert plan.diff(plan).same
    assert plan.fingerprint() == before


@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.sampled_from(["cuda:sm90", "npu:ascend910_93", "cpu:x86_64"]))
def test_the_order_of_registration_never_changes_it(random: Any, name: str) -> None:
    plain, shuffled = Registry(), Registry()
    confbag.kernels.register(plain)
    confbag.kernels.register(shuffled)
    for rows in shuffled._rows.values():
        random.shuffle(rows)
    one, other = (make_plan(load(env={}), Platform.known(name), registry=made) for made in (plain, shuffled))
    assert one.fingerprint() == other.fingerprint()
    assert one.diff(other).same
    assert [binding.rejected for binding in one.bindings] == [binding.rejected for binding in other.bindings]
