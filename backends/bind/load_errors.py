"""What a loader's message means: the code, the fact in one line, and what to do about it. Text in, text out."""

from __future__ import annotations

import re
from typing import NamedTuple

_UNDEFINED = re.compile(r"undefined symbol: ([A-Za-z0-9_.$@]+)")
_ABSENT = re.compile(r"([^\s:'\"]+\.so[.0-9]*): cannot open shared object file")
_TWICE = re.compile(r"Tried to register an operator \(([\w:.]+)")
_OWNED = re.compile(r"Only a single TORCH_LIBRARY can be used to register the namespace (\w+)")

_ASCEND = ("acl", "Hccl", "rtGet", "rtSet", "rtMem", "ge::", "atb::")
_TORCH = ("c10", "at::", "torch", "caffe2")


class Meaning(NamedTuple):
    """A rejection's code, actual and hint."""

    code: str
    actual: str
    hint: str | None


def explain(message: str, torch_version: str) -> Meaning:
    """The meaning of what the loader, or a process that died while loading, said."""
    twice, owned = _TWICE.search(message), _OWNED.search(message)
    if twice:
        return conflict(f"{twice.group(1)} registered a second time")
    if owned:
        return conflict(f"the namespace {owned.group(1)} owned by a library loaded before")
    undefined = _UNDEFINED.search(message)
    if undefined:
        symbol = demangle(undefined.group(1))
        return Meaning("library-load", f"undefined symbol {symbol}", _who_has(symbol, torch_version))
    absent = _ABSENT.search(message)
    if absent:
        name = absent.group(1).rpartition("/")[2]
        hint = f"put the folder that holds {name} on LD_LIBRARY_PATH"
        if name.startswith(
            ("libascend", "libhccl", "libacl", "libge_", "libgraph", "libatb", "libopapi", "libnnopbase")
        ):
            hint = "run 'source <CANN>/set_env.sh'"
        return Meaning("library-load", f"{name} not found by the loader", hint)
    return Meaning("library-load", first_line(message), None)


def conflict(actual: str) -> Meaning:
    """A library that registers what another one already has."""
    return Meaning("library-conflict", actual, "load one of the two: unset its variable or uninstall its package")


def died(returncode: int, said: str, torch_version: str) -> Meaning:
    """What the end of a process that died while loading means; what it said on stderr may say more."""
    meaning = explain(said, torch_version)
    if meaning.code == "library-conflict":
        return meaning
    end = f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
    last = f": {first_line(said)}" if said.strip() else ""
    hint = meaning.hint or "it was built for another device, architecture or driver; install the build for this machine"
    return Meaning("library-load", f"the process died with {end} while loading it{last}", hint)


def first_line(text: str) -> str:
    """The first line that says something, at most 200 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return line if len(line) <= 200 else f"{line[:197]}..."


def _who_has(symbol: str, torch_version: str) -> str:
    if symbol.startswith(_TORCH):
        return f"it was built against another torch or C++ ABI than {torch_version}; install the build for this torch"
    if symbol.startswith(_ASCEND):
        return (
            "it was built against another CANN or ATB; run 'source <CANN>/set_env.sh' of the version it was built for"
        )
    return "a library that defines it must be loaded first; name it as a prerequisite, or rebuild this one"


def demangle(symbol: str) -> str:
    """The qualified name of an Itanium-mangled symbol, without its parameters; as it is when it cannot be read."""
    match = re.match(r"_ZNK?[rVK]*(St)?|_Z(St)?", symbol)
    if match is None:
        return symbol
    nested = symbol.startswith("_ZN")
    parts = ["std"] if match.group(1) or match.group(2) else []
    rest = symbol[match.end() :]
    while True:
        length = re.match(r"(\d+)", rest)
        if length is None:
            break
        start = length.end()
        end = start + int(length.group(1))
        if end > len(rest):
            return symbol
        parts.append(rest[start:end])
        rest = rest[end:]
        if re.match(r"B\d+", rest):  # an ABI tag such as [cxx11]
            tag = re.match(r"B(\d+)", rest)
            assert tag is not None
            rest = rest[tag.end() + int(tag.group(1)) :]
        if not nested:
            break
    if nested and parts and re.match(r"[CD]\d", rest):
        parts.append(parts[-1] if rest[0] == "C" else f"~{parts[-1]}")
    return "::".join(parts) or symbol
