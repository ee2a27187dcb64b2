"""The typed bag: settings that know where they came from, and nothing of ops, devices or torch.

Importing it loads neither pydantic nor yaml: a name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confbag.bag.bag import Bag as Bag
    from confbag.bag.loading import load as load
    from confbag.errors import AgreementError as AgreementError
    from confbag.errors import AlreadyPublishedError as AlreadyPublishedError
    from confbag.errors import BindError as BindError
    from confbag.errors import ConfbagError as ConfbagError
    from confbag.errors import ConfigError as ConfigError
    from confbag.errors import DeclaredOnlyError as DeclaredOnlyError
    from confbag.errors import Fault as Fault
    from confbag.errors import HandoffError as HandoffError
    from confbag.errors import NotPublishedError as NotPublishedError
    from confbag.errors import PlanError as PlanError
    from confbag.errors import PlatformError as PlatformError
    from confbag.errors import PluginError as PluginError
    from confbag.errors import RegistrationError as RegistrationError
    from confbag.errors import RoleError as RoleError
    from confbag.errors import SignatureError as SignatureError
    from confbag.errors import SwapError as SwapError
    from confbag.errors import UnresolvedError as UnresolvedError
    from confbag.namespaces.fields import Auto as Auto
    from confbag.namespaces.fields import Namespace as Namespace
    from confbag.process.context import accessor as accessor
    from confbag.process.context import attention_backends as attention_backends
    from confbag.process.context import get_device as get_device
    from confbag.process.context import get_disagg as get_disagg
    from confbag.process.context import get_exec as get_exec
    from confbag.process.context import get_memory as get_memory
    from confbag.process.context import get_model as get_model
    from confbag.process.context import get_parallel as get_parallel
    from confbag.process.context import get_spec as get_spec
    from confbag.process.context import is_published as is_published
    from confbag.process.context import override as override
    from confbag.process.context import publish as publish
    from confbag.process.context import use_context as use_context
    from confbag.process.handover import adopt as adopt
    from confbag.process.handover import handoff as handoff
    from confbag.schema.config import Config as Config
    from confbag.sources.record import Record as Record
    from confbag.words.secret import Secret as Secret

_HOMES = {
    "confbag.bag.bag": ("Bag",),
    "confbag.process.context": (
        "accessor",
        "attention_backends",
        "get_device",
        "get_disagg",
        "get_exec",
        "get_memory",
        "get_model",
        "get_parallel",
        "get_spec",
        "is_published",
        "override",
        "publish",
        "use_context",
    ),
    "confbag.errors": (
        "AgreementError",
        "AlreadyPublishedError",
        "BindError",
        "ConfbagError",
        "ConfigError",
        "DeclaredOnlyError",
        "Fault",
        "HandoffError",
        "NotPublishedError",
        "PlanError",
        "PlatformError",
        "PluginError",
        "RegistrationError",
        "RoleError",
        "SignatureError",
        "SwapError",
        "UnresolvedError",
    ),
    "confbag.process.handover": ("adopt", "handoff"),
    "confbag.bag.loading": ("load",),
    "confbag.namespaces.fields": ("Auto", "Namespace"),
    "confbag.schema.config": ("Config",),
    "confbag.words.secret": ("Secret",),
    "confbag.sources.record": ("Record",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'confbag' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(home), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
