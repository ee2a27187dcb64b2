"""Plug-ins are tried in a child process before they are loaded here, so that one that hangs or ends the process is a
reason to leave it out, and not the end."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from confbag.errors import PluginError
from confbag.sources import plugin_verdicts
from confbag.sources.entry_points import EntryPoint
from confbag.sources.plugin_verdicts import Verdict
from confbag.words.locks import ForkSafeLock
from confbag.words.text import printable

if TYPE_CHECKING:
    from subprocess import Popen

NAMED = "CONFBAG_PLUGINS"
"""Names plug-ins, separated by commas: only those are loaded, and one that is missing or fails is fatal."""

SECONDS = "CONFBAG_PLUGIN_SECONDS"
"""How long loading one plug-in may take in the child; 0 loads plug-ins untried."""

LOADING = "CONFBAG_PLUGIN_LOADING"
"""Set while a plug-in is tried or loaded: where it asks for plug-ins itself, or a child of its does, there are none."""

LIMIT = 5.0

_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

_START = (
    "import sys; sys.path[:] = [entry for entry in sys.path if entry];"  # a json.py in our folder is not the library's
    "import json; task = json.loads(sys.argv[1]); sys.path[:] = task['path'];"
    "from confbag.sources.plugin_child import run; run(task)"
)

lock = ForkSafeLock()
"""Held while plug-ins are loaded, so that another thread waits for all of them."""

_decided: dict[tuple[object, ...], str | None] = {}


def named() -> tuple[str, ...] | None:
    """The plug-ins that CONFBAG_PLUGINS names; None when it is unset, and then every installed one is loaded."""
    text = os.environ.get(NAMED)
    return None if text is None else tuple(filter(None, (name.strip() for name in text.split(","))))


def refusals(
    points: Iterable[EntryPoint], use: str = "", *, schema: str = "", afresh: bool = False
) -> dict[EntryPoint, str]:
    """Those that must not be loaded into this process, each with the reason: it hung, or it ended the child.

    use: `module:function` that the child calls with the object that was loaded, the plug-in's name and `schema`.
    afresh: do not believe what was found against one earlier.

    A verdict is kept for each state of the files that were run and the variables that were read; what a plug-in merely
    raises is no refusal, for it can be caught here.
    """
    seconds = limit()
    if seconds == 0:
        return {}
    reasons: dict[EntryPoint, str] = {}
    trials: list[_Trial] = []
    for point in points:
        key = (point, point.info, use, schema, seconds)
        if key in _decided and not (afresh and _decided[key]):
            kept = _decided[key]
        elif (verdict := plugin_verdicts.find(point, seconds, schema)) is not None and not (afresh and verdict.refused):
            kept = _decided[key] = verdict.refused  # ratchet: allow CB121 -- tried once a process
        else:
            trials.append(_Trial(point, use, schema, seconds))
            continue
        if kept is not None:
            reasons[point] = kept
    # Started together: several that hang cost the time of one.
    with contextlib.ExitStack() as children:
        for trial in trials:
            children.enter_context(trial.start())
        for trial in trials:
            verdict = trial.verdict()
            plugin_verdicts.keep(trial.point, seconds, schema, verdict)
            _decided[trial.point, trial.point.info, use, schema, seconds] = (
                verdict.refused
            )  # ratchet: allow CB121 -- as above
            if verdict.refused is not None:
                reasons[trial.point] = verdict.refused
    return (
        reasons
        if afresh
        else {point: f"{reason}; {NAMED}={point.name} tries it again" for point, reason in reasons.items()}
    )


def limit() -> float:
    """The seconds that CONFBAG_PLUGIN_SECONDS gives; PluginError when it is no number of seconds."""
    text = os.environ.get(SECONDS, "")
    try:
        seconds = float(text or LIMIT)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise PluginError(f"{SECONDS} is {text!r}; write a number of seconds from 0 to 3600")
    return seconds


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What a plug-in prints while it is loaded goes to standard error: standard output is the caller's answer.

    Plug-ins that it asks for meanwhile are none.
    """
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as restore:
        if LOADING not in os.environ:
            os.environ[LOADING] = "1"
            restore.callback(os.environ.pop, LOADING, None)
        # A process without these descriptors has nothing to keep clean.
        with contextlib.suppress(OSError, ValueError):
            if sys.__stdout__ is not None:
                sys.__stdout__.flush()
            kept = os.dup(1)
            restore.callback(os.close, kept)
            os.dup2(2, 1)
            restore.callback(os.dup2, kept, 1)
        yield


def said(error: BaseException) -> str:
    """An exception in one short line, whatever it does when it is asked for its text, and where its plug-in raised."""
    try:
        text = printable(" ".join(str(error)[:4000].split()))
    except KeyboardInterrupt:
        raise
    except BaseException:
        text = "its text cannot be read"
    place = ""
    link = error.__traceback__
    while link is not None:
        file = link.tb_frame.f_code.co_filename
        if not file.startswith(("<", _OURS, _IMPORTLIB)):
            place = f" ({os.path.basename(file)}:{link.tb_lineno})"
        link = link.tb_next
    return f"{type(error).__name__}: {text[:400]}{place}"


_IMPORTLIB = os.path.dirname(importlib.__file__) + os.sep
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class _Trial:
    """One entry point in a child of its own."""

    def __init__(self, point: EntryPoint, use: str, schema: str, seconds: float) -> None:
        self.point, self.use, self.schema, self.seconds = point, use, schema, seconds
        self.problem: str | None = None
        self.began = 0.0

    @contextlib.contextmanager
    def start(self) -> Iterator[None]:
        import subprocess
        import tempfile

        # Files, not pipes: a grandchild that outlives the child would keep a pipe open.
        with tempfile.TemporaryFile() as self.out, tempfile.TemporaryFile() as self.err:
            self.began = time.monotonic()
            self.child: Popen[bytes] | None = None
            try:
                self.child = subprocess.Popen(
                    self._argv(),
                    stdin=subprocess.DEVNULL,
                    stdout=self.out,
                    stderr=self.err,
                    env={**os.environ, LOADING: "1"},
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                self.problem = f"it could not be tried in a child process first ({error}); {SECONDS}=0 loads it untried"
            try:
                yield
            finally:
                self._end()

    def _argv(self) -> Sequence[str]:
        if not sys.executable:
            raise ValueError("this process does not know its interpreter")
        task = {
            # Last the folder that we were found in: whoever changed sys.path since has us loaded already.
            "path": [*(entry or os.getcwd() for entry in sys.path), _HERE],
            "point": [self.point.group, self.point.name, self.point.value, self.point.distribution],
            "use": self.use,
            "schema": self.schema,
        }
        return [sys.executable, "-c", _START, json.dumps(task)]

    def verdict(self) -> Verdict:
        import subprocess

        if self.child is None:
            return Verdict(refused=self.problem)
        refused = None
        try:
            status = self.child.wait(max(0.0, self.began + self.seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._end()
            refused = f"hung for {self.seconds:g} s while it was loaded ({SECONDS} allows it more)"
            status = 0
        report = _report(self.out)
        if refused is None and not any("ended" in line for line in report):
            how = f"killed by signal {-status}" if status < 0 else f"exited with status {status}"
            words = _last_line(self.err)
            refused = f"{how} while it was loaded{f' ({words})' if words else ''}"
        if any(line.get("raised") == "KeyboardInterrupt" for line in report):
            refused = "raised KeyboardInterrupt while it was loaded"  # here it would be taken for somebody's Ctrl-C
        return Verdict.of(refused, report)

    def _end(self) -> None:
        if self.child is not None and self.child.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self.child.pid, 9) if hasattr(os, "killpg") else self.child.kill()
            self.child.wait()


def _report(file: IO[bytes]) -> list[dict[str, Any]]:
    """The lines that the child reported, as far as it came."""
    file.seek(0)
    found = []
    for line in file.read(_LARGEST).splitlines():
        try:
            read = json.loads(line)
        except ValueError:  # what a plug-in wrote past us, or a line that its end cut off
            continue
        if isinstance(read, dict):
            found.append(read)
    return found


_LARGEST = 8 << 20


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read(_LARGEST).decode("utf-8", "replace").split("\n")
    return next((" ".join(line.split())[:200] for line in reversed(lines) if line.strip()), "")
