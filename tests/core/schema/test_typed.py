"""What a type checker sees: every field of every namespace, with the type that a published bag has."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SNIPPET = """
import confbag
from confbag import Config, attention_backends, get_exec, get_memory, get_model, load
from confbag.process.context import accessor
from confbag.namespaces.fields import Namespace

class Mine(Namespace):
    answer: int = 42

class MyConfig(Config):
    mine: Mine = Mine(answer=3)

reveal_type(get_exec().deterministic)
reveal_type(get_exec().graph)
reveal_type(get_exec().attention.decode)
reveal_type(get_exec().kernels.pin)
reveal_type(get_memory().page_size * 2)
reveal_type(get_model().num_heads)
reveal_type(load().exec.determinism)
reveal_type(confbag.get_parallel().tp_size)
reveal_type(attention_backends())
reveal_type(accessor("mine", Mine)().answer)
get_exec().deterministc
"""


def test_mypy_sees_the_type_of_every_read(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(SNIPPET)
    root = Path(__file__).parents[3]
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(root / ".mypy_cache" / "snippets"),
        str(snippet),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert re.findall(r'Revealed type is "(.*)"', done.stdout) == [
        "bool",
        "bool | Literal['piecewise'] | Literal['full']",
        "str",
        "tuple[tuple[str, str], ...]",
        "int",
        "int | None",
        "Literal['run_to_run'] | Literal['batch_invariant']",
        "int",
        "tuple[str, str]",
        "int",
    ], done.stdout + done.stderr
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 1, done.stdout
    assert '"Exec" has no attribute "deterministc"' in errors[0]
