"""Loading: the order of the sources, every fault at once in our own words, and secrets that stay secret."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import field_validator

from confbag import Config, ConfigError, Fault, Record, Secret, load
from confbag.bag.loading import read
from confbag.namespaces.fields import Namespace
from confbag.schema.leaves import leaves
from confbag.words.provenance import Layer

HUSH = "hush-hush-4711"


class Vault(Namespace):
    token: Secret | None = None
    tokens: tuple[Secret, ...] = ()

    @field_validator("token")
    @classmethod
    def _long(cls, token: Secret | None) -> Secret | None:
        if token is not None and len(token.reveal()) < 4:
            raise ValueError(f"{token.reveal()} is too short")
        return token


class VaultConfig(Config):
    vault: Vault = Vault()


GRAPH = "expected true, false, piecewise, full or auto"


def write(folder: Path, name: str, text: str) -> str:
    """A file's path."""
    path = folder / name
    path.write_text(text)
    return str(path)


def faults_of(*args: Any, **kwargs: Any) -> list[str]:
    """Every fault of a load, as text."""
    with pytest.raises(ConfigError) as caught:
        load(*args, **{"env": {}, **kwargs})
    return [str(fault) for fault in caught.value.faults]


def test_with_nothing_it_gives_the_defaults() -> None:
    bag = load(env={})
    assert (bag.model.kind, bag.model.num_heads, bag.exec.determinism) == ("mha", None, "batch_invariant")


def test_env_is_the_environment_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFBAG__PARALLEL__TP_SIZE", "4")
    assert load().parallel.tp_size == 4
    assert load(env={}).parallel.tp_size == 1
    assert load(env=os.environ)["parallel.tp_size"] == 4


def test_each_source_overrides_the_ones_below(tmp_path: Path, checkpoint: Callable[..., Path]) -> None:
    low = write(tmp_path, "low.yaml", "preset: reference\nmodel: {num_heads: 3}\nparallel: {tp_size: 3}\n")
    high = write(tmp_path, "high.yaml", "model: {num_heads: 4}\n")
    sources: list[dict[str, Any]] = [
        {"model": checkpoint("m", num_attention_heads=1)},
        {"record": Record("sglang", values={"tp_size": 2})},
        {"files": (low,)},
        {"files": (low, high)},
        {"env": {"CONFBAG__MODEL__NUM_HEADS": "5", "CONFBAG__PARALLEL__TP_SIZE": "5"}},
        {"argv": ["--set", "model.num_heads=6", "--set", "parallel.tp_size=6"]},
        {"overrides": {"model": {"num_heads": 7}, "parallel.tp_size": 7}},
    ]
    seen = []
    given_: dict[str, Any] = {"env": {}}
    for source in sources:
        given_.update(source)
        bag = load(*given_.get("files", ()), **{key: value for key, value in given_.items() if key != "files"})
        seen.append((bag["model.num_heads"], bag["parallel.tp_size"]))
    assert seen == [(1, 1), (1, 2), (3, 3), (4, 3), (5, 5), (6, 6), (7, 7)]
    assert [one.layer for one in bag.chain("model.num_heads")] == [
        Layer.DEFAULT,
        Layer.CHECKPOINT,
        Layer.FILE,
        Layer.FILE,
        Layer.ENVIRONMENT,
        Layer.ARGV,
        Layer.OVERRIDE,
    ]
    assert (bag["exec.kernels.reference_only"], bag.origin("exec.kernels.reference_only")) == (True, "preset reference")


def test_presets_add_up_and_the_argument_is_above_the_files(tmp_path: Path) -> None:
    file = write(tmp_path, "a.yaml", "preset: deterministic\nexec: {debug: {mirrors: false}}\n")
    bag = load(file, preset="debug", env={})
    assert bag.exec.deterministic is True
    assert bag.exec.debug.bounds is True
    assert bag.exec.debug.mirrors is False
    assert [one.origin for one in bag.chain("exec.debug.mirrors")][:2] == ["default", "preset debug"]


@pytest.mark.parametrize("where", ["argument", "file"])
def test_an_unknown_preset(where: str, tmp_path: Path) -> None:
    if where == "argument":
        (fault,) = faults_of(preset="deterministc")
    else:
        (fault,) = faults_of(write(tmp_path, "a.yaml", "preset: deterministc\n"))
        assert "a.yaml:1:1" in fault
    assert "did you mean deterministic?" in fault


def test_every_fault_of_every_source_at_once_in_order(tmp_path: Path) -> None:
    one = write(tmp_path, "one.yaml", 'exec:\n  graph: yes\n  determinstic: true\nparallel: {tp_size: "8"}\n')
    two = write(tmp_path, "two.yaml", "memory: {fraction_static: 3}\n")
    found = faults_of(
        one,
        two,
        str(tmp_path / "missing.yaml"),
        env={"CONFBAG__EXEC__GRAPHS": "1", "CONFBAG__SPEC__TOPK": "none"},
        argv=["--set", "disagg.mode=of", "--set", "exec.kernels.pin={a: 3}"],
        overrides={"model.dtype": ["x"], "model.num_heads": True},
    )
    said = "\n".join(found)
    assert found == [
        f"{one}:2:3: exec.graph: {GRAPH}, got the text 'yes'; write true or false",
        f"{one}:3:3: exec.determinstic: unknown key; did you mean exec.deterministic?",
        f"{one}:4:12: parallel.tp_size: expected a whole number of at least 1, got the text '8'; "
        "write 8, without quotes",
        f"{two}:1:10: memory.fraction_static: expected a number above 0 and below 1 or null, got the number 3; "
        "write a number above 0 and below 1, such as 0.5",
        f"{tmp_path / 'missing.yaml'}: no such file; check the path",
        "env CONFBAG__EXEC__GRAPHS: unknown variable; did you mean CONFBAG__EXEC__GRAPH?",
        "env CONFBAG__SPEC__TOPK: spec.topk: expected a whole number of at least 1 or null, got the text 'none'; "
        "write a whole number of at least 1, such as 1",
        "--set: disagg.mode: expected off, prefill or decode, got the text 'of'; write off",
        "--set: exec.kernels.pin: expected a mapping of OP, OP@REGIME or OP/SITES to provider, but it "
        "holds the number 3; write a mapping of OP, OP@REGIME or OP/SITES to provider, "
        "such as {kvcache.last_loc: triton}",
        "override load: model.dtype: expected a name or null, got a list; write a name",
        "override load: model.num_heads: expected a whole number of at least 1 or null, got true; "
        "write a whole number of at least 1, such as 1",
    ]
    assert "pydantic" not in said
    assert "Input should" not in said


def test_a_wrong_value_is_told_even_where_another_source_overrides_it(tmp_path: Path) -> None:
    file = write(tmp_path, "a.yaml", "exec: {graph: yes}\n")
    (fault,) = faults_of(file, argv=["--set", "exec.graph=true"], overrides={"exec.graph": False})
    assert fault.startswith(
        f"{file}:1:8: exec.graph: expected true, false, piecewise, full or auto, got the text 'yes'"
    )


BAD = st.one_of(
    st.text(max_size=80),
    st.integers(),
    st.floats(),
    st.none(),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
    st.binary(max_size=3),
    st.builds(object),
)


@given(st.dictionaries(st.sampled_from(sorted(leaves(Config))), BAD, min_size=1, max_size=4))
def test_any_value_gives_a_bag_or_faults_that_name_key_and_source(given_: dict[str, Any]) -> None:
    draft = read(env={}, overrides=given_)
    for fault in draft.faults:
        assert fault.where == "override load"
        assert fault.key is not None
        assert any(key.startswith(fault.key) for key in given_)
        assert "\n" not in str(fault)
        assert str(fault).isprintable()
        assert len(str(fault)) < 400
    assert not draft.values().keys() & {fault.key for fault in draft.faults}
    assert {key for key in leaves(Config) if not key.startswith("parallel.")} - {
        fault.key for fault in draft.faults
    } <= draft.values().keys()
    if not draft.faults:
        assert draft.bag().values() == draft.values()


def test_a_rule_across_keys_does_not_judge_what_stands_in_for_a_faulty_value() -> None:
    draft = read(env={}, overrides={"parallel.num_nodes": "four", "parallel.node_rank": 3, "exec.compile": True})
    assert [fault.key for fault in draft.faults] == ["parallel.num_nodes"]
    assert draft.values()["exec.compile"] is True
    assert "parallel.node_rank" not in draft.values()


def test_a_draft_keeps_what_could_be_understood(tmp_path: Path) -> None:
    file = write(tmp_path, "a.yaml", "exec: {graph: yes, attention: {decode: fa3}}\nspec: {algorithm: eagle}\n")
    draft = read(file, env={})
    assert "exec.graph" not in draft.values()
    assert (draft.values()["exec.attention.decode"], draft.values()["spec.algorithm"]) == ("fa3", "EAGLE")
    decode = draft.setting("exec.attention.decode")
    assert decode is not None
    assert decode.origin == f"{file}:1:32"
    assert draft.setting("exec.compile") is None
    with pytest.raises(ConfigError):
        draft.bag()


def test_what_a_record_holds_and_no_key_answers_to_is_listed() -> None:
    draft = read(env={}, record=Record("sglang", argv=["--tp-size", "2", "--chunked-prefill-size", "4096"]))
    assert draft.values()["parallel.tp_size"] == 2
    assert tuple(draft.ignored) == ("--chunked-prefill-size",)


def test_a_plugin_with_a_bad_default_is_left_out_and_named(run_script: Callable[..., Any], tmp_path: Path) -> None:
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[confbag.settings]\nacme = acme_settings:SETTINGS\n")
    done = run_script(
        "from confbag import ConfigError, load\n"
        "try:\n    load(env={'CONFBAG__ACME__X': '1'})\nexcept ConfigError as error:\n    print(error)\n",
        modules={
            "acme_settings": "SETTINGS = {'defaults': {'exec.graph': 'fast'}, 'environment': ['CONFBAG__ACME__X']}"
        },
    )
    why = f"exec.graph: {GRAPH}, got the text 'fast'; write true or false"
    assert done.stderr == f"plug-in acme (acme): its settings are left out: {why}\n"
    assert done.stdout == ""


def test_the_model_argument_wins_over_model_path_and_says_so(checkpoint: Callable[..., Path]) -> None:
    one, two = (checkpoint(name, num_attention_heads=heads) for name, heads in (("one", 1), ("two", 2)))
    both = load(env={}, model=two / "config.json", overrides={"model.path": str(one)})
    assert both["model.num_heads"] == 2
    assert str(one) in str(both.setting("model.num_heads").why)
    same = load(env={}, model=one, overrides={"model.path": str(one)})
    assert (same["model.num_heads"], same.setting("model.num_heads").why) == (1, None)
    assert both.override("x", {"model.path": str(two)})["model.num_heads"] == 2
    assert both.override("x", {"model.path": "hub/name"})["model.num_heads"] is None


@pytest.mark.parametrize("path", ["meta-llama/Llama-3.1-8B", "", "/nowhere", "a\tb"])
def test_a_model_path_that_is_no_folder_gives_no_facts(path: str) -> None:
    bag = load(env={}, overrides={"model.path": path})
    assert bag["model.path"] == path
    assert bag["model.num_heads"] is None


def test_a_model_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    (fault,) = faults_of(model=tmp_path / "nope")
    assert "nope: no such file" in fault


def test_a_secret_shows_nowhere(tmp_path: Path) -> None:
    file = write(tmp_path, "a.yaml", f"vault: {{token: {HUSH}, tokens: [{HUSH}]}}\n")
    bag = load(file, env={}, schema=VaultConfig)
    assert bag["vault.token"].reveal() == HUSH
    assert [one.reveal() for one in bag["vault.tokens"]] == [HUSH]
    everything = [bag, bag.dump(), bag.values(), bag.exec, bag.vault, bag["vault.token"], f"{bag['vault.token']:>9}"]
    everything += [
        str(bag["vault.token"]),
        bag.fingerprint(),
        bag.override("x", {"vault.token": HUSH}).chain("vault.token"),
    ]
    everything += [bag.chain(key) for key in bag.values()]
    assert HUSH not in repr(everything)
    other = bag.override("x", {"vault.token": "another", "vault.tokens": []})
    assert other.fingerprint() == bag.fingerprint()
    assert other != bag


@pytest.mark.parametrize("value", [[HUSH], {HUSH: HUSH}, 4711, "abc"])
def test_a_wrong_secret_shows_in_no_error(value: Any, tmp_path: Path) -> None:
    found = faults_of(schema=VaultConfig, overrides={"vault.token": value})
    assert len(found) == 1
    assert "vault.token" in found[0]
    for hidden in (HUSH, "4711", "abc"):
        assert hidden not in found[0]


def test_the_value_under_an_unknown_key_shows_in_no_error(tmp_path: Path) -> None:
    file = write(tmp_path, "a.yaml", f"vault: {{tokn: {HUSH}}}\npassword: {HUSH}\n")
    said = faults_of(
        file,
        schema=VaultConfig,
        env={"CONFBAG__VAULT__TOKN": HUSH},
        argv=["--set", f"vault.toke={HUSH}", HUSH],
        overrides={"vualt": {"token": HUSH}},
    )
    assert len(said) == 6
    assert HUSH not in "\n".join(said)


def test_a_config_error_pickles() -> None:
    import pickle

    error = ConfigError([Fault("a.yaml:1:1", "exec.graph", "is wrong")])
    assert pickle.loads(pickle.dumps(error)).faults == error.faults
