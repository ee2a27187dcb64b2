"""The only module that calls torch's underscore APIs: schemas, kernels by dispatch key, and what a namespace holds.

A torch that lacks one, or that answers it in another shape, raises NotVerifiable; the binder then says `schema not
verified`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

COMPOSITE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CompositeExplicitAutogradNonFunctional")
"""Alias keys: a kernel registered under one runs on every device."""


class NotVerifiable(Exception):
    """This torch does not offer what a check needs; the text names the API."""


class MalformedSchema(Exception):
    """A schema string that torch does not parse; the text is torch's."""


def parse(torch: Any, schema: str) -> Any:
    """The parsed schema; MalformedSchema with torch's own words."""
    try:
        return _api(torch, "parse_schema")(schema)
    except RuntimeError as error:
        raise MalformedSchema(" ".join(str(error).split())) from error


def installed(torch: Any, expected: Any) -> Any | None:
    """The registered schema of the op and overload that a parsed schema names; None when there is none."""
    get = _api(torch, "_get_schema")
    try:
        return get(expected.name, expected.overload_name)
    except RuntimeError as error:
        if "no matching schema" in str(error):
            return None
        raise NotVerifiable(f"torch._C._get_schema: {error}") from error


def names_in(torch: Any, namespace: str) -> tuple[str, ...]:
    """Every registered op of a namespace, as `op` or `op.overload`."""
    prefix = f"{namespace}::"
    names = _api(torch, "_dispatch_get_all_op_names")()
    return tuple(sorted(name[len(prefix) :] for name in names if name.startswith(prefix)))


def has_kernel(torch: Any, name: str, key: str) -> bool:
    """Whether a registered op (`ns::op` or `ns::op.overload`) has a kernel of its own under a dispatch key.

    A composite kernel counts: it runs on every device. A backend's fallback does not: it says nothing of this op.
    """
    if key not in COMPOSITE:
        try:
            if _api(torch, "_dispatch_has_kernel_for_dispatch_key")(name, key):
                return True
        except RuntimeError as error:
            raise NotVerifiable(
                f"torch._C._dispatch_has_kernel_for_dispatch_key({name!r}, {key!r}): {error}"
            ) from error
    # torch answers nothing about alias keys, so the registrations are read from its dump:
    # `CompositeExplicitAutograd[alias]: ...`.
    lines = _api(torch, "_dispatch_dump")(name).splitlines()
    registered = {line.partition(":")[0].removesuffix("[alias]") for line in lines}
    return not registered.isdisjoint({key} if key in COMPOSITE else COMPOSITE)


def has_owner(torch: Any, namespace: str) -> bool:
    """Whether some TORCH_LIBRARY block already owns a namespace, so that a second one would abort the process."""
    try:
        library = torch.library.Library(namespace, "DEF")
    except RuntimeError as error:
        return "Only a single TORCH_LIBRARY" in str(error)
    except ValueError:
        return True  # a namespace that torch reserves for itself
    destroy = getattr(library, "_destroy", None)
    if destroy is None:
        raise NotVerifiable("torch.library.Library._destroy")
    destroy()
    return False


def compatible(found: Any, expected: Any) -> bool:
    """Whether every call that fits the expected schema fits the one found and means the same."""
    try:
        if found.is_backward_compatible_with(expected):
            return True
    except AttributeError as error:
        raise NotVerifiable("FunctionSchema.is_backward_compatible_with") from error
    except RuntimeError:
        # An INTERNAL ASSERT on an order of defaults that torch itself would not accept: not compatible.
        return False
    # torch compares the letters of alias sets (`Tensor!` against `Tensor(a!)`), which no caller can see.
    return difference(found, expected) is None and len(found.arguments) == len(expected.arguments)


def difference(found: Any, expected: Any) -> str | None:
    """The first argument (or return) in which two parsed schemas differ, in words; None when only alias letters do."""
    try:
        return _difference(found, expected)
    except AttributeError as error:
        raise NotVerifiable(f"FunctionSchema: {error}") from error


def _difference(found: Any, expected: Any) -> str | None:
    has, needs = list(found.arguments), list(expected.arguments)
    aliases = _alias_sets(found), _alias_sets(expected)
    for index, need in enumerate(needs):
        if index >= len(has):
            return f"argument {need.name!r} is missing"
        have = has[index]
        if have.name != need.name:
            where = "is missing" if need.name not in {each.name for each in has} else f"must come before {have.name!r}"
            return f"argument {need.name!r} {where}"
        for what, read in _FACETS:
            if read(have) != read(need):
                return f"argument {need.name!r}: {what} must be {read(need)}, is {read(have)}"
        if aliases[0][index] != aliases[1][index]:
            return f"argument {need.name!r} must {_writes(need)}, the one found does {_writes(have, found=True)}"
    for extra in has[len(needs) :]:
        if not extra.has_default_value():
            return f"argument {extra.name!r} is new and has no default"
    returns = [str(each.type) for each in found.returns], [str(each.type) for each in expected.returns]
    if returns[0] != returns[1] or aliases[0][len(has) :] != aliases[1][len(needs) :]:
        return f"it must return ({', '.join(returns[1])}), returns ({', '.join(returns[0])})"
    return None


def _default(argument: Any) -> str:
    return repr(argument.default_value) if argument.has_default_value() else "absent"


_FACETS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("type", lambda argument: str(argument.type)),
    ("default", _default),
    ("passing", lambda argument: "by keyword only" if argument.kwarg_only else "by position"),
)


def _writes(argument: Any, *, found: bool = False) -> str:
    writes = argument.alias_info is not None and argument.alias_info.is_write
    if found:
        return "write it" if writes else "not"
    return "be written" if writes else "not be written"


def _alias_sets(schema: Any) -> list[tuple[bool, tuple[int, ...]] | None]:
    """For every argument and return: whether it is written, and its alias sets numbered by first appearance."""
    numbers: dict[str, int] = {}
    sets: list[tuple[bool, tuple[int, ...]] | None] = []
    for each in (*schema.arguments, *schema.returns):
        info = each.alias_info
        letters = () if info is None else sorted(info.before_set)
        numbered = tuple(numbers.setdefault(letter, len(numbers)) for letter in letters)
        sets.append(None if info is None else (bool(info.is_write), numbered))
    return sets


def _api(torch: Any, name: str) -> Callable[..., Any]:
    found = getattr(torch._C, name, None)
    if found is None:
        raise NotVerifiable(f"torch._C.{name}")
    return found  # type: ignore[no-any-return]
