"""exec: how kernels are chosen and run."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from confbag.namespaces.fields import Auto, Means, Name, Namespace, Natural, auto


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


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Pins = Annotated[
    tuple[tuple[Name, Name], ...],
    BeforeValidator(_pairs),
    PlainSerializer(dict),
    Means("a mapping of op or op@phase to provider", "{kvcache.last_loc: triton}"),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string", "pattern": r"^\S+$"}}),
]
Names = Annotated[tuple[Name, ...], BeforeValidator(_tuple), Means("a list of names", "[triton, reference]")]


class Attention(Namespace):
    """exec.attention: which backend computes attention in each phase."""

    backend: Auto[Name] = Field(
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
        description="Provider by op, or by op@phase: {kvcache.last_loc: triton}. One that cannot run is an error.",
    )
    prefer: Names = Field(default=(), description="Providers to take first wherever they can run, best first.")
    reference_only: bool = Field(default=False, description="Run the reference of every op.")
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
    graph: Auto[bool] = Field(
        default=auto, description="Capture the forward pass as a device graph: auto, true or false."
    )
    compile: bool = Field(default=False, description="Compile the model with torch.compile.")
    sampling_backend: Auto[Name] = Field(default=auto, description="The sampling backend: auto or a name.")
    metadata_placement: Auto[Literal["host", "device"]] = Field(
        default=auto, description="Where attention metadata is computed: auto, host or device."
    )
    kernels: Kernels = Field(default_factory=Kernels, description="How implementations of ops are chosen.")
    debug: Debug = Field(default_factory=Debug, description="Checks that cost time.")
