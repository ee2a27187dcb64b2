"""Which distributions are installed, and two that own the same files."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import pytest

from confbag.backends.platforms.probe_packages import hidden, scan, torch_build


def test_names_are_canonical_and_versions_as_in_the_metadata(stage: Any) -> None:
    stage.package("torch_npu", "2.4.0")
    stage.package("Sgl.Kernel", "2026.8.0.post1")
    assert stage.probe().platform.packages == {"torch-npu": "2.4.0", "sgl-kernel": "2026.8.0.post1"}


def test_the_first_on_the_search_path_wins(stage: Any, tmp_path: Any) -> None:
    stage.package("triton", "3.6.0")
    other = tmp_path / "other" / "triton-3.0.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("")
    assert scan([str(stage.site), str(other.parent)])["triton"].version == "3.6.0"
    assert scan([str(other.parent), str(stage.site)])["triton"].version == "3.0.0"


def test_what_an_interrupted_uninstall_left_is_not_installed(stage: Any) -> None:
    stage.package("~orch", "2.13.0")
    (stage.site / "triton-3.6.0.dist-info").mkdir()
    assert stage.probe().platform.packages == {}


def test_old_style_metadata_is_read_too(stage: Any) -> None:
    (stage.site / "amd_aiter-0.1.9-py3.11.egg-info").write_text("Name: amd-aiter\nVersion: 0.1.9\n")
    develop = stage.site / "flashinfer_python.egg-info"
    develop.mkdir()
    (develop / "PKG-INFO").write_text("Name: flashinfer-python\nVersion: 0.7.2\n")
    assert stage.probe().platform.packages == {"amd-aiter": "0.1.9", "flashinfer-python": "0.7.2"}


def test_a_search_path_of_anything_is_survived(tmp_path: Any) -> None:
    archive = tmp_path / "x.zip"
    archive.write_bytes(b"PK")
    assert scan([str(archive), str(tmp_path / "absent"), "", "\0"]) == {}


def test_two_distributions_that_own_one_file_are_named(stage: Any) -> None:
    stage.package(
        "triton", "3.6.0", owns=["triton/__init__.py", "triton/language/core.py", "triton-3.6.0.dist-info/RECORD"]
    )
    stage.package(
        "triton-ascend", "3.2.0", owns=["triton/__init__.py", "triton/language/core.py", "triton/backends/x.py"]
    )
    notes = stage.probe().platform.notes
    assert len(notes) == 1
    assert notes[0].startswith("triton 3.6.0 and triton-ascend 3.2.0 both own triton/__init__.py and 1 more files")


def test_two_distributions_that_share_nothing_are_fine(stage: Any) -> None:
    stage.package("triton", "3.6.0", owns=["triton/__init__.py"])
    stage.package("triton-ascend", "3.6.0", owns=["triton/backends/ascend/__init__.py"])
    assert stage.probe().platform.notes == ()


def test_the_build_of_torch_is_read_as_text(stage: Any) -> None:
    stage.torch("2.14.1+cu130", cuda="13.0")
    build = torch_build([str(stage.site)])
    assert build is not None
    assert (build.version, build.cuda, build.hip, build.xpu) == ("2.14.1+cu130", "13.0", None, None)
    (stage.site / "torch" / "version.py").write_text(
        "import os; os._exit(3)\ncuda = os.environ['X']\n__version__ = '1.0'\n"
    )
    build = torch_build([str(stage.site)])
    assert build is not None
    assert (build.version, build.cuda) == ("1.0", None)


def noted(stage: Any) -> list[str]:
    """What the probe says of packages."""
    return [note for note in stage.probe().platform.notes if "stands before" in note or "asks for torch" in note]


def test_a_second_version_of_a_component_is_said(stage: Any) -> None:
    stage.package("torch", "2.14.0")
    stage.package("requests", "2.0")
    stage.package("requests", "3.0")
    assert noted(stage) == []
    stage.package("torch", "2.9.0")
    (note,) = noted(stage)
    assert note.startswith("torch 2.14.0 (")
    assert "stands before torch 2.9.0 (" in note
    assert note.endswith("Uninstall both, then install one.")


def installed(folder: Path, name: str) -> str:
    """Make a distribution's metadata in a folder of the search path."""
    info = folder / name
    info.mkdir(parents=True)
    (info / "METADATA").write_text("")
    (info / "PKG-INFO").write_text("")
    return str(folder)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("sgl_kernel-0.4.0.dist-info", "sgl_kernel-0.4.0.dist-info", True),
        ("sgl_kernel-0.4.0.dist-info", "sgl_kernel-0.4.1.dist-info", True),
        ("flashinfer_cubin-0.6.1.dist-info", "flashinfer_cubin-0.6.2.dist-info", True),
        ("flashinfer_jit_cache-0.6.1.dist-info", "flashinfer_jit_cache-0.6.1.dist-info", True),
        ("sgl_kernel-0.4.0.dist-info", "flashinfer_cubin-0.4.0.dist-info", False),
        ("requests-2.0.dist-info", "requests-2.0.dist-info", False),
        # The tree that an editable installation was made from.
        ("sgl_kernel-0.4.0.egg-info", "sgl_kernel-0.4.0.dist-info", False),
        ("sgl_kernel-0.3.0.egg-info", "sgl_kernel-0.4.0.dist-info", True),
    ],
)
def test_a_distribution_in_two_folders_is_said(tmp_path: Path, first: str, second: str, said: bool) -> None:
    path = [installed(tmp_path / "a", first), installed(tmp_path / "b", second)]
    told = hidden(path, scan(path))
    assert bool(told) is said
    for note in told:
        assert f"{path[0]}{os.sep}{first}) stands before" in note
        assert f"{path[1]}{os.sep}{second})" in note


def test_two_versions_in_one_folder_are_said(tmp_path: Path) -> None:
    path = [
        installed(tmp_path, "flashinfer_cubin-0.6.1.dist-info"),
        installed(tmp_path, "flashinfer_cubin-0.6.2.dist-info"),
    ]
    (note,) = hidden(path, scan(path))
    assert note.startswith("flashinfer-cubin 0.6.1 (")


def test_a_folder_that_a_link_leads_to_is_no_second_one(tmp_path: Path) -> None:
    path = [installed(tmp_path / "lib", "sgl_kernel-0.4.0.dist-info"), str(tmp_path / "lib64")]
    (tmp_path / "lib64").symlink_to(tmp_path / "lib")
    assert hidden(path, scan(path)) == []


def test_a_native_library_that_asks_for_another_torch_is_said(stage: Any) -> None:
    stage.package("torch", "2.14.0+cu130")
    info = stage.package("sgl-kernel", "0.4.0")
    for asked, wrong in (
        ("torch==2.14.0", False),
        ("torch (>=2.9)", False),
        ("torch", False),
        ("torch==2.9.1 ; extra == 'old'", False),
        ("torchvision==2.9.1", False),
        ("torch @ https://example.org/torch.whl", False),
        (f'torch==2.9.1 ; platform_system != "{platform.system()}"', False),
        ("torch-npu==2.9.1", False),
        ("torch ==2.9.1 and nothing more", False),
        ('torch==2.9.1 ; os_name ~= "x"', False),
        ("torch==2.14.*", False),
        ('torch==2.14.0 ; python_version >= "3"\nRequires-Dist: torch==2.9.1 ; python_version < "3"', False),
        ("numpy\n\nRequires-Dist: torch==2.9.1", False),
        ("torch==2.9.1", True),
        (f'torch==2.9.1 ; platform_system == "{platform.system()}"', True),
        ("Torch==2.9.1", True),
        ("torch[opt]==2.9.1", True),
        ("torch (==2.9.1)", True),
        ("torch==2.9.*", True),
        ("torch>=2.9\nRequires-Dist: torch<2.14", True),
        ("\n torch==2.9.1", True),
        ("torch (<2.14,>=2.13)", True),
    ):
        (info / "METADATA").write_text(f"Name: sgl-kernel\nRequires-Dist: numpy\nRequires-Dist: {asked}\n")
        told = noted(stage)
        assert bool(told) is wrong, asked
        assert all(note.startswith("sgl-kernel 0.4.0 asks for torch") for note in told)
