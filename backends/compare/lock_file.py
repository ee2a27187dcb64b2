"""A lock file: written one op a line, and read strictly, every fault at once with its place and what repairs it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from confbag.backends.compare.lock import VERSION, Lock, LockedSetting, Runs
from confbag.backends.decide.deciders import Decider
from confbag.errors import ConfigError, Fault
from confbag.sources.files import read_bounded
from confbag.sources.keys import shown
from confbag.sources.nodes import LIMITS
from confbag.sources.scalars import plain
from confbag.sources.yaml import Document, load_document
from confbag.words.suggest import nearest
from confbag.words.text import printable

KEY = "confbag-lock"
"""The first key of a lock file, by which one is known; its value is the version."""

HEADER = """\
# What confbag decided: one slot a line, one setting a line. Nobody edits this file. `confbag lock --check FILE CONFIG`
# says whether it still holds, and `confbag lock CONFIG -o FILE` writes it again.
"""
_IS_LOCK = re.compile(rf"^{KEY}\s*:", re.MULTILINE)
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/@<>=~()-]*(?: [A-Za-z0-9_.+/@<>=~()-]+)*")
_PLATFORM = re.compile(r"[a-z][a-z0-9_-]*(?::[A-Za-z0-9_.+-]+)?")
_NAMED = re.compile(r"^platform: (\S+)\n(?:features: .*\n)?assumed: .*\bpackages\b", re.MULTILINE)
_OP_KEYS = ("provider", "rule", "step", "variant", "target", "engine", "most", "assumed")


def write_lock(lock: Lock) -> str:
    """The file of a lock, the same text for equal locks. Nothing is aligned, so that a changed op changes one line."""
    return HEADER + "".join(f"{line}\n" for line in _lines(lock))


def is_lock(text: str) -> bool:
    """Whether a file's text is a lock's, a damaged one included."""
    return _IS_LOCK.search(text) is not None


Renew: TypeAlias = "Callable[[str | None], str]"
"""The command that writes a lock again, for the platform that the damaged one was planned for by name, if it was."""


def read_lock(path: str | os.PathLike[str], *, renew: Renew | None = None) -> Lock:
    """The lock in a file. Raises ConfigError with every fault; the last one names the command that repairs it."""
    content, fault = read_bounded(path, LIMITS.size)
    if content is None:
        assert fault is not None
        raise ConfigError([fault])
    return parse_lock(content, printable(os.fspath(path)), renew=renew)


def parse_lock(content: bytes, name: str, *, renew: Renew | None = None) -> Lock:
    """The lock that a lock file's bytes say; `name` is the file's name in faults. Raises ConfigError."""
    text = content.decode("utf-8", "replace")
    faults = [_left(name, text, match.start()) for match in _CONFLICT.finditer(text)]
    document: Document | None = None
    if not faults:
        document, found = load_document(content, name)
        faults += found
    lock = None
    if document is not None and not faults:
        reader = _Reader(document)
        lock, faults = reader.lock(), reader.faults
    if faults or lock is None:
        named = _NAMED.search(text)
        again = (renew or _again(name))(None if named is None else named[1])
        raise ConfigError([*faults, Fault(name, None, f"this lock cannot be used; write it again: {again}")])
    return lock


def _again(name: str) -> Renew:
    return lambda platform: f"confbag lock CONFIG...{f' --platform {platform}' if platform else ''} -o {name}"


def _lines(lock: Lock) -> Iterator[str]:
    yield f"{KEY}: {VERSION}"
    yield f"schema: {_flow(lock.schema)}"
    if lock.digest:
        yield f"digest: {lock.digest}"
    yield f"platform: {lock.platform}"
    for title, words in (("features", lock.features), ("assumed", lock.assumed)):
        if words:
            yield f"{title}: {_flow(list(words))}"
    if not lock.ops:
        yield "ops: {}"
    yield from _section("ops", {slot: _chain(runs) for slot, runs in lock.ops.items()})
    settings = lock.settings.items()
    yield from _section("asked", {key: one.value for key, one in settings if one.rule is None})
    yield from _section(
        "filled", {key: {"value": one.value, "rule": one.rule} for key, one in settings if one.rule is not None}
    )
    yield from _section("environment", lock.environment)
    if lock.libraries:
        yield "libraries:"
    for library, schemas in lock.libraries.items():
        yield f"  {_flow(library)}:"
        yield from (f"    - {_flow(schema)}" for schema in schemas)


def _section(title: str, rows: Mapping[str, Any]) -> Iterator[str]:
    if rows:
        yield f"{title}:"
        yield from (f"  {_flow(key)}: {_flow(value)}" for key, value in rows.items())


def _chain(runs: tuple[Runs, ...]) -> Any:
    """What a slot runs: a row, or the rows of a chain."""
    rows = list(map(_row, runs))
    return rows[0] if len(rows) == 1 else rows


def _row(runs: Runs) -> dict[str, Any]:
    decider = {"rule" if runs.decider.rule else "step": runs.decider.name}
    said = {key: getattr(runs, key) for key in _OP_KEYS if key not in ("rule", "step", "provider")}
    kept = {key: value for key, value in said.items() if value not in (None, ())}
    return {"provider": runs.provider, **decider, **kept}


def _flow(value: Any) -> str:
    """Plain data in one line of YAML; text is quoted unless every reader takes it for that text."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flow(str(key))}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str):
        word = _PLAIN.fullmatch(value) and plain(value) == value and value.lower() not in _YAML_1_1
        return value if word else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


_EMPTY: Mapping[str, Any] = MappingProxyType({})
_YAML_1_1 = frozenset({"y", "n", "yes", "no", "on", "off"})


def _left(name: str, text: str, at: int) -> Fault:
    line = text.count("\n", 0, at) + 1
    return Fault(f"{name}:{line}:1", None, "a conflict of a merge was left here")


class _Reader:
    """The parts of one document, and what is wrong with them."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.faults: list[Fault] = []
        self.places: dict[tuple[str, ...], str] = {}

    def say(self, path: tuple[str, ...], message: str) -> None:
        key = ".".join(path)
        ours = bool(path) and path[0] in (KEY, "ops") and key.isprintable() and len(key) < 100
        self.faults.append(Fault(self.document.at(path), key if ours else shown(key), message))

    def lock(self) -> Lock | None:
        data = self.document.data
        if not isinstance(data, dict) or KEY not in data:
            self.say((), f"is no lock: its first key is not `{KEY}: {VERSION}`")
            return None
        if type(data[KEY]) is not int or data[KEY] != VERSION:
            self.say((KEY,), f"this confbag reads locks of version {VERSION}, and this is another one")
            return None
        parts: dict[str, Callable[[Any], Any]] = {
            "schema": lambda value: self.text(("schema",), value),
            "digest": lambda value: self.text(("digest",), value),
            "platform": self.platform,
            "features": lambda value: self.words(("features",), value),
            "assumed": lambda value: self.words(("assumed",), value),
            "ops": lambda value: self.table("ops", value, self.chain),
            "asked": lambda value: self.table("asked", value, lambda _path, item: LockedSetting(item)),
            "filled": lambda value: self.table("filled", value, self.filled),
            "environment": lambda value: self.table("environment", value, self.text),
            "libraries": lambda value: self.table("libraries", value, self.words),
        }
        found: dict[str, Any] = {key: parts[key](data[key]) for key in data if key in parts}
        self.closed((), data, (KEY, *parts))
        for key in ("schema", "platform", "ops"):
            if key not in data:
                self.say((key,), "is missing")
        asked, filled = found.get("asked", {}), found.get("filled", {})
        for key in asked:
            if key in filled:
                self.say(("asked", key), "is under `filled` as well")
        if self.faults:
            return None
        return Lock(
            found["platform"],
            ops=found["ops"],
            settings=MappingProxyType({**asked, **filled}),
            environment=found.get("environment", _EMPTY),
            libraries=found.get("libraries", _EMPTY),
            features=found.get("features", ()),
            assumed=found.get("assumed", ()),
            schema=found["schema"],
            digest=found.get("digest", ""),
            name=self.document.name,
            places=MappingProxyType(self.places),
        )

    def platform(self, value: Any) -> str:
        if not isinstance(value, str) or not _PLATFORM.fullmatch(value):
            self.say(("platform",), "is no platform, such as cuda:sm90")
        return str(value)

    def table(self, name: str, value: Any, read: Callable[[tuple[str, ...], Any], Any]) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self.say((name,), "is no mapping")
            return {}
        for key in value:
            self.places[name, key] = self.document.at((name, key)).rpartition(":")[0]
        return MappingProxyType({key: read((name, key), item) for key, item in value.items()})

    def closed(self, path: tuple[str, ...], data: Mapping[str, Any], known: tuple[str, ...]) -> None:
        """Refuse every key that is not known here."""
        for key in data:
            if key not in known:
                meant = nearest(key, known)
                hint = f"is this {meant}?" if meant else f"known are {', '.join(known)}"
                self.say((*path, key), f"unknown key; {hint}")

    def text(self, path: tuple[str, ...], value: Any) -> str:
        if not isinstance(value, str):
            self.say(path, "is no text")
        return str(value)

    def words(self, path: tuple[str, ...], value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.say(path, "is no list of texts")
            return ()
        if len(set(value)) < len(value):
            self.say(path, "names one of them twice")
        return tuple(value)

    def chain(self, path: tuple[str, ...], value: Any) -> tuple[Runs, ...] | None:
        rows = value if isinstance(value, list) and value else [value]
        return None if self.faults else tuple(runs for row in rows if (runs := self.runs(path, row)) is not None)

    def runs(self, path: tuple[str, ...], value: Any) -> Runs | None:
        if not isinstance(value, dict):
            self.say(path, "is no mapping, such as {provider: triton, rule: last-loc-triton}")
            return None
        self.closed(path, value, _OP_KEYS)
        if "provider" not in value:
            self.say(path, "lacks its provider")
        if ("rule" in value) is ("step" in value):
            self.say(path, "has either `rule: NAME` or `step: NAME`")
        row = {key: self.field((*path, key), key, item) for key, item in value.items() if key in _OP_KEYS}
        if self.faults:
            return None
        decider = Decider(row.pop("rule"), rule=True) if "rule" in row else Decider(row.pop("step"))
        return Runs(decider=decider, **row)

    def field(self, path: tuple[str, ...], key: str, value: Any) -> Any:
        if key == "most":
            if type(value) is not int or value <= 0:
                self.say(path, "is no positive whole number")
            return value
        return (self.words if key == "assumed" else self.text)(path, value)

    def filled(self, path: tuple[str, ...], value: Any) -> LockedSetting | None:
        if not isinstance(value, dict) or not {"value", "rule"} <= value.keys():
            self.say(path, "is no mapping such as {value: true, rule: graph-on-accelerators}")
            return None
        self.closed(path, value, ("value", "rule"))
        return LockedSetting(value["value"], self.text((*path, "rule"), value["rule"]))
