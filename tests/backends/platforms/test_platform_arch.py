"""Spellings of architectures and versions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from confbag.backends.platforms.arch import normalise, of_capability, of_gfx_target
from confbag.backends.words.versions import normalise_version


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("sm_90", "sm90"),
        ("sm90a", "sm90"),
        ("SM_100f", "sm100"),
        ("compute_86", "sm86"),
        ("9.0", "sm90"),
        ("12.0", "sm120"),
        ("9.0a", "sm90"),
        ("Ascend910B2C", "ascend910b"),
        ("Ascend910B4-1", "ascend910b"),
        ("Ascend910_9392", "ascend910_93"),
        ("Ascend910_9362", "ascend910_93"),
        ("ascend910_93", "ascend910_93"),
        ("Ascend950PR_9589", "ascend950"),
        ("Ascend910_9579", "ascend950"),
        ("Ascend310P3", "ascend310p"),
        ("Ascend910A", "ascend910a"),
        ("gfx942:sramecc+:xnack-", "gfx942"),
        ("gfx90a", "gfx90a"),
        ("mp_31", "mp31"),
        ("AMD64", "x86_64"),
        ("arm64", "aarch64"),
        ("pvc", "pvc"),
        ("sm_1234x", "sm_1234x"),
    ],
)
def test_an_architecture_has_one_name(spelling: str, name: str) -> None:
    assert normalise(spelling) == name
    assert normalise(name) == name


@pytest.mark.parametrize(("spelling", "device", "name"), [("910B3", "npu", "ascend910b"), ("3.1", "musa", "mp31")])
def test_a_device_tells_what_a_bare_number_means(spelling: str, device: str, name: str) -> None:
    assert normalise(spelling, device) == name


@given(st.text(max_size=20), st.sampled_from([None, "cuda", "hip", "npu", "xpu", "musa", "mps", "cpu"]))
def test_normalising_twice_changes_nothing(text: str, device: str | None) -> None:
    once = normalise(text, device)
    assert normalise(once, device) == once


@pytest.mark.parametrize(("major", "minor", "name"), [(7, 5, "sm75"), (10, 3, "sm103"), (12, 0, "sm120")])
def test_a_capability_is_a_name(major: int, minor: int, name: str) -> None:
    assert of_capability(major, minor) == name


@pytest.mark.parametrize(
    ("target", "name"), [(90402, "gfx942"), (90010, "gfx90a"), (90500, "gfx950"), (110501, "gfx1151")]
)
def test_the_kernels_gfx_number_is_a_name(target: int, name: str) -> None:
    assert of_gfx_target(target) == name


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("8.3.RC1", "8.3rc1"),
        ("8.3.rc1", "8.3rc1"),
        ("8.0.RC1.alpha003", "8.0rc1.dev3"),
        ("9.0.0-beta.2", "9.0.0b2"),
        ("9.0.0", "9.0.0"),
        ("6.4.43482-0f2d60242", "6.4.43482"),
        ("550.54.14", "550.54.14"),
        ("  12.9\n", "12.9"),
        ("2.13.0+cpu", "2.13.0+cpu"),
        ("unknown", None),
        ("", None),
    ],
)
def test_vendors_versions_become_comparable(text: str, version: str | None) -> None:
    assert normalise_version(text) == version


def test_cann_versions_are_in_order() -> None:
    order = ["8.0.0", "8.1.RC1.alpha001", "8.1.RC1", "8.3.RC1", "8.3.RC2", "8.3", "8.5.0", "9.0.0-beta.2", "9.0.0"]
    versions = [Version(normalise_version(text) or "") for text in order]
    assert versions == sorted(versions)
    assert len(set(versions)) == len(versions)


@given(st.text(max_size=30))
def test_a_version_is_pep_440_or_nothing(text: str) -> None:
    version = normalise_version(text)
    assert version is None or str(Version(version)) == version
