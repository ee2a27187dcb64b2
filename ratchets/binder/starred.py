"""Names for what `*args` and `**kwargs` take: `*args` is all of it, `*args[0]` the first, `**kwargs[x]` one by name.

A caller gives `*args[0/2]`, the first of two, which is also `*args[-2]` to a function that counts from the end.
"""

from __future__ import annotations

from confbag.ratchets.binder.values import Box, Parameter, Value


def everything(name: str, mapping: bool) -> str:
    """All that a starred parameter takes."""
    return f"{'**' if mapping else '*'}{name}"


def element(value: Value, key: str | int) -> Value:
    """What is under a key: of all that a starred parameter takes one thing."""
    return frozenset(
        Parameter(atom.key, f"{atom.name}[{key}]")
        if isinstance(atom, Parameter) and atom.name.startswith("*") and "[" not in atom.name
        else atom
        for atom in value
    )


def forwarded(value: Value, key: str | int) -> Value:
    """What a starred argument gives under a key, where it is a starred parameter handed on."""
    return frozenset(
        part
        for atom in value
        if isinstance(atom, Box) and not atom.items
        for part in element(atom.rest, key)
        if isinstance(part, Parameter)
    )


def ways(name: str) -> tuple[str, ...]:
    """Under which names a function may have noted what it does with something that it was given."""
    whole, _, inside = name.partition("[")
    if not inside:
        return (name,)
    index, _, count = inside.rstrip("]").partition("/")
    found = [whole, f"{whole}[{index}]"]
    if count:
        found.append(f"{whole}[{int(index) - int(count)}]")
    return tuple(found)
