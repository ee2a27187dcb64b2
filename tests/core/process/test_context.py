"""What a process reads: publish, override, use_context, roles."""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import confbag
from confbag import (
    AlreadyPublishedError,
    Bag,
    Config,
    ConfigError,
    NotPublishedError,
    RoleError,
    SwapError,
    UnresolvedError,
    attention_backends,
    get_exec,
    get_spec,
    is_published,
    load,
    override,
    publish,
    use_context,
)
from confbag.namespaces.fields import Namespace
from confbag.process.context import accessor, namespaces_read, published, unpublish

NAMESPACES = sorted(load(env={}).schema.model_fields)


class Mine(Namespace):
    answer: int = 42


class MyConfig(Config):
    mine: Mine = Mine()


get_mine = accessor("mine", Mine)


@pytest.mark.parametrize("name", NAMESPACES)
def test_reading_before_publish_says_who_reads_and_what_to_do(name: str) -> None:
    read = getattr(confbag, f"get_{name}")
    with pytest.raises(
        NotPublishedError, match=rf"^{name} was read before .*pid {os.getpid()}.*start method.*publish\(plan\.bag"
    ):
        read()
    assert not is_published()


@pytest.mark.parametrize("read", [attention_backends, published, get_mine])
def test_nothing_else_makes_a_default_bag_either(read: Callable[[], Any]) -> None:
    with pytest.raises(NotPublishedError):
        read()
    with pytest.raises(NotPublishedError), override("x", {}):
        raise AssertionError("the block must not run")
    with pytest.raises(NotPublishedError), use_context(load(env={})):
        raise AssertionError("the block must not run")


@pytest.mark.parametrize("name", NAMESPACES)
def test_published_values_are_read(name: str, planned: Bag) -> None:
    publish(planned, role="scheduler")
    assert is_published()
    assert getattr(confbag, f"get_{name}")() is getattr(planned, name)
    assert published() is planned


def test_a_bag_that_still_holds_auto_is_refused_whole(planned: Bag) -> None:
    half = planned.override("x", {"exec.graph": "auto", "memory.page_size": "auto"})
    with pytest.raises(UnresolvedError, match=r"exec\.graph, memory\.page_size; publish a plan's bag"):
        publish(half, role="scheduler")
    assert not is_published()
    with pytest.raises(NotPublishedError, match="role scheduler"):
        get_exec()
    publish(half, allow_auto=True)
    assert published()["exec.graph"] == "auto"
    with pytest.raises(UnresolvedError, match=r"^exec\.graph is still auto"):
        _ = get_exec().graph


def test_once_per_process_unless_replaced(planned: Bag) -> None:
    publish(planned, role="scheduler")
    other = planned.override("x", {"exec.compile": True})
    with pytest.raises(
        AlreadyPublishedError, match=rf"process {os.getpid()} published already, as role scheduler.*replace=True"
    ):
        publish(other)
    assert get_exec().compile is False
    publish(other, replace=True)
    assert get_exec().compile is True


def test_a_replacement_that_is_refused_leaves_the_first(planned: Bag) -> None:
    publish(planned)
    with pytest.raises(UnresolvedError):
        publish(load(env={}), replace=True)
    with pytest.raises(RoleError):
        publish(planned, replace=True, hold="enforce")
    assert published() is planned


def test_what_is_no_bag_is_refused(planned: Bag) -> None:
    with pytest.raises(TypeError, match=r"publish takes a Bag or a Plan, not a"):
        publish("bag")


def test_override_is_scoped_nested_and_logged(planned: Bag, caplog: pytest.LogCaptureFixture) -> None:
    publish(planned)
    with caplog.at_level(logging.INFO, logger="confbag"):
        with override("outer", {"exec.graph": False}) as outer:
            assert get_exec().graph is False
            with override("inner", {"exec": {"compile": True}}):
                assert (get_exec().graph, get_exec().compile) == (False, True)
            assert get_exec().compile is False
            assert outer.origin("exec.graph") == "override outer"
        assert published() is planned
    assert "override outer: exec.graph=False" in caplog.text
    assert "override outer: left" in caplog.text


@given(st.lists(st.sampled_from(["exec.graph", "exec.compile", "exec.deterministic"]), max_size=5), st.integers(0, 5))
def test_overrides_restore_whatever_is_raised_at_any_depth(keys: list[str], fails_at: int) -> None:
    unpublish()
    bag = load(env={}).override("all", {"exec.graph": False})
    publish(bag, allow_auto=True)

    def enter(depth: int) -> None:
        if depth == fails_at:
            raise ZeroDivisionError
        if depth < len(keys):
            before = published()
            try:
                with override(f"at {depth}", {keys[depth]: True}) as within:
                    assert published() is within
                    assert published()[keys[depth]] is True
                    enter(depth + 1)
            finally:
                assert published() is before

    if fails_at <= len(keys):
        with pytest.raises(ZeroDivisionError):
            enter(0)
    else:
        enter(0)
    assert published() is bag


def test_an_override_that_is_wrong_changes_nothing(planned: Bag) -> None:
    publish(planned)
    for changes, error in (
        ({"exec.graph": "yes"}, ConfigError),
        ({"exec.graph": "auto"}, UnresolvedError),
        ({"nope": 1}, ConfigError),
    ):
        with pytest.raises(error), override("x", changes):
            raise AssertionError("the block must not run")
        assert published() is planned


def test_overrides_left_out_of_order_are_told_and_the_first_bag_comes_back(planned: Bag) -> None:
    publish(planned)
    first, second, third = (override(name, {"exec.graph": False}) for name in ("first", "second", "third"))
    first.__enter__()
    second.__enter__()
    top = third.__enter__()
    with pytest.raises(SwapError, match=r"'first' was left before 'second'.*opposite order"):
        first.__exit__(None, None, None)
    with pytest.raises(SwapError, match=r"'second' was left before 'third'"):
        second.__exit__(None, None, None)
    assert published() is top
    third.__exit__(None, None, None)
    assert published() is planned


def test_publishing_within_an_override_is_refused(planned: Bag) -> None:
    publish(planned)
    with override("warm-up", {"exec.graph": False}), pytest.raises(AlreadyPublishedError, match="warm-up"):
        publish(planned, replace=True)
    assert published() is planned


def test_use_context_swaps_the_whole_process(planned: Bag) -> None:
    publish(planned)
    draft = planned.override("draft", {"model.kind": "mha", "exec.attention.decode": "torch_native"})
    seen: list[str] = []
    with use_context(draft):
        thread = threading.Thread(target=lambda: seen.append(get_exec().attention.decode))
        thread.start()
        thread.join()
        with override("inner", {"exec.compile": True}):
            assert (get_exec().compile, get_exec().attention.decode) == (True, "torch_native")
    assert seen == ["torch_native"]
    assert published() is planned


def test_only_one_of_many_threads_publishes(planned: Bag) -> None:
    outcomes: list[str] = []
    start = threading.Barrier(8)

    def run() -> None:
        start.wait()
        try:
            publish(planned)
            outcomes.append("published")
        except AlreadyPublishedError:
            outcomes.append("refused")

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["published"] + ["refused"] * 7


def test_attention_backends(planned: Bag) -> None:
    publish(planned.override("x", {"exec.attention": {"prefill": "fa3", "decode": "flashinfer"}}))
    assert attention_backends() == ("fa3", "flashinfer")
    publish(
        load(env={}, overrides={"exec.attention": {"backend": "fa3", "decode": "triton"}}),
        replace=True,
        allow_auto=True,
    )
    assert attention_backends() == ("fa3", "triton")
    publish(load(env={}, overrides={"exec.attention.decode": "fa3"}), replace=True, allow_auto=True)
    with pytest.raises(UnresolvedError, match=r"exec\.attention\.prefill"):
        attention_backends()


def test_an_engines_own_namespace(planned: Bag) -> None:
    publish(load(env={}, schema=MyConfig), allow_auto=True)
    assert get_mine().answer == 42
    with override("x", {"mine.answer": 1}):
        assert get_mine().answer == 1
    publish(planned, replace=True)
    with pytest.raises(NotPublishedError, match="no namespace mine"):
        get_mine()


def test_a_role_may_be_held_to_what_it_declares(planned: Bag) -> None:
    publish(planned, role="detokenizer", declares=["exec"], hold="enforce")
    assert get_exec().compile is False
    with pytest.raises(RoleError, match=r"role detokenizer read namespace spec, and declares exec"):
        get_spec()
    with override("x", {"exec.compile": True}):
        assert get_exec().compile is True
        with pytest.raises(RoleError):
            get_spec()
    assert namespaces_read() == {"exec"}
    assert published() == planned


def test_reads_may_be_recorded(planned: Bag) -> None:
    publish(planned, declares=["exec"], hold="record")
    assert namespaces_read() == frozenset()
    get_spec()
    attention_backends()
    assert namespaces_read() == {"exec", "spec"}


def test_by_default_the_bag_itself_is_read(planned: Bag) -> None:
    publish(planned, declares=["exec"])
    assert type(published()) is Bag
    get_spec()
    assert namespaces_read() == frozenset()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"declares": ["exce"]}, "did you mean exec"),
        ({"hold": "enforce"}, "declares="),
        ({"hold": "maybe"}, "'record'"),
    ],
)
def test_a_declaration_that_is_wrong(planned: Bag, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(RoleError, match=says):
        publish(planned, role="x", **arguments)
    assert not is_published()


def test_a_forked_child_keeps_what_its_parent_published(run_script: Callable[..., Any]) -> None:
    done = run_script(
        "import os\n"
        "from confbag import AlreadyPublishedError, get_exec, load, override, publish\n"
        "publish(load(env={}), role='parent', allow_auto=True)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    with override('child', {'exec.compile': True}):\n"
        "        print(get_exec().compile, flush=True)\n"
        "    try:\n        publish(load(env={}), allow_auto=True)\n"
        "    except AlreadyPublishedError as error:\n        print(error, flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print(get_exec().compile)\n",
        options=("-W", "ignore"),
    )
    assert done.stderr == ""
    first, second, last = done.stdout.splitlines()
    assert (first, last) == ("True", "False")
    assert "before this process was forked from it" in second


def test_a_spawned_child_gets_nothing_by_itself(run_script: Callable[..., Any]) -> None:
    done = run_script(
        "import multiprocessing\n"
        "from confbag import NotPublishedError, get_exec, load, publish\n"
        "def child(queue):\n"
        "    try:\n        queue.put(repr(get_exec()))\n"
        "    except NotPublishedError as error:\n        queue.put(str(error))\n"
        "if __name__ == '__main__':\n"
        "    publish(load(env={}), allow_auto=True)\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    queue = context.Queue()\n"
        "    process = context.Process(target=child, args=(queue,), name='worker-3')\n"
        "    process.start()\n    print(queue.get())\n    process.join()\n"
    )
    assert done.stderr == ""
    assert "process worker-3" in done.stdout
    assert "start method spawn" in done.stdout
    assert "adopt(blob, role=...)" in done.stdout
    assert multiprocessing.current_process().name not in done.stdout
