"""What a loader's messages are read as."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.backends.bind.load_errors import demangle, died, explain, first_line

CASES = [
    (
        "/opt/vllm_ascend_C.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_"
        "stringIcSt11char_traitsIcE"
        "SaIcEEE",
        "library-load",
        "undefined symbol c10::detail::torchCheckFail",
        "another torch or C++ ABI than 2.13.0",
    ),
    (
        "x.so: undefined symbol: _ZN3atb6Runner5SetupEv",
        "library-load",
        "undefined symbol atb::Runner::Setup",
        "CANN or ATB",
    ),
    (
        "x.so: undefined symbol: aclnnCompressorGetWorkspaceSize",
        "library-load",
        "undefined symbol aclnnCompressor",
        "CANN or ATB",
    ),
    ("x.so: undefined symbol: my_thing", "library-load", "undefined symbol my_thing", "prerequisite"),
    ("libhccl.so: cannot open shared object file: No such file", "library-load", "libhccl.so not found", "set_env.sh"),
    (
        "libfoo.so.2: cannot open shared object file: No such file",
        "library-load",
        "libfoo.so.2 not found",
        "LD_LIBRARY_PATH",
    ),
    (
        "Tried to register an operator (npu::compressor(Tensor x) -> Tensor) with the same name and overload name "
        "multiple times.",
        "library-conflict",
        "npu::compressor registered a second time",
        "one of the two",
    ),
    (
        "Only a single TORCH_LIBRARY can be used to register the namespace npu; please put",
        "library-conflict",
        "the namespace npu owned by",
        "one of the two",
    ),
    ("\n\n  file too short\nmore", "library-load", "file too short", ""),
]


@pytest.mark.parametrize(("message", "code", "actual", "hint"), CASES)
def test_a_message_becomes_a_code_a_fact_and_a_hint(message: str, code: str, actual: str, hint: str) -> None:
    meaning = explain(message, "2.13.0")
    assert meaning.code == code
    assert meaning.actual.startswith(actual)
    assert hint in (meaning.hint or "")


def test_a_process_that_died_is_told_by_code_or_signal() -> None:
    assert died(1, "", "2").actual == "the process died with exit code 1 while loading it"
    assert died(-11, "Fatal Python error\nstack", "2").actual.startswith(
        "the process died with signal 11 while loading it: Fatal"
    )
    assert died(-6, "terminate called\n what(): Tried to register an operator (a::b(", "2").code == "library-conflict"


SYMBOLS = {
    "_ZN3c106detail14torchCheckFailEPKcS2_j": "c10::detail::torchCheckFail",
    "_ZNK2at10TensorBase8data_ptrIfEEPT_v": "at::TensorBase::data_ptr",
    "_ZN3FooC1Ev": "Foo::Foo",
    "_ZN3FooD2Ev": "Foo::~Foo",
    "_Z3addii": "add",
    "_ZNSt6vectorIiSaIiEE9push_backERKi": "std::vector",
    "plain_c": "plain_c",
    "_ZN99short": "_ZN99short",
    "_Z": "_Z",
}


@pytest.mark.parametrize(("symbol", "name"), SYMBOLS.items())
def test_demangled_names_are_in_what_binutils_says(symbol: str, name: str) -> None:
    assert demangle(symbol) == name
    tool = shutil.which("c++filt")
    if tool is not None and name != symbol:
        said = subprocess.run([tool, symbol], capture_output=True, text=True, check=True).stdout
        assert name in said


@given(st.text(alphabet="_ZNKSt0123456789EvabcCDB", max_size=40))
def test_demangling_never_fails(symbol: str) -> None:
    assert demangle("_Z" + symbol)


@given(st.text(max_size=600))
def test_the_first_line_is_one_line(text: str) -> None:
    line = first_line(text)
    assert line
    assert len(line) <= 200
    assert len(line.splitlines()) == 1
