"""CB141 beyond its own cases: what is a call of the callee, whose call it is, and listings that fit no call."""

from __future__ import annotations

import pytest

from confbag.ratchets.configuration import Site

TP = "engine.sizes.configured_tp_size"
FILES = {
    "engine/sizes.py": "def configured_tp_size():\n    return 1\ndef configured_dp_size():\n    return 1\n"
    "class Sizes:\n    def configured(self):\n        return 1\n"
    "    def other(self):\n        return self.configured()\n",
    "engine/api.py": "from engine.sizes import configured_tp_size as tp, Sizes\nfrom engine.sizes import *\n",
    "engine/more.py": "from engine.api import *\nsize = tp\n",
}
IMPORT = "from engine.sizes import configured_tp_size\n"
# Text and the qualnames of the calls in it.
CALLS = {
    "at the top": (IMPORT + "x = configured_tp_size()\n", ["<module>"]),
    "in a class body": (IMPORT + "class A:\n    x = configured_tp_size()\n", ["A"]),
    "in a method": (IMPORT + "class A:\n    async def f(self):\n        return configured_tp_size()\n", ["A.f"]),
    "in a nested function": (IMPORT + "def f():\n    def g():\n        return configured_tp_size()\n", ["f.g"]),
    "in a default of a parameter": (IMPORT + "def f(x=configured_tp_size()):\n    return x\n", ["<module>"]),
    "lambdas and comprehensions add nothing": (
        IMPORT + "def f():\n    return [lambda: configured_tp_size() for _ in x]\n", ["f"]),
    "a local name": (IMPORT + "def f():\n    size = configured_tp_size\n    return size()\n", ["f"]),
    "a name of the module": (IMPORT + "size = configured_tp_size\ndef f():\n    return size()\n", ["f"]),
    "the module": ("import engine.sizes\ndef f():\n    return engine.sizes.configured_tp_size()\n", ["f"]),
    "the module renamed": ("import engine.sizes as s\ndef f():\n    return s.configured_tp_size()\n", ["f"]),
    "relative": ("from . import sizes\ndef f():\n    return sizes.configured_tp_size()\n", ["f"]),
    "a star": ("from engine.sizes import *\ndef f():\n    return configured_tp_size()\n", ["f"]),
    "a star of a star": ("from engine.more import *\ndef f():\n    return configured_tp_size()\n", ["f"]),
    "renamed and made an alias elsewhere": ("from engine.more import size\ndef f():\n    return size()\n", ["f"]),
    "imported in the function": ("def f():\n    from engine.api import tp\n    return tp()\n", ["f"]),
    "on one way": ("try:\n" + "    " + IMPORT + "except ImportError:\n    configured_tp_size = None\n"
                   "def f():\n    return configured_tp_size()\n", ["f"]),
    "getattr": ("from engine import sizes\ndef f():\n    return getattr(sizes, 'configured_tp_size')()\n", ["f"]),
    "import_module": ("import importlib\ndef f():\n"
                      "    return importlib.import_module('engine.sizes').configured_tp_size()\n", ["f"]),
    "a decorator": (IMPORT + "def f():\n    @configured_tp_size\n    def g(): ...\n", ["f"]),
    "an attribute that holds it": (IMPORT + "class A:\n    size = configured_tp_size\n    def f(self):\n"
                                   "        return self.size()\n", ["A.f"]),
    "walrus, match, await": (
        IMPORT + "async def f():\n    if (n := configured_tp_size()): return n\n    match await configured_tp_size():\n"
        "        case 1: pass\n", ["f", "f"]),
    "by an import or by an assignment": (
        "if x:\n    " + IMPORT + "else:\n    import engine.sizes as s\n    configured_tp_size = s.configured_tp_size\n"
        "def f():\n    return configured_tp_size()\n", ["f"]),
    "chosen": (IMPORT + "def f():\n    return (configured_tp_size if x else other)()\n", ["f"]),
    # No call
    "handed on": (IMPORT + "def f():\n    return map(configured_tp_size, x), [configured_tp_size]\n", []),
    "another of that name": ("def configured_tp_size(): ...\ndef f():\n    return configured_tp_size()\n", []),
    "a method of that name": ("def f(x):\n    return x.configured_tp_size()\n", []),
    "a parameter of that name": (IMPORT + "def f(configured_tp_size):\n    return configured_tp_size()\n", []),
    "bound anew": (IMPORT + "configured_tp_size = other\ndef f():\n    return configured_tp_size()\n", []),
    "what hangs on it": (IMPORT + "def f():\n    return configured_tp_size.cache_clear()\n", []),
    "text": ("x = 'configured_tp_size()'  # configured_tp_size()\n", []),
}  # fmt: skip


def sites(*qualnames, callee=TP, path="engine/case.py"):
    return {"sites": {callee: tuple(Site(path, qualname, "before the groups exist") for qualname in qualnames)}}


def judged(judge_files, text, options, **how):
    given = judge_files({"engine/case.py": text, **FILES}, codes=("CB141",), options=options, **how)
    assert given.analysis.unanalysed == ()
    return given.analysis.findings


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("triage", [True, False])
def test_call(judge_files, name, triage):
    text, qualnames = CALLS[name]
    found = judged(judge_files, text, sites(), triage=triage)
    assert [one.qualname for one in found] == qualnames
    assert {one.symbol for one in found} <= {TP}
    assert judged(judge_files, text, sites(*dict.fromkeys(qualnames)), triage=triage) == ()


def test_a_listing_of_another_place_is_stale_and_the_call_is_unlisted(judge_files):
    text = IMPORT + "class A:\n    def f(self):\n        return configured_tp_size()\n"
    for listed in (
        sites("f"),
        sites("A.g"),
        sites("A"),
        sites("A.f", path="engine/sizes.py"),
        sites("A.f", path="x.py"),
    ):
        found = judged(judge_files, text, listed)
        assert len(found) == 2
        assert sum("calls it no more" in one.message for one in found) == 1
        assert [one.qualname for one in found if "may be called only" in one.message] == ["A.f"]
    (one,) = judged(judge_files, text, sites("A.f", "A.g"))
    assert (one.qualname, one.symbol, one.path, one.line) == ("A.g", TP, "engine/case.py", 1)


def test_methods(judge_files):
    callee = "engine.sizes.Sizes.configured"
    text = "from engine.api import Sizes\ndef f():\n    s = Sizes()\n    return s.configured()\n"
    text += "def g(s):\n    return s.configured()\n"
    found = judged(judge_files, text, sites(callee=callee))
    assert sorted((one.path, one.qualname) for one in found) == [
        ("engine/case.py", "f"), ("engine/sizes.py", "Sizes.other"),
    ]  # fmt: skip


def test_a_class_that_may_only_be_made_where_it_is_listed(judge_files):
    text = "from engine.api import Sizes\ndef f(x: Sizes):\n    return isinstance(x, Sizes)\n"
    text += "def g():\n    return Sizes()\n"
    (one,) = judged(judge_files, text, sites(callee="engine.sizes.Sizes"))
    assert one.qualname == "g"


def test_each_callee_has_its_own_list(judge_files):
    text = "from engine.sizes import *\ndef f():\n    return configured_tp_size() + configured_dp_size()\n"
    both = {"sites": {TP: (Site("engine/case.py", "f", "r"),), "engine.sizes.configured_dp_size": ()}}
    (one,) = judged(judge_files, text, both)
    assert one.symbol == "engine.sizes.configured_dp_size"
    glob = "engine.sizes.configured_*_size"
    assert judged(judge_files, text, sites("f", callee=glob)) == ()
    (one,) = judged(judge_files, text, sites("f", "g", callee=glob))
    assert (one.qualname, one.symbol) == ("g", glob)


CONFIGURATION = """\
roots = ["engine"]
enable = ["CB141"]

[CB141]
callees = ["engine.sizes.configured_tp_size"]

[[CB141.site]]
path = "engine/case.py"
qualname = "f"
callee = "engine.sizes.configured_tp_size"
reason = "before the groups exist"
"""


def test_a_listing_of_a_file_that_was_not_analysed_is_not_judged(engine):
    engine.write("ratchets.toml", CONFIGURATION)
    engine.write("engine/sizes.py", FILES["engine/sizes.py"])
    engine.write("engine/case.py", IMPORT + "def f():\n    return configured_tp_size()\n")
    engine.write("engine/other.py", "x = 1\n")
    assert engine.check()["summary"]["status"] == 0
    report = engine.check("engine/other.py")
    assert (report["findings"], report["summary"]["status"]) == ([], 0)
    engine.write("engine/case.py", "def f():\n    return 1\n")
    assert engine.check("engine/other.py")["findings"] == []
    assert [one["qualname"] for one in engine.check("engine/case.py")["findings"]] == ["f"]
