"""disagg: prefill and decode on different machines."""

from typing import Literal

from pydantic import Field

from confbag.namespaces.fields import Name, Namespace


class Disagg(Namespace):
    """disagg: prefill and decode on different machines."""

    mode: Literal["off", "prefill", "decode"] = Field(
        default="off", description="What this server does: off (both), prefill or decode."
    )
    transfer_backend: Name | None = Field(
        default=None, description="What sends the KV cache, such as mooncake or ascend."
    )
