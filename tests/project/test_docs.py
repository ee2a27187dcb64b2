"""What README, CONTRIBUTING and docs/ print was run: every command, every Python block, every file that they write."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.xdist_group("docs")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block of a document."""

    language: str
    text: str
    line: int


def blocks(document: Path) -> Iterator[Block]:
    """The fenced blocks in order."""
    text = document.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield Block(match[1], match[2], text.count("\n", 0, match.start()) + 1)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output that is printed under it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def agrees(printed: str, output: str) -> bool:
    """Whether output is what a document prints; `...` there stands for anything."""
    parts = [re.escape(part) for part in printed.strip("\n").split("...")]
    return re.fullmatch(r"\s*" + ".*?".join(parts) + r"\s*", output, re.DOTALL) is not None


def environment(tree: Path | None = None) -> dict[str, str]:
    """The environment of a reader who has activated .venv; with a tree, of one whose checkout it is."""
    ours = ("PYTEST_", "CONFBAG_", "MAKE", "MFLAGS")
    settings = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    settings["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{settings['PATH']}"
    settings |= {"COLUMNS": "80", "NO_COLOR": "1"}
    if tree is not None:
        settings["PYTHONPATH"] = str(tree)
    return settings


def check_console(block: Block, run: Callable, cwd: Path, env: dict[str, str]) -> None:
    """Run a console block and compare what it prints. `make test` is what runs this: of it, only the plan is asked."""
    for command, output in commands(block):
        asked = command.replace("make test", "make -n test")
        ran = run("bash", "-c", f"exec 2>&1; {asked}", cwd=cwd, env=env)
        assert ran.returncode == 0, f"line {block.line}: {command}: {ran.stdout}"
        assert not output.strip() or agrees(output, ran.stdout), f"line {block.line}: {command}:\n{ran.stdout}"


def check_python(block: Block, run: Callable, cwd: Path, env: dict[str, str], script: Path) -> None:
    """Run a Python block as a script of its own, with warnings as errors."""
    script.write_text(block.text, encoding="utf-8")
    ran = run(sys.executable, "-W", "error", script, cwd=cwd, env=env)
    assert ran.returncode == 0, f"line {block.line}: {ran.stderr}"


def amended(text: str, diff: list[str]) -> str:
    """A text without a diff's removed lines, with its added ones after the unique line that stands before them."""
    lines, at = text.splitlines(), -1
    for line in diff:
        if line.startswith("+"):
            at += 1
            lines.insert(at, line[1:])
        elif line.startswith((" ", "-")):
            assert lines.count(line[1:]) == 1, f"not exactly one line {line[1:]!r}"
            at = lines.index(line[1:])
            if line.startswith("-"):
                del lines[at]
                at -= 1
    return "\n".join(lines) + "\n"


def write(tree: Path, block: Block) -> Path | None:
    """Write a block whose first line is `# PATH`, or apply one that is a diff; None for any other block."""
    named = re.match(r"# (\S+/\S+\.py)\n", block.text)
    if named:
        path = tree / named[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text[named.end() :].lstrip("\n"), encoding="utf-8")
        return path
    if block.language == "diff":
        first, *rest = block.text.splitlines()
        path = tree / first.removeprefix("+++ ")
        path.write_text(amended(path.read_text(encoding="utf-8"), rest), encoding="utf-8")
        return path
    return None


def pages(root: Path) -> list[str]:
    """The pages in docs/, by their paths from the root."""
    return [path.relative_to(root).as_posix() for path in sorted((root / "docs").glob("**/*.md"))]


def steps(block: Block) -> list[str]:
    """The commands that a GitHub workflow runs, in order; none of any other block."""
    workflow = yaml.safe_load(block.text) if block.language == "yaml" else None
    jobs = workflow.get("jobs", {}) if isinstance(workflow, dict) else {}
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def test_every_block_of_a_document_says_what_it_is(root: Path) -> None:
    for name in ("README.md", "CONTRIBUTING.md", *pages(root)):
        assert {block.language for block in blocks(root / name)} <= {"console", "python", "yaml", "diff", "text"}, name


def test_readme_is_true(root: Path, run: Callable, tmp_path: Path) -> None:
    ran = 0
    for block in blocks(root / "README.md"):
        if block.language == "console":
            check_console(block, run, root, environment())
            ran += 1
        elif block.language == "python":
            check_python(block, run, root, environment(), tmp_path / "block.py")
            ran += 1
    assert ran >= 3


def test_contributing_is_true(tree: Path, run: Callable, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(tree, tmp_path / "tree", symlinks=True))
    env = environment(copied)
    written = set()
    for block in blocks(copied / "CONTRIBUTING.md"):
        path = write(copied, block)
        if path is not None:
            written.add(path)
        elif block.language == "console":
            check_console(block, run, copied, env)
        elif block.language == "python":
            check_python(block, run, copied, env, tmp_path / "block.py")
    assert len(written) >= 5
    python = [path for path in written if path.suffix == ".py"]
    for tool in (["ruff", "check", *python], ["ruff", "format", "--check", *python], ["lint-imports", "--no-cache"]):
        ran = run(Path(sys.executable).with_name(tool[0]), *tool[1:], cwd=copied)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_pages_of_docs_are_true(root: Path, tree: Path, run: Callable, tmp_path: Path) -> None:
    """Each page in a copy of its own. A workflow's commands run after what the page says to do before."""
    checked = {"console": 0, "python": 0, "steps": 0}
    for number, name in enumerate(pages(root)):
        copied = Path(shutil.copytree(tree, tmp_path / str(number), symlinks=True))
        env = environment(copied)
        for block in blocks(copied / name):
            if block.language == "console":
                check_console(block, run, copied, env)
                checked["console"] += 1
            elif block.language == "python":
                check_python(block, run, copied, env, tmp_path / "block.py")
                checked["python"] += 1
            for command in steps(block):
                ran = run("bash", "-e", "-c", command, cwd=copied, env=env)
                assert ran.returncode == 0, f"{name}, line {block.line}: {command}: {ran.stdout}{ran.stderr}"
                checked["steps"] += 1
    assert checked["console"] >= 2
    assert checked["steps"] >= 2


def test_every_link_of_a_document_leads_somewhere(root: Path) -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", *pages(root)):
        text = FENCE.sub("", (root / name).read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#]+)", text):
            if "://" not in target:
                assert ((root / name).parent / target).exists(), f"{name}: {target}"
