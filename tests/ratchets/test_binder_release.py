"""A module that was bound goes at once: the engine holds the collector back, so a cycle would keep every tree."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from confbag.ratchets.binder.bind import bind
from confbag.ratchets.binder.world import Known, World
from confbag.ratchets.codes import RECORD_RULES
from confbag.ratchets.configuration import Configuration, RecordSpec
from confbag.ratchets.rules import record_read
from confbag.ratchets.source.parse import Module, parse

RECORD = RecordSpec(
    "server_args",
    accessors=("engine.runtime_context.get_server_args",),
    types=("engine.server_args.ServerArgs",),
    holders=("server_args",),
)
CONFIGURATION = Configuration(root=Path("/tree"), repository=Path("/tree"), codes=RECORD_RULES, records=(RECORD,))


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("case", record_read.CASES, ids=[case.name for case in record_read.CASES])
def test_nothing_keeps_the_tree(no_collector, case):
    module = parse("engine/case.py", "engine.case", False, case.complete().encode(), 1_000_000)
    assert isinstance(module, Module)
    kept = weakref.ref(module)
    facts = bind(module, CONFIGURATION, World(CONFIGURATION, Known()))
    assert facts.module == "engine.case"
    del module
    assert kept() is None
