"""exec: how kernels are chosen and run."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from confbag.namespaces.fields import Auto, Covers, Means, Merged, Name, Namespace, Natural, auto


def _pairs(value: Any) -> Any:
    """A pin is written as a mapping and held as sorted pairs, so that its order never matters and it cannot change."""
    if isinstance(value, Mapping):
        return tuple(sorted((name, provider) for name, provider in value.items()))
    if isinstance(value, (list, tuple)):
        pairs = [tuple(pair) if isinstance(pair, (list, tuple)) else pair for pair in value]
        if all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            names = [pair[0] for pair in pairs]
            if len(set(names)) < len(names):
                raise ValueError("an op is pinned twice; pin it once")
            return tuple(sorted(pairs))
        return None
    return value


def _preferences(value: Any) -> Any:
    """Held as providers and pairs of a place and a provider, best first."""
    if isinstance(value, Mapping):
        value = [value]
    return tuple(one for entry in value for one in _preference(entry)) if isinstance(value, (list, tuple)) else value


def _preference(entry: Any) -> Iterator[Any]:
    """An entry is a provider, or a mapping of places to the provider or the providers to take first there."""
    if not isinstance(entry, Mapping):
        yield tuple(entry) if isinstance(entry, list) else entry
        return
    for place, providers in entry.items():
        for provider in providers if isinstance(providers, (list, tuple)) else (providers,):
            yield place, provider


def _written(preferences: tuple[Any, ...]) -> list[Any]:
    return [entry if isinstance(entry, str) else dict([entry]) for entry in preferences]


def _places(value: Any) -> Any:
    """Places are held sorted, for their order never matters."""
    if isinstance(value, (list, tuple)) and all(isinstance(place, str) for place in value):
        return tuple(sorted(set(value)))
    return value


_NAMED = {"type": "string", "pattern": r"^\S+$"}
_NAMES = {"anyOf": [_NAMED, {"type": "array", "items": _NAMED}, {"type": "null"}]}
_BY_PLACE = {"type": "object", "additionalProperties": _NAMES}
Pins = Annotated[
    tuple[tuple[Name, Name], ...],
    BeforeValidator(_pairs),
    PlainSerializer(dict),
    Merged(),
    Means("a mapping of OP, OP@REGIME or OP/SITES to provider", "{kvcache.last_loc: triton}"),
    WithJsonSchema({"type": "object", "additionalProperties": {"anyOf": [_NAMED, {"type": "null"}]}}),
]
Preferences = Annotated[
    tuple[Name | tuple[Name, Name], ...],
    BeforeValidator(_preferences),
    PlainSerializer(_written),
    Merged(),
    Means("a list of providers, or a mapping of places to them", "[triton, {attention@decode: fa3}]"),
    WithJsonSchema({"anyOf": [{"type": "array", "items": {"anyOf": [_NAMED, _BY_PLACE]}}, _BY_PLACE]}),
]
Everywhere = Annotated[
    bool | tuple[Name, ...],
    BeforeValidator(_places),
    Means("true, false or a list of ops", "[attention@decode]"),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "array", "items": _NAMED}]}),
]


class Attention(Namespace):
    """exec.attention: which backend computes attention in each phase."""

    backend: Annotated[Auto[Name], Covers(("prefill", "decode", "draft"))] = Field(
        default=auto, description="The attention backend of every phase that names none: auto or a name."
    )
    prefill: Auto[Name] = Field(default=auto, description="The attention backend of prefill: auto or a name.")
    decode: Auto[Name] = Field(default=auto, description="The attention backend of decode: auto or a name.")
    draft: Auto[Name] = Field(default=auto, description="The attention backend of the draft model: auto or a name.")
    num_splits: Auto[Natural] = Field(
        default=auto,
        description="How many parts decode splits a sequence into: auto or a number; 0 leaves it to the kernel.",
    )


class Kernels(Namespace):
    """exec.kernels: how implementations of ops are chosen."""

    pin: Pins = Field(
        default=(),
        description="Provider by op, by op@regime (a phase, a range), or by op/sites where an op declares sites (such "
        "as layers: numbers, ranges, globs, joined by +): {kvcache.last_loc: triton, acme.mix@decode/0-3: fast}. One "
        "that cannot run is an error. Sources merge by entry; null removes one.",
    )
    prefer: Preferences = Field(
        default=(),
        description="Providers to take first wherever they can run, best first; {attention@decode: fa3} only there. A "
        "list replaces that of a lower source; a mapping, {attention: [fa3, triton]}, merges with it by op.",
    )
    prefer_only: bool = Field(
        default=False, description="Nothing outside the list of `prefer` may run, fallbacks included."
    )
    reference_only: Everywhere = Field(
        default=False, description="Run the reference: true of every op, or a list of OP, OP@REGIME or OP/SITES."
    )
    fallback: Auto[Literal["error", "warn", "allow"]] = Field(
        default=auto,
        description="What to do when only the reference can run: auto (allow on cpu, else warn), error, warn, allow.",
    )


class Debug(Namespace):
    """exec.debug: checks that cost time."""

    bounds: bool = Field(default=False, description="Kernels check that requests and positions are in range.")
    mirrors: bool = Field(default=False, description="Host copies of device metadata are compared with what they copy.")


class Exec(Namespace):
    """exec: how kernels are chosen and run."""

    deterministic: bool = Field(default=False, description="Take only kernels that give the same result every time.")
    determinism: Literal["run_to_run", "batch_invariant"] = Field(
        default="batch_invariant",
        description="What `deterministic` asks for: the same run again, or also the same in every batch.",
    )
    attention: Attention = Field(default_factory=Attention, description="Which backend computes attention.")
    graph: Auto[bool | Literal["piecewise", "full"]] = Field(
        default=auto,
        description="Capture the forward pass as a device graph: auto, true (as far as each kernel allows), piecewise, "
        "full or false.",
    )
    compile: bool = Field(default=False, description="Compile the model with torch.compile.")
    sampling_backend: Auto[Name] = Field(default=auto, description="The sampling backend: auto or a name.")
    metadata_placement: Auto[Literal["host", "device"]] = Field(
        default=auto, description="Where attention metadata is computed: auto, host or device."
    )
    kernels: Kernels = Field(default_factory=Kernels, description="How implementations of ops are chosen.")
    debug: Debug = Field(default_factory=Debug, description="Checks that cost time.")
