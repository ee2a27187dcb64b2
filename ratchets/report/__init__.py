"""What a run says, in five formats: text for people, and four for programs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

FORMATS = ("text", "json", "sarif", "github", "junit")


def renderer(name: str) -> Callable[..., str]:
    """`render(verdict, baselines)` of one format."""
    module: Any = import_module(f"confbag.ratchets.report.{name}")
    render: Callable[..., str] = module.render
    return render
