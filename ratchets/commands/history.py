"""The baselines at each commit that changed them, from git alone: nothing is analysed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from confbag.ratchets.allowed.baseline import Baseline, Place
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.faults import usage
from confbag.ratchets.output import complain
from confbag.ratchets.source.git import Blobs, Git, commits


class State(NamedTuple):
    """One commit: what it is, and every rule's entries after it."""

    commit: str
    time: str
    author: str
    subject: str
    entries: Mapping[str, Mapping[Place, int]]

    @property
    def totals(self) -> dict[str, int]:
        """Rule -> number of findings that its baseline holds."""
        return {code: sum(entries.values()) for code, entries in self.entries.items()}


def history(configuration: Configuration, since: str | None = None) -> list[State]:
    """Oldest first; with `since`, that commit's own state and what came after. UsageError outside a repository."""
    git = Git(configuration.repository)
    if not (configuration.repository / ".git").exists():
        raise usage("this is no git repository: there is no history to read")
    if git.shallow():
        complain("this clone is shallow: what was before it is not shown; `git fetch --unshallow` brings it")
    folder = f"{configuration.prefix}.ratchets"
    states = []
    parsed: dict[str, Mapping[Place, int]] = {}
    with Blobs(git) as blobs:

        def state(commit: Mapping[str, str]) -> State:
            entries = {}
            for path, blob in sorted(git.tree(commit["commit"], folder).items()):
                name = path.rpartition("/")[2]
                if name.endswith(".tsv"):
                    if blob not in parsed:
                        parsed[blob] = Baseline.parse(blobs.get(blob) or b"", name).entries
                    entries[name.removesuffix(".tsv")] = parsed[blob]
            return State(entries=entries, **commit)

        if since is not None:
            start = git.commit(since, "--since")
            out = git.run("log", "-1", "--format=%H%x00%cI%x00%an%x00%s", start).decode("utf-8", "replace")
            names = ("commit", "time", "author", "subject")
            states.append(state(dict(zip(names, out.strip("\n").split("\0"), strict=True))))
            since = start
        status, _, _ = git.try_run("rev-parse", "--verify", "--quiet", "HEAD")
        if status:
            raise usage("this repository has no commit yet")
        states += [state(commit) for commit in commits(git, f":(literal){folder}", since=since)]
    return [each for number, each in enumerate(states) if not number or each.entries != states[number - 1].entries]
