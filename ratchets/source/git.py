"""git, asked as a process: never the hook's own index, and a failure is said in git's words."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from confbag.ratchets.faults import usage
from confbag.ratchets.paths import named

_NO_GIT = "git is not installed"
_STOPPED = "`git cat-file` stopped before it gave every object; `git fsck` says what is damaged"


def environment() -> dict[str, str]:
    """This environment without what a hook sets: GIT_DIR or GIT_INDEX_FILE of a commit that is being made."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


class Git:
    """The repository that a folder is the top of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def try_run(self, *words: str) -> tuple[int, bytes, str]:
        """Exit status, stdout and what git said; status 127 where there is no git."""
        try:
            ran = subprocess.run(
                ["git", *words], cwd=self.folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True
            )
        except FileNotFoundError:
            return 127, b"", _NO_GIT
        return ran.returncode, ran.stdout, ran.stderr.decode("utf-8", "replace").strip()

    def run(self, *words: str) -> bytes:
        """stdout; UsageError where git fails."""
        status, out, said = self.try_run(*words)
        if status:
            raise usage(f"`git {words[0]}` failed: {said or f'exit status {status}'}")
        return out

    def commit(self, ref: str, option: str = "--against") -> str:
        """The commit that a name stands for; UsageError where it cannot be reached."""
        if not (self.folder / ".git").exists():
            raise usage(f"{self.folder} is no git repository, so there is no {ref!r} to compare with", option)
        status, out, said = self.try_run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if status == 0:
            return out.decode().strip()
        if status == 127:
            raise usage(said, option)
        if said:
            # It was told to be quiet about names that are not there: this is about the repository.
            raise usage(f"`git rev-parse` failed: {said}", option)
        if self.try_run("rev-parse", "--verify", "--quiet", "HEAD")[0]:
            raise usage(f"this repository has no commit yet, so there is no {ref!r} to compare with", option)
        raise usage(f"{ref!r} cannot be reached; {self._how_to_reach(ref)}", option)

    def shallow(self) -> bool:
        """Whether history ends early here."""
        return self.try_run("rev-parse", "--is-shallow-repository")[1].strip() == b"true"

    def _how_to_reach(self, ref: str) -> str:
        if self.shallow():
            return (
                "this clone is shallow: fetch the history with `git fetch --unshallow` "
                "(in a GitHub workflow: actions/checkout with fetch-depth: 0)"
            )
        return f"fetch it (`git fetch origin {ref.removeprefix('origin/')}`) or name a commit that is here"

    def tree(self, commit: str, *paths: str) -> dict[str, str]:
        """Path -> blob of each regular file of a commit, of all or under some paths."""
        out = self.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *(f":(literal){path}" for path in paths))
        found = {}
        for record in out.split(b"\0"):
            head, _, path = record.partition(b"\t")
            words = head.split()
            if len(words) == 3 and words[1] == b"blob" and words[0] in (b"100644", b"100755"):
                found[named(path)] = words[2].decode()
        return found


class Blobs:
    """Contents by name, from one `git cat-file --batch`: no worktree, no index."""

    def __init__(self, git: Git) -> None:
        try:
            self._process = subprocess.Popen(
                ["git", "cat-file", "--batch"],
                cwd=git.folder,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except FileNotFoundError as error:
            raise usage(_NO_GIT) from error

    def __enter__(self) -> Blobs:
        return self

    def __exit__(self, *_: object) -> None:
        # Everything asked for was flushed: a git that is gone has nothing more to be told.
        with suppress(BrokenPipeError):
            self._stdin.close()
        self._stdout.close()
        self._process.wait()

    def get(self, name: str) -> bytes | None:
        """One object's content (`BLOB`, or `COMMIT:PATH`); None where there is none."""
        if "\n" in name:
            return None
        try:
            self._stdin.write(name.encode("utf-8", "surrogateescape") + b"\n")
            self._stdin.flush()
        except BrokenPipeError as error:
            raise usage(_STOPPED) from error
        head = self._stdout.readline().split()
        if not head:
            raise usage(_STOPPED)
        if len(head) < 3 or head[-1] in (b"missing", b"ambiguous"):
            return None
        size = int(head[-1])
        content = self._stdout.read(size)
        self._stdout.read(1)
        if len(content) != size:
            raise usage(_STOPPED)
        return content

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None, "a pipe"
        return self._process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None, "a pipe"
        return self._process.stdout


def commits(git: Git, *paths: str, since: str | None = None) -> Iterator[Mapping[str, str]]:
    """The commits that changed some paths, oldest first: id, time, author, subject."""
    form = "%H%x00%cI%x00%an%x00%s"
    span = [f"{since}..HEAD"] if since else ["HEAD"]
    status, out, said = git.try_run(
        "log", "--reverse", "--first-parent", "-m", f"--format={form}", "-z", *span, "--", *paths
    )
    if status:
        raise usage(f"`git log` failed: {said}")
    words = out.decode("utf-8", "replace").split("\0")
    for number in range(0, len(words) - 3, 4):
        commit, time, author, subject = words[number : number + 4]
        yield {"commit": commit.strip(), "time": time, "author": author, "subject": subject}
