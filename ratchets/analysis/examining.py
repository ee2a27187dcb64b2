"""One file: its tree, for all rules that want it, and then it is dropped."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from confbag.ratchets.analysis.results import Examined, Task
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Unanalysed
from confbag.ratchets.source.modules import module_of
from confbag.ratchets.source.newer import Unread

if TYPE_CHECKING:
    from confbag.ratchets.binder.world import Known


class Examiner:
    """Examines files for some rules; `source` gives a file's bytes."""

    def __init__(
        self,
        configuration: Configuration,
        rules: Mapping[str, Any],
        source: Callable[[str], bytes],
        *,
        triage: bool,
    ) -> None:
        self.configuration = configuration
        self.rules = rules
        self.source = source
        self.triage = triage

    def __call__(self, task: Task, known: Known) -> Examined:
        """What one file says."""
        enabled = gc.isenabled()
        # The collector would walk the tree again and again, and finds nothing in it.
        gc.disable()
        try:
            return self._guarded(task, known)
        finally:
            if enabled:
                gc.enable()

    def _guarded(self, task: Task, known: Known) -> Examined:
        path = task.path
        try:
            return self._examined(task, known)
        except RecursionError:
            return Examined(Unanalysed(path, "nested too deep"), {})
        except MemoryError:
            return Examined(
                Unanalysed(path, "no memory was left for it; run with --jobs 1, or exclude it", lasting=False), {}
            )
        except Unread as error:
            return Examined(Unanalysed(path, str(error), lasting=False), {})
        except OSError as error:
            return Examined(Unanalysed(path, f"cannot be read: {error.strerror or error}", lasting=False), {})
        except Exception as error:
            # A fault of ours on one file: it is said and counts in the exit status, and the other files go on.
            return Examined(
                Unanalysed(path, f"the analysis failed, please report it: {type(error).__name__}: {error}"), {}
            )

    def _examined(self, task: Task, known: Known) -> Examined:
        from confbag.ratchets.source.parse import Module, parse

        name, package = module_of(task.path, self.configuration) or (task.path, False)
        module = parse(task.path, name, package, self.source(task.path), self.configuration.max_bytes)
        if not isinstance(module, Module):
            return Examined(module, {})
        facts: dict[str, object] = {}
        for code in task.codes:
            rule = self.rules[code]
            if not self.triage or rule.wanted(module.tree, self.configuration):
                found = rule.collect(module, self.configuration)
                if found is not None:
                    facts[code] = found
        if task.codes:
            from confbag.ratchets.names.lexicon import release

            release(module)
        if task.records:
            from confbag.ratchets.binder.bind import bind_exactly

            facts["records"] = bind_exactly(module, self.configuration, known, task.wanted)[1]
        return Examined(None, facts)
