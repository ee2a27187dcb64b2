"""Refuses to build a tree whose links were lost; everything else about the distribution is in pyproject.toml."""

from pathlib import Path

from setuptools import setup

INSIDE = Path(__file__).resolve().parent / "confbag"
LOST = [name for name in ("backends", "kernels", "ratchets") if not (INSIDE / name / "__init__.py").is_file()]

if LOST:
    raise SystemExit(
        f"confbag cannot be built from this tree: {', '.join(f'confbag/{name}' for name in LOST)} should be a symbolic "
        "link to the folder of that name at the root, but whatever unpacked the tree does not make links (Python's "
        "zipfile, Git on Windows); unpack it with tar or unzip, clone it with `git clone -c core.symlinks=true`, or "
        "install a wheel or an sdist instead."
    )

setup()
