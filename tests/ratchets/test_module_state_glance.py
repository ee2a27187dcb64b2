"""CB121 in a run of some files: the look at bytes loses no finding, and facts of other files come from the full run."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from confbag.ratchets.analysis import engine
from confbag.ratchets.analysis.cache import Cache
from confbag.ratchets.configuration import Configuration
from confbag.ratchets.names.glance import looks
from confbag.ratchets.rules.module_state_cases import CASES

CONFIGURATION = Configuration(root=Path("/tree"), repository=Path("/tree"), codes=("CB121",))
# Ways to reach what the module holds, and ways to change what was reached.
REACHED = [
    "X = y if c else (STATE)",
    "X = c and STATE",
    "c((X := STATE))",
    "c = [X := STATE, 1]",
    "X = STATE",
    "X = (\n        STATE\n    )",
    "X = STATE if c else None",
    "X = None if c else STATE",
    "X = (\n        c\n        or STATE\n    )",
    "Y = X = STATE",
    "Y = STATE\n    X = Y",
    "X: object = STATE",
    "X, y = STATE, 1",
    "y, X = 1, STATE",
    "if (X := STATE):\n        pass",
    "X = getattr(engine.m1, 'STATE')",
    "from engine.m1 import STATE as X",
    "import engine.m1 as m\n    X = m.STATE",
    "from engine.m1 import (\n        A,\n        STATE as X,\n    )",
    "X = STATE[c]",
    "X = STATE[c][f(g(h(c)))].rows",
    "X = STATE[']']['x']",
    "X = STATE.get(f(c)).rows",
    "X = vars(STATE)",
    "X = c or STATE['a'][0]",
    "X, y = STATE[c, 1], 2",
    "for c, X in STATE.items():\n        pass",
    "for X in sorted(\n        STATE,\n    ):\n        pass",
    "for c, X in enumerate(STATE[c]):\n        pass",
    "import sys\n    X = sys.modules['engine.m1'].STATE",
]
CHANGED = [
    "X[c] = 1",
    "X [f(g(h(c)))] = 1",
    "X[\n        c\n    ] = 1",
    "X[c] += 1",
    "X[c]: int = 1",
    "X.append(c)",
    "return (X).append(c)",
    "return getattr(X, 'append')(c) or X.append(c)",
    "setattr(X, 'y', c)\n    X.append(c)",
    "X.\\\n        append(c)",
    "(X).append(c)",
    "(X)[c] = 1",
    "(c or X)[c] += 1",
    "(\n        X\n    ).append(c)",
    "print(X.pop())",
    "return f(g(X).x, X.pop(c))",
    "c = 1; X.append(c)",
    "(X or c).pop()",
    "return [X.pop() for _ in c]",
    "del X[c]",
    "del (X[c], c)",
    "if c: X[c] = 1",
    "if c: c = 1; X[c] = 1",
    "for X[c] in c:\n        pass",
    "for c, X[0] in c:\n        pass",
    "with c as X[0]:\n        pass",
    "with c as (d, X[0]):\n        pass",
    "a = X[c] = 1",
    "a, X[c] = 1, 2",
    "(\n        a,\n        X[c],\n    ) = c",
    "[a, X[c]] = c",
    "X[c], a = 1, 2",
    "lambda: X.clear()",
    "getattr(X, 'append')\n    X.append(c)",
    "X[c][1] = 1",
    "X['['][c][f(g(h(c)))] = 1",
    "X[']'] = 1",
    "X[c].y = 1",
    "X[c].y[0] += 1",
    "a, X[c].y = 1, 2",
    "a = X[c][1] = 1",
    "if c: X[c].y = 1",
    "del X[c][1]",
    "X[c].append(c)",
    "X[c]['(']\\\n        .rows.append(c)",
    "return [X[c].pop() for _ in c]",
    "X.get(f(g(h(c)))).append(c)",
    "X.get(c)[1] = 1",
    "X[c].rows[c].append(c)",
    "X[c].rows[c].y[0] = 1",
    "X.setdefault(c, []).append(1)",
    "[row.append(c) for row in X]",
    "for row in X.values():\n        row.y = 1",
    "row = X[c]\n    row.y = 1",
    "add = X.append\n    add(c)",
    "map(X.append, c)",
    "c(key=X.append)",
    "object.__setattr__(X, 'y', c)",
    "X.__setattr__('y', c)",
    "X.__setitem__(c, 1)",
    "dict.update(X, c)",
    "vars(X)['y'] = c",
    "vars(X).update(y=c)",
    "X.__dict__['y'] = c",
    "type(X).y = c",
    "X.__class__.y = c",
    "import heapq\n    heapq.heappush(X, c)",
    "from bisect import insort as c\n    c(X, 1)",
    "import operator\n    operator.setitem(X, c, 1)",
    "import importlib\n    importlib.import_module('engine.m1').STATE.y = X",
    "import importlib\n    importlib.import_module('engine.m1').STATE[c].append(X)",
]
MODULE = "import engine.m1\nfrom engine.m1 import STATE\nA = 1\ndef f(c, f, g, h):\n    {reached}\n    {changed}\n"


def finds(files, **how):
    read = {path: text.encode() for path, text in files.items()}
    return engine.analyse(CONFIGURATION, list(how.pop("paths", files)), read=read.__getitem__, **how)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_a_file_with_a_finding_is_kept(case):
    files = {case.path: case.complete(), **case.files}
    keeps = looks()
    for finding in finds(files, triage=False).findings:
        assert keeps(files[finding.path].encode())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_no_way_to_change_what_a_module_holds_is_overlooked(end):
    keeps = looks()
    lost = []
    for reached, changed in itertools.product(REACHED, CHANGED):
        text = MODULE.format(reached=reached, changed=changed).replace("\n", end)
        files = {"engine/m0.py": text, "engine/m1.py": "A = 1\nSTATE = []\n"}
        if not keeps(text.encode()) and finds(files, triage=False).findings:
            lost.append((reached, changed))
    assert lost == []


def test_most_ways_are_findings():
    every = [MODULE.format(reached="X = STATE", changed=changed) for changed in CHANGED]
    found = [finds({"engine/m0.py": text, "engine/m1.py": "STATE = []\n"}).findings for text in every]
    assert [CHANGED[number] for number, one in enumerate(found) if not one] == []


@pytest.mark.parametrize(
    "text",
    [
        "import os\nclass A:\n    def f(self, x):\n        self.x = x\n        self.rows.append(x)\n        os.x()\n",
        "def f(rows):\n    found = []\n    found.append(rows)\n    found[0] = 1\n    return found\n",
        '"""Global state, cached."""\nimport torch\nLIMIT = 3\ndef f(x):\n    torch.backends.cudnn.enabled = x\n',
    ],
)
def test_what_can_hold_no_finding_is_not_read_further(text):
    assert not looks()(text.encode())
    analysis = finds({"engine/m0.py": text}, full=False)
    assert analysis.findings == ()
    assert analysis.stats["triggered"] == 0


REGISTRY = "REGISTRY = {}\ndef register(function):\n    REGISTRY[function.__name__] = function\n    return function\n"
USER = "from engine.registry import register\n@register\ndef f():\n    return 1\n"


def test_a_partial_run_knows_what_is_registered_elsewhere(tmp_path):
    files = {"engine/registry.py": REGISTRY, "engine/user.py": USER}
    assert finds(files, cache=Cache(tmp_path)).findings == ()
    partial = finds(files, paths=["engine/registry.py"], cache=Cache(tmp_path), full=False)
    assert (partial.findings, partial.linked, partial.notes) == ((), True, ())
    alone = finds(files, paths=["engine/registry.py"], full=False)
    assert [finding.symbol for finding in alone.findings] == ["REGISTRY"]
    assert not alone.linked
    assert "no facts of a full run" in alone.notes[0]


def test_every_part_of_a_full_run_is_found_by_a_partial_run(tmp_path):
    for case in CASES:
        files = {case.path: case.complete(), **case.files}
        folder = tmp_path / str(CASES.index(case))
        whole = finds(files, cache=Cache(folder)).findings
        for path in files:
            partial = finds(files, paths=[path], cache=Cache(folder), full=False)
            assert partial.findings == tuple(finding for finding in whole if finding.path == path)
            assert partial.linked


def test_a_helper_of_a_decorator_registers_too():
    helped = "ROWS = []\ndef keep(f):\n    ROWS.append(f)\ndef register(f):\n    keep(f)\n    return f\n"
    user = "from engine.m0 import register\n@register\ndef f():\n    return 1\n"
    assert finds({"engine/m0.py": helped, "engine/m1.py": user}).findings == ()
    later = "from engine.m0 import register\ndef late(f):\n    return register(f)\n"
    found = finds({"engine/m0.py": helped, "engine/m1.py": user, "engine/m2.py": later}).findings
    assert [finding.symbol for finding in found] == ["ROWS"]
