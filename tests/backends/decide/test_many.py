"""Thirty thousand wrong names, by every source: what is said stays short, and is said soon."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import pytest

from confbag import ConfigError, Record, load
from confbag.backends import make_plan
from confbag.cli import main

MANY = 30_000
NAMES = [f"x{number}" for number in range(MANY)]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: load(dict.fromkeys(NAMES, 1), env={}),
        lambda: load({f"exec.{name}": 1 for name in NAMES}, env={}),
        lambda: load(env={f"CONFBAG__EXEC__{name.upper()}": "1" for name in NAMES}),
        lambda: load(env={}, argv=[word for name in NAMES for word in ("--set", f"exec.{name}=1")]),
        lambda: load(env={}, argv=NAMES),
        lambda: load(env={}).override("x", dict.fromkeys(NAMES, 1)),
        lambda: make_plan(load({"exec.kernels.pin": dict.fromkeys(NAMES, "triton")}, env={}), "cpu"),
        lambda: make_plan(load({"exec.kernels.prefer": NAMES}, env={}), "cpu"),
        lambda: make_plan(load({"exec.kernels.prefer": dict.fromkeys(NAMES, "triton")}, env={}), "cpu"),
        lambda: make_plan(load({"exec.kernels.reference_only": NAMES}, env={}), "cpu"),
        lambda: make_plan(load(env={}), "cpu").bind(ops=NAMES),
    ],
)
def test_faults_are_capped(wrong: Callable[[], Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        wrong()
    assert len(str(caught.value)) < 100_000
    assert len(caught.value.faults) <= 201
    assert " more" in caught.value.faults[-1].message


def test_what_is_not_understood_is_capped_where_people_read_it() -> None:
    bag = load(env={}, record=Record("sglang", argv=[f"--{name}" for name in NAMES]))
    assert len(bag.ignored) == MANY, "a program may read all of it"
    plan = make_plan(bag, "cuda:sm90")
    assert len(str(plan)) < 50_000
    assert f"and {MANY - 200} more" in str(plan)
    out = io.StringIO()
    with contextlib.redirect_stderr(out), contextlib.redirect_stdout(out):
        main(["plan", "--platform", "cpu", *(word for name in NAMES[:3000] for word in ("--set", f"exec.{name}=1"))])
    assert len(out.getvalue()) < 100_000
