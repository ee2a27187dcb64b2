"""Loading native libraries at bind: where one is, whether it may be loaded here, and loading it once."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from confbag.backends.bind import library_probe
from confbag.backends.bind.load_errors import Meaning, conflict, explain
from confbag.backends.bind.torch_import import import_torch
from confbag.backends.declare.libraries import Library
from confbag.backends.words.rejection import Rejection
from confbag.errors import BindError
from confbag.words.locks import ForkSafeLock

_TAG = re.compile(r"\.cpython-(\d+[a-z]*)-")


def find(library: Library, environment: Mapping[str, str]) -> Path | Rejection:
    """The library's file, or why there is none that this interpreter can load."""
    named = environment.get(library.environment, "") if library.environment else ""
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no file"
            return library.rejected(
                "library-not-found", f"{what} ({library.environment}={named})", "write the path of the .so file"
            )
        return tag_fault(library, path) or path.resolve()
    hint = (
        f"set {library.environment} to the path of its .so file"
        if library.environment
        else f"install {library.package}"
    )
    unset = f"{library.environment} unset" if library.environment else ""
    if library.package is None:
        return library.rejected("library-not-found", unset, hint)
    folders = _folders(library.package)
    if not folders:
        return library.rejected(
            "library-not-found", f"{unset}{', ' if unset else ''}{library.package} not installed", hint
        )
    files = sorted({file for folder in folders for file in Path(folder).rglob(library.file) if file.is_file()})
    loadable = [file for file in files if tag_fault(library, file) is None]
    if files and not loadable:
        return tag_fault(library, files[0]) or files[0]
    if len(loadable) != 1:
        found = f"{len(loadable)} such files" if loadable else "no such file"
        return library.rejected("library-not-found", f"{found} in {folders[0]}", hint)
    return loadable[0].resolve()


def tag_fault(library: Library, path: Path) -> Rejection | None:
    """A rejection when the file is tagged for another interpreter; abi3 and untagged files are for any."""
    tag = _TAG.search(path.name)
    own = str(sysconfig.get_config_var("SOABI") or "").split("-")
    if tag is None or (len(own) > 1 and tag.group(1) == own[1]):
        return None
    return library.rejected(
        "library-load",
        f"{path.name}, built for cpython-{tag.group(1)}",
        "install the build for this interpreter",
        required=f"built for {'-'.join(own[:2])}",
    )


def _folders(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # a module put into sys.modules by hand, without a spec: nothing installed
        return []
    return list(spec.submodule_search_locations or ()) if spec else []


class _Process:
    """What this process has loaded, in the order of loading. Failures are not kept, so a later try starts afresh."""

    def __init__(self) -> None:
        self.lock = ForkSafeLock()
        self.loaded: list[str] = []


_PROCESS = _Process()


def ensure(library: Library, needed: Iterable[str]) -> Rejection | None:
    """Load a library unless the ops needed of it (`ns::op`) are registered already; the rejection when it cannot be.

    That the ops are then there, and what they look like, is for the caller to verify: a load proves nothing. torch can
    be imported.
    """
    names = {name.partition("::")[2] for name in needed if name.startswith(f"{library.namespace}::")}
    with _PROCESS.lock:
        torch = import_torch()
        if _registered(torch, library.namespace, names):
            return None
        for module in library.prerequisites:
            failed = import_fault(module, f"prerequisite of library {library.name}")
            if failed is not None:
                return failed
        if _registered(torch, library.namespace, names) or not (library.environment or library.package):
            return None
        found = find(library, os.environ)
        if isinstance(found, Rejection):
            return found
        if str(found) in _PROCESS.loaded:
            return None
        return _load(torch, library, found)


def _registered(torch: Any, namespace: str, names: set[str]) -> bool:
    """Whether every one of the ops is there; never where none is named, for then the library itself is asked for."""
    return bool(names) and all(hasattr(getattr(torch.ops, namespace), name) for name in names)


def _load(torch: Any, library: Library, path: Path) -> Rejection | None:
    before, owned, known = library_probe.state(torch, library.namespace)
    # Always probed where ops are there already: a second registration of one aborts the process.
    if library.probe_in_child or before or not known:
        refused = _probe(torch, library, path, before, owned)
        if refused is not None:
            return _meant(library, refused, path)
    try:
        torch.ops.load_library(str(path))
    except Exception as error:
        return _meant(library, explain(library_probe.chain(error), torch.__version__), path)
    _PROCESS.loaded.append(str(path))  # ratchet: allow CB121 -- the dynamic linker's state is the process's
    return None


def _probe(torch: Any, library: Library, path: Path, before: frozenset[str], owned: bool) -> Meaning | None:
    """What a child says against loading the file beside what is loaded; None when it may be loaded."""

    def ask(loaded: Iterable[str], owned: bool) -> tuple[str, ...] | Meaning:
        return library_probe.probe(
            str(path),
            namespace=library.namespace,
            owned=owned,
            imports=library.prerequisites,
            loaded=loaded,
            seconds=library.probe_seconds,
            torch_version=torch.__version__,
        )

    found = ask(_PROCESS.loaded, owned)
    refused = found if isinstance(found, Meaning) else None
    if refused is not None and before and refused.code != "library-conflict":
        # A library may abort over a second registration without a word; loaded alone it shows what it registers.
        found = ask((), False)
    again = () if isinstance(found, Meaning) else sorted(before.intersection(found))
    if again:
        return conflict(f"{', '.join(f'{library.namespace}::{name}' for name in again)} registered a second time")
    return refused


def _meant(library: Library, meaning: Meaning, path: Path) -> Rejection:
    hint = (
        meaning.hint or f"run 'python -c \"import torch; torch.ops.load_library({str(path)!r})\"' to see where it fails"
    )
    return library.rejected(meaning.code, f"{meaning.actual} ({path.name})", hint, required="loadable")


def import_fault(module: str, field: str) -> Rejection | None:
    """Import a module; the rejection when it cannot be imported, whatever it raised."""
    required = f"importable ({module})"
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        hint = f"install what provides {missing.partition('.')[0]}"
        return Rejection(None, "package-missing", field, required, f"No module named {missing!r}", hint=hint)
    except (Exception, SystemExit) as error:
        meaning = explain(library_probe.chain(error), "the one installed")
        said = meaning.actual if isinstance(error, ImportError) else f"{type(error).__name__}: {meaning.actual}"
        hint = meaning.hint or f"run 'python -c \"import {module}\"' to see where it fails"
        return Rejection(None, meaning.code, field, required, said, hint=hint)
    return None


def torch_fault() -> Rejection | None:
    """Import torch; the rejection when it cannot be imported."""
    try:
        import_torch()
    except BindError as error:
        if importlib.util.find_spec("torch") is None:
            hint = "install it: pip install 'confbag[torch]'"
            return Rejection(None, "package-missing", "torch", "importable", "not installed", hint=hint)
        return Rejection(None, "library-load", "torch", "importable", str(error), hint="start a new process afterwards")
    return None
