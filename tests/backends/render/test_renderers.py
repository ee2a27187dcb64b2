"""The renderers on plans of hostile names and values: escaped in each format, secrets hidden, nothing decided."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.resources import files

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from confbag import Bag, Config, Secret, load
from confbag.backends import Platform, Registry, make_plan
from confbag.backends.decide.plan import Plan
from confbag.backends.render import html, markdown, story, table
from confbag.backends.render import json as as_json
from confbag.namespaces.fields import Namespace

HOSTILE = "<script>alert(1)</script> | `x` *y* \x1b[31m @octocat #12 [a](b)"
EVERY = {"table": table.render, "json": as_json.render, "markdown": markdown.render, "html": html.render}


class Acme(Namespace):
    """An engine's own namespace."""

    token: Secret | None = None
    note: str = ""
    limit: float = Field(1.0, allow_inf_nan=True)


class AcmeConfig(Config):
    """A schema with it."""

    acme: Acme = Field(default_factory=Acme)


@pytest.fixture
def plan_of(registry: Registry) -> Callable[..., Plan]:
    """A plan from dotted settings, for Hopper unless said."""

    def make(platform: str = "cuda:sm90", **settings: object) -> Plan:
        bag = load(
            env={}, schema=AcmeConfig, overrides={key.replace("__", "."): value for key, value in settings.items()}
        )
        return make_plan(bag, Platform.known(platform), registry=registry)

    return make


class Page(HTMLParser):
    """The tags of a page that a browser would act upon, and whether each one was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.fetched += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_hostile_values_stay_text_in_every_format(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(model__path=HOSTILE, acme__note=HOSTILE)
    for render in EVERY.values():
        shown = render(plan)
        assert "\x1b" not in shown
        assert "<script>" not in shown or render is as_json.render
    assert json.loads(as_json.render(plan))["config"]["acme.note"]["value"] == HOSTILE


def test_hostile_names_from_a_plugin_stay_text(registry: Registry, bag_of: Callable[..., Bag]) -> None:
    registry.implement("kvcache.last_loc", HOSTILE, None, engine="acme", disabled=HOSTILE, description=HOSTILE)
    plan = make_plan(load(env={}), Platform.known("cuda:sm90"), registry=registry)
    page = Page()
    shown = html.render(plan)
    page.feed(shown)
    assert page.open == []
    assert "script" not in page.seen
    assert page.fetched == []
    assert "&lt;script&gt;" in shown
    text = markdown.render(plan)
    assert "<script>" not in text
    assert "@octocat" not in text
    assert "\x1b" not in text + table.render(plan)
    widths = {line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths <= {3, 4, 5}, "a cell's own bars divide no row"


def test_a_secret_is_in_no_format_and_no_story(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(acme__token="hunter2")
    shown = [render(plan, all=True) for render in EVERY.values()] + [story.key_story(plan, "acme.token")]
    assert "hunter2" not in "".join(shown)
    assert json.loads(shown[1])["config"]["acme.token"]["value"] == "***"
    assert "***" in shown[-1]


def test_what_json_lacks_is_text(plan_of: Callable[..., Plan]) -> None:
    shown = as_json.render(plan_of(acme__limit=float("inf")))
    assert json.loads(shown, parse_constant=pytest.fail)["config"]["acme.limit"]["value"] == "inf"


@pytest.mark.parametrize(
    "platform", ["cuda:sm90", "npu:ascend910_93", "hip:gfx942", "xpu:bmg", "mps:apple", "cpu:x86_64"]
)
@pytest.mark.parametrize("all", [False, True])
def test_every_platform_fits_the_schema(plan_of: Callable[..., Plan], platform: str, all: bool) -> None:
    schema = json.loads(files("confbag.backends").joinpath("plan.schema.json").read_text(encoding="utf-8"))
    for settings in ({}, {"exec__attention__decode": "flashmla"}, {"exec__deterministic": True, "model__kind": "mla"}):
        plan = plan_of(platform, **settings)
        data = plan.to_dict(all=all)
        jsonschema.validate(data, schema)
        assert data == json.loads(json.dumps(data))
        assert (data["fingerprint"] is None) is bool(plan.faults)
        assert set(data["config"]) == set(plan.asked.values())


def test_rendering_is_pure(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("npu:ascend910_93")
    for render in EVERY.values():
        assert render(plan) == render(plan)
    assert table.render(plan_of("npu:ascend910_93")) == table.render(plan)


def test_the_faults_are_shown_with_what_to_do(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(device__kind="npu")
    assert plan.faults
    for render in (table.render, markdown.render, html.render):
        shown = render(plan)
        assert "plan none: 1 fault" in " ".join(shown.replace("<code>", "").split())
        assert "leave device.kind out" in shown


@given(st.text(max_size=200))
def test_markdown_escapes_whatever_it_is_given(text: str) -> None:
    from confbag.words.text import printable

    shown = markdown.escape(printable(text))
    assert "\n" not in shown
    assert "@" not in shown
    assert "|" not in shown.replace("\\|", "")


def test_links_stay_links_in_markdown() -> None:
    shown = markdown.escape("see https://github.com/acme/a_b/issues/12, <b>")
    assert shown == "see <https://github.com/acme/a_b/issues/12>, &lt;b&gt;"
