"""Reads catalogue data: rows of backends, rules, and the values of settings, each fault named with its file and row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from confbag.backends.catalog import own
from confbag.backends.declare.columns import COLUMNS, SHAPES, Row, pages
from confbag.backends.declare.requires import Need, Requires
from confbag.backends.words.shapes import LIST, NAMED, TEXT, is_text, shaped, texts
from confbag.errors import RegistrationError

_SECTIONS = {
    **dict.fromkeys(("op", "engine"), TEXT),
    **dict.fromkeys(("rows", "choose", "fill", "libraries", "arrange"), LIST),
    **dict.fromkeys(("facts", "settings"), NAMED),
}


def is_own(path: str | Path) -> bool:
    """Whether a catalogue is one of ours, which are named without a folder."""
    return isinstance(path, str) and "/" not in path


def read(path: str | Path) -> dict[str, Any]:
    """A catalogue file as plain data: one of ours by its name (`attention.yaml`), or a vendor's by its path.

    Raises RegistrationError with every fault of the file, each at its line.
    """
    if isinstance(path, str) and is_own(path):
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
        row = shaped(row, SHAPES, place, needed=("provider",), what="column")
        fields = _fields(row, place)
        if "target" not in row:
            fields["engine"] = row.get("engine", data.get("engine"))
        yield fields.pop("provider"), row.get("target"), fields


def _fields(row: Row, place: str) -> dict[str, Any]:
    paged = pages(row, place)
    for column in texts(row.get("unconfirmed", ())):
        if column not in row:
            raise RegistrationError(f"{place}: column unconfirmed names {column!r}, which is no column of this row")
    wanted: dict[str, Any] = {
        "page_sizes": paged.get("sizes"),
        "any_page": paged.get("any", False) or paged.get("emulated", False),
    }
    fields: dict[str, Any] = {"emulated_pages": paged.get("emulated", False), "source": place}
    needs: list[Need] = []
    try:
        for each in COLUMNS:
            needs += each.needs(row) if each.needs is not None else ()
            if each.name in row and each.requires is not None:
                wanted[each.requires] = row[each.name]
            elif each.name in row and each.field is not None:
                fields[each.field] = each.parse(row[each.name])
        fields["requires"] = Requires(**wanted, needs=needs)
    except RegistrationError as error:
        raise RegistrationError(f"{place}: {error}") from error
    return fields
