"""Native libraries: finding the file, refusing what cannot be loaded here, loading once."""

from __future__ import annotations

import json
import subprocess
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from confbag.backends.bind.library_loading import ensure, find
from confbag.backends.declare.libraries import Library
from confbag.backends.words.rejection import Rejection
from confbag.errors import RegistrationError

TAG = str(sysconfig.get_config_var("SOABI"))
VARIABLE = "CONFBAG_T_LIBRARY"


def rejection(found: object) -> Rejection:
    assert isinstance(found, Rejection), found
    assert found.hint
    return found


def test_a_library_says_where_it_is_or_is_refused() -> None:
    assert (
        Library("a", "npu", "A_SO", package="acme").where
        == "the file that A_SO names, or *.so in the installed package acme"
    )
    for wrong in (
        {"namespace": "no pe", "environment": "X"},
        {"namespace": "npu"},
        {"namespace": "npu", "environment": "NOT A NAME"},
        {"namespace": "npu", "package": "acme.lib"},
    ):
        with pytest.raises(RegistrationError, match="library a"):
            Library("a", **wrong)


def test_the_file_comes_from_the_one_variable(tmp_path: Path) -> None:
    library = Library("acme", "acme", VARIABLE)
    missing = rejection(find(library, {}))
    assert (missing.code, missing.actual) == ("library-not-found", f"{VARIABLE} unset")
    assert str(missing).startswith(
        f"library-not-found: library acme must be the file that {VARIABLE} names, is {VARIABLE} unset"
    )
    assert rejection(find(library, {VARIABLE: ""})).code == "library-not-found"
    assert str(tmp_path / "no.so") in str(rejection(find(library, {VARIABLE: str(tmp_path / "no.so")})).actual)
    assert "a folder" in str(rejection(find(library, {VARIABLE: str(tmp_path)})).actual)
    file = tmp_path / "libacme.so"
    file.touch()
    assert find(library, {VARIABLE: str(file)}) == file.resolve()


@pytest.mark.parametrize(
    ("name", "loads"),
    [
        ("acme.so", True),
        ("acme.abi3.so", True),
        (f"acme.{TAG}.so", True),
        ("acme.cpython-38-x86_64-linux-gnu.so", False),
        (f"acme.cpython-{TAG.split('-')[1]}t-x86_64-linux-gnu.so", False),
    ],
)
def test_a_file_for_another_interpreter_is_refused_before_it_is_loaded(tmp_path: Path, name: str, loads: bool) -> None:
    file = tmp_path / name
    file.touch()
    found = find(Library("acme", "acme", VARIABLE), {VARIABLE: str(file)})
    if loads:
        assert found == file.resolve()
    else:
        fault = rejection(found)
        assert fault.code == "library-load"
        assert fault.required == "built for " + "-".join(TAG.split("-")[:2])
        assert name in str(fault.actual)


def test_a_package_is_searched_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "confbag_t_package"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    library = Library("acme", "acme", VARIABLE, package=package.name)
    assert "no such file" in str(rejection(find(library, {})).actual)
    (package / "lib" / "acme.cpython-38-x86_64-linux-gnu.so").touch()
    assert rejection(find(library, {})).code == "library-load"
    own = package / "lib" / f"acme.{TAG}.so"
    own.touch()
    assert find(library, {}) == own
    elsewhere = tmp_path / "other.so"
    elsewhere.touch()
    assert find(library, {VARIABLE: str(elsewhere)}) == elsewhere
    (package / "lib" / "second.so").touch()
    assert "2 such files" in str(rejection(find(library, {})).actual)
    assert find(Library("acme", "acme", package=package.name, file="acme*.so"), {}) == own
    absent = rejection(find(Library("acme", "acme", package="confbag_t_not_installed"), {}))
    assert absent.actual == "confbag_t_not_installed not installed"
    assert absent.hint == "install confbag_t_not_installed"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Rejection | None]:
    """Try to load a file, as a library of its own namespace."""

    def load(file: Path, *needed: str, namespace: str = "confbag_t_harm", **fields: Any) -> Rejection | None:
        monkeypatch.setenv(VARIABLE, str(file))
        return ensure(Library(file.stem, namespace, VARIABLE, **fields), needed or (f"{namespace}::op",))

    return load


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dies", "the process died with exit code 1 while loading it"),
        ("crashes", "the process died with signal 11 while loading it"),
        ("hangs", "loading it took more than 2 s"),
        ("undefined", "undefined symbol c10::detail::torchCheckFail"),
    ],
)
def test_a_library_that_harms_is_a_reason_and_not_the_end(
    native_libraries: SimpleNamespace, place: Callable[..., Rejection | None], name: str, said: str
) -> None:
    fault = rejection(place(getattr(native_libraries, name), probe_seconds=2 if name == "hangs" else 120))
    assert fault.code == "library-load"
    assert str(fault.actual).startswith(said)
    assert fault.field == f"library {name}"


def test_without_a_probe_the_loader_s_own_message_is_read(
    native_libraries: SimpleNamespace, place: Callable[..., Rejection | None], tmp_path: Path
) -> None:
    fault = rejection(place(native_libraries.undefined, probe_in_child=False))
    assert str(fault.actual).startswith("undefined symbol c10::detail::torchCheckFail")
    assert "another torch or C++ ABI" in str(fault.hint)
    junk = tmp_path / "junk.so"
    junk.write_text("not a library")
    assert rejection_code(place(junk, probe_in_child=False)) == "library-load"


def rejection_code(found: Rejection | None) -> str | None:
    return None if found is None else found.code


def test_prerequisites_are_imported_first_and_may_register_everything(
    module: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.delenv(VARIABLE, raising=False)
    name = module(
        "confbag_t_registers",
        "import torch\nheld = torch.library.Library('confbag_t_pre', 'DEF')\nheld.define('op(Tensor x) -> Tensor')\n",
    )
    assert ensure(Library("acme", "confbag_t_pre", VARIABLE, prerequisites=(name,)), ["confbag_t_pre::op"]) is None


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("import confbag_t_nowhere.deep", "package-missing", "No module named 'confbag_t_nowhere'"),
        (
            "raise ImportError('libhccl.so: cannot open shared object file: No such file')",
            "library-load",
            "libhccl.so not found",
        ),
        ("raise ValueError('bad soc')", "library-load", "ValueError: bad soc"),
        ("raise SystemExit(3)", "library-load", "SystemExit: 3"),
    ],
)
def test_a_prerequisite_that_cannot_be_imported_is_a_reason(
    module: Callable[[str, str], str], source: str, code: str, said: str
) -> None:
    pytest.importorskip("torch")
    name = module("confbag_t_prerequisite", source)
    fault = rejection(ensure(Library("acme", "confbag_t_none", prerequisites=(name,)), ["confbag_t_none::op"]))
    assert (fault.code, fault.field) == (code, "prerequisite of library acme")
    assert said in str(fault.actual)


LOADS = """
import json, os, sys, threading
from confbag.backends.declare.libraries import Library
from confbag.backends.bind.library_loading import ensure
import torch

calls = []
real = torch.ops.load_library
torch.ops.load_library = lambda path: (calls.append(path), real(path))

def load(name, *ops, **fields):
    found = ensure(Library(name, "confbag_t", "CONFBAG_T_LIBRARY", **fields), ["confbag_t::" + op for op in ops])
    return found and [found.code, found.actual]

os.environ["CONFBAG_T_LIBRARY"] = "/nowhere.so"
first = load("ops", "scaled")
os.environ["CONFBAG_T_LIBRARY"] = sys.argv[1]
answers = []
threads = [threading.Thread(target=lambda: answers.append(load("ops", "scaled"))) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
missing = load("ops", "scaled", "not_there")
os.environ["CONFBAG_T_LIBRARY"] = sys.argv[2]
again = load("again", "third")
unprobed = load("again", "third", probe_in_child=False)
value = torch.ops.confbag_t.scaled(torch.ones(1), 0.5).item()
print(json.dumps([first, answers, calls, missing, again, unprobed, value]))
"""


def test_a_library_is_loaded_once_and_a_second_registration_is_a_conflict(
    native_libraries: SimpleNamespace, in_child: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = in_child(LOADS, str(native_libraries.ops), str(native_libraries.again))
    assert done.returncode == 0, done.stderr
    first, answers, calls, missing, again, unprobed, value = json.loads(done.stdout)
    assert first[0] == "library-not-found"
    assert answers == [None] * 4
    assert calls == [str(native_libraries.ops.resolve())]
    # What a load does not bring is for the schema check to say; the file is not loaded a second time.
    assert missing is None
    conflict = ["library-conflict", "confbag_t::scaled registered a second time (again.so)"]
    assert again == unprobed == conflict
    assert value == 2.5


OWNED = """
import os, sys, torch
from confbag.backends.declare.libraries import Library
from confbag.backends.bind.library_loading import ensure
held = torch.library.Library("confbag_t", "DEF")
held.define("other(Tensor x) -> Tensor")
os.environ["CONFBAG_T_LIBRARY"] = sys.argv[1]
print(ensure(Library("ops", "confbag_t", "CONFBAG_T_LIBRARY"), ["confbag_t::scaled"]))
"""


def test_a_namespace_that_something_else_owns_is_a_conflict_and_no_abort(
    native_libraries: SimpleNamespace, in_child: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = in_child(OWNED, str(native_libraries.ops))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("library-conflict: library ops must be loadable, is the namespace confbag_t owned by")


def test_ops_that_are_there_already_need_no_file(
    torch_namespace: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    torch_namespace("confbag_t_there").define("op(Tensor x) -> Tensor")
    library = Library("acme", "confbag_t_there", VARIABLE)
    results: list[Rejection | None] = []
    threads = [
        threading.Thread(target=lambda: results.append(ensure(library, ["confbag_t_there::op"]))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [None] * 4
    assert rejection_code(ensure(library, ["confbag_t_there::op", "confbag_t_there::newer"])) == "library-not-found"
