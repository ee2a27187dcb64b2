"""Which of a name's bindings a use can see: the last one on the straight way, and what branches and loops add."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Sequence

from confbag.ratchets.names.scopes import LAST, Arm, Binding, Position, Scope

# How many bindings before (and, in a loop, behind) a use are looked at: generated code has thousands of one name.
_FAR = 256


def lookup(name: str, scope: Scope, arm: Arm | None, position: Position) -> list[Binding]:
    """The bindings that a use of a name may see; none where the module binds it nowhere.

    A function runs at any time after its definition, so from within it an outer name is the join of what reaches the
    end of the outer scope (a closure variable: of all its bindings).
    """
    direct = True
    for outer in scope.outward():
        if name in outer.globals:
            while outer.parent is not None:
                outer = outer.parent
            return ending(outer.bindings.get(name, []))
        if outer.kind == "class" and not direct:
            continue
        found = outer.bindings.get(name)
        if found is not None and not (outer.kind == "class" and outer is not scope and scope.deferred):
            if direct:
                return reaching(found, arm, position)
            return ending(found) if outer.kind == "module" else found
        if outer.deferred:
            direct = False
    return []


def ending(bindings: list[Binding]) -> list[Binding]:
    """What a name can be once its scope's body has run."""
    return reaching(bindings, None, LAST) if len(bindings) > 1 else bindings


def reaching(bindings: Sequence[Binding], arm: Arm | None, position: Position) -> list[Binding]:
    """The bindings that control can bring to a place of their own scope."""
    if len(bindings) == 1:
        return list(bindings)
    # The lexicon leaves them in source order, those of inner functions behind.
    count = bisect_right(bindings, LAST, key=_position)
    own, stored = bindings[:count] if count < len(bindings) else bindings, bindings[count:]
    here = around(arm)
    end = bisect_right(own, position, key=_position)
    live: list[Binding] = []
    sure: Binding | None = None
    for binding in reversed(own[max(0, end - _FAR) : end]):
        if _arrives(binding, here):
            live.append(binding)
        if binding.arm is None or binding.arm in here:
            sure = binding
            break
    loops = [one for one in here if one.loop]
    if loops:
        kept = around(sure.arm) if sure is not None else {}
        again = [one for one in loops if one not in kept]
        live.extend(binding for binding in own[end : end + _FAR] if any(one in again for one in around(binding.arm)))
    return [*live, *stored] or list(bindings)


def _position(binding: Binding) -> Position:
    return binding.position


def around(arm: Arm | None) -> dict[Arm, None]:
    """An arm and those around it."""
    found: dict[Arm, None] = {}
    while arm is not None:
        found[arm] = None
        arm = arm.parent
    return found


def _arrives(binding: Binding, here: dict[Arm, None]) -> bool:
    """Whether control can leave the binding's block towards the use."""
    roots = {arm.root: arm for arm in here}
    arm = binding.arm
    while arm is not None and arm not in here:
        if arm.leaves and not any(one.loop and one in here for one in around(arm)):
            return False
        other = roots.get(arm.root)
        if other is not None and other.number != arm.number and isinstance(arm.root, (ast.If, ast.Match)):
            return any(one.loop and one in here for one in around(arm))
        arm = arm.parent
    return True
