"""What the Acme A1 adds to confbag's settings, as data: the entry point of the group `confbag.settings`."""

from __future__ import annotations

SETTINGS = {
    # A default is beneath everything that a user writes, and holds on every device: what belongs to one device is a
    # rule under `fill` in catalogue.yaml.
    "defaults": {"memory.fraction_static": 0.85},
    # Names under CONFBAG__ that are ours, and so no typing mistakes.
    "environment": ["CONFBAG__ACME__SIMULATOR"],
}
