"""Which files a rule should look at besides those that hold its triggers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.source.modules import paths_of
from confbag.ratchets.source.triage import holds


class Leads:
    """Where the facts of a rule lead: to the modules that it names, and by the words that it adds."""

    def __init__(self, configuration: Configuration, files: Sequence[str], read: Callable[[str], bytes | None]) -> None:
        self._configuration = configuration
        self._files = files
        self._read = read
        self._modules = paths_of(files, configuration)

    def of(self, rule: Any, facts: Mapping[str, object]) -> set[str]:
        """The files that a rule should look at; it may have looked at some of them."""
        words, modules = rule.echoes(facts, self._configuration)
        found = {self._modules[module] for module in modules if module in self._modules}
        for path in self._files if words else ():
            if path not in facts and path not in found:
                source = self._read(path)
                if source is not None and holds(source, words):
                    found.add(path)
        return found
