"""Config: what can be set, which an engine subclasses."""

from collections.abc import Mapping
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar

from pydantic import Field

from confbag.errors import RegistrationError
from confbag.namespaces.device import Device
from confbag.namespaces.disagg import Disagg
from confbag.namespaces.exec import Exec
from confbag.namespaces.fields import Namespace
from confbag.namespaces.memory import Memory
from confbag.namespaces.model import Model
from confbag.namespaces.parallel import Parallel
from confbag.namespaces.spec import Spec


class Config(Namespace):
    """What can be set. An engine adds its own namespaces by subclassing: `class MyConfig(Config): mine: Mine = Mine()`.

    `retired` maps an engine's old keys to the keys that replace them.
    """

    retired: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for name, value in vars(cls).items():
            if isinstance(value, (FunctionType, property)) and name[0] != "_":
                raise RegistrationError(
                    f"{cls.__module__}.{cls.__qualname__}.{name} is of the whole schema, and a process reads "
                    "namespaces; write it into one of them"
                )

    exec: Exec = Field(default_factory=Exec, description="How kernels are chosen and run.")
    device: Device = Field(default_factory=Device, description="The accelerator that this process runs on.")
    model: Model = Field(default_factory=Model, description="What is served.")
    parallel: Parallel = Field(default_factory=Parallel, description="How the model is spread over devices and nodes.")
    spec: Spec = Field(default_factory=Spec, description="Speculative decoding.")
    memory: Memory = Field(default_factory=Memory, description="The KV cache and its pages.")
    disagg: Disagg = Field(default_factory=Disagg, description="Prefill and decode on different machines.")
