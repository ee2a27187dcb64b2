"""What a deterministic run needs of operations that no op covers: named in every such plan, not claimed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from confbag.backends.words.conditions import Condition
from confbag.backends.words.shapes import NAMED, TEXT, shaped

_FIELDS = {**dict.fromkeys(("name", "why"), TEXT), **dict.fromkeys(("when", "could"), NAMED)}


class NotArranged(NamedTuple):
    """Operations of a layer whose order of arithmetic nothing here arranges.

    when: where they are not arranged.
    could: where a setting would have arranged them and says otherwise; then it is a warning as well.
    why: a sentence's end for people.
    """

    name: str
    when: Condition = Condition()
    could: Condition | None = None
    why: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any], where: str) -> NotArranged:
        """One row from its data; RegistrationError names what is wrong and where."""
        row = shaped(data, _FIELDS, where, needed=("name", "why"))
        could = Condition(row["could"], where=f"{where}: could") if "could" in row else None
        return cls(row["name"], Condition(row.get("when"), where=f"{where}: when"), could, row["why"])
