"""What a plan is where it is looked at: printed, in a notebook, and in the commands, one page."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from confbag import load
from confbag.backends import Plan, make_plan
from confbag.backends.render.table import render

MODEL = {"model": {"kind": "mha", "num_heads": 8, "num_kv_heads": 8, "head_dim": 64}}


def planned() -> Plan:
    return make_plan(load(MODEL, env={}), "cuda:sm90")


class Words(HTMLParser):
    """The text of a fragment, and the elements that it opens and never closes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("html", "head", "body", "script", "link")
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_printed_plan_is_the_table() -> None:
    plan = planned()
    assert f"{plan}\n" == render(plan)
    assert "attention@decode" in str(plan)


def test_a_notebook_shows_a_fragment_and_no_page() -> None:
    """A notebook puts it into a page of its own: no document, no style or script that reaches beyond it."""
    plan = planned()
    fragment = Words(plan._repr_html_())
    assert fragment.open == []
    said = " ".join(fragment.said)
    for binding in plan.bindings:
        if binding.used:
            assert str(binding.slot) in said


def test_what_somebody_wrote_is_text_in_a_notebook(tmp_path: Path) -> None:
    file = tmp_path / "<b onclick=x>&amp;.yaml"
    file.write_text("model: {kind: mha, num_heads: 8, num_kv_heads: 8, head_dim: 64}\n", encoding="utf-8")
    fragment = Words(make_plan(load(file, env={}), "cuda:sm90")._repr_html_())
    assert "<b onclick=x>&amp;.yaml" in "".join(fragment.said)
