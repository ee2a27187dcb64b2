"""The rules beside the record rules: shapes beyond their own cases, places, and large files."""

from __future__ import annotations

import pickle
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confbag.ratchets.analysis import engine
from confbag.ratchets.codes import RULES
from confbag.ratchets.configuration import Configuration, Site
from confbag.ratchets.names.lexicon import lexicon, release
from confbag.ratchets.source.parse import parse

CODES = ("CB121", "CB131", "CB132", "CB133", "CB141", "CB142")
OPTIONS = {
    "predicates": ("engine.utils.is_npu", "engine.utils.is_hip"),
    "kernels": ("engine/kernels",),
    "hot": ("hot*", "*.hot"),
    "host": ("*_cpu*", "*_host", "*_list", "np.*"),
    "sites": {"engine.sizes.configured_*_size": (Site("engine/case.py", "listed", "before the groups exist"),)},
    "legacy": {"engine.old.get_old": "engine.new.get_new()"},
}
LISTED = "from engine.sizes import configured_tp_size as _size\ndef listed():\n    return _size()\n"


def found(judge_files, code, text, *, files=None, triage=True):
    """What one rule finds in one file, as symbols."""
    judged = judge_files({"engine/case.py": text, **(files or {})}, codes=(code,), options=dict(OPTIONS), triage=triage)
    assert judged.analysis.unanalysed == ()
    return [one.symbol for one in judged.analysis.findings if one.path == "engine/case.py"]


NPU = "from engine.utils import is_npu, is_hip\n"
SHAPES = [
    # (a): more ways to write the test
    ("CB131", NPU + "if (p := is_npu()) and True:\n    from a import k\nelse:\n    from b import k\n", ["k"]),
    ("CB131", NPU + "if any([is_npu(), is_hip()]):\n    from a import k\nelse:\n    from b import k\n", ["k"]),
    ("CB131", NPU + "if bool(is_npu()) is True:\n    from a import k\nelse:\n    from b import k\n", ["k"]),
    ("CB131", NPU + "P = True if is_npu() else False\nif P:\n    from a import k\nelse:\n    from b import k\n", ["k"]),
    ("CB131", NPU + "a = b = is_npu()\nif b:\n    from a import k\nelse:\n    from b import k\n", ["k"]),
    ("CB131", NPU + "a, b = is_npu(), 1\nif a:\n    from a import k\nelse:\n    from b import k\n", ["k"]),
    ("CB131", NPU + "a, b = is_npu(), x\nif b:\n    from a import k\nelse:\n    from b import k\n", []),
    ("CB131", NPU + "with x:\n    if is_npu():\n        from a import k\n    else:\n        from b import k\n", ["k"]),
    ("CB131", NPU + "from b import k\ntry:\n    if is_npu():\n        from a import k\nfinally:\n    pass\n", ["k"]),
    ("CB131", NPU + "if is_npu():\n    class K:\n        pass\nelse:\n    class K:\n        x = 1\n", ["K"]),
    ("CB131", NPU + "if is_npu():\n    import a.k as k\nelse:\n    import b.k as k\n", ["k"]),
    ("CB131", NPU + "if is_npu():\n    import a.k\nelse:\n    import a.j\n", []),
    ("CB131", NPU + "is_npu = other\nif is_npu():\n    from a import k\nelse:\n    from b import k\n", []),
    ("CB131", NPU + "import functools\nfrom a import k, j\ng = functools.partial(k, 1) if is_npu() else j\n", ["g"]),
    ("CB131", NPU + "g = (lambda x: x) if is_npu() else (lambda x: -x)\n", ["g"]),
    ("CB131", NPU + "import torch\ng = torch.bfloat16 if is_npu() else torch.half\n", []),
    ("CB131", NPU + "from a import k\ng = k() if is_npu() else k(1)\nh = k if is_npu() else None\n", []),
    ("CB131", NPU + "class C:\n    N = is_npu()\n    def f(self):\n        if self.N:\n            from a import k\n"
     "        else:\n            from b import k\n", ["k"]),
    ("CB131", NPU + "def f():\n    if is_npu():\n        log('npu')\n    from a import k\n    return k\n", []),
    ("CB131", NPU + "from typing import overload\nif is_npu():\n    @overload\n    def k(x: int): ...\n"
     "    @overload\n    def k(x: str): ...\n", []),
    ("CB131", NPU + "from a import A, B\ndef f(x):\n    if x:\n        return A()\n    return B()\nis_npu()\n", []),
    ("CB131", NPU + "from a import A, B\ndef f():\n    def g():\n        return A()\n    if is_npu():\n"
     "        return g\n"
     "    return B()\n", []),
    ("CB131", "import engine\nif engine.utils.is_npu():\n    from a import k\nelse:\n    from b import k\n", ["k"]),
    ("CB131", "from .utils import is_npu as n\nif n():\n    from a import k\nelse:\n    from b import k\n", ["k"]),
    ("CB131", "from engine.utils import *\nif is_npu():\n    from a import k\nelse:\n    from b import k\n", ["k"]),
    ("CB131", "import importlib\nu = importlib.import_module('engine.utils')\nif u.is_npu():\n    from a import k\n"
     "else:\n    from b import k\n", ["k"]),
    # CB132
    ("CB132", "import torch\nfor op in [torch.ops.x.a, torch.ops.x.b]:\n    op(1)\n",
     ["torch.ops.x.a", "torch.ops.x.b"]),
    ("CB132", "import torch as t, torch.ops as o\nt.ops.x.a(1)\no.x.b\n", ["torch.ops.x.a", "torch.ops.x.b"]),
    ("CB132", "from torch.ops import x\nx.a(1)\n", ["torch.ops.x.a"]),
    ("CB132", "import torch\nclass C:\n    def f(self):\n        self.op = torch.ops.x.a\n", ["torch.ops.x.a"]),
    ("CB132", "import torch\n@torch.ops.x.a.default.py_impl(1)\ndef f():\n    return 1\n", []),
    ("CB132", "def f(torch):\n    return torch.ops.x.a(1)\n", []),
    ("CB132", "import torch\n'torch.ops.x.a'  # torch.ops.x.b\nns = torch.ops.x\n", []),
    # CB133
    ("CB133", "def hot(x):\n    while x.any():\n        pass\n    assert x.all()\n", ["if any", "if all"]),
    ("CB133", "def hot(x):\n    return [y for y in x if y.any()]\n", ["if any"]),
    ("CB133", "def hot(x, n_list):\n    y = n_list[0]\n    z = y\n    return z.item(), x.item()\n", ["item"]),
    ("CB133", "class A:\n    def hot(self):\n        return self.x_host.tolist()\n"
     "    def cold(self, x):\n        x.cpu()\n", []),
    ("CB133", "def hot(x):\n    return float(x.max().values.sum())\n", ["float sum"]),
    ("CB133", "def hot(x):\n    return x.item, {'cpu': x.cpu_count()}\n", []),
    # CB141
    ("CB141", LISTED + "f = lambda: _size()\n", ["engine.sizes.configured_tp_size"]),
    ("CB141", LISTED + "import engine.sizes as s\ns.configured_ep_size()\n", ["engine.sizes.configured_ep_size"]),
    ("CB141", "x = 1\n", ["engine.sizes.configured_*_size"]),
    ("CB141", LISTED + "s = obj.configured_tp_size()\n", []),
    # CB142
    ("CB142", "from engine.old import get_old\ng = get_old\ng()\n", ["engine.old.get_old"]),
    ("CB142", "import engine.old\nx = getattr(engine.old, 'get_old')()\n", ["engine.old.get_old"]),
    ("CB142", "from engine.old import *\nget_old()\n", ["engine.old.get_old"]),
    ("CB142", "def f():\n    from engine.old import get_old\n    return get_old()\n", ["engine.old.get_old"]),
    ("CB142", "from engine.old import get_older\nget_older()\n", []),
    # CB121
    ("CB121", "X = {}\ndef f():\n    for X['a'] in y:\n        pass\n", ["X"]),
    ("CB121", "X = {}\ndef f():\n    with y as X['a']:\n        pass\n    X['b'], z = y\n", ["X", "X"]),
    ("CB121", "X = {}\ndef f():\n    def g():\n        X.update(a=1)\n    return g\n", ["X"]),
    ("CB121", "X = []\nf = lambda y: X.append(y)\n", ["X"]),
    ("CB121", "X = {}\ndef f(X):\n    X['a'] = 1\n", []),
    ("CB121", "x = 1\ndef f():\n    x = 2\n    def g():\n        nonlocal x\n        x = 3\n", []),
    ("CB121", "X = {}\ndef f():\n    return sorted(X), X.get(1), X | {}\n", []),
    ("CB121", "class A:\n    x = 1\ndef f(a: A):\n    a.x = 2\n    b = A()\n    b.x = 3\n", []),
    ("CB121", "import os, functools\ndef f():\n    return os.getenv('X')\ng = functools.cache(f)\n", ["f"]),
    ("CB121", "import os, functools\nclass A:\n    @functools.cached_property\n    def f(self):\n"
     "        return os.getenv('X')\n", []),
    ("CB121", "async def f():\n    global x\n    x = 1\n", ["x"]),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "symbols"), SHAPES)
@pytest.mark.parametrize("triage", [True, False])
def test_shape(judge_files, code, text, symbols, triage):
    assert found(judge_files, code, text, triage=triage) == symbols


def test_place_is_the_token_that_names_it(judge_files):
    text = "import torch\ndef f(é, x):\n    return (é, torch.ops\n        .x.rmsnorm\n        .default(x))\n"
    judged = judge_files({"engine/case.py": text}, codes=("CB132",))
    (one,) = judged.analysis.findings
    assert (one.line, one.column, one.end_line, one.end_column) == (4, 12, 4, 19)
    assert (one.qualname, one.first, one.last) == ("f", 3, 5)


def test_header_of_a_compound_statement_is_where_a_suppression_stands(judge_files):
    text = "def hot(x):\n    if (\n        x.any()\n    ):\n        return 1\n    return 2\n"
    judged = judge_files({"engine/case.py": text}, codes=("CB133",), options=dict(OPTIONS))
    (one,) = judged.analysis.findings
    assert (one.line, one.column, one.first, one.last) == (3, 11, 2, 4)


def test_stale_listing_of_a_file_that_is_gone(judge_files):
    judged = judge_files({"engine/other.py": "x = 1\n"}, codes=("CB141",), options=dict(OPTIONS))
    (one,) = judged.analysis.findings
    assert (one.path, one.qualname, one.line) == ("engine/case.py", "listed", 1)
    assert "take the [[site]] out" in one.message


def test_chain_of_renames_across_modules(judge_files):
    files = {
        "engine/a.py": "from engine.utils import is_npu as ascend\n",
        "engine/b/__init__.py": "from .c import *\n",
        "engine/b/c.py": "from engine.a import ascend\nASCEND = not ascend()\n",
    }
    text = "from engine.b import ASCEND as A\nif A:\n    from x import k\nelse:\n    from y import k\n"
    for triage in (True, False):
        assert found(judge_files, "CB131", text, files=files, triage=triage) == ["k"]


def test_a_module_that_hands_on_itself_ends(judge_files):
    files = {
        "engine/a.py": "from engine.b import *\nfrom engine.b import x\nx = x.y\n",
        "engine/b.py": "from engine.a import *\nfrom engine.a import x\nx = x.z\n",
    }
    text = "from engine.a import x, is_npu\nif x or is_npu():\n    from p import k\nelse:\n    from q import k\n"
    assert found(judge_files, "CB131", text, files=files) == []


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "text",
    [
        "def hot(x):\n" + "    x = x.cpu\n" * 20_000,
        NPU + "if is_npu():\n    from a import k\n" + "".join(f"elif {n}:\n    from b import k\n" for n in range(2000)),
        "def hot(x):\n    for y in x:\n" + "        y = y[0]\n" * 5_000,
        "x = " + "(" * 180 + "1" + ")" * 180 + "\ny = " + "not " * 900 + "x\n",
    ],
    ids=["assignments", "elif", "loop", "nesting"],
)  # fmt: skip
def test_large_files_are_read(judge_files, code, text):
    symbols = found(judge_files, code, LISTED + text)
    assert symbols == (["k"] if code == "CB131" and "elif" in text else [])


def test_a_lexicon_is_made_once_and_released():
    module = parse("a.py", "a", False, b"x = 1\n", 1000)
    first = lexicon(module)
    assert lexicon(module) is first
    release(module)
    assert first.scopes == []
    assert lexicon(module) is not first


ALL = [
    (code, case)
    for code in CODES
    for case in import_module(f"confbag.ratchets.rules.{RULES[code]}").CASES
]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(ALL), min_size=1, max_size=5), st.sampled_from(CODES))
def test_triage_and_pickling_change_nothing(tmp_path_factory, chosen, code):
    files = {}
    for number, (_, case) in enumerate(chosen):
        files.update(case.files)
        files[f"engine/m{number}.py"] = case.complete()
    options = {
        **OPTIONS,
        "predicates": (*OPTIONS["predicates"], "engine.utils.is_cuda", "engine.platforms.current.is_npu"),
    }
    root = tmp_path_factory.getbasetemp()
    configuration = Configuration(root=root, repository=root, codes=(code,), **options)

    def analyse(triage):
        return engine.analyse(
            configuration, sorted(files), read=lambda path: files[path].encode(), triage=triage
        ).findings

    assert analyse(True) == analyse(False)
    rule = import_module(f"confbag.ratchets.rules.{RULES[code]}")
    facts = {}
    for path, text in files.items():
        module = parse(path, path[:-3].replace("/", ".").removesuffix(".__init__"), path.endswith("__init__.py"),
                       text.encode(), 1_000_000)  # fmt: skip
        collected = rule.collect(module, configuration)
        if collected is not None:
            facts[path] = pickle.loads(pickle.dumps(collected))
    assert sorted(rule.judge(facts, configuration)) == sorted(analyse(False))
