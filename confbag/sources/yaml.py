"""Settings from YAML files, and the strict reader behind them that platform files and catalogues use too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.files import decode, read_bounded
from confbag.sources.keys import Keys
from confbag.sources.nodes import LIMITS, Limits, Node, compose
from confbag.words.provenance import Layer, Setting
from confbag.words.text import printable

__all__ = ["LIMITS", "Document", "Limits", "compose", "load_document", "load_file", "read_file", "read_text"]


class Document(NamedTuple):
    """data: the plain value, None where nothing is written. at(path), text(path): where a part is, how it is spelt."""

    data: Any
    name: str
    root: Node | None = None

    def at(self, path: tuple[str | int, ...]) -> str:
        """`name:line:column` of the key or list item at `path`; of the nearest part above it where it is absent."""
        return self._find(path)[0]

    def text(self, path: tuple[str | int, ...]) -> str | None:
        """How the scalar at `path` was spelt (`13.0`, `017`), or None where there is no scalar."""
        node = self._find(path)[1]
        return None if node is None else node.text

    def _find(self, path: tuple[str | int, ...]) -> tuple[str, Node | None]:
        node = self.root
        if node is None:
            return f"{self.name}:1:1", None
        place = node.place(self.name)
        for part in path:
            if isinstance(node.value, dict) and part in node.value:
                key, node = node.value[part]
                place = key.place(self.name)
            elif isinstance(node.value, list) and isinstance(part, int) and 0 <= part < len(node.value):
                node = node.value[part]
                place = node.place(self.name)
            else:
                return place, None
        return place, node


def load_document(text: bytes | str, name: str, limits: Limits = LIMITS) -> tuple[Document | None, tuple[Fault, ...]]:
    """One strict YAML document (None when it could not be read) and everything that is wrong with it."""
    if len(text) > limits.size:
        return None, (Fault(name, None, f"is larger than {limits.size} bytes; this cannot be the file that was meant"),)
    content, fault = decode(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), name)
    if fault is not None:
        return None, (fault,)
    root, faults = compose(content, name, limits)
    if root is None and faults:
        return None, faults
    return Document(None if root is None else root.data(), name, root), faults


def load_file(path: str | os.PathLike[str], limits: Limits = LIMITS) -> tuple[Document | None, tuple[Fault, ...]]:
    """`load_document` of a file, refused unread when it is no regular file or too large."""
    content, fault = read_bounded(path, limits.size)
    if content is None:
        return None, (fault,) if fault is not None else ()
    return load_document(content, printable(os.fspath(path)), limits)


def read_file(path: str | os.PathLike[str], keys: Keys, limits: Limits = LIMITS) -> Found:
    """The settings of one file, each with its line and column."""
    return _settings(load_file(path, limits), keys, Layer.FILE)


def read_text(text: bytes | str, name: str, keys: Keys, *, layer: Layer = Layer.FILE, limits: Limits = LIMITS) -> Found:
    """The settings of a file's content."""
    return _settings(load_document(text, name, limits), keys, layer)


def _settings(loaded: tuple[Document | None, tuple[Fault, ...]], keys: Keys, layer: Layer) -> Found:
    document, faults = loaded
    if document is None or document.data is None:
        return Found(faults=faults)
    if not isinstance(document.data, Mapping):
        wrong = Fault(
            document.at(()),
            None,
            "the top level must be a mapping; write sections, as in `exec: {deterministic: true}`",
        )
        return Found(faults=(*faults, wrong))
    tree = {key: value for key, value in document.data.items() if not key.startswith("x-") and key != "preset"}
    found = keys.flatten(tree, document.at, layer=layer, text=document.text)
    preset, wrong_preset = _preset(document)
    return Found(found.settings, (*faults, *wrong_preset, *found.faults), preset=preset)


def _preset(document: Document) -> tuple[Setting | None, tuple[Fault, ...]]:
    if "preset" not in document.data:
        return None, ()
    name, where = document.data["preset"], document.at(("preset",))
    if not isinstance(name, str):
        return None, (Fault(where, "preset", "must be the name of a preset, as text"),)
    return Setting("preset", name, Layer.FILE, where, document.text(("preset",))), ()
