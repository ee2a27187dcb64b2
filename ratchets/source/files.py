"""Which files are judged: those given, or what git knows, or what a walk finds; each once, by its real path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.faults import Fault, UsageError, usage
from confbag.ratchets.paths import normal, within, within_any


class Selection(NamedTuple):
    """POSIX paths relative to the repository, sorted; `full` where they are all that the configuration names."""

    files: tuple[str, ...]
    full: bool
    notes: tuple[str, ...] = ()


def select(configuration: Configuration, given: Sequence[str], cwd: Path, *, require: bool = False) -> Selection:
    """The files of a run. UsageError for a given path that is not there, and with `require` where nothing is left."""
    notes: list[str] = []
    if given:
        found: Iterable[str] = _given(configuration, given, cwd, notes)
    else:
        found = _listed(configuration, notes)
    files = tuple(sorted(path for path in set(found) if covered(configuration, path)))
    if require and not files:
        raise usage(
            "no file is left to analyse; the paths are excluded, outside the roots, or no .py", "--require-files"
        )
    return Selection(files, not given, tuple(notes))


def covered(configuration: Configuration, path: str) -> bool:
    """Whether a path of the repository lies in the roots, and nothing excludes it."""
    prefix = configuration.prefix
    if not path.startswith(prefix) or not path.endswith(".py"):
        return False
    inside = path[len(prefix) :]
    return within_any(inside, configuration.roots) and not within_any(inside, configuration.exclude)


def _given(configuration: Configuration, given: Sequence[str], cwd: Path, notes: list[str]) -> Iterator[str]:
    faults: list[Fault] = []
    others = 0
    here = os.path.realpath(cwd)
    top = os.path.realpath(configuration.repository)
    for written in given:
        path = os.path.join(here, written)
        if not os.path.lexists(path) and "\\" in written:
            path = os.path.join(here, written.replace("\\", "/"))
        real = os.path.realpath(path)
        if not os.path.exists(real):
            faults.append(Fault(written, "no such file or folder"))
            continue
        relative = os.path.relpath(real, top)
        if relative.startswith(".."):
            others += 1
        elif os.path.isdir(real):
            inside = normal(relative.replace(os.sep, "/"))
            yield from (file for file in _listed(configuration, notes) if within(file, inside))
        elif not real.endswith(".py"):
            others += 1
        else:
            yield relative.replace(os.sep, "/")
    if faults:
        raise UsageError(faults)
    if others:
        notes.append(f"{others} given file{'s are' if others > 1 else ' is'} no .py of this repository: not judged")


def _listed(configuration: Configuration, notes: list[str]) -> Iterator[str]:
    """Every Python file under the roots, links replaced by what they lead to."""
    repository = configuration.repository
    roots = [normal(configuration.prefix + root) for root in configuration.roots]
    names: Iterable[str] | None = None
    if (repository / ".git").exists():
        from confbag.ratchets.source.git import Git  # here: given files need no git

        words = ("ls-files", "-z", "-c", "-o", "--exclude-standard", "--")
        status, out, said = Git(repository).try_run(*words, *(f":(literal){root}" for root in roots))
        if status == 0:
            names = os.fsdecode(out).split("\0")
        else:
            notes.append(f"git lists no files ({said}); the folders were walked, ignored files too")
    if names is None:
        names = _walked(repository, roots)
    top = os.fspath(repository)
    real_top = ""
    for name in names:
        if not name.endswith(".py"):
            continue
        path = f"{top}/{name}"
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue  # deleted, and git does not know yet
        if stat.S_ISREG(mode):
            yield name
        elif stat.S_ISLNK(mode):
            real_top = real_top or os.path.realpath(top)
            real = os.path.realpath(path)
            if os.path.isfile(real):
                relative = os.path.relpath(real, real_top)
                # Out of the tree it has no other name.
                yield name if relative.startswith("..") else relative.replace(os.sep, "/")


def _walked(repository: Path, roots: Sequence[str]) -> Iterator[str]:
    """Files under the roots; hidden folders and links to folders are left out."""
    for root in roots:
        if (repository / root).is_file():
            yield root
            continue
        stack = ["" if root == "." else root + "/"]
        while stack:
            folder = stack.pop()
            try:
                entries = list(os.scandir(repository / folder))
            except PermissionError as error:
                raise usage(f"cannot be listed: {error.strerror}", folder or ".") from error
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(".") and entry.name != "__pycache__":
                        stack.append(f"{folder}{entry.name}/")
                else:
                    yield folder + entry.name
