"""Objects that are made by name: an argument that does not exist is told the one that was meant."""

from __future__ import annotations

from typing import Any

from confbag.words.suggest import nearest


class Spelled:
    """TypeError, with the nearest name, for an argument that `__init__` does not take."""

    __slots__ = ()

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        code = cls.__init__.__code__
        known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        for name in named:
            if name not in known:
                meant = nearest(name, known)
                hint = f"did you mean {meant}?" if meant else f"it takes {', '.join(known)}"
                raise TypeError(f"{cls.__name__} has no {name!r}; {hint}")
        return object.__new__(cls)
