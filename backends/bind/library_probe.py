"""Loading a native library in a child process first, so that one that ends the process is a reason and not the end."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

from confbag.backends.bind import _torch_compat
from confbag.backends.bind.load_errors import Meaning, died, explain

_MARK = "confbag probe: "
_START = (
    "import json, sys; task = json.loads(sys.argv[1]); sys.path[:] = task['path'];"
    "from confbag.backends.bind.library_probe import run; run(task)"
)


def probe(
    path: str,
    *,
    namespace: str,
    owned: bool,
    imports: Iterable[str],
    loaded: Iterable[str],
    seconds: float,
    torch_version: str,
) -> tuple[str, ...] | Meaning:
    """The names that loading the file registers in the namespace, or what its failure means.

    The child imports and loads what this process has, in the same order, and owns the namespace if something here does.
    """
    task = {
        "path": sys.path,
        "file": path,
        "namespace": namespace,
        "owned": owned,
        "imports": list(imports),
        "loaded": list(loaded),
    }
    # Files, not pipes: a grandchild that outlives the child would keep a pipe open.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(task)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=dict(os.environ),
        )
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            return Meaning(
                "library-load",
                f"loading it took more than {seconds:g} s",
                "see what it waits for: a device in use, a lock",
            )
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        said = [_text(file) for file in (out, err)]
    answers = [line.removeprefix(_MARK) for line in said[0].splitlines() if line.startswith(_MARK)]
    if not answers:
        return died(status, said[1], torch_version)
    answer = json.loads(answers[-1])
    if "error" in answer:
        return explain(answer["error"], torch_version)
    return tuple(answer["names"])


def run(task: dict[str, Any]) -> None:
    """The child's part: load, and say on standard output what appeared or what went wrong."""
    try:
        answer: dict[str, Any] = {"names": _appeared(task)}
    except Exception as error:
        answer = {"error": chain(error)}
    print(f"\n{_MARK}{json.dumps(answer)}", flush=True)


def _appeared(task: dict[str, Any]) -> list[str]:
    from confbag.backends.bind.torch_import import import_torch

    torch = import_torch()
    for module in task["imports"]:
        importlib.import_module(module)
    for file in task["loaded"]:
        torch.ops.load_library(file)
    namespace = task["namespace"]
    before, owned, _ = state(torch, namespace)
    owner = torch.library.Library(namespace, "DEF") if task["owned"] and not owned else None
    torch.ops.load_library(task["file"])
    appeared = sorted(state(torch, namespace)[0] - before)
    del owner
    return appeared


def state(torch: Any, namespace: str) -> tuple[frozenset[str], bool, bool]:
    """The ops of a namespace, whether something owns it, and whether this torch could tell either."""
    try:
        return frozenset(_torch_compat.names_in(torch, namespace)), _torch_compat.has_owner(torch, namespace), True
    except _torch_compat.NotVerifiable:
        return frozenset(), False, False


def chain(error: BaseException) -> str:
    """The messages of an exception and its causes, the innermost first: torch's own says less than the loader's."""
    texts: list[str] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        texts.insert(0, str(link) or type(link).__name__)
        link = link.__cause__ or link.__context__
    return "\n".join(texts)


def _text(file: Any) -> str:
    file.seek(0)
    return bytes(file.read(1_000_000)).decode("utf-8", "replace")
