"""parallel: how the model is spread over devices and nodes."""

from pydantic import Field, model_validator

from confbag.namespaces.fields import Auto, Namespace, Natural, Positive, auto


class Parallel(Namespace):
    """parallel: how the model is spread over devices and nodes."""

    tp_size: Positive = Field(default=1, description="Tensor-parallel ranks.")
    pp_size: Positive = Field(default=1, description="Pipeline stages.")
    dp_size: Positive = Field(
        default=1,
        description="Data-parallel replicas: of attention within the tensor-parallel ranks, or of the whole model.",
    )
    ep_size: Positive = Field(default=1, description="Expert-parallel ranks: those of a pipeline stage, or a part.")
    num_nodes: Positive = Field(default=1, description="Machines.")
    node_rank: Natural = Field(
        default=0,
        description="Which of the machines this is. It differs by rank, so the fingerprint omits it.",
        json_schema_extra={"fingerprint": False},
    )
    custom_all_reduce: Auto[bool] = Field(
        default=auto, description="Use the engine's own all-reduce: auto, true or false."
    )
    symm_mem_all_reduce: Auto[bool] = Field(
        default=auto, description="Use all-reduce over symmetric memory: auto, true or false."
    )

    @model_validator(mode="after")
    def _rank_within_nodes(self) -> "Parallel":
        if self.node_rank >= self.num_nodes:
            raise ValueError(
                f"node_rank {self.node_rank} does not exist among num_nodes {self.num_nodes}; "
                f"write a node_rank from 0 to {self.num_nodes - 1}"
            )
        return self
