"""Containers as values: by which methods they take something, and what they are with it."""

from __future__ import annotations

from confbag.ratchets.binder.values import NOTHING, Box, Value, box, constant, content, join, merged, opaque

PASSING = frozenset({"put", "put_nowait", "set_result"})  # to queues and futures
PUTTING = PASSING | {"append", "add", "appendleft", "insert", "extend", "extendleft", "update", "setdefault"}


def together(more: Box, one: Box) -> Value:
    """A container with what another one holds."""
    return merged(frozenset({Box(more.mapping, one.items, one.rest), more}))


def holding(one: Box, key: str | int | None, value: Value) -> Value:
    """A container with one more value, under a key or under one that is not known."""
    if key is None:
        return box(one.mapping, one.items, join([one.rest, opaque(value)]))
    return box(one.mapping, {**dict(one.items), key: value}.items(), one.rest)


def as_mapping(value: Value) -> Value:
    """What `dict(value)` is: a mapping, or the pairs of an iterable."""
    found: list[Value] = []
    for atom in value:
        if not isinstance(atom, Box):
            continue
        if atom.mapping:
            found.append(frozenset({atom}))
            continue
        items: dict[str | int, Value] = {}
        rest: list[Value] = []
        for pair in (*(held for _, held in atom.items), atom.rest):
            for part in pair:
                if not isinstance(part, Box):
                    continue
                inner = dict(part.items)
                key = constant(inner.get(0, NOTHING))
                held = inner.get(1, NOTHING) if not part.rest else content(part)
                if key is None:
                    rest.append(opaque(held))
                else:
                    items[key] = join([items.get(key, NOTHING), held])
        found.append(frozenset({Box(True, tuple(items.items()), join(rest))}))
    return join(found)
