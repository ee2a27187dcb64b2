"""Catalogue data that is wrong in any way is refused when loaded, by file and row; what is accepted can be planned."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import confbag
from confbag import Bag
from confbag.backends import Op, Platform, Registry, make_plan
from confbag.backends.declare.catalogue import read
from confbag.backends.declare.columns import cell
from confbag.errors import RegistrationError
from confbag.kernels.attention.contract import ATTENTION
from confbag.sources.keys import same
from confbag.sources.yaml import load_document

ROW: dict[str, Any] = {
    "provider": "x",
    "variant": "all",
    "aliases": ["old_x"],
    "companions": {"draft": "x"},
    "engine": "acme",
    "target": "acme.kernels:x",
    "priority": 3,
    "description": "one kernel",
    "kind": ["mha"],
    "device": ["cuda"],
    "arch": ["sm90"],
    "device_features": ["xmx"],
    "components": ["triton>=3.0"],
    "toolkit": ["cuda>=12.9"],
    "needs": [{"fact": "model.dtype", "test": ["bfloat16"], "code": "dtype", "when": {"spec.active": False}}],
    "phases": ["prefill", "decode", "draft"],
    "features": ["window"],
    "pages": {"any": True, "sizes": [1]},
    "branching_pages": [1],
    "topk_pages": [1],
    "kv": ["fp8_e4m3"],
    "topk": 1,
    "paged_topk": False,
    "deterministic": ["prefill"],
    "graph": True,
    "slow": "for long prompts",
    "known_issue": "NaN, example.org/issues/1",
    "disabled": "until it is mended",
}
ODD = (None, True, 7, -1, 1.5, "", "a text", [], ["a text"], [7], [None], {}, {"a": 1}, [{}], {"a": {"b": []}})
MACHINES = (
    Platform(device="cuda", arch="sm90", packages={"torch": "2.13.0", "triton": "3.6.0"}, toolkit={"cuda": "13.0"}),
    Platform(device="cpu", arch="x86_64"),
)


def loaded(path: Path, data: Any) -> Registry:
    """A registry that holds attention and what the file adds."""
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    registry = Registry()
    registry.add(ATTENTION)
    registry.catalogue(path)
    registry.check()
    return registry


def refusal(path: Path, data: Any) -> str | None:
    """What is said against the file; None when nothing is. Any exception but RegistrationError comes through."""
    try:
        loaded(path, data)
    except RegistrationError as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the catalogue under test is written."""
    return tmp_path_factory.mktemp("catalogue") / "mine.yaml"


def test_a_row_with_every_column_is_fine(path: Path) -> None:
    (row,) = loaded(path, {"op": "attention", "rows": [ROW]}).rows("attention")
    assert (row.provider, row.requires.page_sizes, row.companions) == ("x", (1,), {"draft": "x"})


@pytest.mark.parametrize("column", ROW)
def test_the_wrong_type_in_any_column_names_file_row_and_column(path: Path, column: str) -> None:
    said = [
        refusal(path, {"op": "attention", "engine": "acme", "rows": [{"provider": "y"}, {**ROW, column: value}]})
        for value in ODD
    ]
    refused = [text for text in said if text is not None]
    assert len(refused) >= 7, "most of these values fit no column"
    assert all(text.startswith("mine.yaml: row 2") for text in refused)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"device": ["gpu"]}, "unknown device 'gpu'"),
        ({"device": ["cdua"]}, "unknown device 'cdua'; write cuda"),
        ({"device": []}, "column device: expected a list of at least one name, got an empty list"),
        ({"kind": ["mah"]}, "unknown kind 'mah' of model.kind; it is one of mha, mla, dsa, dsv4"),
        ({"kv": ["fp8"]}, "unknown kv_cache 'fp8' of memory.kv_cache"),
        ({"phases": ["prefil"]}, "unknown phase 'prefil'"),
        ({"phases": []}, "column phases: expected a list of at least one name"),
        (
            {"deterministic": ["draft"], "phases": ["prefill"]},
            "determinism for 'draft', which it does not take; it takes prefill",
        ),
        ({"companions": {"verify": "x"}}, "companions: unknown phase 'verify'"),
        ({"companions": {"draft": "nobody"}}, "unknown companion 'nobody' for draft"),
        ({"features": ["windows"]}, "unknown feature 'windows'; did you mean window?"),
        ({"pages": {"sizes": []}}, "column pages: field sizes: expected a list of at least one positive whole number"),
        ({"pages": {"any": True}}, "column pages: field sizes is missing"),
        ({"pages": {"sizes": [0]}}, "field sizes: expected a list of at least one positive whole number"),
        ({"branching_pages": [-1]}, "column branching_pages"),
        ({"topk": 0}, "column topk: expected none, any or a positive whole number, got the number 0"),
        ({"topk": "many"}, "column topk"),
        ({"priority": -2}, "priority is -2"),
        ({"components": ["triton>3.x"]}, "is no PEP 440 specifier"),
        ({"toolkit": [">=3"]}, "expected a name with an optional specifier"),
        ({"target": "nowhere"}, "target 'nowhere'; write 'package.module:callable'"),
        ({"replaces": "nobody"}, "it replaces 'nobody', which is not there"),
        ({"colour": "red"}, "unknown column colour"),
        ({"devices": ["cuda"]}, "unknown column devices; did you mean device?"),
        (
            {"needs": [{"fact": "model.dtpye", "test": "x", "code": "dtype"}]},
            "unknown fact 'model.dtpye'; did you mean",
        ),
        ({"needs": [{"fact": "model.dtype", "test": [], "code": "dtype"}]}, "an empty list can never hold"),
        ({"needs": [{"fact": "model.dtype", "test": "x", "code": "dtyp"}]}, "unknown code 'dtyp'"),
        ({"needs": [{"fact": "model.dtype", "test": "x"}]}, "column needs, 1: field code is missing"),
        ({"needs": [{"fact": "model.kind", "test": ["x"], "code": "feature"}]}, "unknown kind 'x' of model.kind"),
        ({"needs": [{"fact": "platform.device", "test": {"not": ["cpu", "gpu"]}, "code": "device"}]}, "'gpu'"),
    ],
)
def test_a_contradiction_names_file_and_row(path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(RegistrationError) as raised:
        loaded(path, {"op": "attention", "rows": [{"provider": "y", "engine": "e"}, {**ROW, **change}]})
    assert str(raised.value).startswith("mine.yaml: row 2 (x")
    assert message in str(raised.value)


def test_a_tie_names_file_and_row(path: Path) -> None:
    rows = [{"provider": "a", "engine": "e", "priority": 5}, {"provider": "b", "engine": "e", "priority": 5}]
    with pytest.raises(RegistrationError, match=r"mine\.yaml: row 2 \(b\): attention: a and b have priority 5"):
        loaded(path, {"op": "attention", "rows": rows})
    rows[1] = {**rows[0], "variant": "other"}
    with pytest.raises(RegistrationError, match=r"mine\.yaml: row 2 \(a, other\): .* can both be asked"):
        loaded(path, {"op": "attention", "rows": rows})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"rows": [{"provider": "x", "engine": "e"}]}, "section op is missing"),
        (
            {"op": "atention", "rows": [{"provider": "x", "engine": "e"}]},
            "unknown op 'atention'; did you mean attention?",
        ),
        ({"op": "attention", "rows": {"provider": "x"}}, "section rows: expected a list, got a mapping"),
        ({"op": "attention", "rows": ["x"]}, "row 1: expected a mapping"),
        ({"op": "attention", "row": []}, "unknown section row; did you mean rows?"),
        ({"facts": {"mine": {"model.knd": "mha"}}}, "fact mine: unknown fact 'model.knd'; did you mean model.kind?"),
        ({"facts": {"mine": 3}}, "fact mine: expected a mapping of facts"),
        ({"choose": [{"name": "r", "op": "attention", "propose": "x", "phases": "decod"}]}, "unknown phase 'decod'"),
        (
            {"choose": [{"name": "r", "op": "atention", "propose": "x"}]},
            "unknown op 'atention'; did you mean attention?",
        ),
        (
            {"choose": [{"name": "r", "op": "attention", "propose": "x", "only": "yes"}]},
            "field only: expected true or fal",
        ),
        (
            {"choose": [{"name": "r", "op": "attention", "propose": "x", "wen": {}}]},
            "unknown field wen; did you mean when",
        ),
        ({"choose": [{"name": "r", "op": "attention", "propose": 3}]}, "field propose: expected a text"),
        (
            {"choose": [{"name": "r", "op": "attention", "propose": "x", "when": {"platform.device": "gpu"}}]},
            "rule r: when: unknown device 'gpu'",
        ),
        ({"fill": [{"name": "f", "set": {"exec.grph": True}}]}, "rule f: set: unknown setting 'exec.grph'"),
        (
            {"fill": [{"name": "f", "set": {"model.kind": "mah"}}]},
            "unknown kind 'mah' of model.kind; it is one of mha, mla, dsa, dsv4",
        ),
        (
            {"fill": [{"name": "f", "set": {"exec.graph": 7}}]},
            "rule f: set exec.graph: expected true, false, piecewise",
        ),
        ({"fill": [{"name": "f", "set": {"exec.graph": {"value": "x"}}}]}, "set exec.graph: unknown field value"),
        (
            {"fill": [{"name": "f", "environment": {"A": [1]}}]},
            "field environment: expected a mapping of variable names",
        ),
        (
            {"fill": [{"name": "f", "set": {"exec.graph": True}, "after": "atention"}]},
            "unknown op 'atention' in `after`",
        ),
        ({"fill": [{"name": "f", "set": {"exec.graph": True}}] * 2}, "rule f: there are two of this name"),
        ({"libraries": [{"name": "kit"}]}, "library 1: `namespace` is missing"),
        ({"libraries": 3}, "section libraries: expected a list"),
    ],
)
def test_a_section_that_is_wrong_names_file_and_place(path: Path, data: dict[str, Any], message: str) -> None:
    whole = data if "rows" in data or "op" in data else {"op": "attention", "rows": [{"provider": "x", "engine": "e"}]}
    with pytest.raises(RegistrationError) as raised:
        loaded(path, {**whole, **data})
    assert str(raised.value).startswith("mine.yaml: ")
    assert message in str(raised.value)


# Whatever else somebody writes

ROWS = read("attention.yaml")["rows"]
plain = st.none() | st.booleans() | st.integers(-3, 300) | st.floats(allow_nan=False) | st.text(max_size=4)
words = st.sampled_from(
    ["mha", "cuda", "npu", "sm90", "prefill", "draft", "any", "none", "fp8_e4m3", "window", "triton>=3", "model.kind"]
)
values = st.recursive(
    plain | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Two rows that we ship, one with up to three columns changed, dropped or made up, and now and then a rule."""
    rows = copy.deepcopy(draw(st.lists(st.sampled_from(ROWS), min_size=2, max_size=2)))
    for _ in range(draw(st.integers(1, 3))):
        column = draw(st.sampled_from(sorted(ROW)) | st.text(max_size=4))
        if draw(st.booleans()):
            rows[0].pop(column, None)
        else:
            rows[0][column] = draw(values)
    data: dict[str, Any] = {"op": "attention", "engine": "acme", "rows": rows}
    if draw(st.booleans()):
        fields = st.sampled_from(
            ["name", "op", "when", "propose", "same_as", "phases", "only", "set", "after", "force"]
        )
        rule = {"name": "r", "op": "attention", "propose": rows[1].get("provider")}
        data[draw(st.sampled_from(["choose", "fill", "facts"]))] = [{**rule, draw(fields): draw(values)}]
    return data


@given(data=mutated())
def test_mutated_rows_are_refused_or_can_be_planned(
    path: Path, bag_of: Callable[..., Bag], data: dict[str, Any]
) -> None:
    said = refusal(path, data)
    if said is not None:
        assert "mine.yaml" in said
        return
    registry = loaded(path, data)
    for machine, topk in itertools.product(MACHINES, (None, 4)):
        speculation = {} if topk is None else {"spec.algorithm": "EAGLE", "spec.topk": topk}
        plan = make_plan(bag_of(**speculation), machine, registry=registry)
        assert all(isinstance(str(reason), str) for binding in plan.bindings for reason in binding.rejected)


@pytest.mark.parametrize(
    "path", sorted((Path(confbag.__file__).parent / "backends/catalog").glob("*.yaml")), ids=lambda path: path.name
)
def test_our_own_files_read_the_same_by_the_strict_reader(path: Path) -> None:
    strict, faults = load_document(path.read_bytes(), path.name)
    assert not faults
    assert strict is not None
    assert same(read(path.name), strict.data)


def contract(x: int) -> int:
    """Any number. Raises nothing."""
    return x


@pytest.mark.parametrize(
    ("written", "levels"),
    [
        (True, {None: "batch_invariant"}),
        (False, {None: "none"}),
        ("batch_invariant", {None: "batch_invariant"}),
        ("run_to_run", {None: "run_to_run"}),
    ],
)
def test_a_row_of_an_op_without_regimes_says_its_level(tmp_path: Path, written: Any, levels: dict[Any, str]) -> None:
    registry = Registry()
    registry.add(Op("acme.linear", contract))
    path = tmp_path / "linear.yaml"
    path.write_text(
        yaml.safe_dump({"op": "acme.linear", "engine": "Acme", "rows": [{"provider": "fp8", "deterministic": written}]})
    )
    registry.catalogue(path)
    [row] = registry.rows("acme.linear")
    assert row.determinism == levels
    again = tmp_path / "again.yaml"
    again.write_text(
        yaml.safe_dump(
            {"op": "acme.linear", "engine": "Acme", "rows": [{"provider": "fp8", "deterministic": ["decode"]}]}
        )
    )
    with pytest.raises(RegistrationError, match="determinism for 'decode', which it does not take; write one level"):
        Registry.catalogue(registry, again)


def test_a_row_says_a_level_for_each_regime(tmp_path: Path) -> None:
    registry = Registry()
    registry.add(Op("acme.mix", contract, phases=("prefill", "decode")))
    path = tmp_path / "mix.yaml"
    said = {"prefill": "run_to_run", "decode": "batch_invariant"}
    rows = [{"provider": "both", "deterministic": said}, {"provider": "some", "deterministic": ["decode"]}]
    path.write_text(yaml.safe_dump({"op": "acme.mix", "engine": "Acme", "rows": rows}))
    registry.catalogue(path)
    assert [dict(row.determinism) for row in registry.rows("acme.mix")] == [said, {"decode": "batch_invariant"}]
    assert [cell(row, "deterministic") for row in registry.rows("acme.mix")] == ["decode, prefill run_to_run", "decode"]
