"""What leads to a record is followed through the modules that hand it on, however they say so."""

from __future__ import annotations

import pytest

SOURCE = "engine/runtime_context.py"
ACCESSOR = "def get_server_args(): ...\n"
HELPER = "from engine.runtime_context import get_server_args\ndef g():\n    return get_server_args()\n"


def chain(first: str, hop: str, last: str, length: int) -> dict[str, str]:
    """Modules m0 to mN, each of which hands on what the one before does, and engine/case.py, which uses it."""
    files = {SOURCE: ACCESSOR, "engine/m0.py": first}
    for number in range(1, length + 1):
        files[f"engine/m{number}.py"] = hop.replace("BEFORE", f"engine.m{number - 1}")
    return {**files, "engine/case.py": last.replace("LAST", f"engine.m{length}")}


@pytest.mark.parametrize("length", [0, 1, 2, 5])
@pytest.mark.parametrize(
    ("first", "last"),
    [
        (HELPER, "from LAST import g\nx = g().tp\n"),
        (HELPER, "from LAST import g as f\nx = f().tp\n"),
        (HELPER, "import LAST as m\nx = m.g().tp\n"),
        (HELPER, "from LAST import *\nx = g().tp\n"),
        ("from engine.runtime_context import get_server_args as g\n", "from LAST import g\nx = g().tp\n"),
        (
            "from engine.runtime_context import get_server_args\ng = get_server_args\n",
            "from LAST import g\nx = g().tp\n",
        ),
        (
            "from engine.runtime_context import get_server_args\ng = get_server_args()\n",
            "from LAST import g\nx = g.tp\n",
        ),
        (
            "from engine.runtime_context import get_server_args\nclass g:\n    def __init__(self):\n"
            "        self.args = get_server_args()\n",
            "from LAST import g\nx = g().args.tp\n",
        ),
    ],
)
@pytest.mark.parametrize("hop", ["from BEFORE import g\n", "from BEFORE import *\n"])
def test_through_other_modules(judge_files, hop: str, first: str, last: str, length: int) -> None:
    assert judge_files(chain(first, hop, last, length)).symbols() == ["CB101 record.tp"]


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize(
    "how",
    [
        "from LAST import get_server_args\nx = get_server_args().tp\n",
        "from LAST import *\nx = get_server_args().tp\n",
        "import LAST as m\nx = m.get_server_args().tp\n",
    ],
)
def test_the_accessor_itself_through_stars_that_never_name_it(judge_files, how: str, length: int) -> None:
    files = chain("from engine.runtime_context import *\n", "from BEFORE import *\n", how, length - 1)
    assert judge_files(files).symbols() == ["CB101 record.tp"]


def test_a_function_of_another_module_that_returns_something_else_is_clean(judge_files) -> None:
    files = chain("def g():\n    return 1\n", "from BEFORE import g\n", "from LAST import g\nx = g().real\n", 2)
    assert judge_files(files).symbols() == []
