"""The facts that conditions and requirements read: the bag's values, the platform's, and what follows from both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confbag.backends.declare.derived import DERIVED, in_order
from confbag.backends.platforms.components import component_version
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.conditions import Condition
from confbag.bag.bag import Bag


def gather(
    bag: Bag, platform: Platform, named: Mapping[str, Condition], components: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Every fact of one bag on one platform, by dotted name.

    Beside the bag's own keys: `platform.device`, `.arch`, `.features`, `.toolkit.NAME`; `component.NAME` (whether it is
    installed; None when nobody knows) for the components asked about; the derived facts; and the named conditions of
    the registry, each true or false.
    """
    facts: dict[str, Any] = dict(bag.values())
    facts["platform.device"] = platform.device
    facts["platform.arch"] = platform.arch
    facts["platform.features"] = platform.features
    for tool, version in platform.toolkit.items():
        facts[f"platform.toolkit.{tool}"] = version
    for component in components:
        facts[f"component.{component}"] = (
            None if platform.packages is None else component_version(platform, component) is not None
        )
    for name, derived in DERIVED.items():
        facts[name] = derived.make(*[facts[key] for key in derived.keys])
    for name in in_order(named):
        facts[name] = named[name].holds(facts)
    return facts
