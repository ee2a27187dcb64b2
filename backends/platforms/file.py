"""A platform file: read strictly, every fault at once with its place; and written so that it reads back equal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from confbag.backends.platforms import arch as arches
from confbag.backends.platforms.platform import DEVICES, SCHEMA, TOOLKITS, Platform, canonical
from confbag.backends.words.versions import normalise_version
from confbag.errors import ConfigError, Fault
from confbag.sources.keys import shown
from confbag.sources.yaml import Document, load_document, load_file
from confbag.words.suggest import nearest

_NAME = re.compile(r"[a-z][a-z0-9_.-]*")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SCHEMA_TEXT = re.compile(r"\s*[A-Za-z_]\w*::[A-Za-z_]\w*(?:\.\w+)?\s*\(.*\)\s*->.+", re.S)
_SCHEMA_EXAMPLE = "a schema such as 'npu::compressor(Tensor x) -> Tensor'"


def read_platform(path: str | os.PathLike[str], *, devices: Iterable[str] = DEVICES) -> Platform:
    """The platform in a file. Raises ConfigError with every fault; none shows the value under an unknown key."""
    return _platform(*load_file(path), devices)


def parse_platform(content: bytes, name: str, *, devices: Iterable[str] = DEVICES) -> Platform:
    """The platform that a platform file's bytes describe; `name` is the file's name in faults. Raises ConfigError."""
    return _platform(*load_document(content, name), devices)


def _platform(document: Document | None, faults: Iterable[Fault], devices: Iterable[str]) -> Platform:
    if document is None:
        raise ConfigError(faults)
    reader = _Reader(document, tuple(devices), list(faults))
    facts = reader.facts()
    if reader.faults:
        raise ConfigError(reader.faults)
    return Platform(**facts, name=document.name)


def dump_platform(platform: Platform) -> str:
    """The platform as YAML that `parse_platform` reads back to an equal one. Versions are always quoted."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes every text but a plain word, so that no reader takes a version for a number."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if _NAME.fullmatch(value) else '"')

    Dumper.add_representer(str, text)
    data = {key: value for key, value in platform.to_dict().items() if value or key != "assumed"}
    written: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, default_flow_style=False, width=10_000)
    return written


Path: TypeAlias = "tuple[str | int, ...]"


class _Reader:
    """The facts of one document, and what is wrong with them."""

    def __init__(self, document: Document, devices: tuple[str, ...], faults: list[Fault]) -> None:
        self.document, self.devices, self.faults = document, devices, faults
        self.keys: dict[str, Callable[[Any], Any]] = {
            "schema": self.schema,
            "device": self.device,
            "arch": lambda value: self.text(value, ("arch",), "an architecture such as sm90"),
            "features": lambda value: frozenset(self.words(value, "features", _NAME, "a name such as xmx")),
            "count": self.count,
            "toolkit": self.toolkit,
            "packages": self.packages,
            "native_ops": lambda value: tuple(self.words(value, "native_ops", _SCHEMA_TEXT, _SCHEMA_EXAMPLE)),
            "assumed": lambda value: frozenset(
                self.words(value, "assumed", _NAME, "a fact's name such as toolkit.cann")
            ),
        }

    def say(self, path: Path, message: str) -> None:
        known = bool(path) and path[0] in self.keys  # what is below a known key is a name, not a value gone astray
        key = ".".join(str(part) for part in path)
        self.faults.append(Fault(self.document.at(path), key if known and len(key) < 80 else shown(key), message))

    def facts(self) -> dict[str, Any]:
        data = self.document.data
        if not isinstance(data, dict):
            what = "is empty" if data is None else "is no mapping"
            self.say((), f"{what}; write `schema: 1` and `device:` as its first keys")
            return {}
        found: dict[str, Any] = {}
        for key, value in data.items():
            if key in self.keys:
                found[key] = self.keys[key](value)
            else:
                meant = nearest(key, self.keys)
                self.say(
                    (key,), f"unknown key; {f'write {meant}' if meant else 'a platform has ' + ', '.join(self.keys)}"
                )
        for key, example in (("schema", "schema: 1"), ("device", "device: npu")):
            if key not in data:
                self.say((key,), f"is missing; write `{example}`")
        found.pop("schema", None)
        device, arch = found.get("device"), found.get("arch")
        if device and arch:
            found["arch"] = arches.normalise(arch, device)
            if wrong := arches.fault(device, found["arch"]):
                self.say(("arch",), wrong)
        return found

    def text(self, value: Any, path: Path, example: str) -> str | None:
        if isinstance(value, str) and value:
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            spelt = self.document.text(path)
            self.say(path, f'{spelt} is a number; quote it: "{spelt}"')
        else:
            self.say(path, f"is no text; write {example}")
        return None

    def schema(self, value: Any) -> None:
        if type(value) is not int or value != SCHEMA:
            self.say(("schema",), f"this confbag reads platform files of schema {SCHEMA}; write `schema: {SCHEMA}`")

    def device(self, value: Any) -> str | None:
        device = self.text(value, ("device",), f"one of {', '.join(self.devices)}")
        if device is None or device in self.devices:
            return device
        meant = nearest(device, self.devices)
        self.say(("device",), f"unknown device; write {meant or 'one of ' + ', '.join(self.devices)}")
        return None

    def count(self, value: Any) -> int | None:
        if type(value) is int and value >= 0:
            return value
        self.say(("count",), "is no number of devices; write a whole number such as 8")
        return None

    def words(self, value: Any, key: str, form: re.Pattern[str], example: str) -> Iterator[str]:
        if not isinstance(value, list):
            self.say((key,), "is no list; write []" if value is None else "is no list; put it in brackets")
            return
        for index, item in enumerate(value):
            word = self.text(item, (key, index), example)
            if word is None:
                continue
            if form.fullmatch(word):
                yield word
            else:
                self.say((key, index), f"expected {example}")

    def versions(self, value: Any, key: str, form: re.Pattern[str]) -> Iterator[tuple[str, str]]:
        if not isinstance(value, dict):
            self.say((key,), 'is no mapping; write {NAME: "VERSION"}')
            return
        for name, item in value.items():
            path = (key, name)
            if not form.fullmatch(name):
                self.say(path, "this cannot be a name; use letters, digits, '-', '_' and '.'")
                continue
            text = self.text(item, path, 'a version in quotes, such as "9.0.0"')
            if text is not None and normalise_version(text) is None:
                self.say(path, 'is no version; write one such as "9.0.0"')
            elif text is not None:
                yield name, text

    def toolkit(self, value: Any) -> dict[str, str]:
        found = dict(self.versions(value, "toolkit", _NAME))
        for name in found:
            # A plug-in's own is accepted unless it looks like one of ours mistyped.
            if name not in TOOLKITS and (meant := nearest(name, TOOLKITS)):
                self.say(("toolkit", name), f"unknown toolkit; write {meant}")
        return found

    def packages(self, value: Any) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, text in self.versions(value, "packages", _DISTRIBUTION):
            key = canonical(name)
            if key in found:
                self.say(("packages", name), f"is the same distribution as another key here, {key}; keep one")
            found[key] = text
        return found
