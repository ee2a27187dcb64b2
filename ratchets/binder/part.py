"""What every part of the binder stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confbag.ratchets.binder.binder import Binder


class Part:
    """One part: it knows the state, and the binder, by which it asks the other parts."""

    def __init__(self, binder: Binder) -> None:
        self.binder = binder
        self.module = binder.module
        self.state = binder.state
        self.names = binder.names
        self.places = binder.places
        self.sights = binder.sights
