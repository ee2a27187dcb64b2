"""The shapes of the corpus: each gets its verdict and no other finding."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from confbag.ratchets.rules.case import complete

CODES = {"read": "CB101", "holder": "CB102", "opaque": "CB103", "handoff": "CB104", "write": "CB111"}
SHAPES = yaml.safe_load((Path(__file__).parent.parent / "corpus" / "ratchet_cases.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["name"] for shape in SHAPES])
def test_shape(judge_files, shape):
    judged = judge_files({"engine/case.py": complete(shape["code"])}, codes=tuple(CODES.values()))
    expected = [] if shape["verdict"] == "clean" else [CODES[shape["verdict"]]]
    assert [found.code for found in judged.analysis.findings] == expected
    assert judged.analysis.unanalysed == ()
