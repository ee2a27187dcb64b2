"""The tree itself: complete package lists, no bare imports, a first line in every module, nothing of one machine."""

from __future__ import annotations

import ast
import fnmatch
import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDERS = ("confbag", "backends", "kernels", "ratchets")
LINKED = FOLDERS[1:]


def package_of(folder: Path) -> str:
    """The import name of one of the folders at the root, or of a folder inside one."""
    parts = folder.parts if folder.parts[0] == "confbag" else ("confbag", *folder.parts)
    return ".".join(parts)


@pytest.fixture(scope="module")
def project(root: Path) -> dict:
    """pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shipped(tracked: list[Path]) -> list[Path]:
    """Every file in the four folders."""
    return [name for name in tracked if name.parts[0] in FOLDERS and len(name.parts) > 1]


@pytest.fixture(scope="module")
def modules(tracked: list[Path], root: Path) -> dict[Path, ast.Module]:
    """Every Python file, parsed."""
    files = [name for name in tracked if name.suffix == ".py" and "corpus" not in name.parts]
    return {name: ast.parse((root / name).read_text(encoding="utf-8"), str(name)) for name in files}


@pytest.mark.parametrize("name", LINKED)
def test_the_links_are_relative(root: Path, name: str) -> None:
    assert (root / "confbag" / name).readlink() == Path("..", name)


def test_every_folder_with_python_is_a_listed_package(project: dict, shipped: list[Path]) -> None:
    found = {package_of(name.parent) for name in shipped if name.suffix == ".py"}
    assert sorted(project["tool"]["setuptools"]["packages"]) == sorted(found)


def test_every_listed_package_says_what_it_is(project: dict, root: Path) -> None:
    for package in project["tool"]["setuptools"]["packages"]:
        assert (root.joinpath(*package.split(".")) / "__init__.py").is_file(), package


def test_every_data_file_is_package_data(project: dict, shipped: list[Path]) -> None:
    patterns = project["tool"]["setuptools"]["package-data"]
    data = [name for name in shipped if name.suffix != ".py" and name.name not in LINKED]
    assert data, "py.typed at least"
    missed = [
        str(name)
        for name in data
        if not any(fnmatch.fnmatch(name.name, pattern) for pattern in patterns.get(package_of(name.parent), ()))
    ]
    assert missed == [], "\n".join(missed)


def test_every_package_data_pattern_matches_something(project: dict, shipped: list[Path]) -> None:
    for package, patterns in project["tool"]["setuptools"]["package-data"].items():
        names = [name.name for name in shipped if package_of(name.parent) == package]
        for pattern in patterns:
            assert fnmatch.filter(names, pattern), f"{package}: {pattern}"


def test_nothing_imports_the_folders_by_their_bare_names(modules: dict[Path, ast.Module]) -> None:
    bare = []
    for path, module in modules.items():
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            bare += [f"{path}:{node.lineno}: {name}" for name in names if name.split(".")[0] in LINKED]
    assert bare == [], "\n".join(bare)


def test_imports_are_absolute(modules: dict[Path, ast.Module]) -> None:
    relative = [
        f"{path}:{node.lineno}"
        for path, module in modules.items()
        if path.parts[0] in FOLDERS
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == [], "\n".join(relative)


def test_the_first_line_of_every_module_says_what_it_is_for(modules: dict[Path, ast.Module], root: Path) -> None:
    silent = []
    for path, module in modules.items():
        first = (root / path).read_text(encoding="utf-8").split("\n", 1)[0]
        if not ast.get_docstring(module) or not first.lstrip("r").startswith('"""') or len(first) < 12:
            silent.append(str(path))
    assert silent == [], "\n".join(silent)


def test_nothing_is_left_to_do_and_nothing_is_of_one_machine(tracked: list[Path], root: Path) -> None:
    unwanted = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X)\b|(?<![\w.>*])/(?:root|home|Users|work)/\w")
    found = []
    for name in tracked:
        if (root / name).is_symlink() or not (root / name).is_file():
            continue
        for number, line in enumerate((root / name).read_bytes().decode("utf-8", "replace").splitlines(), 1):
            if unwanted.search(line):
                found.append(f"{name}:{number}: {line.strip()[:80]}")
    assert found == [], "\n".join(found)


def test_no_suppression_is_bare(modules: dict[Path, ast.Module], root: Path) -> None:
    bare = re.compile(r"#\s*(?:type:\s*ignore(?!\[)|noqa(?!:\s*[A-Z]))")
    found = [
        f"{path}:{number}"
        for path in modules
        for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1)
        if bare.search(line)
    ]
    assert found == [], "\n".join(found)


def test_constraints_name_one_version_for_each_python(root: Path, project: dict) -> None:
    pinned = re.compile(r'^([\w.-]+)==[\w.]+(?:; python_version (?:<|>=) "3\.11")?$')
    lines = [line for line in (root / "constraints.txt").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    names = []
    for line in lines:
        match = pinned.match(line)
        assert match, line
        names.append(re.sub(r"[-_.]+", "-", match[1]).lower())
    groups = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    for requirement in (requirement for group in groups for requirement in group):
        name = re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!;\s]", requirement, maxsplit=1)[0]).lower()
        assert name in names, f"{name} is a dependency and constraints.txt does not name its version"


def test_the_license_is_the_apache_license_whole(root: Path) -> None:
    text = (root / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert text.rstrip().endswith("limitations under the License.")


def test_the_changelog_and_the_package_name_the_version(root: Path, project: dict) -> None:
    version = project["project"]["version"]
    assert re.search(rf"^## {re.escape(version)}\b", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
