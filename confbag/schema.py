"""The schema of a bag: the Config that an engine subclasses, its leaves, its retired keys, and what an editor may know
of it."""

import copy
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from confbag.errors import RegistrationError
from confbag.namespaces.device import Device
from confbag.namespaces.disagg import Disagg
from confbag.namespaces.exec import Exec
from confbag.namespaces.fields import Namespace, OrAuto
from confbag.namespaces.memory import Memory
from confbag.namespaces.model import Model
from confbag.namespaces.parallel import Parallel
from confbag.namespaces.spec import Spec
from confbag.provenance import AUTO
from confbag.secret import Secret

RETIRED: Mapping[str, str] = MappingProxyType(
    {
        "attention": "exec.attention.backend",
        "attention_backend": "exec.attention.backend",
        "exec.attention_backend": "exec.attention.backend",
        "prefill_attention_backend": "exec.attention.prefill",
        "decode_attention_backend": "exec.attention.decode",
        "speculative_draft_attention_backend": "exec.attention.draft",
        "deterministic": "exec.deterministic",
        "enable_deterministic_inference": "exec.deterministic",
        "graph": "exec.graph",
        "cuda_graph": "exec.graph",
        "disable_cuda_graph": "exec.graph",
        "enable_torch_compile": "exec.compile",
        "sampling_backend": "exec.sampling_backend",
        "kernels": "exec.kernels.pin",
        "pin": "exec.kernels.pin",
        "fallback": "exec.kernels.fallback",
        "model_path": "model.path",
        "dtype": "model.dtype",
        "tp_size": "parallel.tp_size",
        "pp_size": "parallel.pp_size",
        "dp_size": "parallel.dp_size",
        "ep_size": "parallel.ep_size",
        "nnodes": "parallel.num_nodes",
        "node_rank": "parallel.node_rank",
        "speculative_algorithm": "spec.algorithm",
        "page_size": "memory.page_size",
        "kv_cache_dtype": "memory.kv_cache_dtype",
        "mem_fraction_static": "memory.fraction_static",
        "disaggregation_mode": "disagg.mode",
    }
)
"""Spellings that are no keys any more (or were only ever record names) -> the key to write instead."""


class Config(Namespace):
    """What can be set. An engine adds its own namespaces by subclassing: `class MyConfig(Config): mine: Mine = Mine()`.

    `retired` maps an engine's own old keys to the keys that replace them.
    """

    retired: ClassVar[Mapping[str, str]] = RETIRED

    exec: Exec = Field(default_factory=Exec, description="How kernels are chosen and run.")
    device: Device = Field(default_factory=Device, description="The accelerator that this process runs on.")
    model: Model = Field(default_factory=Model, description="What is served.")
    parallel: Parallel = Field(default_factory=Parallel, description="How the model is spread over devices and nodes.")
    spec: Spec = Field(default_factory=Spec, description="Speculative decoding.")
    memory: Memory = Field(default_factory=Memory, description="The KV cache and its pages.")
    disagg: Disagg = Field(default_factory=Disagg, description="Prefill and decode on different machines.")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One key that can be set: a field that is not itself a namespace.

    annotation: the whole type, with its constraints. required: no default exists. given: the namespace's default
    instance says another default than the field. lock: a lock file may hold it; a path or a host opts out by
    `json_schema_extra={"lock": False}`.
    """

    key: str
    annotation: Any
    default: Any
    auto: bool
    secret: bool
    fingerprint: bool
    description: str
    required: bool = False
    given: bool = False
    lock: bool = True


@functools.cache
def leaves(schema: type[Config] = Config) -> Mapping[str, Leaf]:
    """Every key of a schema, in the order of declaration: dotted key -> Leaf. RegistrationError for a schema that
    cannot be a bag."""
    return MappingProxyType({leaf.key: leaf for leaf in _walk(schema, "", None)})


@functools.cache
def namespaces(schema: type[Config] = Config) -> tuple[str, ...]:
    """The dotted names of every namespace, nested ones included: exec, exec.attention, ..."""
    return tuple(dict.fromkeys(key[:at] for key in leaves(schema) for at, letter in enumerate(key) if letter == "."))


def retired(schema: type[Config] = Config) -> Mapping[str, str]:
    """Old key -> the key that replaces it: ours, and those of the engine's schema."""
    return {**RETIRED, **schema.retired}


def model_of(field: FieldInfo) -> type[BaseModel] | None:
    """The pydantic model of a field that is a namespace; None for a leaf."""
    annotation = field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _walk(model: type[BaseModel], prefix: str, instance: BaseModel | None) -> Iterator[Leaf]:
    for name, field in model.model_fields.items():
        key = prefix + name
        nested = model_of(field)
        if nested is not None:
            yield from _walk(nested, f"{key}.", _instance(field, nested, name, instance))
            continue
        if not prefix:
            raise RegistrationError(
                f"{model.__qualname__}.{name} is a value beside the namespaces; put it into a namespace"
            )
        yield _leaf(key, name, field, instance)


def _instance(field: FieldInfo, nested: type[BaseModel], name: str, instance: BaseModel | None) -> BaseModel | None:
    """The default instance of a namespace, where it may say other defaults than the namespace's fields do."""
    if instance is not None:
        value = getattr(instance, name)
        return value if isinstance(value, BaseModel) else None
    if field.is_required() or field.default_factory is nested:
        return None
    value = field.get_default(call_default_factory=True, validated_data={})
    return value if isinstance(value, BaseModel) else None


def _leaf(key: str, name: str, field: FieldInfo, instance: BaseModel | None) -> Leaf:
    whole: Any = Annotated
    parts = (field.annotation, *field.metadata)
    annotation = whole[parts] if field.metadata else field.annotation
    made_of = tuple(_parts(annotation))
    mutable = next((part for part in made_of if part in (list, dict, set, bytearray)), None)
    if mutable is not None:
        raise RegistrationError(
            f"{key} holds a {mutable.__name__}, which could change under its readers; "
            "write tuple[X, ...], or tuples of pairs"
        )
    required = field.is_required() and instance is None
    default = None if required else field.get_default(call_default_factory=True, validated_data={})
    given = instance is not None and (field.is_required() or getattr(instance, name) != default)
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, Mapping) else {}
    return Leaf(
        key=key,
        annotation=annotation,
        default=getattr(instance, name) if given else default,
        auto=any(isinstance(part, OrAuto) for part in made_of) or AUTO in made_of,
        secret=Secret in made_of,
        fingerprint=extra.get("fingerprint", True) is not False and Secret not in made_of,
        description=field.description or "",
        required=required,
        given=given,
        lock=extra.get("lock", True) is not False,
    )


def _parts(annotation: Any) -> Iterator[Any]:
    """Everything that an annotation is made of: types, metadata and the values of literals."""
    origin = get_origin(annotation)
    if origin is None:
        yield annotation
        return
    yield origin
    for part in get_args(annotation):
        if origin is Literal:
            yield part
        else:
            yield from _parts(part)


def json_schema(schema: type[Config] = Config) -> dict[str, Any]:
    """The JSON schema of a config file for editors: every key with its description, `preset`, and `x-` keys for
    anchors."""
    document = copy.deepcopy(schema.model_json_schema(by_alias=False))
    _strip(document)
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["title"] = "confbag configuration"
    document["properties"]["preset"] = {
        "type": "string",
        "description": "A named set of values that everything else here overrides.",
    }
    document["patternProperties"] = {"^x-": {"description": "Yours: a place for anchors."}}
    document["required"] = []
    return document


def _strip(node: Any) -> None:
    """Leave out what says nothing to a reader: pydantic's titles, our own marks, and the defaults of whole
    namespaces."""
    if isinstance(node, dict):
        if "properties" in node:
            node.pop("title", None)
            node.pop("required", None)
            for field in node["properties"].values():
                field.pop("title", None)
                field.pop("fingerprint", None)
                field.pop("lock", None)
        for child in node.values():
            _strip(child)
    elif isinstance(node, list):
        for child in node:
            _strip(child)
