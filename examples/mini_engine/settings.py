"""What this engine can be told beside what every engine can: a namespace `serve`, and who reads it."""

from __future__ import annotations

from pydantic import Field

from confbag import Auto, Config, Namespace, accessor, auto
from confbag.namespaces.fields import Natural, Positive


class Serve(Namespace):
    """serve: how much is held at one time, and what the weights are drawn from."""

    max_batch: Positive = Field(4, description="Requests that run at one time.")
    pages: Auto[Positive] = Field(auto, description="Pages in the KV pool.")
    context: Positive = Field(1024, description="Tokens of one request.")
    seed: Natural = Field(0, description="Of the weights and of the sampling.")

    def columns(self, width: int | None) -> int:
        """The columns of a request's row: a verify window may reach past the longest request."""
        return self.context + (width or 0)


class EngineConfig(Config):
    """Every setting of the engine."""

    serve: Serve = Field(default_factory=Serve, description="What the mini engine serves with.")


get_serve = accessor("serve", Serve)
