"""What the record of an engine is, guessed from its tree: the accessor, its class, and where modules start."""

from __future__ import annotations

import ast
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

_KINDS = rb"get_\w*(?:args|config|settings|options|params)"
_ACCESSOR = re.compile(rb"^def " + _KINDS + rb"\(", re.MULTILINE)
_CALL = re.compile(rb"(?<!def )\b(" + _KINDS + rb")\(\)")
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w.]+))", re.MULTILINE)
_HINTS = ("server_args", "config", "args", "settings", "options", "params")
ROOT = "."


@dataclass(frozen=True, slots=True)
class Guess:
    """The record of an engine, as far as it can be told. `source` is empty where modules start as by default."""

    name: str = ""
    accessors: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    source: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    path: str
    function: str
    returns: str


def python_files(root: Path) -> list[str]:
    """Every Python file below a folder that is no hidden one, tests last."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        relative = os.path.relpath(folder, root).replace(os.sep, "/")
        found += [name if relative == "." else f"{relative}/{name}" for name in sorted(names) if name.endswith(".py")]
    return sorted(found, key=lambda path: ("test" in path, path))


def guess(root: Path, files: Sequence[str]) -> Guess:
    """The function of no arguments that hands out a record and is called most, and the class that it returns."""
    candidates: list[_Candidate] = []
    classes: dict[str, str] = {}
    called: Counter[str] = Counter()
    for path in files:
        content = _content(root, path)
        for found in re.finditer(rb"^class (\w+)", content, re.MULTILINE):
            classes.setdefault(found[1].decode(), path)
        called.update({name.decode() for name in _CALL.findall(content)})
        if _ACCESSOR.search(content) is not None:
            candidates += [_Candidate(path, *each) for each in _accessors(content)]

    def score(one: _Candidate) -> float:
        hints = sum(hint in one.function for hint in _HINTS)
        depth = one.path.count("/") + 4 * ("test" in one.path)
        return 2 * hints + 3 * (one.returns in classes) + math.log2(1 + called[one.function]) - depth / 2

    if not candidates:
        return Guess()
    # The first one of equals: tests come last.
    best = max(candidates, key=score)
    home = classes.get(best.returns)
    holder = best.function.removeprefix("get_").removeprefix("global_").removeprefix("current_")
    source = _source(root, files, best)
    types = [] if home is None or not _within(home, source) else [f"{_module(home, source)}.{best.returns}"]
    return Guess(
        name=holder,
        accessors=(f"{_module(best.path, source)}.{best.function}",),
        types=tuple(types),
        holders=(holder,),
        owners=tuple(dict.fromkeys((best.path, *([home] if types and home else ())))),
        roots=(_top(best.path, source),),
        source=_unless_default(root, source),
    )


def with_answers(root: Path, files: Sequence[str], guessed: Guess, answers: Mapping[str, tuple[str, ...]]) -> Guess:
    """A guess with what somebody said instead; where modules start follows from an accessor that they name."""
    given = {key: value for key, value in answers.items() if key != "name"}
    changed = replace(guessed, **given)  # type: ignore[arg-type]
    if answers.get("name"):
        changed = replace(changed, name=answers["name"][0])
    if "accessors" in given and "source" not in given:
        place = next(filter(None, (_place(dotted, files) for dotted in changed.accessors)), None)
        if place is not None:
            source, path = place
            changed = replace(changed, source=_unless_default(root, source))
            if "roots" not in given:
                changed = replace(changed, roots=(_top(path, source),))
    if not changed.name and changed.accessors:
        last = changed.accessors[0].removesuffix("()").rpartition(".")[2]
        changed = replace(changed, name=last.removeprefix("get_"))
    return changed


def _content(root: Path, path: str) -> bytes:
    try:
        return (root / path).read_bytes()
    except OSError:
        return b""  # what cannot be read cannot be guessed from; the check says what is wrong with it


def _accessors(content: bytes) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _ACCESSOR.match(f"def {node.name}(".encode()):
            required = len(node.args.args) + len(node.args.posonlyargs) - len(node.args.defaults)
            if required <= 0:
                returns = ast.unparse(node.returns) if node.returns is not None else ""
                names = re.findall(r"\w+", returns.removesuffix("| None").removeprefix("Optional"))
                yield node.name, names[-1] if names else ""


def _source(root: Path, files: Sequence[str], best: _Candidate) -> str:
    """The folder from which the tree's own imports name modules; else the one above the outermost package."""
    *folders, file = best.path.split("/")
    stem = file.removesuffix(".py")
    name = best.function.encode()
    imported: Counter[str] = Counter()
    for path in files:
        content = _content(root, path)
        if name in content:
            imported.update((found[1] or found[2]).decode() for found in _IMPORT.finditer(content))
    votes: Counter[int] = Counter()
    for module, number in imported.items():
        parts = module.split(".")
        for depth, part in enumerate((*folders, stem)):
            if parts[0] == part and _is_there(root.joinpath(*folders[:depth], *parts)):
                votes[depth] += number
    if votes:
        depth = max(sorted(votes), key=votes.__getitem__)
    else:
        depth = len(folders)
        while depth and (root.joinpath(*folders[:depth]) / "__init__.py").exists():
            depth -= 1
        if depth == len(folders) or not any(folders):
            depth = 1 if folders[:1] == ["src"] and len(folders) > 1 else 0
    return "/".join(folders[:depth]) or ROOT


def _is_there(path: Path) -> bool:
    return path.is_dir() or path.with_name(path.name + ".py").is_file()


def _place(dotted: str, files: Sequence[str]) -> tuple[str, str] | None:
    """Where modules start so that a dotted name is one of a file, and that file; the nearest to the top."""
    parts = dotted.partition("(")[0].split(".")
    found = []
    for length in range(len(parts) - 1, 0, -1):
        inside = "/".join(parts[:length])
        for ending in (f"{inside}.py", f"{inside}/__init__.py"):
            found += [
                (path[: -len(ending)].rstrip("/") or ROOT, path)
                for path in files
                if path == ending or path.endswith("/" + ending)
            ]
        if found:
            return min(found, key=lambda each: (each[0].count("/"), len(each[0])))
    return None


def _within(path: str, source: str) -> bool:
    return source == ROOT or path.startswith(source + "/")


def _module(path: str, source: str) -> str:
    inside = path if source == ROOT else path[len(source) + 1 :]
    return inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _top(path: str, source: str) -> str:
    """The package that a file is in; where modules start for one that is in none."""
    inside = path if source == ROOT else path[len(source) + 1 :]
    package = inside.partition("/")[0] if "/" in inside else ""
    return "/".join(part for part in (source if source != ROOT else "", package) if part) or ROOT


def _unless_default(root: Path, source: str) -> tuple[str, ...]:
    return () if source == ROOT or (source == "src" and (root / "src").is_dir()) else (source,)
