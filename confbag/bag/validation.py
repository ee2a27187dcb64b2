"""Settings become a validated Config, or faults in our own sentences; pydantic's words and the values of secrets stay
inside."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from confbag.bag.chains import Chains, alone, winner
from confbag.errors import Fault, RegistrationError
from confbag.schema.config import Config
from confbag.schema.leaves import Leaf, leaves, namespaces
from confbag.schema.phrases import described, expected, instead
from confbag.words.plain import plain
from confbag.words.provenance import Layer, Setting
from confbag.words.secret import Secret

C = TypeVar("C", bound=Config)


def validate(schema: type[C], chains: Chains) -> tuple[C | None, list[Fault]]:
    """The Config that the winning settings make, or None and every fault of theirs."""
    known = leaves(schema)
    config, faults = _check(schema, {key: alone(known[key], chain[-1]) for key, chain in chains.items()})
    if config is None or not any(known[key].merged and len(chain) > 1 for key, chain in chains.items()):
        return config, faults
    # Each source was sound by itself, the lower ones too, or else `check_losers` says so; what they make together is.
    return _check(schema, {key: winner(known[key], chain) for key, chain in chains.items()})


def check_losers(schema: type[Config], chains: Chains) -> list[Fault]:
    """The faults of values that another source overrides: they are wrong all the same, and would surface when that one
    goes."""
    known = leaves(schema)
    winners = {key: alone(known[key], chain[-1]) for key, chain in chains.items()}
    deepest = max((len(chain) for chain in chains.values()), default=0)
    faults: list[Fault] = []
    for depth in range(2, deepest + 1):
        losers = {key: alone(known[key], chain[-depth]) for key, chain in chains.items() if len(chain) >= depth}
        _, found = _check(schema, {**winners, **losers})
        faults += [fault for fault in found if fault.key in losers]
    return faults


@functools.cache
def check_defaults(schema: type[Config]) -> None:
    """RegistrationError for a default that is not what its field's annotation says, or that two fields contradict."""
    missing = {key for key, leaf in leaves(schema).items() if leaf.required}
    try:
        faults = _check(schema, {})[1]
    except PydanticUserError as error:
        raise RegistrationError(_unbuildable(schema, error)) from error
    for fault in faults:
        if fault.key not in missing and not (fault.key is None and missing):
            where = f"{schema.__module__}.{schema.__qualname__}: {fault.key}"
            raise RegistrationError(f"{where}: its default: {fault.message}")


def _unbuildable(schema: type[Config], error: PydanticUserError) -> str:
    """Which key is annotated with what cannot be validated."""
    where = f"{schema.__module__}.{schema.__qualname__}"
    for leaf in leaves(schema).values():
        try:
            TypeAdapter(leaf.annotation)
        except PydanticUserError:
            return f"{where}: {leaf.key} is annotated with what cannot be validated; write plain data, or a class of it"
    return f"{where} cannot be validated: {error.message.splitlines()[0]}"


def _check(schema: type[C], settings: Mapping[str, Setting]) -> tuple[C | None, list[Fault]]:
    known = leaves(schema)
    values: dict[str, Any] = {key: leaf.default for key, leaf in known.items() if not leaf.required}
    values.update((key, setting.value) for key, setting in settings.items())
    try:
        text = json.dumps(_nested(schema, values), default=_encode)
        return schema.model_validate_json(text), []
    except ValidationError as error:
        details = error.errors(include_url=False)
    except (TypeError, ValueError, RecursionError):
        details = []
    faults = _not_data(known, values, settings)
    if faults:
        sound = {key: setting for key, setting in settings.items() if key not in {fault.key for fault in faults}}
        return None, faults + _check(schema, sound)[1]
    return None, _translated(schema, details, values, settings)


def _nested(schema: type[Config], values: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name in namespaces(schema):
        _below(tree, name)
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        _below(tree, section)[name] = value
    return tree


def _below(tree: dict[str, Any], section: str) -> dict[str, Any]:
    for name in section.split("."):
        tree = tree.setdefault(name, {})
    return tree


def _encode(value: Any) -> Any:
    if value.__class__ in (set, frozenset, Secret) or isinstance(value, Mapping):
        return plain(value, reveal=True)
    encoded = plain(value, reveal=True)
    if encoded.__class__ is value.__class__:
        raise TypeError
    return encoded


def _not_data(known: Mapping[str, Leaf], values: Mapping[str, Any], settings: Mapping[str, Setting]) -> list[Fault]:
    """The faults of values that JSON cannot hold: objects that only mean something in this process, and text that is
    not Unicode."""
    faults = []
    for key, value in values.items():
        try:
            json.dumps(value, default=_encode).encode("ascii").decode("unicode-escape").encode(
                "utf-16", "surrogatepass"
            ).decode("utf-16")
        except (TypeError, ValueError, RecursionError):
            what = "this value" if known[key].secret else described(value)
            wanted = expected(known[key].annotation)
            faults.append(
                Fault(
                    _where(settings.get(key)),
                    key,
                    f"expected {wanted}, got {what}, which is not plain Unicode data; write {wanted}",
                )
            )
    return faults


def _translated(
    schema: type[Config], details: list[ErrorDetails], values: Mapping[str, Any], settings: Mapping[str, Setting]
) -> list[Fault]:
    known = leaves(schema)
    faults: dict[str | None, Fault] = {}
    for detail in sorted(details, key=lambda detail: _own_words(detail) is None):
        key = _key(known, namespaces(schema), detail["loc"])
        if key in faults:
            continue
        if key is not None and key in known:
            faults[key] = Fault(
                _where(settings.get(key)), key, _sentence(known[key], detail, values, settings.get(key))
            )
        else:
            message = _own_words(detail) or "these values do not go together"
            faults[key] = Fault(_setters(key, message, settings), key, message)
    return list(faults.values())


def _key(known: Mapping[str, Leaf], sections: Iterable[str], loc: tuple[int | str, ...]) -> str | None:
    """The longest part of pydantic's location that is a key or a namespace: below it are its own names for union
    members."""
    for end in range(len(loc), 0, -1):
        key = ".".join(str(part) for part in loc[:end])
        if key in known or key in sections:
            return key
    return None


def _sentence(leaf: Leaf, detail: ErrorDetails, values: Mapping[str, Any], setting: Setting | None) -> str:
    wanted = expected(leaf.annotation)
    if leaf.key not in values:
        return f"expected {wanted}, but nothing sets it; write it in a file, or --set {leaf.key}=VALUE"
    if leaf.secret:
        return f"expected {wanted}, got something else (not shown: it is a secret)"
    value, inner = values[leaf.key], detail["input"]
    came = f"got {described(value)}"
    if isinstance(value, (list, tuple, Mapping)) and isinstance(inner, (str, int, float, bool, type(None))):
        came = f"but it holds {described(inner)}"
    because = f"{setting.why}; " if setting is not None and setting.layer is Layer.RULE and setting.why else ""
    return f"expected {wanted}, {came}; {because}{_own_words(detail) or instead(leaf.annotation, value)}"


def _own_words(detail: ErrorDetails) -> str | None:
    """What a validator of ours or of the engine's raised; None for what pydantic itself found."""
    error = detail.get("ctx", {}).get("error")
    return str(error) if detail["type"] in ("value_error", "assertion_error") and error is not None else None


def _where(setting: Setting | None) -> str | None:
    return setting.origin if setting is not None else None


def _setters(section: str | None, message: str, settings: Mapping[str, Setting]) -> str | None:
    """Who set the values that a rule across keys complains about: those that it names, else the whole namespace's."""
    within = {key: setting for key, setting in settings.items() if section is None or key.startswith(f"{section}.")}
    words = set(re.findall(r"\w+", message))
    named = [setting.origin for key, setting in within.items() if key.rpartition(".")[2] in words]
    return " and ".join(dict.fromkeys(named or [setting.origin for setting in within.values()])) or None
