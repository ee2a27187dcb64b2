"""The Acme A1 for confbag; importing this package does no work, and torch is imported only by what bind loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confbag.backends import Registry

DEVICE = "acme"


def register(registry: Registry) -> None:
    """Add everything that the Acme A1 brings: the entry point of the group `confbag.backends`."""
    from confbag.backends import Platform
    from confbag_acme import probe
    from confbag_acme.expert_counts.contract import EXPERT_COUNTS

    registry.platform(
        "acme:a1",
        Platform(
            DEVICE,
            "a1",
            toolkit={"acme": "2.1"},
            packages={"torch": "2.14.0", "acme-runtime": "2.1.0"},
            assumed=frozenset({"packages", "toolkit.acme", "packages.torch", "packages.acme-runtime"}),
            name="acme:a1",
        ),
    )
    registry.probe(DEVICE, probe.look)
    # The file first: it holds the library that the op's native implementation asks for.
    registry.catalogue(Path(__file__).with_name("catalogue.yaml"))
    registry.add(EXPERT_COUNTS)
