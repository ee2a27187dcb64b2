"""Values as plain data, and one digest of them: the same in every process, whatever was imported in whatever order."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

from pydantic_core import to_jsonable_python

from confbag.words.secret import Concealed, Secret


def fingerprint(values: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, over canonical JSON: sorted keys, no blanks, ASCII."""
    return hashlib.sha256(canonical(values).encode("ascii")).hexdigest()


def canonical(value: Any) -> str:
    """The one spelling of a value in JSON."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def plain(value: Any, reveal: bool = False) -> Any:
    """A value as JSON data. Sets are sorted, because their order differs by process. Secrets hide, unless `reveal`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Secret):
        return value.reveal() if reveal else str(value)
    if isinstance(value, Concealed):
        return value.reveal() if reveal else repr(value)
    if isinstance(value, Enum):
        return plain(value.value, reveal)
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, Mapping):
        return {str(key): plain(item, reveal) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, reveal) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item, reveal) for item in value), key=canonical)
    return to_jsonable_python(value)


def finite(value: Any) -> Any:
    """A value as strict JSON has it: plain, secrets hidden, inf and nan as text."""
    return _finite(plain(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
