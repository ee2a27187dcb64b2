"""Locks: what a plan decided, as a file that reads back equal, and every way in which a file can be damaged."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

import confbag.kernels
from confbag import Bag, Config, ConfigError, PlanError, Secret, load
from confbag.backends import ALWAYS, BATCH_INVARIANT, NativeOp, Op, Platform, Registry, Requires, make_plan
from confbag.backends.compare.lock import Lock, LockedSetting, Runs
from confbag.backends.compare.lock_file import is_lock, parse_lock
from confbag.backends.decide.deciders import Decider
from confbag.errors import Fault
from confbag.namespaces.fields import Namespace

MakeBag = Callable[..., Bag]


class Server(Namespace):
    """An engine's own namespace: of what it holds, one is a secret and one a place."""

    token: Secret | None = None
    host: str = Field("", json_schema_extra={"lock": False})
    note: str = ""
    queue: int = 1


class EngineConfig(Config):
    """A schema with it."""

    server: Server = Field(default_factory=Server)


@pytest.fixture
def locked(registry: Registry) -> Callable[..., Lock]:
    """The lock of dotted settings, for Hopper unless said."""

    def make(platform: str | Platform = "cuda:sm90", **settings: Any) -> Lock:
        where = Platform.known(platform) if isinstance(platform, str) else platform
        return Lock.of(make_plan(load(env={}, schema=EngineConfig, overrides=settings), where, registry=registry))

    return make


def line_of(text: str, name: str) -> str:
    """The one line about an op or a setting."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"  {name}:"))
    return line


def test_one_op_a_line_and_one_setting_a_line(locked: Callable[..., Lock]) -> None:
    text = locked(**{"model.kind": "mla", "parallel.tp_size": 8}).text()
    assert line_of(text, "attention@decode").startswith("  attention@decode: {provider: fa3, rule: mla-hopper,")
    assert "assumed: [package t" in line_of(text, "kvcache.last_loc")
    assert line_of(text, "model.kind") == "  model.kind: mla"
    assert line_of(text, "exec.graph") == "  exec.graph: {value: true, rule: graph-on-accelerators}"
    assert "\nplatform: cuda:sm90\nassumed: [packages, " in text
    assert "exec.deterministic" not in text, "a default says nothing"
    assert "attention@draft" not in text, "an op that is not used is no decision"


def test_what_changes_is_what_a_text_diff_shows(locked: Callable[..., Lock]) -> None:
    one = locked().text().splitlines()
    other = locked(**{"exec.kernels.pin": {"kvcache.last_loc": "reference"}}).text().splitlines()
    assert sorted(set(one) ^ set(other)) == sorted(
        {
            line_of("\n".join(one), "kvcache.last_loc"),
            line_of("\n".join(other), "kvcache.last_loc"),
            line_of("\n".join(other), "exec.kernels.pin"),
        }
        | ({"asked:"} if "asked:" not in one else set())
    )


def test_no_path_no_host_no_secret_and_nothing_of_a_rank(locked: Callable[..., Lock]) -> None:
    settings = {
        "model.path": "/srv/checkpoints/v3",
        "server.token": "hunter2",
        "server.host": "node7.example",
        "parallel.num_nodes": 4,
        "parallel.node_rank": 3,
        "server.queue": 5,
    }
    text = locked(**settings).text()
    for hidden in ("/srv", "hunter2", "***", "node7", "node_rank", "device.index", "model.path"):
        assert hidden not in text
    assert line_of(text, "server.queue") == "  server.queue: 5"
    told = re.sub(r"^digest: [0-9a-f]{64}$", "", text, flags=re.MULTILINE)
    assert told != text
    assert re.search(r"\b[0-9a-f]{12,}\b|\d\d:\d\d", told) is None, "no fingerprint and no time"
    assert text == locked(**{**settings, "model.path": "/other", "parallel.node_rank": 0}).text()


def test_the_name_of_a_platform_file_is_not_in_it(locked: Callable[..., Lock]) -> None:
    facts: dict[str, Any] = {"toolkit": {"cuda": "13.0"}, "packages": {"torch": "2.14.1", "triton": "3.6.0"}}
    one = locked(Platform("cuda", "sm90", **facts, name="/srv/node7.yaml"))
    other = locked(Platform("cuda", "sm90", **facts, count=8))
    assert one == other
    assert one.text() == other.text()
    assert "node7" not in one.text()


def test_a_plan_with_faults_has_no_lock(locked: Callable[..., Lock]) -> None:
    with pytest.raises(PlanError):
        locked("npu:ascend910_93", **{"exec.attention.decode": "fa3"})


def test_the_order_of_registration_never_shows(bag_of: MakeBag) -> None:
    texts = set()
    for names in (("acme.zeta", "acme.alpha"), ("acme.alpha", "acme.zeta")):
        made = Registry()
        confbag.kernels.register(made)
        for name in names:
            op = Op(name, _contract)
            op.implement("reference", "acme.ops:run", determinism=BATCH_INVARIANT, graph=ALWAYS)
            made.add(op)
        lock = Lock.of(make_plan(bag_of(), Platform.known("cuda:sm90"), registry=made))
        assert [slot for slot in lock.ops if slot.startswith("acme")] == ["acme.alpha", "acme.zeta"]
        texts.add(lock.text())
    assert len(texts) == 1


def _contract(x: int) -> int:
    """A contract."""
    raise NotImplementedError


def test_native_libraries_are_in_it_schema_by_schema(registry: Registry, bag_of: MakeBag) -> None:
    schema = "acme::swap(Tensor(a!) x,   float eps=1e-6) -> ()"
    registry.add(Op("acme.swap", _contract))
    registry.implement(
        "acme.swap",
        "native",
        "acme.ops:swap",
        priority=5,
        graph=ALWAYS,
        requires=Requires(native_ops=(NativeOp(schema),)),
    )
    lock = Lock.of(make_plan(bag_of(), Platform.known("cuda:sm90"), registry=registry))
    assert lock.libraries == {"torch.ops.acme": ("acme::swap(Tensor(a!) x, float eps=1e-6) -> ()",)}
    assert '\n    - "acme::swap(Tensor(a!) x, float eps=1e-6) -> ()"\n' in lock.text()
    assert parse_lock(lock.text().encode(), "x") == lock


words = st.text(min_size=1, max_size=12).filter(lambda text: text.isprintable())
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
    | st.just(""),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
runs = st.builds(
    Runs,
    provider=words,
    decider=st.builds(Decider, words, st.booleans()),
    most=st.none() | st.integers(1, 10**12),
    variant=st.none() | words,
    target=st.none() | words,
    engine=st.none() | words,
    assumed=st.lists(words, max_size=2, unique=True).map(tuple),
)
locks = st.builds(
    Lock,
    platform=st.sampled_from(["cuda:sm90", "cpu", "npu:ascend910_93", "acme:x1.2"]),
    ops=st.dictionaries(words, st.lists(runs, min_size=1, max_size=3).map(tuple), max_size=3),
    settings=st.dictionaries(words, st.builds(LockedSetting, values, st.none() | words), max_size=3),
    environment=st.dictionaries(words, words | st.just(""), max_size=3),
    libraries=st.dictionaries(words, st.lists(words, max_size=2, min_size=1, unique=True).map(tuple), max_size=2),
    features=st.lists(words, max_size=2, unique=True).map(tuple),
    assumed=st.lists(words, max_size=2, unique=True).map(tuple),
    schema=st.just("confbag") | words,
    digest=st.just("") | st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
)


@given(locks)
def test_a_lock_reads_back_equal(lock: Lock) -> None:
    text = lock.text()
    again = parse_lock(text.encode(), "x.lock")
    assert again == lock
    assert again.text() == text
    assert is_lock(text)


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_in_a_setting_can_be_kept(architecture: str, note: str) -> None:
    settings = {"model.architecture": architecture or "x", "server.note": note}
    plan = make_plan(load(env={}, schema=EngineConfig, overrides=settings), Platform.known("cuda:sm90"))
    lock = Lock.of(plan)
    assert all(line.isprintable() for line in lock.text().split("\n"))
    assert parse_lock(lock.text().encode(), "x") == lock


def test_a_lock_can_be_copied_and_pickled_and_not_changed(locked: Callable[..., Lock]) -> None:
    lock = locked()
    assert copy.deepcopy(lock) == pickle.loads(pickle.dumps(lock)) == lock
    with pytest.raises(TypeError):
        lock.ops["x"] = lock.ops["kvcache.last_loc"]  # type: ignore[index]


def test_true_is_not_one() -> None:
    assert LockedSetting(True) != LockedSetting(1)
    assert LockedSetting(1) != LockedSetting(1.0)
    assert LockedSetting(1) == LockedSetting(1)


TEXT = """\
confbag-lock: 2
schema: confbag
platform: cuda:sm90
assumed: [packages]
ops:
  kvcache.last_loc: {provider: triton, step: priority}
asked:
  model.kind: mla
filled:
  exec.graph: {value: true, rule: graph-on-accelerators}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("confbag-lock: 2", "confbag-lock: 1", "x.lock:1:1: confbag-lock: this confbag reads locks of version 2"),
        ("confbag-lock: 2", "confbag-lock: true", "x.lock:1:1: confbag-lock: this confbag reads locks of version 2"),
        ("confbag-lock: 2", "confbag-luck: 2", "x.lock:1:1: is no lock: its first key is not `confbag-lock: 2`"),
        ("schema: confbag\n", "", "schema: is missing"),
        ("schema: confbag", "schema: [1]", "x.lock:2:1: schema: is no text"),
        ("platform: cuda:sm90\n", "", "platform: is missing"),
        ("platform: cuda:sm90", "platform: [cuda]", "x.lock:3:1: platform: is no platform, such as cuda:sm90"),
        ("step: priority", "stop: priority", "x.lock:6:40: ops.kvcache.last_loc.stop: unknown key; is this step?"),
        (
            "step: priority",
            "stop: priority",
            "x.lock:6:3: ops.kvcache.last_loc: has either `rule: NAME` or `step: NAME`",
        ),
        ("step: priority", "step: s, rule: r", "x.lock:6:3: ops.kvcache.last_loc: has either `rule: NAME` or"),
        ("provider: triton, ", "", "x.lock:6:3: ops.kvcache.last_loc: lacks its provider"),
        ("step: priority", "step: 3", "x.lock:6:40: ops.kvcache.last_loc.step: is no text"),
        ("step: priority", "step: s, most: 0", "ops.kvcache.last_loc.most: is no positive whole number"),
        ("step: priority", "rule: r, assumed: [a, a]", "assumed: names one of them twice"),
        ("step: priority", "rule: r, assumed: a", "assumed: is no list of texts"),
        ("{provider: triton, step: priority}", "triton", "x.lock:6:3: ops.kvcache.last_loc: is no mapping"),
        ("{provider: triton, step: priority}", "[]", "x.lock:6:3: ops.kvcache.last_loc: is no mapping"),
        ("{provider: triton, step: priority}", "[{provider: a, step: b}, c]", "ops.kvcache.last_loc: is no mapping"),
        (
            "  model.kind: mla\n",
            "  model.kind: mla\n  model.kind: mha\n",
            "x.lock:9:3: asked.model.kind: duplicate key",
        ),
        ("  model.kind: mla\n", "  exec.graph: true\n", "x.lock:8:3: asked.exec.graph: is under `filled` as well"),
        ("{value: true, rule: graph-on-accelerators}", "true", "x.lock:10:3: filled.exec.graph: is no mapping such as"),
        ("asked:\n", "aksed:\n", "x.lock:7:1: aksed: unknown key; is this asked?"),
        ("asked:\n  model.kind: mla", "asked: mla", "x.lock:7:1: asked: is no mapping"),
        ("  model.kind: mla\n", "<<<<<<< ours\n  model.kind: mla\n", "x.lock:8:1: a conflict of a merge was left here"),
        ("  model.kind: mla\n", "  model.kind: mla\n=======\n", "x.lock:9:1: a conflict of a merge was left here"),
        ("  model.kind: mla\n", "  model.kind: [mla\n", "x.lock:9:7: "),
        ("  model.kind: mla\n", "  model.kind: m\x00la\n", "x.lock:8:16: a control character"),
    ],
)
def test_a_damaged_lock_names_the_line_and_what_repairs_it(old: str, new: str, said: str) -> None:
    assert TEXT.count(old) == 1
    parse_lock(TEXT.encode(), "x.lock")
    with pytest.raises(ConfigError) as caught:
        parse_lock(TEXT.replace(old, new).encode(), "x.lock")
    lines = str(caught.value).splitlines()
    assert any(line.startswith(said) or said in line for line in lines[:-1]), lines
    assert lines[-1].startswith("x.lock: this lock cannot be used; write it again: confbag lock CONFIG... ")
    if "platform" not in old:
        assert lines[-1].endswith("--platform cuda:sm90 -o x.lock")


@given(st.integers(0, 10**9), st.binary(max_size=6))
def test_a_mutated_lock_is_read_or_refused(seed: int, junk: bytes) -> None:
    content = TEXT.encode()
    at = seed % len(content)
    mutated = content[:at] + junk + content[at + seed % 7 :]
    faults: tuple[Fault, ...] = ()
    try:
        lock = parse_lock(mutated, "x.lock")
    except ConfigError as error:
        faults = error.faults
    else:
        assert parse_lock(lock.text().encode(), "x.lock") == lock
    assert all(fault.where and fault.where.startswith("x.lock") for fault in faults)
