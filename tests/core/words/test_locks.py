"""A fork while another thread holds a lock, or works out a property: the child does not wait for that thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

HELD = """
import os, sys, threading, time
inside, leave = threading.Event(), threading.Event()
{before}
def hold():
    {hold}
thread = threading.Thread(target=hold)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    {child}
    print("free", flush=True)
    os._exit(0)
deadline = time.monotonic() + 20
while time.monotonic() < deadline and os.waitpid(child, os.WNOHANG) == (0, 0):
    time.sleep(0.01)
leave.set()
thread.join()
"""


@pytest.mark.parametrize(
    ("before", "hold", "child"),
    [
        (
            "from confbag.process.context import _lock\nfrom confbag import load, override, publish\n"
            "publish(load(env={}), allow_auto=True)",
            "with _lock:\n        inside.set(); leave.wait()",
            "with override('child', {'exec.compile': True}): pass",
        ),
        (
            "from confbag.sources.plugin_trial import lock\nfrom confbag.backends import Registry",
            "with lock:\n        inside.set(); leave.wait()",
            "Registry.installed()",
        ),
        (
            "from confbag.backends.bind.library_loading import _PROCESS",
            "with _PROCESS.lock:\n        inside.set(); leave.wait()",
            "with _PROCESS.lock: pass",
        ),
        (
            "from confbag.words.once import once\nslow = [True]\n"
            "class Thing:\n    @once\n    def made(self):\n        if slow:\n"
            "            slow.pop(); inside.set(); leave.wait()\n        return 3\nthing = Thing()",
            "thing.made",
            "assert thing.made == 3",
        ),
    ],
    ids=["process", "plug-ins", "libraries", "once"],
)
def test_a_forked_child_finds_it_free(run_script: Callable[..., Any], before: str, hold: str, child: str) -> None:
    done = run_script(HELD.format(before=before, hold=hold, child=child), options=("-W", "ignore"))
    assert (done.stdout, done.stderr) == ("free\n", "")


def test_what_was_worked_out_is_kept() -> None:
    from confbag.words.once import once

    class Thing:
        made = 0

        @once
        def value(self) -> int:
            """A number."""
            self.made += 1
            return self.made

    thing, other = Thing(), Thing()
    assert (thing.value, thing.value, other.value) == (1, 1, 1)
    assert Thing.value.__doc__ == "A number."
