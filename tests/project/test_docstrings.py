"""What is promised says its parameters one a line where there are more than four: exported names and contracts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import confbag
import confbag.backends
import confbag.testing
from confbag.backends import Registry
from confbag.kernels import register

MOST = 4


def promised() -> Iterator[tuple[str, Any, str]]:
    """Name, callable and docstring of every exported function, class and public method, and of every contract."""
    for package in (confbag, confbag.backends, confbag.testing):
        for name in package.__all__:
            one = getattr(package, name)
            if isinstance(one, type) and not issubclass(one, BaseException):
                yield name, one, one.__doc__ or ""
                for method, function in vars(one).items():
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{name}.{method}", function, function.__doc__ or ""
            elif inspect.isfunction(one):
                yield name, one, one.__doc__ or ""
    registry = Registry()
    register(registry)
    for op in registry.ops.values():
        yield op.name, op.contract, op.contract.__doc__ or ""


def parameters(one: Any) -> list[str]:
    """What a caller may pass by name; the fields of a schema or a namespace say themselves what they mean."""
    if isinstance(one, type) and issubclass(one, BaseModel):
        return []
    try:
        found = inspect.signature(one).parameters.values()
    except ValueError:
        return []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in found if each.kind not in kinds and each.name != "self" and each.name[0] != "_"]


@pytest.mark.parametrize(("name", "one", "said"), [pytest.param(*each, id=each[0]) for each in promised()])
def test_every_parameter_of_many_has_a_line_of_its_own(name: str, one: Any, said: str) -> None:
    assert said.strip(), name
    names = parameters(one)
    if len(names) > MOST:
        assert [each for each in names if not re.search(rf"^\s*{each}: \S", said, re.MULTILINE)] == []


def test_the_ones_with_many_are_among_them() -> None:
    many = {name for name, one, _ in promised() if len(parameters(one)) > MOST}
    assert {"load", "publish", "Requires", "Op", "Op.implement", "Platform", "attention", "dsv4.compressor"} <= many
