"""What is built and installed: the wheel, the sdist, an install from git, and the refusal of a tree without links."""

from __future__ import annotations

import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("build")

LINKED = ("backends", "kernels", "ratchets")


def names(wheel: Path) -> list[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def unzipped(tree: Path, git: Callable[..., str], into: Path) -> Path:
    """The tree as Python's zipfile unpacks it: each link has become a text file that holds where it led."""
    git("archive", "--format=zip", "-o", into / "tree.zip", "HEAD", cwd=tree)
    with zipfile.ZipFile(into / "tree.zip") as archive:
        archive.extractall(into / "tree")
    assert (into / "tree" / "confbag" / "backends").read_text() == "../backends"
    return into / "tree"


@pytest.mark.parametrize("editable", [False, True])
def test_a_tree_without_its_links_fails_with_a_sentence(
    tree: Path, git: Callable[..., str], run: Callable, tmp_path: Path, editable: bool
) -> None:
    broken = unzipped(tree, git, tmp_path)
    offline = ("-q", "--no-index", "--no-build-isolation", "--no-deps", "--target", tmp_path / "nowhere")
    ran = run(sys.executable, "-m", "pip", "install", *offline, *(["-e"] if editable else []), broken, cwd=tmp_path)
    said = ran.stdout + ran.stderr
    assert ran.returncode != 0
    assert "confbag/backends, confbag/kernels, confbag/ratchets should be a symbolic link" in said
    assert "tar or unzip" in said
    assert "Traceback" not in said
    assert not list((tmp_path / "nowhere").glob("confbag*"))


def test_make_says_that_the_links_are_lost(tree: Path, git: Callable[..., str], run: Callable, tmp_path: Path) -> None:
    ran = run("make", "test", cwd=unzipped(tree, git, tmp_path))
    assert ran.returncode != 0
    assert "confbag/backends is not a link to ../backends" in ran.stderr
    assert not (tmp_path / "tree" / ".venv").exists()


def test_a_tree_whose_links_were_copied_as_folders_builds(
    tree: Path, wheel: Path, build_wheel: Callable[[Path | str, Path], Path], tmp_path: Path
) -> None:
    shutil.copytree(
        tree, tmp_path / "tree", symlinks=False, ignore=shutil.ignore_patterns(".git", "build", "*.egg-info")
    )
    assert names(build_wheel(tmp_path / "tree", tmp_path)) == names(wheel)


def test_the_wheel_holds_everything_under_one_name(wheel: Path, tracked: list[Path]) -> None:
    held = names(wheel)
    about = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
    assert {name.split("/")[0] for name in held} == {"confbag", about}
    expected = {
        name.as_posix() if name.parts[0] == "confbag" else f"confbag/{name.as_posix()}"
        for name in tracked
        if name.parts[0] in ("confbag", *LINKED) and len(name.parts) > 1 and name.name not in LINKED
    }
    assert {name for name in held if name.startswith("confbag/")} == expected
    assert f"{about}/licenses/LICENSE" in held


def test_the_sdist_builds_the_same_wheel(
    sdist: Path, wheel: Path, build_wheel: Callable[[Path | str, Path], Path], tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        assert not [member.name for member in archive if member.issym() or member.islnk()]
    assert names(build_wheel(sdist, tmp_path)) == names(wheel)


def test_the_installed_wheel_works(installed: Path, run: Callable, root: Path, tmp_path: Path) -> None:
    where = run(installed / "python", "-c", "import confbag.backends as b; print(b.__file__)", cwd=tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(installed.parent), where
    for command in ((installed / "confbag",), (installed / "python", "-m", "confbag")):
        config = root / "examples" / "configs" / "ascend-deepseek-v4.yaml"
        ran = run(*command, "plan", config, "--platform", "npu:ascend910_93", cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert "kvcache.last_loc" in ran.stdout


def test_the_entry_point_of_our_own_ops_is_installed(installed: Path, run: Callable, tmp_path: Path) -> None:
    script = """
from importlib.metadata import entry_points
(ours,) = [point for point in entry_points(group="confbag.backends") if point.name == "confbag"]
print(ours.value, ours.load().__module__)
"""
    ran = run(installed / "python", "-c", script, cwd=tmp_path)
    assert ran.stdout.split() == ["confbag.kernels:register", "confbag.kernels"], ran.stderr


def test_an_installed_wheel_takes_no_top_level_name(installed: Path, run: Callable, tmp_path: Path) -> None:
    script = f"import importlib.util; print([n for n in {LINKED!r} if importlib.util.find_spec(n)])"
    assert run(installed / "python", "-c", script, cwd=tmp_path).stdout.strip() == "[]"


def test_an_install_from_git_works(
    tree: Path,
    wheel: Path,
    build_wheel: Callable[[Path | str, Path], Path],
    install: Callable[[Path], Path],
    run: Callable,
    tmp_path: Path,
) -> None:
    # pip builds a wheel of what it clones and installs that; here in two steps, since only this environment can build.
    cloned = build_wheel(f"git+file://{tree}", tmp_path)
    assert names(cloned) == names(wheel)
    place = install(cloned)
    script = "import confbag.kernels, confbag.ratchets; print(confbag.kernels.__file__)"
    ran = run(place / "python", "-c", script, cwd=tmp_path)
    assert Path(ran.stdout.strip()).is_relative_to(place.parent), ran.stderr
    assert run(place / "confbag", "schema", cwd=tmp_path).returncode == 0
