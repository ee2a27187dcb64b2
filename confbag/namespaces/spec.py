"""spec: speculative decoding."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from confbag.namespaces.fields import Name, Namespace, Positive


def _algorithm(name: str) -> str:
    """Algorithms are compared in upper case, and `none` is none in any case."""
    return "none" if name.lower() == "none" else name.upper()


class Spec(Namespace):
    """spec: speculative decoding."""

    algorithm: Annotated[Name, AfterValidator(_algorithm)] = Field(
        default="none", description="The algorithm, such as EAGLE (held in upper case), or none."
    )
    num_steps: Positive | None = Field(default=None, description="Draft steps before a verification.")
    topk: Positive | None = Field(default=None, description="Branches kept at each draft step.")
    num_draft_tokens: Positive | None = Field(default=None, description="Draft tokens that one verification checks.")
    attention_mode: Literal["prefill", "decode"] = Field(
        default="prefill", description="Which phase's attention verifies draft tokens: prefill or decode."
    )
