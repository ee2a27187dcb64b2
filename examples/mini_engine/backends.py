"""What this engine registers: an op of its own, which shares its first name with its namespace, and a rule."""

from __future__ import annotations

from pathlib import Path

from confbag import Config
from confbag.backends import Registry


def register(registry: Registry) -> None:
    """Add them where this engine's settings are what is planned; another engine's plan knows nothing of them."""
    if registry.schema is Config:  # every plan of everybody else comes by here, and pays for no import
        return
    from mini_engine.look_up.contract import LOOK_UP
    from mini_engine.settings import EngineConfig

    if issubclass(registry.schema, EngineConfig):
        registry.add(LOOK_UP)
        registry.catalogue(Path(__file__).with_name("rules.yaml"))
