"""Which entry goes to which: the worked examples, every edge, and the properties of what comes out."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.errors import ConfbagError
from confbag.kernels.send_kvcache.errors import PairingError
from confbag.kernels.send_kvcache.pairing import (
    entry_layer_ids,
    pack_layer_ids,
    pair_by_layer_id,
    pair_stage,
    unpack_layer_ids,
)

# By layer id


def test_worked_example() -> None:
    found = pair_by_layer_id(4, 8, [2, 3, 2, 3], [0, 1, 2, 3, 0, 1, 2, 3], 2)
    assert found == [(0, 2), (1, 3), (2, 6), (3, 7)]


@pytest.mark.parametrize(
    ("source", "destination", "pairs"),
    [
        ([0, 4, 8, 12], list(range(13)), [(0, 0), (1, 4), (2, 8), (3, 12)]),
        ([5], [5, 5, 5], [(0, 0)]),
        ([5, 5], [5, 9, 5], [(0, 0), (1, 2)]),
        ([9, 5], [5, 9], [(0, 1), (1, 0)]),
        ([2**32 - 1], [2**32 - 1], [(0, 0)]),
    ],
)
@pytest.mark.parametrize("pp_size", [1, 4])
def test_ids_decide_and_surplus_is_left_alone(
    source: list[int], destination: list[int], pairs: list[tuple[int, int]], pp_size: int
) -> None:
    assert pair_by_layer_id(len(source), len(destination), source, destination, pp_size) == pairs


@pytest.mark.parametrize("destination", [[], [1, 2]])
def test_a_source_without_entries_pairs_with_anything(destination: list[int]) -> None:
    assert pair_by_layer_id(0, len(destination), [], destination, 4) == []


@pytest.mark.parametrize(
    ("source", "destination", "message"),
    [
        ([1, 2], [], "the source has layer ids and the destination has none: entries of 2 pipeline stages"),
        ([], [1, 2], "the destination has layer ids and the source has none"),
    ],
)
def test_ids_on_one_side_only(source: list[int], destination: list[int], message: str) -> None:
    with pytest.raises(PairingError, match=message):
        pair_by_layer_id(2, 2, source, destination, 2)
    assert pair_by_layer_id(2, 3, source, destination * 2, 1) == [(0, 0), (1, 1)]
    with pytest.raises(PairingError, match=r"expected at least 2 entries.*found 1"):
        pair_by_layer_id(2, 1, source, destination, 1)


@pytest.mark.parametrize(
    ("counts", "source", "destination", "message"),
    [
        ((2, 2), [1], [1, 2], "source layer ids: expected one for each of 2 entries, found 1"),
        ((2, 2), [1, 2], [1, 2, 3], "destination layer ids: expected one for each of 2 entries, found 3"),
        ((1, 2), [7], [1, 2], "layer 7: the source has 1 entry of it, the destination 0 entries"),
        ((2, 1), [7, 7], [7], "layer 7: the source has 2 entries of it, the destination 1 entry"),
    ],
)
@pytest.mark.parametrize("pp_size", [1, 2])
def test_what_has_no_partner_is_refused(
    counts: tuple[int, int], source: list[int], destination: list[int], message: str, pp_size: int
) -> None:
    with pytest.raises(PairingError, match=message) as caught:
        pair_by_layer_id(*counts, source, destination, pp_size)
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, ConfbagError)


def test_without_ids_by_position() -> None:
    assert pair_by_layer_id(2, 2, [], [], 4) == [(0, 0), (1, 1)]
    assert pair_by_layer_id(2, 5, [], [], 1) == [(0, 0), (1, 1)]
    for counts, pp_size, expected in (((3, 2), 1, "at least 3"), ((3, 2), 2, "3"), ((2, 3), 2, "2")):
        with pytest.raises(PairingError, match=f"expected {expected} entries"):
            pair_by_layer_id(*counts, [], [], pp_size)


ids = st.lists(st.integers(0, 6), max_size=20)


@given(ids, ids)
def test_pairs_are_one_to_one_of_equal_layers_and_keep_their_order(source: list[int], destination: list[int]) -> None:
    if not source or not destination or Counter(source) - Counter(destination):
        if source:
            with pytest.raises(PairingError):
                pair_by_layer_id(len(source), len(destination), source, destination, 2)
        return
    pairs = pair_by_layer_id(len(source), len(destination), source, destination, 2)
    assert [entry for entry, _ in pairs] == list(range(len(source)))
    partners = [partner for _, partner in pairs]
    assert len(set(partners)) == len(partners)
    for layer in set(source):
        of_layer = [partner for entry, partner in pairs if source[entry] == layer]
        assert of_layer == [place for place, other in enumerate(destination) if other == layer][: len(of_layer)]


# By the place in the pipeline


def test_a_stage_of_mla_is_a_slice() -> None:
    assert pair_stage(2, 5, 1, 3) == [(0, 3), (1, 4)]


def test_a_stage_of_k_and_v_is_a_slice_of_each() -> None:
    assert pair_stage(4, 10, 2, 3) == [(0, 3), (1, 4), (2, 8), (3, 9)]


def test_as_many_entries_pair_by_position_wherever_the_stage_begins() -> None:
    assert pair_stage(4, 4, 2, 30) == [(0, 0), (1, 1), (2, 2), (3, 3)]


RATIOS = [0, 4, 128, 4, 128, 4, 4, 128]
"""Layers 1, 3, 5 and 6 have ratio 4; layers 2, 4 and 7 ratio 128."""


def test_deepseek_v4_main_pools_are_three_slices_of_the_ratio_4_layers() -> None:
    found = pair_stage(6, 12, 3, 3, RATIOS, 4, 6)
    assert found == [(0, 1), (1, 2), (2, 5), (3, 6), (4, 9), (5, 10)]


def test_deepseek_v4_c128_is_counted_by_ratio_128() -> None:
    assert pair_stage(2, 3, 1, 4, RATIOS, 128, 8) == [(0, 1), (1, 2)]


def test_deepseek_v4_c4_state_is_attention_then_indexer() -> None:
    assert pair_stage(4, 8, 2, 4, RATIOS, 4) == [(0, 2), (1, 3), (2, 6), (3, 7)]


def test_a_stage_without_a_layer_of_the_ratio_sends_nothing() -> None:
    assert pair_stage(0, 4, 1, 0, RATIOS, 4, 1) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 10, 2, 0), "source: expected 2 groups of equally many entries, found 3 entries"),
        ((2, 7, 2, 0), "destination: expected 2 groups of equally many entries, found 7 entries"),
        ((2, 5, 1, 4), "destination: expected layers up to 5 in each group, found 5 layers"),
        ((6, 9, 3, 3, RATIOS, 4, 6), "destination: expected 12 entries, found 9"),
        ((3, 12, 3, 3, RATIOS, 4, 6), "source: expected 6 entries for layers 3 to 5, found 3"),
    ],
)
def test_counts_that_no_such_pools_have(arguments: tuple, message: str) -> None:
    with pytest.raises(PairingError, match=message):
        pair_stage(*arguments)


@given(
    st.integers(1, 3),
    st.lists(st.sampled_from([0, 4, 128]), min_size=1, max_size=20),
    st.sampled_from([None, 4, 128]),
    st.data(),
)
def test_the_stages_of_a_pipeline_cover_the_destination_once(
    groups: int, ratios: list[int], ratio: int | None, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ratios)), max_size=3)))
    stages = list(zip([0, *cuts], [*cuts, len(ratios)], strict=True))
    layers = [[layer for layer in range(*stage) if ratio is None or ratios[layer] == ratio] for stage in stages]
    full = groups * sum(map(len, layers))
    found = []
    for (start, end), own in zip(stages, layers, strict=True):
        pairs = pair_stage(groups * len(own), full, groups, start, ratios, ratio, end)
        assert [entry for entry, _ in pairs] == list(range(groups * len(own)))
        found += [partner for _, partner in pairs]
    assert sorted(found) == list(range(full))


# Layer ids, made and sent


def test_draft_layers_get_the_ids_after_the_model() -> None:
    assert entry_layer_ids([3, 7], groups=2) == [3, 7, 3, 7]
    assert entry_layer_ids([3, 7], groups=2, drafts=2, num_hidden_layers=60) == [3, 7, 3, 7, 60, 61, 60, 61]
    assert entry_layer_ids([], drafts=1, num_hidden_layers=61) == [61]


def test_ids_travel_as_unsigned_32_bits() -> None:
    assert pack_layer_ids([1, 2**32 - 1]) == b"\x01\0\0\0\xff\xff\xff\xff"
    assert unpack_layer_ids(b"") == []


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_ids_come_back(some: list[int]) -> None:
    assert unpack_layer_ids(pack_layer_ids(some)) == some


@pytest.mark.parametrize("layer", [-1, 2**32])
def test_ids_that_do_not_fit_are_refused(layer: int) -> None:
    with pytest.raises(ValueError, match=f"layer id 1: expected 0 to {2**32 - 1}, found {layer}"):
        pack_layer_ids([0, layer])


def test_a_torn_message_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 4 bytes each, found 7 bytes"):
        unpack_layer_ids(b"1234567")
