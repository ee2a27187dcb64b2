"""The columns of the catalogue's rows: what each may hold, what it makes of a row, and what it reads back of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from confbag.backends.declare.choices import needs as _needs
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.requires import Need
from confbag.backends.words.levels import ALWAYS, BATCH_INVARIANT, DETERMINISM, GRAPH, NEVER, NONE
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
    is_whole,
    shaped,
    texts,
)

Row = Mapping[str, Any]
ANY = "any"


def _words(value: Any) -> str:
    return ", ".join(map(str, texts(value))) if value not in (None, "") else ""


class Column(NamedTuple):
    """One column.

    field, requires: the field of `Op.implement`, or of Requires, that it fills; parse makes the field's value of the
        column's. needs: requirements on facts that it makes of the whole row.
    read: its value of an implementation, as plain data; without one, what its field holds. show: that in words.
    """

    name: str
    shape: Shape
    field: str | None = None
    requires: str | None = None
    parse: Callable[[Any], Any] = lambda value: value
    needs: Callable[[Row], Iterable[Need]] | None = None
    read: Callable[[Implementation], Any] | None = None
    show: Callable[[Any], str] = _words

    def of(self, row: Implementation) -> Any:
        """Its value of an implementation."""
        if self.read is not None:
            return self.read(row)
        return getattr(row.requires, self.requires) if self.requires else getattr(row, self.field or self.name)


def _determinism(value: Any) -> Any:
    """A level for all regimes, or one for each; names alone are the regimes in which a row is batch invariant."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bool):
        return BATCH_INVARIANT if value else NONE
    return value if value in DETERMINISM else dict.fromkeys(texts(value), BATCH_INVARIANT)


def _positive(value: Any) -> bool:
    return is_whole(value) and bool(value > 0)


_PAGES = {"sizes": SIZES, "any": FLAG, "emulated": FLAG}
_TOPK = Shape("none, any or a positive whole number", lambda value: value in ("none", ANY) or _positive(value))
_DETERMINISM = Shape(
    f"true, false, one of {', '.join(DETERMINISM)}, a list of regimes, or a level for each",
    lambda value: isinstance(value, bool) or WORDS.holds(value) or TEXT_TO_TEXT.holds(value),
)
_LEVEL = Shape(f"true, false or one of {', '.join(GRAPH)}", lambda value: isinstance(value, bool) or value in GRAPH)


def _shown_pages(pages: Mapping[str, Any]) -> str:
    """The sizes, the default first."""
    sizes = ", ".join(map(str, pages["sizes"]))
    if pages["emulated"]:
        return f"emulated ({sizes})"
    return f"any ({sizes})" if pages["any"] else sizes


def _shown_cache(dtypes: Sequence[str]) -> str:
    """The dtypes beside the model's own, both of fp8 as `fp8`."""
    both = {"fp8_e4m3", "fp8_e5m2"} <= set(dtypes)
    words = ["fp8"] if both else []
    return ", ".join(words + [dtype for dtype in dtypes if not (both and dtype.startswith("fp8_"))])


def _shown_levels(levels: Mapping[str, str]) -> str:
    """The regimes in which it is batch invariant, `yes` where it has none, and any other level with its regime."""
    found = []
    for regime, level in levels.items():
        shown = regime if level == BATCH_INVARIANT else f"{regime} {level}".strip()
        found.append(shown or "yes")
    return ", ".join(found)


def _kind_needs(row: Row) -> Iterable[Need]:
    if "kind" in row:
        yield Need("model.kind", list(texts(row["kind"])), "feature")


def _kinds(row: Implementation) -> tuple[str, ...]:
    return _plainly(row, "model.kind")


def _cache_needs(row: Row) -> Iterable[Need]:
    if "kind" in row:
        yield Need("memory.kv_cache", ["model", *texts(row.get("kv", ()))], "dtype")


def _cache(row: Implementation) -> tuple[str, ...]:
    return tuple(dtype for dtype in _plainly(row, "memory.kv_cache") if dtype != "model")


def _branch_needs(row: Row) -> Iterable[Need]:
    """Speculation: none at all, a bound on draft branches, and branches over pages that somebody asked for."""
    topk = row.get("topk", ANY)
    if topk == "none":
        hint = "it takes no speculation; leave spec.algorithm out or name another backend"
        yield Need("spec.active", False, "feature", hint=hint)
    elif topk != ANY:
        when: dict[str, Any] | None = {"memory.paged_asked": True} if row.get("topk_pages") else None
        hint = f"it takes {topk} draft branch; set spec.topk to {topk}"
        yield Need("spec.branches", {"max": topk}, "feature", when=when, hint=hint)
    elif "mha" in texts(row.get("kind", ())) and not row.get("paged_topk", False):
        hint = "over pages above 1 it takes one draft branch; set spec.topk or memory.page_size to 1"
        when = {"memory.paged_asked": True, "model.kind": "mha"}
        yield Need("spec.branches", {"max": 1}, "feature", when=when, hint=hint)


def _branch_bound(row: Implementation) -> Need | None:
    """The need that bounds draft branches whatever is asked of pages, or where some are."""
    found = (need for need in row.requires.needs if need.fact == "spec.branches" and isinstance(need.test, Mapping))
    return next((need for need in found if "model.kind" not in need.when.data), None)


def _topk(row: Implementation) -> int | str:
    if any(need.fact == "spec.active" and need.test is False and not need.when for need in row.requires.needs):
        return NONE
    bound = _branch_bound(row)
    most: int | str = ANY if bound is None else bound.test["max"]
    return most


def _topk_pages(row: Implementation) -> tuple[int, ...]:
    bound = _branch_bound(row)
    return row.requires.branching_page_sizes or () if bound is not None and bound.when else ()


def _paged_topk(row: Implementation) -> bool:
    bounded = any("model.kind" in need.when.data for need in row.requires.needs if need.fact == "spec.branches")
    return _topk(row) == ANY and not bounded


def _branching_pages(row: Implementation) -> tuple[int, ...]:
    return () if _topk_pages(row) else row.requires.branching_page_sizes or ()


def _other_needs(row: Implementation) -> tuple[str, ...]:
    """Its requirements beyond those that a column says, each a sentence."""
    shown = ("model.kind", "memory.kv_cache", "spec.active", "spec.branches")
    return tuple(
        f"{need.condition}" + (f" where {need.when}" if need.when else "")
        for need in row.requires.needs
        if need.fact not in shown or (need.fact in shown[:2] and (bool(need.when) or isinstance(need.test, Mapping)))
    )


def _plainly(row: Implementation, fact: str) -> tuple[Any, ...]:
    """The values that a row needs of a fact whatever else holds."""
    found = (n for n in row.requires.needs if n.fact == fact and not n.when and not isinstance(n.test, Mapping))
    return next((texts(need.test) for need in found), ())


def _levels(row: Implementation) -> dict[str, str]:
    return {regime or "": level for regime, level in row.determinism.items() if level != NONE}


def _pages(row: Implementation) -> dict[str, Any]:
    return {
        "sizes": list(row.requires.page_sizes or ()),
        "any": row.requires.any_page,
        "emulated": row.emulated_pages,
    }


COLUMNS = (
    Column("provider", TEXT, field="provider"),
    Column("variant", TEXT, field="variant"),
    Column("aliases", WORDS, field="aliases"),
    Column("kind", SOME, needs=_kind_needs, read=_kinds),
    Column("needs", LIST, needs=lambda row: _needs(row.get("needs", ()), "column needs"), read=_other_needs),
    Column("device", SOME, requires="device"),
    Column("arch", SOME, requires="arch"),
    Column("device_features", WORDS, requires="device_features"),
    Column("components", WORDS, requires="components"),
    Column("toolkit", WORDS, requires="toolkit"),
    Column("phases", SOME, field="phases", read=lambda row: row.regimes),
    Column("most", Shape("a positive whole number", _positive), field="most"),
    Column("companions", TEXT_TO_TEXT, field="companions"),
    Column("pages", NAMED, read=_pages, show=_shown_pages),
    Column("branching_pages", SIZES, requires="branching_page_sizes", read=_branching_pages),
    Column("kv", WORDS, needs=_cache_needs, read=_cache, show=_shown_cache),
    Column("topk", _TOPK, needs=_branch_needs, read=_topk, show=lambda most: "" if most == NONE else str(most)),
    Column("topk_pages", SIZES, requires="branching_page_sizes", read=_topk_pages),
    Column("paged_topk", FLAG, read=_paged_topk),
    Column("features", WORDS, requires="features"),
    Column(
        "deterministic",
        _DETERMINISM,
        field="determinism",
        parse=_determinism,
        read=_levels,
        show=_shown_levels,
    ),
    Column(
        "graph",
        _LEVEL,
        field="graph",
        parse=lambda value: {True: ALWAYS, False: NEVER}.get(value, value),
        show=lambda level: "no" if level == NEVER else "yes",
    ),
    Column("priority", WHOLE, field="priority"),
    Column("engine", TEXT, field="engine", read=lambda row: row.engine if row.declared_only else None),
    Column("target", TEXT, read=lambda row: row.target_name),
    Column("replaces", TEXT, field="replaces"),
    Column("slow", TEXT, field="slow"),
    Column("known_issue", TEXT, requires="known_issue"),
    Column("disabled", TEXT, field="disabled"),
    Column("description", TEXT, field="description"),
    Column("cases", TEXT, field="cases"),
    Column("unconfirmed", WORDS, field="unconfirmed", parse=texts),
)
"""In the order in which a page of them reads."""

SHAPES = {column.name: column.shape for column in COLUMNS}
_BY_NAME = {column.name: column for column in COLUMNS}


def value_of(row: Implementation, column: str) -> Any:
    """What a column holds of an implementation, as plain data."""
    return _BY_NAME[column].of(row)


def cell(row: Implementation, column: str) -> str:
    """The same in words; empty where it says nothing."""
    return _BY_NAME[column].show(value_of(row, column))


def pages(row: Row, place: str) -> dict[str, Any]:
    """The parts of the column `pages`, each of the right shape."""
    return shaped(row["pages"], _PAGES, f"{place}: column pages", needed=("sizes",)) if "pages" in row else {}
