"""By value from a parent to its spawned children: what the parent published is what the child reads, whatever its
environment says."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Collection
from typing import Any

from confbag.bag.bag import Bag
from confbag.errors import ConfigError, HandoffError
from confbag.process.context import Hold, Planned, bag_in, publish
from confbag.schema.config import Config
from confbag.schema.given import check_schema
from confbag.schema.identity import digest_of
from confbag.words.given import expect
from confbag.words.plain import plain
from confbag.words.provenance import Layer, Setting

VERSION = 2


class Handoff(bytes):
    """A bag on its way to a child: bytes of JSON. It carries secrets, because the child needs them, and so it never
    shows itself."""

    def __repr__(self) -> str:
        return f"<confbag handoff, {len(self)} bytes>"

    __str__ = __repr__


def handoff(bag: Bag | Planned) -> Handoff:
    """A bag, or that of a plan, as bytes for `adopt` in a child, with who set each value and its fingerprint. Keep it
    out of logs: it carries secrets."""
    bag = bag_in(bag, "handoff")
    document = {
        "confbag_handoff": VERSION,
        "schema": [bag.schema.__module__, bag.schema.__qualname__, digest_of(bag.schema)],
        "fingerprint": bag.fingerprint(),
        "settings": [
            [
                setting.key,
                plain(setting.value, reveal=True),
                setting.layer.name,
                setting.origin,
                setting.text,
                setting.why,
                setting.order,
                setting.rule,
            ]
            for setting in bag.settings()
        ],
        "values": plain(bag.values(), reveal=True),
        "read_from": bag.read_from,
    }
    return Handoff(json.dumps(document).encode("ascii"))


def adopt(
    blob: bytes | str,
    role: str | None = None,
    *,
    schema: type[Config] | None = None,
    replace: bool = False,
    allow_auto: bool = False,
    declares: Collection[str] | None = None,
    hold: Hold = "off",
) -> Bag:
    """Publish in this process the bag that the parent handed over, and return it.

    blob: what `handoff` made.
    role: as in `publish`.
    schema: the engine's Config, where it cannot be imported by its name.
    replace: as in `publish`.
    allow_auto: as in `publish`.
    declares: as in `publish`.
    hold: as in `publish`.

    Raises HandoffError when it is damaged, of another version, or would not read the same here.
    """
    sent = "adopt(blob), where the parent sent blob = handoff(plan)"
    expect(blob, (bytes, bytearray, str), "adopt", "what handoff gave", sent)
    if schema is not None:
        check_schema(schema, "adopt(schema=...)", "adopt(blob, schema=MyConfig)")
    document = _document(blob)
    schema = schema or _schema(document)
    bag = _bag(document, schema)
    theirs, ours = document["values"], plain(bag.values(), reveal=True)
    different = [
        key
        for key in {**theirs, **ours}
        if not _same(theirs.get(key), ours.get(key)) or (key in theirs) != (key in ours)
    ]
    if different or bag.fingerprint() != document["fingerprint"]:
        raise HandoffError(
            f"this process would not read what its parent did: fingerprint {bag.fingerprint()[:12]} here, "
            f"{str(document['fingerprint'])[:12]} there; {', '.join(different) or 'the fingerprint itself'} "
            f"differs; run one version of confbag and of {bag.schema.__qualname__} in every process"
        )
    if digest_of(schema) != document["schema"][-1]:
        raise HandoffError(
            f"{schema.__qualname__} has keys of other types here than where it was handed over; run one version of "
            "confbag and of the engine in every process"
        )
    publish(bag, role, replace=replace, allow_auto=allow_auto, declares=declares, hold=hold)
    return bag


def _document(blob: bytes | str) -> dict[str, Any]:
    try:
        document = json.loads(blob)
    except (ValueError, RecursionError):
        raise HandoffError(
            "what was handed over is damaged: it is not JSON; pass on what handoff(bag) gave, whole"
        ) from None
    if not isinstance(document, dict) or "confbag_handoff" not in document:
        raise HandoffError("what was handed over is not a bag; pass on what handoff(bag) gave")
    if document["confbag_handoff"] != VERSION:
        raise HandoffError(
            f"the parent hands over version {document['confbag_handoff']!r:.20}, this process reads {VERSION}; "
            "run one version of confbag"
        )
    missing = {"schema", "fingerprint", "settings", "values", "read_from"} - document.keys()
    if missing or not isinstance(document["values"], dict):
        raise HandoffError("what was handed over is damaged: parts are missing; pass on what handoff(bag) gave, whole")
    return document


def _schema(document: dict[str, Any]) -> type[Config]:
    try:
        module, qualname, _ = document["schema"]
        found: Any = importlib.import_module(module)
        for name in qualname.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, TypeError, ValueError):
        raise HandoffError(
            f"the schema {document['schema']!r:.200} cannot be imported here; "
            "define it at module level, or adopt(blob, schema=...)"
        ) from None
    if not (isinstance(found, type) and issubclass(found, Config)):
        raise HandoffError(f"{qualname} of {module} is no Config; pass on what handoff(bag) gave")
    return found


def _bag(document: dict[str, Any], schema: type[Config]) -> Bag:
    try:
        settings = [
            Setting(key, value, Layer[layer], origin, text, why, order, rule)
            for key, value, layer, origin, text, why, order, rule in document["settings"]
        ]
        return Bag(schema, settings, read_from=document["read_from"])
    except ConfigError as error:
        raise HandoffError(f"what was handed over is refused by {schema.__qualname__} here:\n{error}") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise HandoffError(
            f"what was handed over does not fit {schema.__qualname__} here; run one version in every process"
        ) from None


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)
