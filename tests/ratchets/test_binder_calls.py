"""Every public name of the modules that the binder knows, called with too few, too many and unlisted arguments."""

from __future__ import annotations

from importlib import import_module

import pytest

KNOWN = (
    "argparse",
    "asyncio",
    "builtins",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "functools",
    "importlib",
    "inspect",
    "itertools",
    "operator",
    "types",
    "typing",
    "weakref",
)
FORMS = ("()", "(SA)", "(SA, SA)", "(SA, SA, SA, SA)", "('name', SA)", "(*SA)", "(**SA)", "(key=SA)", "(SA, 'a.b', 1)")


@pytest.mark.parametrize("module", KNOWN)
def test_any_call_is_analysed(judge_files, module):
    lines = [f"import {module}", "from engine.runtime_context import get_server_args", "def f():"]
    lines.append("    SA = get_server_args()")
    for name in dir(import_module(module)):
        if name.isidentifier() and name not in ("None", "True", "False"):
            called = f"{module}.{name}"
            lines.extend(f"    {called}{form}" for form in FORMS)
            lines.extend(f"    {called}{first}{second}" for first in FORMS for second in FORMS[:4])
    analysis = judge_files({"engine/case.py": "\n".join(lines) + "\n    SA.tp_size\n"}).analysis
    assert not analysis.unanalysed
    assert (len(lines) + 1, "record.tp_size") in {(found.line, found.symbol) for found in analysis.findings}
