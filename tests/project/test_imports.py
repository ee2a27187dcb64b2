"""What an import loads, and that the contracts which hold the arrows really fail when an arrow is turned."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HEAVY = ("pydantic", "yaml", "torch", "libcst")


def loaded(run: Callable, statement: str, cwd: Path) -> list[str]:
    """Which of the heavy packages a fresh interpreter has loaded after a statement."""
    script = f"import sys; {statement}; print(*[n for n in {HEAVY!r} if n in sys.modules])"
    ran = run(sys.executable, "-c", script, cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_importing_the_package_loads_nothing_heavy(run: Callable, tmp_path: Path) -> None:
    assert loaded(run, "import confbag", tmp_path) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import confbag.backends, confbag.backends.declare.registry",
        "import confbag.kernels",
        "import confbag.kernels.last_loc.contract, confbag.kernels.draft_extend.contract",
        "from confbag.backends.declare.plugins import installed; installed()",
        "import confbag.cli",
        "import confbag; confbag.load(env={})",
        "import confbag.ratchets",
    ],
)
def test_no_torch_is_loaded_by_what_plans_reads_or_lints(run: Callable, tmp_path: Path, statement: str) -> None:
    assert "torch" not in loaded(run, statement, tmp_path)


def test_the_contract_on_device_libraries_names_the_whole_core(root: Path) -> None:
    contracts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["name"].startswith("Arrows go down"))
    below = [room.strip() for layer in layers[layers.index("backends") + 1 :] for room in layer.split("|")]
    named = next(contract["source_modules"] for contract in contracts if contract["name"].startswith("The core knows"))
    assert named == sorted(f"confbag.{room}" for room in below)


def lint(run: Callable, tree: Path) -> tuple[int, str]:
    """What import-linter says of a tree."""
    ran = run(Path(sys.executable).with_name("lint-imports"), "--no-cache", cwd=tree)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def copied(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of its own to plant violations in."""
    return Path(shutil.copytree(tree, tmp_path_factory.mktemp("arrows") / "confbag", symlinks=True))


@pytest.mark.parametrize(
    ("module", "statement", "contract"),
    [
        ("kernels/planted.py", "import confbag.cli", "Arrows go down"),
        ("kernels/planted.py", "import confbag.ratchets", "Arrows go down"),
        ("backends/planted.py", "import confbag.kernels", "Arrows go down"),
        ("backends/planted.py", "def late():\n    from confbag.kernels import register", "Arrows go down"),
        ("backends/planted.py", "import confbag.ratchets", "Arrows go down"),
        ("confbag/namespaces/planted.py", "import confbag.bag.bag", "Arrows go down"),
        ("backends/declare/planted.py", "import confbag.backends.decide.plan", "Within backends arrows go down"),
        ("backends/planted.py", "", "Within backends arrows go down"),
        ("confbag/sources/planted.py", "import confbag.backends", "Arrows go down"),
        ("confbag/sources/planted.py", "import confbag.ratchets", "Arrows go down"),
        ("confbag/planted.py", "", "Arrows go down"),
        ("confbag/__init__.py", "import confbag.backends", "The package itself names only the core"),
        ("confbag/sources/planted.py", "import torch", "The core knows no device library"),
        ("ratchets/planted.py", "import confbag.errors", "The ratchets need libcst"),
        ("ratchets/planted.py", "import yaml", "The ratchets need libcst"),
        ("ratchets/planted.py", "import confbag.kernels", "The ratchets need libcst"),
    ],
)
@pytest.mark.xdist_group("arrows")
def test_a_contract_catches_a_turned_arrow(
    copied: Path, run: Callable, module: str, statement: str, contract: str
) -> None:
    planted = copied / module
    before = planted.read_text(encoding="utf-8") if planted.exists() else None
    planted.write_text(f"{before or ''}\n{statement}\n", encoding="utf-8")
    try:
        code, said = lint(run, copied)
    finally:
        if before is None:
            planted.unlink()
        else:
            planted.write_text(before, encoding="utf-8")
    assert code != 0
    assert any(line.startswith(contract) and "BROKEN" in line for line in said.splitlines()), said


@pytest.mark.xdist_group("arrows")
def test_the_tree_keeps_every_contract(copied: Path, run: Callable) -> None:
    code, said = lint(run, copied)
    assert code == 0, said
    assert ", 0 broken." in said
