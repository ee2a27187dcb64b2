"""Settings from a command line: `--set KEY=VALUE` as often as needed, the order of no matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from confbag.errors import Fault
from confbag.sources import Found
from confbag.sources.flow import read_value
from confbag.sources.keys import Keys, same, twice
from confbag.words.provenance import Layer, Setting
from confbag.words.suggest import SUGGESTED

FLAG = "--set"


def read_argv(argv: Sequence[str], keys: Keys) -> Found:
    """The settings of the arguments. What is no `--set` is a fault, and is not repeated: it may be a secret."""
    settings: dict[str, Setting] = {}
    faults: list[Fault] = []
    for text in _pairs(argv):
        if isinstance(text, Fault):
            faults.append(text)
            continue
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals:
            faults.append(Fault(FLAG, key if key in keys.leaves else None, "lacks a value; write --set KEY=VALUE"))
        elif key not in keys.leaves and key not in keys.namespaces:
            faults.append(keys.fault(key, FLAG, suggest=len(faults) < SUGGESTED))
        else:
            found = read_value(key, value, FLAG, keys, Layer.ARGV)
            faults += found.faults
            for setting in found.settings:
                first = settings.setdefault(setting.key, setting)
                if not same(first.value, setting.value):
                    faults.append(Fault(FLAG, setting.key, twice(FLAG, FLAG)))
    return Found(tuple(settings.values()), tuple(faults))


def _pairs(argv: Sequence[str]) -> Iterator[str | Fault]:
    words = enumerate(argv, 1)
    for number, word in words:
        if word == FLAG:
            _, pair = next(words, (0, None))
            yield Fault(FLAG, None, "is the last argument; write --set KEY=VALUE") if pair is None else pair
        elif word.startswith(FLAG + "="):
            yield word[len(FLAG) + 1 :]
        else:
            yield Fault("argv", None, f"argument {number} is not a --set; write --set KEY=VALUE")
