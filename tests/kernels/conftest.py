"""Loads our Triton kernels through Triton's interpreter, so that they run on the CPU in this process."""

import os
import sys

import pytest

# Triton decides when it and a kernel are imported. The variable goes away again: child processes are not to inherit it.
if "TRITON_INTERPRET" not in os.environ:
    assert "triton" not in sys.modules, "something imported triton before tests/kernels could turn its interpreter on"
    os.environ["TRITON_INTERPRET"] = "1"
    import confbag.kernels.draft_extend.triton
    import confbag.kernels.dsv4.compressor.triton
    import confbag.kernels.dsv4.sparse_attention.triton
    import confbag.kernels.last_loc.triton
    import confbag.kernels.last_loc.triton_int32_safe  # noqa: F401

    del os.environ["TRITON_INTERPRET"]


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """What Triton itself imports at a first launch asks for the variable again."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")


@pytest.fixture
def bounds_checked(monkeypatch):
    """The debug switch, as CONFBAG_DEBUG_BOUNDS=1 turns it on."""
    monkeypatch.setattr("confbag.kernels.checks.bounds._switched_on", True)
