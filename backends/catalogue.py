"""Reads catalogue data: rows of backends, and rules, each fault named with its file and row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from confbag.backends.levels import ALWAYS, BATCH_INVARIANT, NEVER
from confbag.backends.requires import Need, Requires
from confbag.errors import RegistrationError
from confbag.sources.packaged import packaged

_COLUMNS = frozenset(
    {
        *("provider", "variant", "aliases", "replaces", "companions", "target", "engine", "priority", "description"),
        *("kind", "device", "arch", "device_features", "components", "toolkit", "needs", "phases", "features"),
        *("pages", "branching_pages", "kv", "topk", "topk_pages", "paged_topk", "deterministic", "graph"),
        *("slow", "known_issue", "disabled"),
    }
)


def read(path: str | Path) -> dict[str, Any]:
    """A catalogue file as plain data: one of ours by its name (`attention.yaml`), or a vendor's by its path.

    Raises RegistrationError with every fault of the file, each at its line.
    """
    from confbag.sources.yaml import load_document

    own = isinstance(path, str) and "/" not in path
    name = str(path)
    try:
        text = packaged("confbag.backends.catalog", name) if own else Path(path).read_bytes()
    except OSError as error:
        raise RegistrationError(f"catalogue {name}: {error.strerror or error}") from error
    if text is None:
        raise RegistrationError(f"catalogue {name}: there is no such file in confbag.backends.catalog")
    document, faults = load_document(text, name)
    if faults or document is None:
        raise RegistrationError("\n".join(str(fault) for fault in faults) or f"catalogue {name}: it is empty")
    if not isinstance(document.data, Mapping):
        raise RegistrationError(f"catalogue {name}: expected a mapping")
    return dict(document.data)


def rows(data: Mapping[str, Any], where: str) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """The rows of one catalogue as `(provider, target, fields for Op.implement)`."""
    listed = data.get("rows")
    if not isinstance(listed, list):
        raise RegistrationError(f"{where}: `rows` must be a list of rows")
    for number, row in enumerate(listed, 1):
        if not isinstance(row, Mapping) or not isinstance(row.get("provider"), str):
            raise RegistrationError(f"{where}: row {number}: expected a mapping with `provider`")
        place = f"{where}: row {number} ({row['provider']}{', ' + str(row['variant']) if row.get('variant') else ''})"
        unknown = [str(name) for name in row if name not in _COLUMNS]
        if unknown:
            raise RegistrationError(
                f"{place}: unknown column {', '.join(unknown)}; known are {', '.join(sorted(_COLUMNS))}"
            )
        try:
            fields = _fields(row, place)
        except (TypeError, AttributeError, KeyError) as error:
            raise RegistrationError(f"{place}: a column has the wrong shape ({error})") from error
        if row.get("target") is None:
            fields["engine"] = row.get("engine", data.get("engine"))
        yield row["provider"], row.get("target"), fields


def _fields(row: Mapping[str, Any], place: str) -> dict[str, Any]:
    pages = row.get("pages") or {}
    needs = [
        Need(need["fact"], need["test"], need["code"], when=need.get("when"), hint=need.get("hint"))
        for need in row.get("needs", ())
    ]
    try:
        requires = Requires(
            device=row.get("device", ()),
            arch=row.get("arch", ()),
            device_features=row.get("device_features", ()),
            components=row.get("components", ()),
            toolkit=row.get("toolkit", ()),
            page_sizes=tuple(pages["sizes"]) if pages else None,
            any_page=bool(pages.get("any", False)),
            branching_page_sizes=tuple(row.get("branching_pages") or row.get("topk_pages") or ()) or None,
            features=row.get("features", ()),
            known_issue=row.get("known_issue"),
            needs=(*_kind(row), *needs, *_cache(row), *_branches(row, place)),
        )
    except RegistrationError as error:
        raise RegistrationError(f"{place}: {error}") from error
    return {
        "variant": row.get("variant"),
        "aliases": row.get("aliases", ()),
        "companions": row.get("companions"),
        "phases": row.get("phases"),
        "requires": requires,
        "determinism": dict.fromkeys(row.get("deterministic", ()), BATCH_INVARIANT),
        "graph": ALWAYS if row.get("graph", False) else NEVER,
        "priority": row.get("priority", 0),
        "replaces": row.get("replaces"),
        "slow": row.get("slow"),
        "disabled": row.get("disabled"),
        "description": row.get("description", ""),
        "source": place,
    }


def _kind(row: Mapping[str, Any]) -> Iterator[Need]:
    if row.get("kind"):
        yield Need("model.kind", list(row["kind"]), "feature")


def _cache(row: Mapping[str, Any]) -> Iterator[Need]:
    if "kind" in row:
        yield Need("memory.kv_cache", ["model", *row.get("kv", ())], "dtype")


def _branches(row: Mapping[str, Any], place: str) -> Iterator[Need]:
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
        if isinstance(topk, bool) or not isinstance(topk, int) or topk < 1:
            raise RegistrationError(f"{place}: topk is {topk!r}; write none, any or a positive integer")
        when = {"memory.paged_asked": True} if row.get("topk_pages") else None
        yield Need(
            "spec.branches",
            {"max": topk},
            "feature",
            when=when,
            hint=f"it takes {topk} draft branch; set spec.topk to {topk}",
        )
    elif "mha" in row.get("kind", ()) and not row.get("paged_topk", False):
        yield Need(
            "spec.branches",
            {"max": 1},
            "feature",
            when={"memory.paged_asked": True, "model.kind": "mha"},
            hint="over pages above 1 it takes one draft branch; set spec.topk or memory.page_size to 1",
        )
