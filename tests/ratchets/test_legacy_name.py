"""CB142 beyond its own cases: uses of retired names through imports, aliases and modules that hand them on."""

from __future__ import annotations

import pytest

OLD, STATE, CLASS, METHOD = (
    "engine.old.get_old", "engine.old.STATE", "engine.old.Holder", "engine.old.Keeper.fetch",
)  # fmt: skip
OPTIONS = {"legacy": {OLD: "get_exec()", STATE: "the bag", CLASS: "", METHOD: "get_exec()", "engine.envs.OLD_*": "x"}}
FILES = {
    "engine/old.py": "STATE = {}\ndef get_old():\n    return 1\nclass Holder: ...\nclass Keeper:\n"
    "    def fetch(self): ...\n    def other(self): ...\n",
    "engine/api.py": "from engine.old import get_old as old, Keeper\n",
    "engine/star.py": "from engine.old import *\n",
    "engine/alias.py": "import engine.old\nfetch = engine.old.get_old\n",
}
IMPORT = "from engine.old import get_old\n"
SHAPES = {
    # Uses
    "a call": (IMPORT + "get_old()\n", [OLD]),
    "each use": (IMPORT + "def f():\n    get_old()\n    return get_old\n", [OLD, OLD]),
    "an import alone": (IMPORT, [OLD]),
    "an import under TYPE_CHECKING": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
                                      "    from engine.old import Holder\ndef f(x: Holder): ...\n", [CLASS]),
    "an import in a function": ("def f():\n    from engine.old import get_old as g\n    return g()\n", [OLD]),
    "an import on one way": ("try:\n    from engine.old import get_old\nexcept ImportError:\n    get_old = None\n"
                             "def f():\n    return get_old()\n", [OLD]),
    "an attribute of the module": ("import engine.old\nengine.old.get_old()\nengine.old.STATE\n", [OLD, STATE]),
    "an attribute of the module, renamed": ("import engine.old as o\no.get_old\n", [OLD]),
    "the module from its package": ("from engine import old\nold.get_old()\n", [OLD]),
    "relative": ("from .old import get_old as g\ng()\n", [OLD]),
    "relative module": ("from . import old as o\no.STATE\n", [STATE]),
    "a star": ("from engine.old import *\nget_old()\n", [OLD]),
    "a star of a star": ("from engine.star import *\nget_old()\n", [OLD]),
    "renamed elsewhere": ("from engine.api import old\nold()\n", [OLD]),
    "an alias elsewhere": ("from engine.alias import fetch\nfetch()\n", [OLD]),
    "an alias here counts once": (IMPORT + "g = get_old\ng()\ng()\n", [OLD]),
    "an alias on self counts once": (IMPORT + "class A:\n    def f(self):\n        self.g = get_old\n", [OLD]),
    "getattr": ("import engine.old\ngetattr(engine.old, 'get_old')()\n", [OLD]),
    "import_module": ("import importlib\nimportlib.import_module('engine.old').STATE\n", [STATE]),
    "a store": ("import engine.old as o\ndef f():\n    o.STATE = 1\n    o.STATE['a'] = 2\n    del o.STATE\n",
                [STATE] * 3),
    "what hangs on it": ("from engine.old import STATE\nSTATE.x.y\nSTATE['a'].z\n", [STATE, STATE]),
    "a base class and an annotation": ("from engine.old import Holder\nclass A(Holder): ...\ndef f(x: Holder): ...\n",
                                       [CLASS, CLASS]),
    "a decorator": (IMPORT + "@get_old\ndef f(): ...\n", [OLD]),
    "in a comprehension, a lambda, a match": (
        IMPORT + "[get_old() for x in y]\nlambda: get_old()\nmatch get_old():\n    case 1: ...\n", [OLD] * 3),
    "given on": (IMPORT + "import functools\nfunctools.partial(get_old, 1)\nf(key=get_old)\n", [OLD, OLD]),
    "a default of a parameter": (IMPORT + "def f(x=get_old()): ...\n", [OLD]),
    "a method of what is made": ("from engine.api import Keeper\nk = Keeper()\nk.fetch()\nKeeper.fetch\n",
                                 [METHOD, METHOD]),
    "a method by its class": ("from engine.api import Keeper\nKeeper().fetch()\nKeeper().other()\n", [METHOD]),
    "a glob": ("import engine.envs as e\ne.OLD_PORT\ne.NEW_PORT\ne.OLD_PORT.x\n",
               ["engine.envs.OLD_PORT", "engine.envs.OLD_PORT"]),
    # None
    "text and comments": ("'''engine.old.get_old'''\nx = 'get_old'  # get_old()\n", []),
    "another of that name": ("from engine.new import get_old, STATE\nget_old(), STATE\n", []),
    "a function of that name here": ("def get_old(): ...\nget_old()\n", []),
    "a parameter of that name": ("def f(get_old, STATE): return get_old(), STATE\n", []),
    "an attribute of that name": ("x.get_old(), self.STATE, x.old.get_old()\n", []),
    "a longer name": ("from engine.old import get_older, STATES\nget_older(), STATES\n", []),
    "a module that only begins alike": ("import engine.older\nengine.older.get_old()\n", []),
    "the module itself": ("import engine.old\nfrom engine import old\nprint(old)\n", []),
    "a keyword and a key": ("f(get_old=1)\nx = {'STATE': 2}\n", []),
    "bound anew": (IMPORT + "def f():\n    get_old = other\n    return get_old()\nget_old()\n", [OLD]),
    "a loop variable of that name": ("from engine.old import STATE\n[STATE for STATE in y]\nprint(STATE)\n", [STATE]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("triage", [True, False])
def test_shape(judge_files, name, triage):
    text, symbols = SHAPES[name]
    judged = judge_files({"engine/case.py": text, **FILES}, codes=("CB142",), options=OPTIONS, triage=triage)
    assert judged.analysis.unanalysed == ()
    assert judged.symbols() == [f"CB142 {symbol}" for symbol in symbols]


def test_the_replacement_is_said(judge_files):
    text = IMPORT + "from engine.old import Holder\nget_old()\nHolder\n"
    judged = judge_files({"engine/case.py": text, **FILES}, codes=("CB142",), options=OPTIONS)
    messages = [one.message for one in judged.analysis.findings if one.path == "engine/case.py"]
    assert messages == [f"`{OLD}` is retired; use `get_exec()`", f"`{CLASS}` is retired; take it out"]


def test_where_it_is_defined_its_own_name_is_no_use(judge_files):
    text = "STATE = {}\ndef get_old():\n    return STATE['x']\n"
    judged = judge_files({"engine/old.py": text}, codes=("CB142",), options=OPTIONS)
    assert [(one.qualname, one.symbol) for one in judged.analysis.findings] == [("get_old", STATE)]
