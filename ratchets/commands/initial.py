"""What `init` writes: a configuration that is guessed from the tree, and the files around it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

_ACCESSOR = re.compile(rb"^def get_\w*(?:args|config|settings|options|params)\(", re.MULTILINE)
_HINTS = ("server_args", "config", "args", "settings", "options", "params")
GITATTRIBUTES = "*.tsv merge=union text eol=lf\n"
WORKFLOW = """\
# Nothing that the ratchets count may grow. Written once by `confbag ratchet init`; it is yours to change.
name: ratchets
on:
  pull_request:
  push:
    branches: [main]
jobs:
  ratchets:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install confbag
      - if: github.event_name == 'pull_request'
        run: confbag ratchet check --against "origin/${{ github.base_ref }}" --format github
      - if: github.event_name != 'pull_request'
        run: confbag ratchet check --format github
"""
HINTS = """\
next
  commit the configuration, .ratchets/ and the workflow
  .github/CODEOWNERS   /.ratchets/ @the-people-who-may-raise-the-bar
  .pre-commit-config.yaml
    - repo: https://github.com/ORGANISATION/confbag
      rev: v0.1.0
      hooks:
        - id: confbag-ratchet
"""


@dataclass(frozen=True, slots=True)
class Guess:
    """The record of an engine, as far as it can be told."""

    name: str = ""
    accessors: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()


def guess(root: Path, files: Iterable[str]) -> Guess:
    """The function that returns a record with no arguments to say which, and the class that it says it returns."""
    best: tuple[int, str, str, str] | None = None
    classes: dict[str, str] = {}
    names = list(files)
    for path in names:
        try:
            content = (root / path).read_bytes()
        except OSError:
            continue  # what cannot be read cannot be guessed from
        for found in re.finditer(rb"^class (\w+)", content, re.MULTILINE):
            classes.setdefault(found[1].decode(), path)
        if _ACCESSOR.search(content) is None:
            continue
        for function, annotation in _accessors(content):
            score = sum(hint in function for hint in _HINTS) * 2 + bool(annotation) * 3 - path.count("/")
            if best is None or score > best[0]:
                best = (score, path, function, annotation)
    if best is None:
        return Guess()
    _, path, function, annotation = best
    holder = function.removeprefix("get_").removeprefix("global_").removeprefix("current_")
    owners = [path]
    types = []
    home = classes.get(annotation)
    if home is not None:
        types.append(f"{_module(home)}.{annotation}")
        owners.append(home)
    top = path.partition("/")[0] if "/" in path else "."
    if path.startswith("src/"):
        top = "/".join(path.split("/")[:2])
    return Guess(
        name=holder,
        accessors=(f"{_module(path)}.{function}",),
        types=tuple(types),
        holders=(holder,),
        owners=tuple(dict.fromkeys(owners)),
        roots=(top,),
    )


def _accessors(content: bytes) -> list[tuple[str, str]]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _ACCESSOR.match(f"def {node.name}(".encode()):
            required = len(node.args.args) + len(node.args.posonlyargs) - len(node.args.defaults)
            if required <= 0:
                returns = ast.unparse(node.returns) if node.returns is not None else ""
                names = re.findall(r"\w+", returns)
                found.append((node.name, names[-1] if names else ""))
    return found


def _module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def with_answers(guessed: Guess, answers: dict[str, tuple[str, ...]]) -> Guess:
    """A guess with what somebody said instead."""
    name = answers.pop("name", ())
    given = {key: value for key, value in answers.items() if value}
    changed = replace(guessed, **given)  # type: ignore[arg-type]
    if name:
        return replace(changed, name=name[0])
    if not changed.name and changed.accessors:
        last = changed.accessors[0].removesuffix("()").rpartition(".")[2]
        return replace(changed, name=last.removeprefix("get_"))
    return changed


def configuration_text(guessed: Guess, prefix: str) -> str:
    """The tables; `prefix` is `tool.confbag.ratchets` in pyproject.toml and empty in a file of our own."""
    head = f"[{prefix}]\n" if prefix else ""
    record = f"[[{prefix}.record]]" if prefix else "[[record]]"
    lines = [f"{head}roots = {_list(guessed.roots or ('.',))}", "", record, f'name = "{guessed.name or "record"}"']
    for key in ("accessors", "types", "holders", "owners"):
        values = getattr(guessed, key)
        if values:
            lines.append(f"{key} = {_list(values)}")
    return "\n".join(lines) + "\n"


def _list(values: Iterable[str]) -> str:
    import json

    # A TOML string of one line is written as JSON writes it.
    return "[" + ", ".join(json.dumps(value, ensure_ascii=False) for value in values) + "]"


def python_files(root: Path) -> list[str]:
    """Every Python file below a folder that is no hidden one, tests last."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        relative = os.path.relpath(folder, root).replace(os.sep, "/")
        found += [name if relative == "." else f"{relative}/{name}" for name in sorted(names) if name.endswith(".py")]
    return sorted(found, key=lambda path: ("test" in path, path))
