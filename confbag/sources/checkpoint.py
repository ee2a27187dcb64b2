"""model.* facts from a checkpoint's config.json: architecture, kind, dimensions, window, sinks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.files import decode, read_bounded
from confbag.sources.packaged import packaged
from confbag.sources.yaml import Limits, load_document
from confbag.words.provenance import Layer, Setting
from confbag.words.text import printable

FILE = "config.json"

_SIZE = 8 << 20  # quantisation tables make some of them long
_NESTED = 4
_LIMITS = Limits(size=_SIZE, depth=64, nodes=200_000)


def read_checkpoint(path: str | os.PathLike[str]) -> Found:
    """The facts of a `config.json`, or of the one in a folder. A model of an unknown family gives what fields say."""
    spelling = os.fspath(path)
    file = os.path.join(spelling, FILE) if os.path.isdir(spelling) else spelling
    name = printable(file)
    content, fault = read_bounded(file, _SIZE)
    if content is None:
        return Found(faults=() if fault is None else (fault,))
    text, fault = decode(content, name)
    if fault is not None:
        return Found(faults=(fault,))
    data = _parse(text, name)
    if isinstance(data, Fault):
        return Found(faults=(data,))
    facts = _Facts(data, name, text)
    facts.read()
    return Found(tuple(facts.settings), tuple(facts.faults))


def _parse(text: str, name: str) -> Mapping[str, Any] | Fault:
    import json  # here: most runs read no checkpoint

    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        return Fault(f"{name}:{error.lineno}:{error.colno}", None, "this is not valid JSON; download the file again")
    except (RecursionError, ValueError):  # nested or numbered beyond what any model needs
        return Fault(name, None, "this is no model's configuration: nested too deep, or a number too long")
    if not isinstance(data, dict):
        return Fault(f"{name}:1:1", None, "this is no model's configuration: the top level must be an object")
    return data


@cache
def _known() -> Mapping[str, Any]:
    content = packaged("confbag.sources", "architectures.yaml")
    document, faults = load_document(content or b"", "architectures.yaml")
    if document is None or faults:
        raise AssertionError(f"architectures.yaml is part of confbag and is damaged: {faults}")
    known: Mapping[str, Any] = document.data
    return known


class _Facts:
    """The facts of one configuration as they are found, with the faults of those that are not what they should be."""

    def __init__(self, data: Mapping[str, Any], name: str, text: str) -> None:
        self.data, self.name, self.text = data, name, text
        self.settings: list[Setting] = []
        self.faults: list[Fault] = []
        self.model, self.model_path = self._text_model()

    def read(self) -> None:
        architecture = self._architecture()
        kind = self._kind(architecture)
        self._set("architecture", architecture)
        self._set("kind", kind)
        self._set("dtype", self._dtype())
        self._dimensions(kind)
        self._set("sliding_window", self._window())
        known = _known()
        sinks = any(self._flag(field) for field in known["fields"]["attention_sinks"])
        self._set("attention_sinks", sinks or architecture in known["attention_sinks"])
        self._set("encoder_decoder", self._flag("is_encoder_decoder"))
        self._set("multimodal", any(self.data.get(part) for part in known["sections"]["multimodal"]))

    def _set(self, key: str, value: Any) -> None:
        if value is not None:
            self.settings.append(Setting(f"model.{key}", value, Layer.CHECKPOINT, f"checkpoint {self.name}"))

    def _text_model(self) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """The part that describes the language model: the whole file, or of a multimodal one the section for text."""
        model = self.data
        path: tuple[str, ...] = ()
        for _ in range(_NESTED):
            sections = (part for part in _known()["sections"]["text"] if isinstance(model.get(part), dict))
            part = next(sections, None)
            if part is None:
                break
            model, path = model[part], (*path, part)
        return model, path

    def _get(self, field: str) -> tuple[Any, tuple[str, ...]]:
        """A field of the text model, else of the whole file, and where it stands."""
        if self.model.get(field) is not None:
            return self.model[field], (*self.model_path, field)
        return self.data.get(field), (field,)

    def _wrong(self, path: tuple[str, ...], message: str) -> None:
        # json keeps no places. JSON is YAML, and only a fault pays for the second reading.
        document, _ = load_document(self.text, self.name, _LIMITS)
        self.faults.append(Fault(document.at(path) if document is not None else self.name, ".".join(path), message))

    def _positive(self, *fields: str) -> int | None:
        for field in fields:
            value, path = self._get(field)
            if value is None:
                continue
            if type(value) is not int or value < 1:
                self._wrong(path, "must be a positive integer")
                return None
            return value
        return None

    def _flag(self, field: str) -> bool:
        value, path = self._get(field)
        if value is not None and not isinstance(value, bool):
            self._wrong(path, "must be true or false")
        return value is True

    def _architecture(self) -> str | None:
        given = self.data.get("architectures")
        if given is None or given == []:
            return None
        if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
            self._wrong(("architectures",), "must be a list of class names")
            return None
        return str(given[0])

    def _kind(self, architecture: str | None) -> str:
        kinds: Mapping[str, list[str]] = _known()["kinds"]
        named = next((kind for kind, members in kinds.items() if architecture in members), None)
        if named in ("dsv4", "dsa"):
            return named
        if self.model.get("use_mla") is False:  # DeepSeek-VL2's smallest shares its class with those that do
            return "mha"
        if self.model.get("compress_ratios") and self.model.get("index_topk"):
            return "dsv4"
        if named == "mla" or (self.model.get("kv_lora_rank") and self.model.get("qk_rope_head_dim")):
            return "dsa" if self.model.get("index_topk") else "mla"
        return "mha"

    def _dtype(self) -> str | None:
        for field in _known()["fields"]["dtype"]:
            value, path = self._get(field)
            if value is None or value == "auto":
                continue
            if not isinstance(value, str):
                self._wrong(path, "must be the name of a dtype, as in bfloat16")
                return None
            return value.removeprefix("torch.")
        return None

    def _dimensions(self, kind: str) -> None:
        fields = _known()["fields"]
        heads = self._positive(*fields["num_heads"])
        kv_heads = self._positive(*fields["num_kv_heads"])
        if kv_heads is None and self.model.get("multi_query") is True:
            kv_heads = 1
        head_dim = self._head_dim(kind, heads)
        v_head_dim = self._positive("v_head_dim")
        self._set("num_heads", heads)
        self._set("num_kv_heads", kv_heads or heads)
        self._set("head_dim", head_dim)
        self._set("v_head_dim", v_head_dim or (head_dim if kind in ("mha", "dsv4") else None))

    def _head_dim(self, kind: str, heads: int | None) -> int | None:
        if kind in ("mla", "dsa"):  # an explicit head_dim is the rotary part alone in files that transformers 5 wrote
            rotary, other = self._positive("qk_rope_head_dim"), self._positive("qk_nope_head_dim")
            if rotary is not None and other is not None:
                return rotary + other
        explicit = self._positive(*_known()["fields"]["head_dim"])
        if explicit is not None:
            return explicit
        hidden = self._positive(*_known()["fields"]["hidden_size"])
        return hidden // heads if hidden and heads and hidden % heads == 0 else None

    def _window(self) -> int | None:
        if self.model.get("use_sliding_window") is False:
            return None
        layers = self.model.get("layer_types")
        if isinstance(layers, list) and layers and "sliding_attention" not in layers:
            return None
        fields = (field for field in _known()["fields"]["sliding_window"] if self._get(field)[0] != 0)
        return self._positive(*fields)
