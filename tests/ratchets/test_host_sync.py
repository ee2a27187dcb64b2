"""CB133 beyond its own cases: where the host waits, where it does not, and which functions are hot."""

from __future__ import annotations

import pytest

OPTIONS = {
    "hot": ("hot", "A.forward*", "engine.case.plan", "*.replay"),
    "host": ("*_cpu*", "*_host", "*_list", "np.*"),
}
HEAD = "import torch\nimport numpy as np\n"
# Bodies of `hot`: what waits.
BODIES = {
    # Waits
    "a chain": ("return x.float().max().item()", ["item"]),
    "a copy of a copy": ("return x.cpu().tolist()", ["cpu", "tolist"]),
    "in a comparison": ("if (x > 0).any(): pass", ["if any"]),
    "not": ("if not (x > 0).all(): pass", ["if all"]),
    "elif": ("if y: pass\n    elif x.any(): pass", ["if any"]),
    "while": ("while not x.all(): x = f(x)", ["if all"]),
    "ternary": ("return 1 if x.sum() > 3 else 2", ["if sum"]),
    "assert": ("assert x.min() >= 0", ["if min"]),
    "walrus in a test": ("if (n := x.max()) > 3: pass", ["if max"]),
    "and, or": ("if y and (z or x.any()): pass", ["if any"]),
    "casts": ("return bool(x.all()), int(x.sum() + 1), float(-x.min())", ["bool all", "int sum", "float min"]),
    "a cast of a method of the result": ("return int(x.max().to(torch.int64))", ["int max"]),
    "values of a reduction": ("return int(x.max(dim=0).values[0])", ["int max"]),
    "an index of a reduction": ("return bool(x.any(dim=0)[0])", ["bool any"]),
    "torch's functions": ("return bool(torch.any(x)) or int(torch.max(x))", ["bool any", "int max"]),
    "a filter": ("return [y for y in x if y.any()]", ["if any"]),
    "a builtin over a generator": ("if any(y.any() for y in x): pass", ["if any"]),
    "nested functions, lambdas, classes": (
        "def g(): return x.item()\n    h = lambda: x.cpu()\n    class B:\n        def f(self): return x.tolist()",
        ["item", "cpu", "tolist"]),
    "await": ("return (await x).item()", ["item"]),
    "synchronise": ("torch.cuda.synchronize()\n    torch.npu.synchronize(0)\n    s.synchronize()\n"
                    "    torch.cuda.current_stream().synchronize()\n    self.event.synchronize()", ["synchronize"] * 5),
    "synchronise by other names": ("from torch.cuda import synchronize as wait\n    wait()\n"
                                   "    again = torch.npu.synchronize\n    again()", ["synchronize"] * 2),
    "a host value that was moved": ("return x_cpu.to('cuda').item(), x_cpu.cuda().max().item()", ["item", "item"]),
    "a local of a host value that was moved": ("y = x_cpu.to(device, copy=True)\n    return y.item()", ["item"]),
    "host on one way": ("y = x_cpu\n    if z: y = x\n    return y.item()", ["item"]),
    "a host value changed by another": ("y = x_cpu\n    y += x\n    return y.item()", ["item"]),
    "one of two locals": ("a, b = x_cpu, x\n    return a.item(), b.item()", ["item"]),
    "an index that is on the host": ("return x[i_cpu].item()", ["item"]),
    "a loop over the device": ("for y in x: y.item()", ["item"]),
    "a name that only holds the word": ("return cpu.item(), x_lists.tolist()", ["item", "tolist"]),
    # None
    "references": ("return x.item, x.cpu, torch.cuda.synchronize", []),
    "names alike": ("return x.items(), x.cpu_count(), x.itemsize(), synchronized()", []),
    "reductions kept on the device": ("y = x.max() + x.sum()\n    return torch.where(x.any(), y, x.min())", []),
    "a reduction given to a function": ("if f(x.max()): pass\n    return int(f(x.sum()))", []),
    "facts that need no wait": ("return int(x.max().numel()), int(x.sum().shape[0]), bool(x.min().dim())", []),
    "builtins": ("return int(max(1, 2)), bool(any([1])), float(sum([1.0]))", []),
    "host receivers": ("return x_cpu.item(), self.n_host.tolist(), b.seq_list[0].item(), x_cpu.max().item()", []),
    "host reductions": ("if x_cpu.max() > 3: pass\n    return bool(np.any(x)), int(torch.max(x_cpu))", []),
    "locals of host values": ("y = x_cpu[1:]\n    z = y.float()\n    return z.item(), int((z + 1).max())", []),
    "a walrus of a host value": ("if (y := x_cpu): return y.item()", []),
    "a loop over the host": ("for y in x_cpu: y.item()\n    return [z.item() for z in x_list]", []),
    "a loop over two on the host": ("for i, (y, z) in enumerate(zip(x_cpu, y_list)): y.item() + z.item()", []),
    "a dtype on the host": ("return x_cpu.to(torch.int64).item()", []),
    "a closure over a host value": ("y = x_cpu\n    def g(): return y.item()\n    return g", []),
}  # fmt: skip


def judged(judge_files, text, **how):
    given = judge_files({"engine/case.py": HEAD + text}, codes=("CB133",), options=dict(OPTIONS), **how)
    assert given.analysis.unanalysed == ()
    return [found.removeprefix("CB133 ") for found in given.symbols()]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("triage", [True, False])
def test_body(judge_files, name, triage):
    body, symbols = BODIES[name]
    assert judged(judge_files, f"async def hot(self, x, x_cpu):\n    {body}\n", triage=triage) == symbols
    assert judged(judge_files, f"async def cold(self, x, x_cpu):\n    {body}\n", triage=triage) == []


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("def hot(x): x.item()\n", ["item"]),
        ("class B:\n    def hot(self, x): x.item()\n", []),
        ("class A:\n    def forward(self, x): x.item()\n    def forward_decode(self, x): x.cpu()\n", ["item", "cpu"]),
        ("class A:\n    def before_forward(self, x): x.item()\n", []),
        ("class A:\n    class A:\n        def forward(self, x): x.item()\n", []),
        ("def plan(x): x.item()\n", ["item"]),
        ("def outer():\n    def plan(x): x.item()\n", []),
        ("class Runner:\n    def replay(self, x): x.item()\n", ["item"]),
        ("def outer():\n    def replay(x): x.item()\n", ["item"]),
        ("async def hot(x): x.item()\n", ["item"]),
        ("if x:\n    def hot(x): x.item()\nelse:\n    def hot(x): x.cpu()\n", ["item", "cpu"]),
        ("@wrap(x.item())\ndef hot(y=x.cpu()): return y\n", []),
        ("hot = lambda x: x.item()\n", []),
    ],
)
def test_hot_is_a_qualname_or_a_glob(judge_files, text, symbols):
    assert judged(judge_files, text) == symbols


def test_the_module_counts_where_a_pattern_names_it(judge_files):
    files = {"engine/case.py": "def plan(x): x.item()\n", "engine/other.py": "def plan(x): x.item()\n"}
    given = judge_files(files, codes=("CB133",), options=dict(OPTIONS))
    assert [(found.path, found.qualname) for found in given.analysis.findings] == [("engine/case.py", "plan")]


def test_without_patterns_every_receiver_counts(judge_files):
    given = judge_files({"engine/case.py": "def hot(x_cpu): x_cpu.item()\n"}, codes=("CB133",), options={"hot": ("*",)})
    assert given.symbols() == ["CB133 item"]
