"""memory: the KV cache and its pages."""

from typing import Annotated, Literal

from annotated_types import Gt, Lt
from pydantic import Field

from confbag.namespaces.fields import Auto, Namespace, Positive, auto


class Memory(Namespace):
    """memory: the KV cache and its pages."""

    page_size: Auto[Positive] = Field(default=auto, description="Tokens in a page of the KV cache: auto or a number.")
    radix_cache: Auto[bool] = Field(
        default=auto, description="Share the cache of common prefixes: auto, true or false."
    )
    kv_cache_dtype: Auto[Literal["model", "float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2", "fp4_e2m1"]] = (
        Field(default=auto, description="The dtype of the KV cache: auto, model (the model's own) or a dtype.")
    )
    state_dtype: Literal["float32", "bfloat16"] = Field(
        default="float32", description="The dtype of recurrent state: float32 or bfloat16."
    )
    fraction_static: Annotated[float, Gt(0), Lt(1)] | None = Field(
        default=None, description="The part of device memory for weights and KV cache, above 0 and below 1."
    )
