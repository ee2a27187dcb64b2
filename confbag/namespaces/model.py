"""model: what is served; most of it comes from the checkpoint's config.json."""

from typing import Literal

from pydantic import Field

from confbag.namespaces.fields import Name, Namespace, Positive


class Model(Namespace):
    """model: what is served. A dimension that nobody gave is None: unknown."""

    path: str | None = Field(
        default=None,
        description="A folder that holds a checkpoint, or a name on a hub. It differs by machine, so a lock omits it.",
        json_schema_extra={"lock": False},
    )
    revision: str | None = Field(default=None, description="The revision of a checkpoint on a hub.")
    architecture: str | None = Field(
        default=None, description="The architecture's class name, such as LlamaForCausalLM."
    )
    kind: Literal["mha", "mla", "dsa", "dsv4"] = Field(
        default="mha", description="The kind of attention: mha, mla, dsa or dsv4."
    )
    dtype: Name | None = Field(default=None, description="The dtype that weights are computed in, such as bfloat16.")
    num_heads: Positive | None = Field(default=None, description="Query heads.")
    num_kv_heads: Positive | None = Field(default=None, description="Key and value heads.")
    head_dim: Positive | None = Field(default=None, description="Size of a query and key head.")
    v_head_dim: Positive | None = Field(default=None, description="Size of a value head.")
    sliding_window: Positive | None = Field(default=None, description="Tokens that a sliding-window layer attends to.")
    attention_sinks: bool = Field(default=False, description="Attention has learnt sinks.")
    encoder_decoder: bool = Field(default=False, description="The model has an encoder and a decoder.")
    multimodal: bool = Field(default=False, description="The model takes more than text.")
