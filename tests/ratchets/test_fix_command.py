"""The command `fix`: patches that git takes, files that stay as they are, exit status."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Engine


@pytest.fixture
def fields(engine: Engine) -> Engine:
    """An engine whose record has a table of replacements."""
    engine.write("accessors.toml", 'tp_size = {read = "get_tp()", import = "from engine.bag import get_tp"}\n')
    engine.write("engine/bag.py", "def get_tp():\n    return 1\n")
    engine.write("ratchets.toml", engine.read("ratchets.toml") + 'fields = "accessors.toml"\n')
    engine.commit()
    return engine


SOURCE = "from engine.runtime_context import get_server_args\n\n\ndef f():\n    return get_server_args().tp_size\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.py", SOURCE.encode()),
        ("crlf.py", SOURCE.replace("\n", "\r\n").encode()),
        ("no_newline.py", SOURCE.rstrip("\n").encode()),
        ("cr_lf_no_newline.py", SOURCE.replace("\n", "\r\n").rstrip("\r\n").encode()),
        ("mac.py", SOURCE.replace("\n", "\r").encode()),
        ("latin.py", b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + SOURCE.encode()),
        ("undecodable.py", b"# \x80\n" + SOURCE.encode()),
        ("bom.py", b"\xef\xbb\xbf" + SOURCE.encode()),
        ("with space.py", SOURCE.encode()),
        ("tab\tquote\"back\\.py", SOURCE.encode()),
        ("caf\u00e9.py", SOURCE.encode()),
    ],
)  # fmt: skip
def test_a_diff_is_what_git_applies(fields: Engine, name: str, content: bytes) -> None:
    file = fields.write(f"engine/{name}", content)
    fields.commit()
    ran = subprocess.run(
        [sys.executable, "-m", "confbag", "ratchet", "fix", "--diff"],
        cwd=fields.folder,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr
    assert file.read_bytes() == content
    assert fields.git("status", "--porcelain") == ""
    subprocess.run(["git", "apply", "--check", "-"], cwd=fields.folder, input=ran.stdout, check=True)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=fields.folder, input=ran.stdout, check=True)
    patched = file.read_bytes()
    file.write_bytes(content)
    assert fields.run("fix").status == 0
    assert file.read_bytes() == patched
    assert b"get_tp()" in patched


def test_mode_and_link_stay_and_a_read_only_file_is_left(fields: Engine) -> None:
    file = fields.write("engine/case.py", SOURCE)
    file.chmod(0o755)
    locked = fields.write("engine/locked.py", SOURCE)
    locked.chmod(0o444)
    os.symlink("case.py", fields.folder / "engine" / "link.py")
    ran = fields.run("fix")
    assert ran.status == 5
    assert "left: engine/locked.py: it is read-only" in ran.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert (fields.folder / "engine" / "link.py").is_symlink()
    assert "get_tp()" in file.read_text()
    assert locked.read_text() == SOURCE


def test_only_the_files_given(fields: Engine) -> None:
    one, other = fields.write("engine/one.py", SOURCE), fields.write("engine/other.py", SOURCE)
    ran = fields.run("fix", "engine/one.py")
    assert ran.status == 0
    assert "get_tp()" in one.read_text()
    assert other.read_text() == SOURCE
    assert fields.run("fix", "engine/other.py", "--diff").status == 1


def test_a_line_that_a_comment_allows_is_not_touched(fields: Engine) -> None:
    allowed = "get_server_args().tp_size  # ratchet: allow CB101 -- before the bag is there\n"
    text = SOURCE.replace("    return", f"    x = {allowed}    return x,")
    file = fields.write("engine/case.py", text)
    assert fields.run("fix").status == 0
    made = file.read_text()
    assert f"    x = {allowed}    return x, get_tp()\n" in made
