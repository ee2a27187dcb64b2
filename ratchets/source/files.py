"""Which files are judged: those given, or what git knows, or what a walk finds; each once, by its real path."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.faults import Fault, UsageError, usage
from confbag.ratchets.paths import local, named, normal, outside, within, within_any

if TYPE_CHECKING:
    from confbag.ratchets.source.git import Git

# A path that leads nowhere; what else a look at it may fail with is said when it is read.
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


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


def read_regular(path: str) -> bytes:
    """The bytes of a regular file; OSError for what would never end or keep us waiting: a pipe, a device."""
    # Without O_NONBLOCK, opening a pipe waits for its writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)
        return file.read()


def gone_from(configuration: Configuration) -> Callable[[str], bool]:
    """Whether a path of the repository is there no more; what a sparse checkout leaves out is only not here."""
    repository = configuration.repository
    absent: set[str] | None = None

    def gone(path: str) -> bool:
        nonlocal absent
        if os.path.lexists(f"{repository}/{local(path)}"):
            return False
        if absent is None:
            absent = {name for tag, name in _known_to_git(repository, ["."], [], others=False) or () if tag == "S"}
        return path not in absent

    return gone


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
        own = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        relative = _judged_as(configuration, _relative(own, top), _relative(real, top))
        if outside(relative):
            others += 1
        elif os.path.isdir(real):
            inside = normal(relative)
            yield from (file for file in _listed(configuration, notes) if within(file, inside))
        elif not relative.endswith(".py"):
            others += 1
        else:
            yield relative
    if faults:
        raise UsageError(faults)
    if others:
        notes.append(f"{others} given file{'s are' if others > 1 else ' is'} no .py of this repository: not judged")


def _judged_as(configuration: Configuration, own: str, target: str) -> str:
    """The name of what a link leads to where that is judged, or excluded; else the link's own: nobody else tells."""
    if own == target or covered(configuration, target):
        return target
    inside = target.removeprefix(configuration.prefix)
    return target if within_any(inside, configuration.exclude) or not own.endswith(".py") else own


def _relative(real: str, top: str) -> str:
    return named(os.path.relpath(real, top).replace(os.sep, "/"))


def _listed(configuration: Configuration, notes: list[str]) -> Iterator[str]:
    """Every Python file under the roots, links replaced by what they lead to."""
    repository = configuration.repository
    roots = [normal(configuration.prefix + root) for root in configuration.roots]
    names: Iterable[tuple[str, str]] | None = None
    if (repository / ".git").exists():
        names = _known_to_git(repository, roots, notes)
    if names is None:
        names = (("?", name) for name in _walked(repository, roots))
    top = os.fspath(repository)
    real_top = ""
    left_out = 0
    for tag, name in names:
        if not name.endswith(".py"):
            continue
        path = f"{top}/{local(name)}"
        try:
            mode = os.lstat(path).st_mode
        except OSError as error:
            if error.errno in _GONE and tag != "S":
                continue  # deleted, and git does not know yet
            # Reading it says what is wrong.
            left_out += tag == "S"
            yield name
            continue
        if stat.S_ISLNK(mode):
            real_top = real_top or os.path.realpath(top)
            real = os.path.realpath(path)
            if os.path.isdir(real) or (tag == "?" and not os.path.exists(real)):
                continue  # no file; editors mark an open one with a link to nowhere
            yield _judged_as(configuration, name, _relative(real, real_top)) if os.path.exists(real) else name
        elif not stat.S_ISDIR(mode):
            yield name
    if left_out:
        notes.append(
            f"{left_out} file{'s are' if left_out > 1 else ' is'} not checked out (a sparse checkout): nothing is "
            "known of them; `git sparse-checkout add FOLDER` brings them, or give the paths to judge"
        )


def _known_to_git(
    repository: Path, roots: Sequence[str], notes: list[str], *, others: bool = True
) -> list[tuple[str, str]] | None:
    """git's tag (`S` not checked out, `?` not tracked) and name of each file; None where git cannot say."""
    from confbag.ratchets.source.git import Git  # here: given files need no git

    git = Git(repository)
    words = ("ls-files", "-z", "-t", "-c", *(("-o", "--exclude-standard") if others else ()), "--")
    status, out, said = git.try_run(*words, *(f":(literal){local(root)}" for root in roots))
    if status:
        notes.append(f"git lists no files ({said}); the folders were walked, ignored files too")
        return None
    if others and (repository / ".gitmodules").is_file():
        _other_repositories(git, roots, notes)
    return [(record[:1], record[2:]) for record in named(out).split("\0") if record]


def _other_repositories(git: Git, roots: Sequence[str], notes: list[str]) -> None:
    """Say which submodules are passed over; UsageError for a root that is in one, where nothing would be judged."""
    _, out, _ = git.try_run("config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    faults = []
    for record in named(out).split("\0"):
        path = normal(record.partition("\n")[2])
        if not record:
            continue
        inside = [root for root in roots if within(root, path)]
        faults += [Fault(root, f"the submodule {path} has files of its own: configure it there") for root in inside]
        if any(within(path, root) for root in roots) and not inside:
            notes.append(f"{path} is a submodule: its files are judged in its own repository")
    if faults:
        raise UsageError(faults)


def _walked(repository: Path, roots: Sequence[str]) -> Iterator[str]:
    """Files under the roots; hidden folders and links to folders are left out."""
    for root in roots:
        if (repository / local(root)).is_file():
            yield root
            continue
        stack = ["" if root == "." else local(root) + "/"]
        while stack:
            folder = stack.pop()
            try:
                entries = list(os.scandir(f"{repository}/{folder}"))
            except FileNotFoundError:
                continue  # removed since it was listed
            except OSError as error:
                raise usage(f"cannot be listed: {error.strerror}", folder or ".") from error
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(".") and entry.name != "__pycache__":
                        stack.append(f"{folder}{entry.name}/")
                else:
                    yield named(folder + entry.name)
