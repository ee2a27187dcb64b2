"""Handing a bag to a spawned child: by value, whatever the child's environment says, or refused."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag import Bag, Config, HandoffError, Secret, UnresolvedError, adopt, get_exec, handoff, is_published, load
from confbag.namespaces.fields import Namespace
from confbag.process.context import unpublish
from confbag.schema.leaves import leaves

HUSH = "hush-hush-4711"


class Vault(Namespace):
    token: Secret | None = None
    hosts: tuple[str, ...] = ()
    tags: frozenset[int] = frozenset()


class VaultConfig(Config):
    vault: Vault = Vault()


def test_a_bag_arrives_whole(planned: Bag) -> None:
    bag = planned.override("x", {"exec.kernels.pin": {"b": "y", "a": "x"}, "memory.fraction_static": 0.5})
    assert adopt(handoff(bag), role="worker") == bag
    assert get_exec().kernels.pin == (("a", "x"), ("b", "y"))
    unpublish()
    again = adopt(handoff(bag).decode("ascii"))
    assert [again.chain(key) for key in leaves(Config) if key != "exec.kernels.pin"] == [
        bag.chain(key) for key in leaves(Config) if key != "exec.kernels.pin"
    ]
    assert again.override("y", {"exec.compile": True})["exec.kernels.pin"] == (("a", "x"), ("b", "y"))


def test_secrets_arrive_and_never_show() -> None:
    bag = load(env={}, schema=VaultConfig, overrides={"vault": {"token": HUSH, "hosts": ("a", "b"), "tags": {3, 1}}})
    blob = handoff(bag)
    assert HUSH not in f"{blob} {blob!r} {blob!s}"
    assert HUSH.encode() in bytes(blob)
    child = adopt(pickle.loads(pickle.dumps(blob)), schema=VaultConfig, allow_auto=True)
    assert child == bag
    assert child["vault.token"].reveal() == HUSH
    assert child["vault.tags"] == {1, 3}
    assert HUSH not in repr(child.chain("vault.token"))


def test_a_bag_that_still_holds_auto_is_refused_in_the_child() -> None:
    with pytest.raises(UnresolvedError):
        adopt(handoff(load(env={})))
    assert not is_published()


def changed(bag: Bag, **parts: Any) -> str:
    """A blob with some parts replaced."""
    return json.dumps({**json.loads(handoff(bag)), **parts})


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"confbag_handoff": 99}, "version 99"),
        ({"fingerprint": "0" * 64}, "would not read what its parent did.*000000000000 there"),
        ({"settings": []}, r"exec\.graph.*differs"),
        ({"settings": [["exec.nope", 1, "FILE", "x", None, None, 0, None]]}, "does not fit"),
        ({"settings": [["exec.graph", "yes", "FILE", "x", None, None, 0, None]]}, "refused by Config here"),
        ({"settings": [["exec.graph"]]}, "does not fit"),
        ({"settings": None}, "does not fit"),
        ({"settings": [["exec.graph", True, "NOPE", "x", None, None, 0, None]]}, "does not fit"),
        ({"schema": ["nowhere", "Config", ""]}, "cannot be imported"),
        ({"schema": ["confbag", "Config", "0"]}, "has keys of other types here"),
        ({"schema": ["confbag.bag.bag", "Bag", ""]}, "is no Config"),
        ({"schema": 3}, "cannot be imported"),
        ({"values": 3}, "damaged"),
    ],
)
def test_what_would_not_read_the_same_is_refused(planned: Bag, parts: dict[str, Any], says: str) -> None:
    with pytest.raises(HandoffError, match=says):
        adopt(changed(planned, **parts))
    assert not is_published()


@given(st.integers(0, 10_000), st.binary(max_size=4))
def test_a_damaged_blob_is_refused_or_reads_the_same(at: int, noise: bytes) -> None:
    unpublish()
    bag = load(env={}, schema=VaultConfig, overrides={"vault.token": HUSH})
    blob = bytes(handoff(bag))
    at %= len(blob)
    refused: list[str] = []
    try:
        assert adopt(blob[:at] + noise + blob[at + len(noise) :], schema=VaultConfig, allow_auto=True) == bag
    except HandoffError as error:
        refused.append(str(error))
    assert is_published() != bool(refused)
    assert HUSH not in "".join(refused)


@pytest.mark.parametrize("blob", ["", "null", "[]", "{}", b"\xff", "[" * 100_000, '{"confbag_handoff": 2}'])
def test_what_is_no_blob_is_refused(blob: Any) -> None:
    with pytest.raises(HandoffError, match="pass on what handoff"):
        adopt(blob)


ENGINE = """
from confbag import Config
from confbag.namespaces.fields import Namespace

class Mine(Namespace):
    answer: int = 42

class EngineConfig(Config):
    mine: Mine = Mine()
"""

SCRIPT = """
import multiprocessing, os, pickle
from confbag import adopt, get_exec, get_parallel, handoff, load, publish
from confbag.process.context import accessor
from engine import EngineConfig, Mine

def child(queue, blob, bag):
    os.environ['CONFBAG__PARALLEL__TP_SIZE'] = '16'
    adopted = adopt(blob, role='worker', allow_auto=True)
    queue.put((get_parallel().tp_size, accessor('mine', Mine)().answer, adopted == bag, adopted.fingerprint(),
               adopted.origin('parallel.tp_size')))

if __name__ == '__main__':
    bag = load(schema=EngineConfig, env={'CONFBAG__PARALLEL__TP_SIZE': '8'}, overrides={'mine.answer': 7})
    publish(bag, allow_auto=True)
    os.environ['CONFBAG__PARALLEL__TP_SIZE'] = '32'
    os.environ['CONFBAG__NONSENSE'] = '1'
    context = multiprocessing.get_context('spawn')
    queue = context.Queue()
    process = context.Process(target=child, args=(queue, handoff(bag), bag))
    process.start()
    print(*queue.get(), bag.fingerprint(), sep='\\n')
    process.join()
"""


def test_a_spawned_child_reads_its_parents_bag_whatever_its_environment_says(run_script: Callable[..., Any]) -> None:
    done = run_script(SCRIPT, modules={"engine": ENGINE})
    assert done.stderr == ""
    size, answer, same, fingerprint, origin, parents = done.stdout.splitlines()
    assert (size, answer, same, origin) == ("8", "7", "True", "env CONFBAG__PARALLEL__TP_SIZE")
    assert fingerprint == parents


def test_a_child_with_other_defaults_refuses(planned: Bag) -> None:
    blob = handoff(planned)

    class Exec(Config.model_fields["exec"].annotation):
        compile: bool = True

    class Newer(Config):
        exec: Exec = Exec()

    with pytest.raises(HandoffError, match=r"exec\.compile differs; run one version of confbag and of .*Newer"):
        adopt(blob, schema=Newer)
