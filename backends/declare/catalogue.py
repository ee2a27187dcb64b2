"""Reads catalogue data: rows of backends, and rules, each fault named with its file and row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from confbag.backends.catalog import own
from confbag.backends.declare.requires import Need, Requires
from confbag.backends.words.levels import ALWAYS, BATCH_INVARIANT, NEVER
from confbag.backends.words.shapes import (
    FLAG,
    LIST,
    NAMED,
    SIZES,
    SOME,
    TEXT,
    TEXT_TO_TEXT,
    WHOLE,
    WORDS,
    Shape,
    is_text,
    is_whole,
    shaped,
    texts,
)
from confbag.errors import RegistrationError

_PAGES = {"sizes": SIZES, "any": FLAG, "emulated": FLAG}
_TOPK = Shape("none, any or a positive whole number", lambda value: value in ("none", "any") or _positive(value))
_COLUMNS = {
    **dict.fromkeys(("provider", "variant", "replaces", "target", "engine"), TEXT),
    **dict.fromkeys(("description", "slow", "known_issue", "disabled", "cases"), TEXT),
    **dict.fromkeys(("kind", "device", "arch", "phases"), SOME),
    **dict.fromkeys(("aliases", "device_features", "components", "toolkit", "features", "kv", "deterministic"), WORDS),
    "unconfirmed": WORDS,
    **dict.fromkeys(("branching_pages", "topk_pages"), SIZES),
    **dict.fromkeys(("paged_topk", "graph"), FLAG),
    "companions": TEXT_TO_TEXT,
    "priority": WHOLE,
    "needs": LIST,
    "pages": NAMED,
    "topk": _TOPK,
}
_NEED = {
    **dict.fromkeys(("fact", "code", "hint"), TEXT),
    "test": Shape("what the fact must be", lambda value: value is not None),
    "when": NAMED,
}
_SECTIONS = {
    **dict.fromkeys(("op", "engine"), TEXT),
    **dict.fromkeys(("rows", "choose", "fill", "libraries"), LIST),
    "facts": NAMED,
}


def _positive(value: Any) -> bool:
    return is_whole(value) and bool(value > 0)


def read(path: str | Path) -> dict[str, Any]:
    """A catalogue file as plain data: one of ours by its name (`attention.yaml`), or a vendor's by its path.

    Raises RegistrationError with every fault of the file, each at its line.
    """
    if isinstance(path, str) and "/" not in path:
        return own(path)
    from confbag.sources.yaml import load_document

    name = str(path)
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise RegistrationError(f"catalogue {name}: {error.strerror or error}") from error
    document, faults = load_document(text, name)
    if faults or document is None:
        raise RegistrationError("\n".join(str(fault) for fault in faults) or f"catalogue {name}: it is empty")
    if not isinstance(document.data, Mapping):
        raise RegistrationError(f"catalogue {name}: expected a mapping")
    return dict(document.data)


def sections(path: str | Path, where: str) -> dict[str, Any]:
    """The sections of a catalogue of implementations and rules, each of the right shape."""
    data = shaped(read(path), _SECTIONS, where, what="section")
    if "rows" in data and "op" not in data:
        raise RegistrationError(f"{where}: section op is missing; write the op whose implementations the rows are")
    return data


def rows(data: Mapping[str, Any], where: str) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """The rows of one catalogue as `(provider, target, fields for Op.implement)`."""
    for number, row in enumerate(data.get("rows", ()), 1):
        place = f"{where}: row {number}"
        if isinstance(row, Mapping):
            names = [str(row[name]) for name in ("provider", "variant") if is_text(row.get(name))]
            place += f" ({', '.join(names)})" if names else ""
        row = shaped(row, _COLUMNS, place, needed=("provider",), what="column")
        fields = _fields(row, place)
        if "target" not in row:
            fields["engine"] = row.get("engine", data.get("engine"))
        yield row["provider"], row.get("target"), fields


def _fields(row: Mapping[str, Any], place: str) -> dict[str, Any]:
    pages: dict[str, Any] = {}
    if "pages" in row:
        pages = shaped(row["pages"], _PAGES, f"{place}: column pages", needed=("sizes",))
    for column in texts(row.get("unconfirmed", ())):
        if column not in row:
            raise RegistrationError(f"{place}: column unconfirmed names {column!r}, which is no column of this row")
    try:
        requires = Requires(
            device=row.get("device", ()),
            arch=row.get("arch", ()),
            device_features=row.get("device_features", ()),
            components=row.get("components", ()),
            toolkit=row.get("toolkit", ()),
            page_sizes=pages.get("sizes"),
            any_page=pages.get("any", False) or pages.get("emulated", False),
            branching_page_sizes=row.get("branching_pages") or row.get("topk_pages"),
            features=row.get("features", ()),
            known_issue=row.get("known_issue"),
            needs=(*_kind(row), *_needs(row), *_cache(row), *_branches(row)),
        )
    except RegistrationError as error:
        raise RegistrationError(f"{place}: {error}") from error
    return {
        "variant": row.get("variant"),
        "aliases": row.get("aliases", ()),
        "companions": row.get("companions"),
        "phases": row.get("phases"),
        "requires": requires,
        "determinism": dict.fromkeys(texts(row.get("deterministic", ())), BATCH_INVARIANT),
        "graph": ALWAYS if row.get("graph", False) else NEVER,
        "priority": row.get("priority", 0),
        "replaces": row.get("replaces"),
        "slow": row.get("slow"),
        "disabled": row.get("disabled"),
        "description": row.get("description", ""),
        "emulated_pages": pages.get("emulated", False),
        "unconfirmed": texts(row.get("unconfirmed", ())),
        "source": place,
        "cases": row.get("cases"),
    }


def _kind(row: Mapping[str, Any]) -> Iterator[Need]:
    if "kind" in row:
        yield Need("model.kind", list(texts(row["kind"])), "feature")


def _needs(row: Mapping[str, Any]) -> Iterator[Need]:
    for number, need in enumerate(row.get("needs", ()), 1):
        given = shaped(need, _NEED, f"column needs, {number}", needed=("fact", "test", "code"))
        yield Need(given["fact"], given["test"], given["code"], when=given.get("when"), hint=given.get("hint"))


def _cache(row: Mapping[str, Any]) -> Iterator[Need]:
    if "kind" in row:
        yield Need("memory.kv_cache", ["model", *texts(row.get("kv", ()))], "dtype")


def _branches(row: Mapping[str, Any]) -> Iterator[Need]:
    """Speculation: none at all, a bound on draft branches, and branches over pages that somebody asked for."""
    topk = row.get("topk", "any")
    if topk == "none":
        yield Need(
            "spec.active",
            False,
            "feature",
            hint="it takes no speculation; leave spec.algorithm out or name another backend",
        )
    elif topk != "any":
        when = {"memory.paged_asked": True} if row.get("topk_pages") else None
        yield Need(
            "spec.branches",
            {"max": topk},
            "feature",
            when=when,
            hint=f"it takes {topk} draft branch; set spec.topk to {topk}",
        )
    elif "mha" in texts(row.get("kind", ())) and not row.get("paged_topk", False):
        yield Need(
            "spec.branches",
            {"max": 1},
            "feature",
            when={"memory.paged_asked": True, "model.kind": "mha"},
            hint="over pages above 1 it takes one draft branch; set spec.topk or memory.page_size to 1",
        )
