"""Calls that a library makes for one: threads, processes, executors, event loops, exit handlers."""

from __future__ import annotations

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    NOTHING,
    UNKNOWN,
    Accessor,
    Box,
    Builtin,
    Function,
    Method,
    Partial,
    Symbol,
    Value,
    box,
    interesting,
)

# What makes an object that calls: the keyword and the position of what it calls; its arguments are a container.
_MADE = {"Thread": ("target", 1, 3), "Process": ("target", 1, 3), "Timer": ("function", 1, 2)}
# Methods of objects that are not known, by the position of what they call; what follows is given to it.
_METHODS = {"submit": 0, "run_in_executor": 1, "call_soon": 0, "call_soon_threadsafe": 0, "call_later": 1}


class Spawning(Part):
    """Applies what is to be called to what it is given."""

    def made(self, path: str, call: Call) -> None:
        """Thread(target=work, args=(record,)) and its like."""
        known = _MADE.get(path.rpartition(".")[2])
        if known is None:
            return
        keyword, position, after = known
        function = call.keyword(keyword) or call.argument(position)
        args = call.keyword("args") or call.argument(after)
        named = call.keyword("kwargs") or call.argument(after + 1)
        if not function:
            return
        inner = Call(call.node, [], [], [])
        for held in args:
            if isinstance(held, Box) and not inner.args:
                inner.args = [value for _, value in held.items]
                inner.nodes = [call.node] * len(inner.args)
        for held in named:
            if isinstance(held, Box):
                inner.keywords += [(str(name), value, call.node) for name, value in held.items]
        if inner.args or inner.keywords:
            self.binder.callees.apply(function, inner)

    def method(self, name: str, callee: Value, call: Call) -> Value | None:
        """executor.submit(work, record) and its like; None where it is none."""
        position = _METHODS.get(name)
        if position is None or any(isinstance(atom, (Function, Method)) for atom in callee):
            return None
        function = call.argument(position)
        if not any(isinstance(atom, (Function, Accessor, Partial, Symbol)) for atom in function):
            return None
        value = self.after(position, call)
        if not interesting(value):
            return UNKNOWN
        if name != "submit":
            return value
        result: Value = frozenset({Partial(frozenset({Builtin("<same>")}), (value,), ())})
        return box(False, (("result", result),))

    def after(self, position: int, call: Call) -> Value:
        """The argument at a position is called with those after it."""
        function = call.argument(position)
        if not function:
            return NOTHING
        inner = Call(call.node, call.args[position + 1 :], call.nodes[position + 1 :], call.keywords)
        return self.binder.callees.apply(function, inner)
