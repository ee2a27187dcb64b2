"""Which of the destination's entries each of the source's goes to. An entry is one buffer of one layer.

Pools list entries in groups: K of every layer, then V of every layer; or, for DeepSeek-V4, compressed KV, index K and
index scale of every layer that has them. Draft layers come after all groups.
"""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TypeAlias

from confbag.kernels.send_kvcache.errors import PairingError

Pairs: TypeAlias = "list[tuple[int, int]]"


def pair_by_layer_id(
    source_count: int, destination_count: int, source_ids: Sequence[int], destination_ids: Sequence[int], pp_size: int
) -> Pairs:
    """(source entry, destination entry) for each source entry, in the source's order.

    ids: the layer of each entry; empty where a side has none. Entries of one id are paired in order; what the
    destination has beyond is left alone. Without ids on both sides, by position. pp_size: pipeline stages of the
    source. Raises PairingError when a source entry has no partner, or when stages would have to be paired by position.
    """
    if source_count == 0:
        return []
    if bool(source_ids) != bool(destination_ids):
        if pp_size != 1:
            has, lacks = ("source", "destination") if source_ids else ("destination", "source")
            raise PairingError(
                f"the {has} has layer ids and the {lacks} has none: entries of {pp_size} pipeline stages cannot be "
                "paired by position; give layer ids on both sides"
            )
        return _by_position(source_count, destination_count, pp_size)
    if not source_ids:
        return _by_position(source_count, destination_count, pp_size)
    for side, ids, count in (
        ("source", source_ids, source_count),
        ("destination", destination_ids, destination_count),
    ):
        if len(ids) != count:
            raise PairingError(f"{side} layer ids: expected one for each of {count} entries, found {len(ids)}")
    places: defaultdict[int, deque[int]] = defaultdict(deque)
    for place, layer in enumerate(destination_ids):
        places[layer].append(place)
    pairs = []
    for entry, layer in enumerate(source_ids):
        if not places[layer]:
            wanted, there = source_ids.count(layer), destination_ids.count(layer)
            raise PairingError(
                f"layer {layer}: the source has {_entries(wanted)} of it, the destination {_entries(there)}"
            )
        pairs.append((entry, places[layer].popleft()))
    return pairs


def pair_stage(
    source_count: int,
    destination_count: int,
    groups: int,
    start: int,
    ratios: Sequence[int] = (),
    ratio: int | None = None,
    end: int | None = None,
) -> Pairs:
    """The pairs of one pipeline stage whose destination holds every layer: its slice of each group.

    groups: how many the pools list. start, end: the stage's layers. ratio: only layers whose compression ratio (of
    `ratios`, one a layer) is this have entries; None: every layer has. As many entries on both sides are paired by
    position. Raises PairingError when the counts are not those of such pools.
    """
    if source_count == destination_count:
        return [(entry, entry) for entry in range(source_count)]
    for side, count in (("source", source_count), ("destination", destination_count)):
        if count % groups:
            raise PairingError(f"{side}: expected {groups} groups of equally many entries, found {_entries(count)}")
    layers, full = source_count // groups, destination_count // groups
    if ratio is None:
        first, last = start, start + layers
    else:
        last_layer = len(ratios) if end is None else end
        first, last, known = (ratios[:layer].count(ratio) for layer in (start, last_layer, len(ratios)))
        if full != known:
            raise PairingError(f"destination: expected {_entries(groups * known)}, found {destination_count}")
        if layers != last - first:
            raise PairingError(
                f"source: expected {_entries(groups * (last - first))} for layers {start} to {last_layer - 1}, "
                f"found {source_count}"
            )
    if last > full:
        raise PairingError(f"destination: expected layers up to {last - 1} in each group, found {full} layers")
    return [
        (group * layers + layer, group * full + first + layer) for group in range(groups) for layer in range(layers)
    ]


def entry_layer_ids(layers: Sequence[int], groups: int = 1, drafts: int = 0, num_hidden_layers: int = 0) -> list[int]:
    """The layer id of each entry: the layers once a group, then the draft layers, whose ids follow the model's."""
    draft = [num_hidden_layers + number for number in range(drafts)]
    return [*list(layers) * groups, *draft * groups]


def pack_layer_ids(ids: Sequence[int]) -> bytes:
    """Layer ids as they travel: unsigned, 32 bits each, little-endian."""
    for place, layer in enumerate(ids):
        if not 0 <= layer < 2**32:
            raise ValueError(f"layer id {place}: expected 0 to {2**32 - 1}, found {layer}")
    return struct.pack(f"<{len(ids)}I", *ids)


def unpack_layer_ids(packed: bytes) -> list[int]:
    """The layer ids that `pack_layer_ids` packed."""
    if len(packed) % 4:
        raise ValueError(f"packed layer ids: expected 4 bytes each, found {len(packed)} bytes")
    return list(struct.unpack(f"<{len(packed) // 4}I", packed))


def _by_position(source_count: int, destination_count: int, pp_size: int) -> Pairs:
    if destination_count < source_count or (destination_count != source_count and pp_size > 1):
        expected = f"{source_count}" if pp_size > 1 else f"at least {source_count}"
        raise PairingError(
            f"destination: expected {expected} entries to pair with the source's by position, found {destination_count}"
        )
    return [(entry, entry) for entry in range(source_count)]


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"
