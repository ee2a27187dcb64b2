"""A bag as a role sees it: reads of its namespaces are recorded, and held to what the role declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confbag.bag.bag import Bag
from confbag.errors import RoleError


def view_of(
    role: str | None, namespaces: tuple[str, ...], declared: frozenset[str] | None, read: set[str]
) -> Callable[[Bag], Bag]:
    """What turns a bag into its view. The class is made for one publish, so that a process that holds nothing pays
    nothing.

    declared: None records only. read: where the names of what was read are kept.
    """

    def reader(name: str) -> property:
        def recorded(bag: Bag) -> Any:
            if name not in read:
                read.add(name)
            return getattr(bag._root, name)

        def refused(bag: Bag) -> Any:
            allowed = ", ".join(sorted(declared or ())) or "none"
            raise RoleError(
                f"role {role or 'unnamed'} read namespace {name}, and declares {allowed}; "
                "declare it, or do not read it here"
            )

        return property(recorded if declared is None or name in declared else refused)

    view = type(
        "Bag", (Bag,), {"__module__": __name__, "__doc__": Bag.__doc__, **{name: reader(name) for name in namespaces}}
    )

    kept = [name for name in Bag.__slots__ if name != "__dict__" and name not in namespaces]

    def seen(bag: Bag) -> Bag:
        held: Bag = object.__new__(view)
        for name in kept:
            object.__setattr__(held, name, getattr(bag, name))
        return held

    return seen
