"""`confbag catalog`: every row and rule, filtered by device, kind, phase and name; and the page in docs is fresh."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from confbag.backends.declare.catalogue import read

Run = Callable[..., "CompletedProcess[str]"]
PAGE = "docs/attention-backends.md"


def rows(called: Run, *argv: str) -> list[dict[str, Any]]:
    ran = called("catalog", "--format", "json", *argv)
    assert (ran.returncode, ran.stderr) == (0, "")
    listed: list[dict[str, Any]] = json.loads(ran.stdout)["rows"]
    return listed


def names(called: Run, *argv: str) -> set[str]:
    return {row["provider"] for row in rows(called, *argv)}


def test_the_page_in_docs_is_what_the_command_prints(called: Run, root: Path) -> None:
    ran = called("catalog", "--format", "markdown")
    page = (root / PAGE).read_text(encoding="utf-8")
    assert ran.stdout == page, f"write it again: confbag catalog --format markdown > {PAGE}"


def test_every_row_and_rule_is_printed_by_every_format(called: Run) -> None:
    data = {"rules": read("rules.yaml"), "rows": read("attention.yaml")["rows"]}
    providers = {row["provider"] for row in data["rows"]}
    chosen = [rule["name"] for rule in data["rules"]["choose"] if rule["op"] == "attention"]
    filled = [fill["name"] for fill in data["rules"]["fill"] if fill.get("after") in (None, "attention")]
    for format in ("table", "json", "markdown"):
        text = called("catalog", "--format", format).stdout.replace("\\", "")
        for name in (*providers, *chosen, *filled):
            assert name in text, (format, name)
    listed = json.loads(called("catalog", "--format", "json").stdout)
    assert [rule["name"] for rule in listed["rules"]] == chosen
    assert [fill["name"] for fill in listed["settings"]] == filled
    assert set(listed["facts"]) == set(data["rules"]["facts"])


def test_every_column_comes_back(called: Run) -> None:
    given = {(row["provider"], row.get("variant")): row for row in read("attention.yaml")["rows"]}
    shown = {(row["provider"], row["variant"]): row for row in rows(called)}
    assert shown.keys() == given.keys()
    for name, row in given.items():
        entry = shown[name]
        pages = row.get("pages", {})
        topk = row.get("topk", "any")
        assert entry["kind"] == row["kind"], name
        assert entry["device"] == row.get("device", []), name
        assert entry["arch"] == row.get("arch", []), name
        assert entry["components"] == row.get("components", []), name
        assert entry["phases"] == row["phases"], name
        emulated = pages.get("emulated", False)
        told = {"sizes": pages.get("sizes", []), "any": pages.get("any", False) or emulated, "emulated": emulated}
        assert entry["pages"] == told, name
        assert entry["branching_pages"] == row.get("branching_pages", []), name
        assert entry["kv"] == row.get("kv", []), name
        assert entry["topk"] == topk, name
        assert entry["topk_pages"] == row.get("topk_pages", []), name
        assert entry["features"] == row.get("features", []), name
        assert sorted(entry["deterministic"]) == sorted(row.get("deterministic", [])), name
        assert (entry["graph"] == "always") is row["graph"], name
        assert entry["aliases"] == row.get("aliases", []), name
        assert entry["unconfirmed"] == row.get("unconfirmed", []), name
        assert (entry["target"] is None) is (entry["engine"] == "sglang"), name
        assert len(entry["needs"]) == len(row.get("needs", [])), name


def test_what_was_not_confirmed_is_marked(called: Run) -> None:
    marked = [line for line in called("catalog", "--format", "markdown").stdout.splitlines() if "[?]" in line]
    found = {line.split("</code>")[0].removeprefix("| <code>").replace("\\", "") for line in marked[1:]}
    assert found == {"dual_chunk_flash_attn", "intel_xpu (mha)", "intel_xpu (mla)", "intel_amx"}
    assert "sm89 sm90 [?]" in called("catalog", "dual_chunk_flash_attn").stdout


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--device", "npu"], {"torch_native", "dsa", "dsv4", "reference", "ascend"}),
        (["--device", "npu", "--kind", "mha"], {"torch_native", "ascend"}),
        (["--device", "npu", "--kind", "mha", "--phase", "draft"], {"ascend"}),
        (["--device", "mps"], {"torch_native", "reference"}),
        (["--kind", "dsa"], {"dsa"}),
        (["fa3", "nsa"], {"fa3", "dsa"}),
        (["fa3", "--kind", "dsv4"], set()),
        (["--device", "hip", "--device", "musa", "--kind", "mla"], {"triton", "aiter", "torch_native"}),
    ],
)
def test_filters(called: Run, argv: list[str], expected: set[str]) -> None:
    assert names(called, *argv) == expected
    shown = called("catalog", *argv).stdout
    assert ("no backend is all of this" in shown) is (not expected)


def test_rules_that_cannot_speak_are_left_out(called: Run) -> None:
    shown = called("catalog", "--device", "npu", "--kind", "mha").stdout
    rules = {line.split()[0] for line in shown.splitlines() if line.strip()}
    assert "mha-npu" in rules
    for other in ("mha-hopper", "mla-npu", "attention-dsa", "deterministic-all-reduce"):
        assert other not in rules
    assert "deterministic-sampling-npu" in shown


def test_the_table_is_80_columns_without_colour(called: Run) -> None:
    ran = called("catalog")
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert "\x1b" not in ran.stdout


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["fa33"], "catalog: unknown provider of attention 'fa33'; did you mean fa3?"),
        (["--device", "cudda"], "--device: unknown device 'cudda'; did you mean cuda?"),
        (["--kind", "mhaa"], "--kind: unknown model kind 'mhaa'; did you mean mha?"),
        (["--phase", "decod"], "--phase: unknown phase 'decod'; did you mean decode?"),
        (["--op", "atention"], "--op: unknown op 'atention'; did you mean attention?"),
        (["--format", "html"], "invalid choice"),
    ],
)
def test_unknown_names_exit_2_with_the_nearest(called: Run, argv: list[str], told: str) -> None:
    ran = called("catalog", *argv)
    assert ran.returncode == 2
    assert told in ran.stderr


def test_faults_are_told_together(called: Run) -> None:
    ran = called("catalog", "fa33", "--device", "cudda", "--phase", "x")
    assert len(ran.stderr.splitlines()) == 3


def test_another_op_has_a_catalogue_too(called: Run) -> None:
    shown = called("catalog", "--op", "kvcache.last_loc").stdout
    assert "triton_int32_safe" in shown
    assert "last-loc-safe" in shown
    assert "deterministic-radix-cache" not in shown
