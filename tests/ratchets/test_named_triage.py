"""The rules on names: on generated trees triage, cache, workers and the order of files change no finding."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confbag.ratchets.analysis import engine
from confbag.ratchets.analysis.cache import Cache
from confbag.ratchets.codes import RULES
from confbag.ratchets.configuration import Configuration, Site

CODES = ("CB121", "CB131", "CB132", "CB133", "CB141", "CB142")
CASES = [
    case
    for code in CODES
    for case in import_module(f"confbag.ratchets.rules.{RULES[code]}").CASES
    if case.path == "engine/case.py"
]
SITES = tuple(Site(f"engine/m{number}.py", "listed", "before the groups exist") for number in range(3))
CONFIGURATION = Configuration(
    root=Path("/tree"),
    repository=Path("/tree"),
    codes=CODES,
    predicates=("engine.utils.is_npu", "engine.platforms.current.is_npu"),
    kernels=("engine/kernels",),
    hot=("hot*", "*.hot", "*forward*"),
    host=("*_cpu*", "np.*"),
    sites={"engine.sizes.configured_*_size": SITES, "engine.m1.Maker.make": ()},
    legacy={"engine.old.get_old": "get_new()", "engine.m0.STATE": "the bag", "engine.envs.OLD_*": ""},
)
# Modules that hand tests, flags, ops, callees, retired names and state to each other, under names of their own.
LINKS = (
    "from engine.utils import is_npu as ascend\nfrom engine.sizes import configured_tp_size as size\nSTATE = {}\n",
    "from engine.m0 import *\nON = ascend() and True\nclass Maker:\n    def make(self): ...\n    flag = ascend()\n",
    "from .m1 import ON as on, Maker as M, size as s\nfrom engine.m0 import STATE as kept\nlimit = 4\nPacked = M\n",
    "import engine.m2 as two\nif two.on:\n    from a import k\nelse:\n    from b import k\n"
    "def f():\n    two.kept['a'] = two.s()\n    two.M().make()\n    return k if two.on else two.limit\n",
    "from engine.m2 import limit, Packed, on\ng = limit if on else 3\nh = Packed if on else limit\n"
    "def make():\n    return Packed(1) if on else Other(2)\n",
    "from typing import NamedTuple\nclass Packed(NamedTuple):\n    x: int\ndef limit(x): ...\non = 3\nclass M: ...\n",
    "import torch\nlib = torch.ops.x\nclass Ops:\n    ns = lib\n"
    "    def hot(self, x):\n        return self.ns.a(x).item()\n",
    "from engine.m0 import lib as native, STATE\nfrom engine.m1 import Ops\nnative.b(1)\nOps.ns.c(2)\nprint(STATE)\n",
    "from engine.old import get_old as old\nfetch = old\nSTATE = []\n"
    "def register(f):\n    STATE.append(f)\n    return f\n",
    "from engine.m0 import fetch, register\n@register\ndef listed():\n    return fetch()\n"
    "import engine.envs as e\ne.OLD_A\n",
    "from engine.m1 import listed as register, fetch\ndef later(f):\n    return register(fetch(f))\n",
    "import engine.m0\nimport engine.m1 as one\nengine.m0.STATE['x'] = 1\none.size()\nengine.m0.fetch\n"
    "def f():\n    engine.m0.STATE['y'] = 2\n    one.Maker.flag = 3\n",
    "from engine.m2 import *\nfrom engine.m3 import *\nif on:\n    k = limit\nelse:\n    from c import k\n",
    "from engine import utils as u, sizes as z, old as o, envs as e, m0 as a, m1 as b\nfrom torch import ops as p\n",
    "from engine.m0 import u, z, o, e, p\nif u.is_npu():\n    from a import k\nelse:\n    from b import k\n"
    "def f():\n    z.configured_tp_size()\n    o.get_old()\n    e.OLD_PORT\n    p.x.a(1)\n",
    "from engine.m0 import a, b\na.STATE\nb.Maker().make()\non = a.u.is_npu()\nb.e.OLD_B\nb.p.x.a(1)\nx = b.z\n",
    "x = 1\n",
)  # fmt: skip


def found(files, **how):
    order = how.pop("order", sorted(files))
    analysis = engine.analyse(CONFIGURATION, order, read=lambda path: files[path].encode(), **how)
    assert analysis.unanalysed == ()
    return analysis.findings


@st.composite
def trees(draw):
    """Some modules: links in any order, and cases behind them."""
    files = {}
    for number in range(draw(st.integers(1, 6))):
        text = draw(st.sampled_from(LINKS))
        for case in draw(st.lists(st.sampled_from(CASES), max_size=2)):
            text += case.complete()
            files.update(case.files)
        files[f"engine/m{number}.py"] = text
    return files


def test_the_links_show_every_rule():
    files = {f"engine/m{number}.py": text for number, text in enumerate(LINKS[:5])}
    codes = {one.code for one in found(files)}
    files = {f"engine/m{number}.py": text for number, text in enumerate(LINKS[6:10])}
    assert codes | {one.code for one in found(files)} == set(CODES)


@settings(max_examples=150, deadline=None)
@given(files=trees())
def test_triage_changes_nothing(files):
    assert found(files, triage=True) == found(files, triage=False)


@settings(max_examples=40, deadline=None)
@given(files=trees(), random=st.randoms())
def test_the_order_of_files_changes_nothing(files, random):
    order = sorted(files)
    random.shuffle(order)
    assert found(files, order=order) == found(files)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=trees(), after=trees())
def test_the_cache_changes_nothing(tmp_path_factory, before, after):
    folder = tmp_path_factory.mktemp("cache")
    for files in (before, after, {**before, **after}, after):
        expected = found(files)
        assert found(files, cache=Cache(folder)) == expected
        assert found(files, cache=Cache(folder)) == expected


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=trees())
def test_workers_change_nothing(monkeypatch, files):
    expected = found(files)
    monkeypatch.setattr(engine, "_PARALLEL", 0)
    assert found(files, jobs=2) == expected


@settings(max_examples=30, deadline=None)
@given(files=trees(), code=st.sampled_from(CODES))
def test_one_rule_alone_finds_what_it_finds_among_others(files, code):
    from dataclasses import replace

    alone = engine.analyse(
        replace(CONFIGURATION, codes=(code,)), sorted(files), read=lambda path: files[path].encode()
    ).findings
    assert list(alone) == [finding for finding in found(files) if finding.code == code]
