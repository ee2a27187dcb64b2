"""device: the accelerator that this process runs on."""

from pydantic import Field

from confbag.namespaces.fields import Auto, Name, Namespace, Natural, auto


class Device(Namespace):
    """device: the accelerator that this process runs on. A value that is not the platform's is a fault of the plan."""

    kind: Auto[Name] = Field(
        default=auto, description="The kind of device: auto, cuda, hip, npu, xpu, musa, mps or cpu."
    )
    index: Auto[Natural] = Field(
        default=auto,
        description="Which device of its kind this process runs on: auto or a number. "
        "It differs by rank, so the fingerprint omits it.",
        json_schema_extra={"fingerprint": False},
    )
    arch: Auto[Name] = Field(
        default=auto, description="The architecture, such as sm90, gfx942 or ascend910_93: auto or a name."
    )
