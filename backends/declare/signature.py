"""Whether a function's parameters are its contract's: names, order, kinds and defaults, all equal.

Extra parameters with defaults are refused too: a graph lowers a call by the contract's parameters, a vendor who
replaces the provider would drop them without notice, and a setting that no contract names is one that nobody can
plan. Annotations are not compared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from confbag.errors import RegistrationError, SignatureError

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def check_contract(op: str, contract: Callable[..., Any]) -> None:
    """RegistrationError unless it is a documented Python function without keyword-only or variadic parameters."""
    if not isinstance(contract, FunctionType):
        raise RegistrationError(f"op {op}: its contract must be a Python function, not {type(contract).__name__}")
    code = contract.__code__
    if code.co_kwonlyargcount:
        names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        raise RegistrationError(
            f"op {op}: keyword-only {', '.join(names)}; write positional parameters, a graph lowers nothing else"
        )
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise RegistrationError(f"op {op}: its contract takes * or ** parameters; name each one")
    if not (contract.__doc__ or "").strip():
        raise RegistrationError(
            f"op {op}: its contract has no docstring; say shapes, dtypes, what is written and what is raised"
        )


def check_signature(op: str, provider: str, contract: Callable[..., Any], function: Callable[..., Any]) -> None:
    """SignatureError, holding both signatures, unless every call that fits the contract fits the function as well."""
    found = difference(contract, function)
    if found is not None:
        needed, given = sides(op, contract, function)
        raise SignatureError(f"{op}, {provider}: {found}\n  contract:       {needed}\n  implementation: {given}")


def sides(op: str, contract: Callable[..., Any], function: Callable[..., Any]) -> tuple[str, str]:
    """The contract's signature and the function's, as a reader compares them: no annotations, what each takes."""
    return _say(op.rpartition(".")[2], contract), _say(_name(function), function)


def difference(contract: Callable[..., Any], function: Callable[..., Any]) -> str | None:
    """The first way in which the function's parameters are not the contract's; None when they are equal."""
    try:
        layers = _layers(function)
    except (TypeError, ValueError):
        return "Python cannot read its signature; wrap it in a function with the contract's parameters"
    needed = list(inspect.signature(contract).parameters.values())
    # A decorator that hands everything on (torch.no_grad) may stand outside; what it wraps must fit, and so must any
    # other layer.
    for depth, layer in enumerate(layers):
        parameters = list(layer.parameters.values())
        if depth + 1 < len(layers) and [each.kind for each in parameters] == list(_VARIADIC):
            continue
        found = _compare(needed, parameters)
        if found is not None:
            return found
    return None


def _layers(function: Callable[..., Any]) -> list[inspect.Signature]:
    """The signatures from the outermost wrapper to the innermost function, each as it really takes arguments."""
    layers: list[inspect.Signature] = []
    seen: set[int] = set()
    while id(function) not in seen:
        seen.add(id(function))
        layers.append(inspect.signature(_bare(function), follow_wrapped=False))
        function = getattr(function, "__wrapped__", function)
    return layers


def _bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function without `__signature__` and `__wrapped__`, which say what it looks like and not what it takes."""
    if not isinstance(function, FunctionType):
        call = vars(type(function)).get("__call__")
        return MethodType(call, function) if isinstance(call, FunctionType) else function
    bare = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    bare.__kwdefaults__ = function.__kwdefaults__
    return bare


def _compare(needed: list[inspect.Parameter], given: list[inspect.Parameter]) -> str | None:
    for position, (need, have) in enumerate(zip(needed, given, strict=False), start=1):
        if need.name != have.name:
            return f"parameter {position} must be {need.name!r}, is {have.name!r}"
        if need.kind is not have.kind:
            return f"parameter {need.name!r} must be {need.kind.description}, is {have.kind.description}"
        if not _same(need.default, have.default):
            return f"the default of {need.name!r} must be {_default(need)}, is {_default(have)}"
    if len(needed) > len(given):
        return f"it lacks {', '.join(repr(each.name) for each in needed[len(given) :])}"
    if len(given) > len(needed):
        return f"it has {', '.join(repr(each.name) for each in given[len(needed) :])}, which the contract has not"
    return None


def _same(left: Any, right: Any) -> bool:
    # By repr: 1, 1.0 and True differ, nan equals itself, and a tensor is never asked for its truth.
    return left is right or (type(left) is type(right) and repr(left) == repr(right))


def _default(parameter: inspect.Parameter) -> str:
    return "absent" if parameter.default is inspect.Parameter.empty else repr(parameter.default)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', None) or '?'}:{name}"


def _say(name: str, function: Callable[..., Any]) -> str:
    """`name(parameters)` without annotations, as the function really takes them."""
    try:
        own = _layers(function)[-1]
    except (TypeError, ValueError):
        return f"{name} (unreadable)"
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in own.parameters.values()]
    return f"{name}{inspect.Signature(bare)}"
