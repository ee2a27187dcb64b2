"""One case of a rule: a module's text and what the rule finds in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

# What a case uses and does not import itself is imported before it runs, so that a case shows only its point.
IMPORTS = {
    "get_server_args": "from engine.runtime_context import get_server_args",
    "get_context": "from engine.runtime_context import get_context",
    "ServerArgs": "from engine.server_args import ServerArgs",
    "Any": "from typing import Any",
    "Optional": "from typing import Optional",
    "TYPE_CHECKING": "from typing import TYPE_CHECKING",
    "argparse": "import argparse",
    "builtins": "import builtins",
    "cast": "from typing import cast",
    "contextlib": "import contextlib",
    "copy": "import copy",
    "dataclasses": "import dataclasses",
    "functools": "import functools",
    "importlib": "import importlib",
    "operator": "import operator",
    "sys": "import sys",
    "torch": "import torch",
}


@dataclass(frozen=True, slots=True)
class Case:
    """`finds` lists "CODE symbol" in source order; none means that the code is valid.

    `files` are the other files of the tree by path, and `elsewhere` what is found in them; `options` replace fields
    of the configuration; `fixed` is the text after `fix`, where the fix changes it.
    """

    name: str
    code: str
    finds: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    path: str = "engine/case.py"
    options: Mapping[str, object] = field(default_factory=dict)
    fixed: str | None = None
    elsewhere: tuple[str, ...] = ()

    def complete(self) -> str:
        """The code with the imports that it uses and does not make."""
        return complete(self.code)


def case(name: str, code: str, *finds: str, **more: object) -> Case:
    """A case written in place: the code may be indented, so may other files be."""
    files = more.pop("files", {})
    assert isinstance(files, Mapping)
    shown = {path: dedent(text).lstrip("\n") for path, text in files.items()}
    return Case(name, dedent(code).lstrip("\n"), finds, shown, **more)  # type: ignore[arg-type]


def complete(code: str) -> str:
    """The code with the imports that it uses and does not make; after `__future__` imports and the docstring."""
    needed = [
        line
        for name, line in IMPORTS.items()
        if re.search(rf"(?<![.\w]){name}\b", code) and not re.search(rf"import .*\b{name}\b|(def|class) {name}\b", code)
    ]
    if not needed:
        return code
    head, tail = "", code
    future = re.match(r'(""".*?"""\n)?from __future__ import annotations\n', code, re.DOTALL)
    if future:
        head, tail = code[: future.end()], code[future.end() :]
    return head + "\n".join(needed) + "\n" + tail
