"""Two hundred plug-ins that fail in every way, beside good ones: everybody else's plan is what it was."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

GOOD = """
def register(registry):
    registry.implement('kvcache.last_loc', '{name}', 'a:b', graph='always')
"""
# Ways to fail that only raise: they are caught in the process itself.
RAISING: list[Callable[[random.Random], str]] = [
    lambda dice: f"raise {dice.choice(['ValueError', 'KeyError', 'ImportError', 'SystemExit', 'MemoryError'])}('x')",
    lambda dice: "import nothing_of_this_name",
    lambda dice: "def register(registry:\n",
    lambda dice: "REGISTER = 1",
    lambda dice: "register = 3",
    lambda dice: "def register():\n    pass",
    lambda dice: f"def register(registry):\n    raise {dice.choice(['OSError', 'RecursionError', 'StopIteration'])}",
    lambda dice: (
        "def register(registry):\n    registry.implement('kvcache.last_loc', 'x', 'a:b', graph='always')\n    1 / 0"
    ),
    lambda dice: "def register(registry):\n    registry.implement('kvcache.lost_loc', 'x', 'a:b')",
    lambda dice: "def register(registry):\n    registry.implement('kvcache.last_loc', 'x', 'no target')",
    lambda dice: "def register(registry):\n    registry.implement('kvcache.last_loc', 'triton', 'a:b')",
    lambda dice: (
        "def register(registry):\n    registry.implement('kvcache.last_loc', 'x', 'a:b', priority=20)\n"
        "    registry.implement('kvcache.last_loc', 'y', 'a:b', priority=20)"
    ),
    lambda dice: "def register(registry):\n    registry.rule('r', 'attention', propose='nobody')",
    lambda dice: "def register(registry):\n    registry.rule('r', 'attention', propose='fa3', when={'modle.kind': 1})",
    lambda dice: "def register(registry):\n    registry.rules.clear()\n    raise ValueError",
    lambda dice: (
        "def register(registry):\n    registry.ops.clear()\n    registry.libraries.clear()\n    raise ValueError"
    ),
    lambda dice: "def register(registry):\n    registry._rows['attention'].clear()",
    lambda dice: "def register(registry):\n    registry.platform('cuda:sm90', 3)",
    lambda dice: "def register(registry):\n    registry.catalogue('/nowhere.yaml')",
    lambda dice: "def register(registry):\n    registry.choice('spec.algoritm', 'x')",
    lambda dice: "def register(registry):\n    registry.choice('spec.algorithm', 'X', device='gpu')",
    lambda dice: "class E(BaseException):\n    def __str__(self):\n        raise E\n    __repr__ = __str__\nraise E",
    lambda dice: "def register(registry):\n    registry.schema = None\n    raise ValueError",
    lambda dice: "def __getattr__(name):\n    raise RuntimeError(name)",
    lambda dice: "import sys; sys.modules[__name__] = None\ndef register(registry):\n    pass",
    lambda dice: f"raise Exception({'x' * dice.choice([0, 10, 100_000])!r})",
    lambda dice: "raise Exception('\\x1b[31m\\n\\u202e')",
]
SETTINGS = [
    "DATA = 3",
    "DATA = {'defaults': {'exec.grph': 1}}",
    "DATA = {'defaults': {'exec.graph': 'fast'}}",
    "DATA = {'defaults': 3}",
    "DATA = {'defaults': {'exec.attention.backend': object()}}",
    "DATA = {'environment': ['CONFBAG__EXEC__GRAPH']}",
    "DATA = {'schema': 'nowhere:Nobody', 'defaults': {'nobody.x': 1}}",
    "raise KeyError",
]
PLAN = """
import json, sys
from confbag import load
from confbag.backends import make_plan
from confbag.backends.declare.plugins import installed
found = {}
for platform in ("cuda:sm90", "npu:ascend910_93", "cpu:x86_64"):
    plan = make_plan(load({"spec.algorithm": "EAGLE", "spec.topk": 1}, env={}), platform)
    data = plan.to_dict(all=True)
    found[platform] = {
        "fingerprint": data["fingerprint"],
        "bindings": [[b["op"], b["phase"], b["provider"], b["rule"]] for b in data["bindings"]],
        "warnings": [text for text in data["warnings"] if not text.startswith("plug-in ")],
        "environment": data["environment"],
    }
rows = {failure.name: str(failure) for failure in installed().failures}
print(json.dumps([found, rows, sorted(row.provider for row in installed().rows("kvcache.last_loc"))]))
"""


@pytest.fixture
def plans(tmp_path: Path) -> Callable[[dict[str, tuple[str, str]]], list]:
    """Install plug-ins as bare dist-info folders, and plan in a child."""

    def run(plugins: dict[str, tuple[str, str]]) -> list:
        for name, (group, source) in plugins.items():
            (tmp_path / f"plugin_{name}.py").write_text(source, encoding="utf-8")
            info = tmp_path / f"{name}_dist-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: 1.0\n")
            attribute = "DATA" if group == "settings" else "register"
            (info / "entry_points.txt").write_text(f"[confbag.{group}]\n{name} = plugin_{name}:{attribute}\n")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CONFBAG")}
        env = {**kept, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        # What only raises needs no child of its own; what takes a process along is tested one by one beside this.
        env["CONFBAG_PLUGIN_SECONDS"] = "0"
        done = subprocess.run([sys.executable, "-c", PLAN], capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        found: list = json.loads(done.stdout)
        return found

    return run


@pytest.mark.parametrize("seed", range(4))
def test_whatever_fails_changes_nothing_for_the_others(
    plans: Callable[[dict[str, tuple[str, str]]], list], tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    plugins: dict[str, tuple[str, str]] = {}
    good = [f"good{number}" for number in range(3)]
    for name in good:
        plugins[name] = ("backends", GOOD.format(name=name))
    alone = plans(plugins)
    assert alone[1].keys() == set()
    kinds = [*((number, "backends") for number in range(len(RAISING))), *((number, "settings") for number in range(8))]
    bad = {}
    for number in range(50):
        which, group = kinds[(seed * 50 + number) % len(kinds)]
        source = RAISING[which](dice) if group == "backends" else SETTINGS[which]
        bad[f"{dice.choice('abcxyz')}{number}"] = (group, source)
    beside = plans(bad)
    assert beside[0] == alone[0]
    assert beside[2] == alone[2]
    silent = {name for name, (group, source) in bad.items() if "nowhere:Nobody" in source}
    assert beside[1].keys() == bad.keys() - silent
    for name, row in beside[1].items():
        assert row.startswith(f"plug-in {name} ({name}-dist) FAILED and is left out: ")
        assert len(row) < 2000
        assert row.isprintable()
