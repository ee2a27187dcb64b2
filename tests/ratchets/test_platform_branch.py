"""CB131 beyond its own cases: the four forms in more ways, what tests the platform, and what is no implementation."""

from __future__ import annotations

import pytest

OPTIONS = {
    "predicates": (
        "engine.utils.is_npu",
        "engine.utils.is_hip",
        "engine.platforms.current.is_npu",
        "engine.platforms.Platform.is_npu",
    )
}
NPU = "from engine.utils import is_npu, is_hip\n"
TWO = "    from a import k\nelse:\n    from b import k\n"
DATA = {
    "engine/kinds.py": """\
from enum import Enum
from typing import NamedTuple
fast_limit = 64
slow_limit = 8 * 2
fp8_dtype = None
class Out(NamedTuple):
    x: int
class Packed(NamedTuple):
    x: int
class Kind(Enum):
    A = 1
class Method:
    pass
class NPUMethod:
    pass
def fast(x):
    return x
def slow(x):
    return x
""",
    "engine/dev.py": "from engine.utils import is_npu\nclass Dev:\n    npu = is_npu()\n",
    "engine/again.py": "from engine import dev as d\n",
    "engine/api.py": "from engine.kinds import Out as Result, Packed, fast_limit as limit, slow_limit\n",
}
SHAPES = {
    # What is a test of the platform
    "elif and else count": (
        "if x:\n    from a import k\nelif is_npu():\n    pass\nelse:\n    from b import k\n", ["k"]),
    "before the test in a chain": ("if x:\n    from a import k\nelif is_npu():\n    pass\n", []),
    "not": ("on = is_npu()\nif not on:\n" + TWO, ["k"]),
    "and with something else": ("if x and is_npu():\n" + TWO, ["k"]),
    "flag of a flag": ("a = is_npu()\nb = a and x\nc = not b\nif c:\n" + TWO, ["k"]),
    "annotated flag": ("a: bool = is_npu()\nif a:\n" + TWO, ["k"]),
    "compared flag": ("a = is_npu() == True\nif a is False:\n" + TWO, ["k"]),
    "match on the platform": ("match is_npu():\n    case True:\n        from a import k\n    case _:\n"
                              "        from b import k\n", ["k"]),
    "guard of a case": ("match x:\n    case 1 if is_npu():\n        from a import k\n    case _:\n"
                        "        from b import k\n", ["k"]),
    "match on something else": ("match x:\n    case 1:\n        from a import k\n    case _:\n        from b import k\n"
                                "is_npu()\n", []),
    "a flag that was bound anew": ("a = is_npu()\na = x\nif a:\n" + TWO, []),
    "a local flag": ("def f():\n    a = is_npu()\n    if a:\n        from a import k\n    else:\n"
                     "        from b import k\n    return k\n", ["k"]),
    "a flag of a closure": ("def f():\n    a = is_npu()\n    def g():\n        if a:\n            from a import k\n"
                            "        else:\n            from b import k\n        return k\n    return g\n", ["k"]),
    "a flag given at once to self and others": (
        "class A:\n    def __init__(self):\n        self.n, self.m = is_npu(), 1\n"
        "    def f(self):\n        if self.n:\n            from a import k\n"
        "        else:\n            from b import k\n"
        "        if self.m:\n            from a import j\n        else:\n            from b import j\n", ["k"]),
    "a method of an instance": ("from engine.platforms import Platform\np = Platform()\nif p.is_npu():\n" + TWO, ["k"]),
    "a flag of a class of another module": ("from engine.dev import Dev\nif Dev.npu:\n" + TWO, ["k"]),
    "a flag of a module of another module": ("from engine.again import d\nif d.Dev.npu:\n" + TWO, ["k"]),
    "within another test": ("if x:\n    if is_npu():\n        from a import k\n    else:\n        from b import k\n",
                            ["k"]),
    "beside another test": ("if is_npu():\n    if x:\n        from a import k\nelse:\n    from b import k\n", ["k"]),
    "in a loop": ("for x in y:\n    if is_npu():\n        from a import k\n    else:\n        from b import k\n",
                  ["k"]),
    "another function's flag": ("def g():\n    on = is_npu()\ndef f(on):\n    if on:\n        from a import k\n"
                                "    else:\n        from b import k\n", []),
    "what only a type checker sees": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import k\n"
                                      "if is_npu():\n    from b import k\n", []),
    "behind what only a type checker sees": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import k\nelse:\n    if is_npu():\n"
        "        from b import k\n    else:\n        from c import k\n", ["k"]),
    "a number that the platform decides": ("size = 4 if is_npu() else 8\nif size > n:\n" + TWO, []),
    "a count of platforms": ("if sum([is_npu(), x]) > 1:\n" + TWO, []),
    "a parameter of the name": ("def f(is_npu):\n    if is_npu():\n        from a import k\n    else:\n"
                                "        from b import k\n", []),
    "an attribute of the name": ("if tensor.is_npu:\n" + TWO, []),
    # (a)
    "re-bound by a call": ("from a import k\nif is_npu():\n    k = wrap(k)\n", ["k"]),
    "re-bound to an attribute of something unknown": ("from a import k\nif is_npu():\n    k = table.k\n", ["k"]),
    "re-bound to a number": ("from a import k\nif is_npu():\n    k = 3\n", []),
    "re-bound to a text": ("from a import k\nif is_npu():\n    k = 'x' + 'y'\n", []),
    "the same name of the same module": ("if is_npu():\n    from a import k\nelse:\n    from a import k\n", ["k"]),
    "the same module twice": ("if is_npu():\n    import a\nelse:\n    import a\n", []),
    "two modules under one name": ("if is_npu():\n    import a as k\nelse:\n    import b as k\n", ["k"]),
    "both in one branch": ("if is_npu():\n    try:\n        from a import k\n    except ImportError:\n"
                           "        from b import k\n", ["k"]),
    "def and import": ("if is_npu():\n    from a import k\nelse:\n    async def k(x):\n        return x\n", ["k"]),
    "def over an import": ("from a import k\nif not is_npu():\n    def k(x):\n        return x\n", ["k"]),
    "early return": ("def f(x):\n    if is_npu():\n        from a import k\n        return k(x)\n    from b import k\n"
                     "    return k(x)\n", ["k"]),
    "two functions of one class": ("class A:\n    if is_npu():\n        def f(self): ...\n    def g(self): ...\n", []),
    "a method replaced": ("class A:\n    def f(self): ...\n    if is_npu():\n        f = other\n", []),
    "a method replaced by a known one": ("from a import g\nclass A:\n    def f(self): ...\n    if is_npu():\n"
                                         "        f = g\n", ["f"]),
    "property and its setter": ("class A:\n    if is_npu():\n        @property\n        def f(self): ...\n"
                                "        @f.setter\n        def f(self, x): ...\n", []),
    "under global": ("def load():\n    global k\n    if is_npu():\n        from a import k\n    else:\n"
                     "        from b import k\n", ["k"]),
    "state under global": ("from a import one\nk = None\ndef load():\n    global k\n    if is_npu():\n"
                           "        k = one\n",
                           []),
    "called, whatever it is": ("def f(self, x):\n    if is_npu():\n        g = self.fast\n    else:\n"
                               "        g = self.slow\n    return g(x)\n", ["g"]),
    "an attribute that is not called": ("def f(self, x):\n    if is_npu():\n        g = self.fast\n    else:\n"
                                        "        g = self.slow\n    return g + x\n", []),
    "dtypes by import": (
        "if is_npu():\n    from torch import float16 as t\nelse:\n    from torch import bfloat16 as t\n", []),
    "constants by import": ("if is_npu():\n    from a import BLOCK_SIZE\nelse:\n    from b import BLOCK_SIZE\n", []),
    "a kernel whose name begins like a dtype": ("if is_npu():\n    from a import int8_gemm\nelse:\n"
                                                "    from b import int8_gemm\n", ["int8_gemm"]),
    # (b)
    "None in the other branch": ("if is_npu():\n    from a import k\nelse:\n    k = None\n", ["k"]),
    "None under the test": ("from a import k\nif is_npu():\n    k = None\n", ["k"]),
    "annotated None": ("k: object = None\nif is_npu():\n    from a import k\n", ["k"]),
    "None by ImportError in the branch": ("if is_npu():\n    try:\n        from a import k\n    except ImportError:\n"
                                          "        k = None\n", ["k"]),
    "None by ImportError alone": ("is_npu()\ntry:\n    from a import k\nexcept ImportError:\n    k = None\n", []),
    "None and a constant": ("k = None\nif is_npu():\n    k = 3\n", []),
    # (c)
    "partials": ("from functools import partial\nfrom a import j\ng = partial(j, 1) if is_npu() else partial(j, 2)\n",
                 ["g"]),
    "the same on both sides": ("from a import j\ng = j if is_npu() else j\n", []),
    "called at once": ("def f(self, x):\n    return (self.fast if is_npu() else self.slow)(x)\n", ["fast"]),
    "called later": ("def f(self, x):\n    g = self.fast if is_npu() else self.slow\n    return g(x)\n", ["g"]),
    "values of self": ("def f(self, x):\n    g = self.fast if is_npu() else self.slow\n    return g\n", []),
    "as a base, a default, an argument, a decorator": (
        "from a import A, B, j, k\nclass C(A if is_npu() else B): ...\ndef f(x=j if is_npu() else k): ...\n"
        "def g():\n    use(k if is_npu() else j)\nclass D:\n    @(k if is_npu() else j)\n    def f(self): ...\n",
        ["A", "j", "k", "k"]),
    "classes and functions of torch": ("import torch\ng = torch.npu.NPUGraph if is_npu() else torch.cuda.CUDAGraph\n"
                                       "s = torch.npu.stream if is_npu() else torch.cuda.stream\n", ["g", "s"]),
    "members of an enumeration": ("import a\nfrom a import Kind\ng = Kind.A if is_npu() else Kind.B\n"
                                  "h = a.Kind.fast if is_npu() else a.Kind.slow\n", []),
    "texts, lists, calls": ("g = 'a' if is_npu() else 'b'\nh = [1] if is_npu() else [2]\n"
                            "i = make() if is_npu() else other()\n", []),
    "in a lambda": ("from a import j, k\ng = lambda: j if is_npu() else k\n", ["j"]),
    "in a comprehension": ("from a import j, k\ng = [j if is_npu() else k for x in y]\n", ["j"]),
    "nested": ("from a import i, j, k\ng = i if is_npu() else j if is_hip() else k\n", ["g"]),
    "walrus": ("from a import j, k\nuse(g := j if is_npu() else k)\n", ["g"]),
    "one side a number": ("from a import j\ng = j if is_npu() else 0\n", []),
    "kernels whose names begin like dtypes": ("from a import fp8_gemm, int8_gemm\n"
                                              "g = fp8_gemm if is_npu() else int8_gemm\n", ["g"]),
    "dtypes": ("from a import fp8_dtype, float8_e4m3fnuz\ng = fp8_dtype if is_npu() else float8_e4m3fnuz\n", []),
    "values of another module": ("from engine.kinds import fast_limit, slow_limit\n"
                                 "g = fast_limit if is_npu() else slow_limit\n", []),
    "values that an api hands on": ("from engine.api import limit, slow_limit\ng = limit if is_npu() else slow_limit\n",
                                    []),
    "functions of another module": ("from engine.kinds import fast, slow\ng = fast if is_npu() else slow\n", ["g"]),
    # (d)
    "classes of another module": ("from engine.kinds import Method, NPUMethod\ndef f():\n    if is_npu():\n"
                                  "        return NPUMethod()\n    return Method()\n", ["f"]),
    "records of another module": ("from engine.api import Packed, Result\ndef f():\n    if is_npu():\n"
                                  "        return Packed(1)\n    return Result(1)\n", []),
    "an early return under a negation": ("from a import A, B\ndef f():\n    if not is_npu():\n        return B()\n"
                                         "    return A()\n", ["f"]),
    "elif": ("from a import A, B, C\ndef f():\n    if is_npu():\n        return A()\n    elif is_hip():\n"
             "        return B()\n    else:\n        return C()\n", ["f"]),
    "a class and None": ("from a import A\ndef f():\n    if is_npu():\n        return A()\n    return None\n", []),
    "a lambda": ("from a import A, B\nmake = lambda: A() if is_npu() else B()\n", ["make"]),
    "async": ("from a import A, B\nasync def f():\n    return A() if is_npu() else B()\n", ["f"]),
    "in a nested function": ("from a import A, B\ndef f():\n    def g():\n        if is_npu():\n"
                             "            return A()\n        return B()\n    return g\n", ["g"]),
    "raised, not returned": ("from a import A\ndef f():\n    if is_npu():\n        raise ValueError('x')\n"
                             "    return A()\n", []),
    "local records": ("from typing import NamedTuple\nclass A(NamedTuple):\n    x: int\nclass B(NamedTuple):\n"
                      "    x: int\ndef f():\n    if is_npu():\n        return A(1)\n    return B(1)\n", []),
}  # fmt: skip


def judged(judge_files, text, files=DATA, **more):
    given = judge_files(
        {"engine/case.py": text, **files}, codes=("CB131",), options={**OPTIONS, **more.pop("options", {})}, **more
    )
    assert given.analysis.unanalysed == ()
    return [found for found in given.analysis.findings if found.path == "engine/case.py"]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("triage", [True, False])
def test_shape(judge_files, name, triage):
    text, symbols = SHAPES[name]
    assert [found.symbol for found in judged(judge_files, NPU + text, triage=triage)] == symbols


def test_ways_to_import_the_test(judge_files):
    for head in (
        "import engine.utils as u\non = u.is_npu()\n",
        "from engine import utils\non = utils.is_npu()\n",
        "from .utils import is_npu as n\non = n()\n",
        "from engine.star import *\non = is_npu()\n",
        "from engine.renamed import ascend\non = ascend()\n",
        "from engine.renamed import ASCEND as on\n",
        "from engine.platforms import current\non = current.is_npu()\n",
        "try:\n    from engine.utils import is_npu\nexcept ImportError:\n    is_npu = None\non = is_npu()\n",
        "on = getattr(__import__('x'), 'y')\nimport engine.utils\non = getattr(engine.utils, 'is_npu')()\n",
    ):
        files = {
            "engine/star.py": "from engine.utils import *\n",
            "engine/renamed.py": "from engine.utils import is_npu as ascend\nASCEND = ascend() or False\n",
        }
        for triage in (True, False):
            found = judged(judge_files, head + "if on:\n" + TWO, files, triage=triage)
            assert [one.symbol for one in found] == ["k"], head


def test_once_a_scope_and_the_scope_is_the_key(judge_files):
    text = NPU + "if is_npu():\n" + TWO + "def f():\n    if is_npu():\n        from a import k\n    else:\n"
    text += "        from c import k\n    return k\n"
    assert [(one.qualname, one.symbol) for one in judged(judge_files, text)] == [("<module>", "k"), ("f", "k")]
    text = (
        NPU
        + "def load():\n    global k\n    if is_npu():\n        from a import k\n    else:\n        from b import k\n"
    )
    assert [(one.qualname, one.symbol) for one in judged(judge_files, text)] == [("load", "k")]


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("if is_npu():\n    from a import k\n", ["k"]),
        ("if is_npu():\n    def k(): ...\n    K = 3\n", ["k"]),
        ("if x:\n    from a import k\n", []),
        ("def f():\n    if is_npu():\n        from a import k\n        k()\n", ["k"]),
        ("k = 3\nif is_npu():\n    from a import k\n", []),
        ("if is_npu():\n    from a import BLOCK_SIZE\n", []),
        ("if is_npu():\n    import torch_npu\n", ["torch_npu"]),
    ],
)
def test_strict_adds_names_bound_only_under_a_test(judge_files, text, symbols):
    assert [one.symbol for one in judged(judge_files, NPU + text, options={"strict": True})] == symbols
    assert judged(judge_files, NPU + text) == []


def test_strict_through_the_command(engine):
    engine.write("engine/utils.py", "def is_npu():\n    return False\n")
    engine.write("engine/case.py", "from engine.utils import is_npu\nif is_npu():\n    from a import k\n")
    table = 'roots = ["engine"]\nenable = ["CB131"]\n[CB131]\npredicates = ["engine.utils.is_npu"]\n'
    engine.write("ratchets.toml", table)
    assert engine.check("--no-cache")["findings"] == []
    engine.write("ratchets.toml", table + "strict = true\n")
    (found,) = engine.check()["findings"]
    assert (found["symbol"], found["line"], found["message"].partition(";")[0]) == (
        "k", 3, "`k` is there only on some platforms",
    )  # fmt: skip
    engine.write("ratchets.toml", table + "strict = false\n")
    assert engine.check()["findings"] == []


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('enable = ["CB131"]\n', "CB131 needs the platform tests"),
        ('enable = ["CB131"]\n[CB131]\nstrict = true\n', "CB131 needs the platform tests"),
        ("[CB131]\npredicates = []\n", "CB131 needs the platform tests"),
        ('[CB131]\npredicates = ["engine.utils.is_npu"]\nstrict = "yes"\n', "ratchets.toml:4:1: `strict` must be true"),
        ('[CB131]\npredicates = "engine.utils.is_npu"\n', "predicates"),
        ('[CB131]\npredicates = ["engine.utils.is_npu()"]\n', "no dotted name"),
        ('[CB131]\npredicates = ["engine.utils.is_npu"]\nstrickt = true\n', "unknown key `strickt`"),
        ("[CB132]\nkernel = []\n", "unknown key `kernel`"),
        ('[CB133]\nhots = ["f"]\n', "unknown key `hots`"),
        ('[CB141]\ncallee = ["f"]\n', "unknown key `callee`"),
        ('[CB142]\nname = {}\n', "unknown key `name`"),
        ("[CB121]\nstrict = true\n", "ratchets.toml:3:1: unknown key `strict`"),
    ],
)  # fmt: skip
def test_options_that_are_wrong_are_said(engine, table, said):
    engine.write("engine/utils.py", "def is_npu():\n    return False\n")
    engine.write("ratchets.toml", 'roots = ["engine"]\n' + table)
    ran = engine.run("check")
    assert ran.status == 8
    assert said in ran.err
    assert ran.out == ""
