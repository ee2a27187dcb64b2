"""What `load` takes, by argument: one of another kind is told what to write before any source is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from confbag.schema.given import check_schema
from confbag.words.given import is_path, wrong_type
from confbag.words.text import printable


class _Takes(NamedTuple):
    """What an argument may be, in words and as a test, and an example of it."""

    says: str
    holds: Callable[[Any], bool]
    write: str


def _is_record(value: Any) -> bool:
    from confbag.sources.record import Record  # here: most bags are read of no record

    return isinstance(value, Record)


_TAKES = {
    "preset": _Takes("the name of a preset", lambda value: isinstance(value, str), "load(preset='deterministic')"),
    "model": _Takes(
        "the path of a checkpoint's config.json or of its folder",
        is_path,
        "load(model='checkpoints/llama'), and facts of a model as settings, load({'model.kind': 'mla'})",
    ),
    "record": _Takes(
        "a Record",
        _is_record,
        "load(record=Record('sglang', argv=['--tp-size', '8'])), or Record('sglang', values={'tp_size': 8})",
    ),
    "env": _Takes(
        "a mapping of variables to texts",
        lambda value: isinstance(value, Mapping),
        "load(env={'CONFBAG__EXEC__GRAPH': 'false'}), or leave it out for os.environ",
    ),
    "overrides": _Takes(
        "a mapping of keys to values",
        lambda value: isinstance(value, Mapping),
        "load(overrides={'exec.graph': False})",
    ),
}


def check_arguments(schema: Any, **optional: Any) -> None:
    """TypeError for the first argument that is of another kind. optional: those that may be None."""
    check_schema(schema, "load(schema=...)", "load(schema=MyConfig)")
    for name, value in optional.items():
        takes = _TAKES[name]
        if value is not None and not takes.holds(value):
            raise wrong_type(f"load({name}=...)", takes.says, value, takes.write)


def check_words(argv: Any) -> list[str]:
    """The words of a command line, each a text."""
    if not isinstance(argv, Iterable) or isinstance(argv, (str, bytes, Mapping)):
        write = "load(argv=['--set', 'exec.graph=false']), or leave it out"
        raise wrong_type("load(argv=...)", "a list of texts", argv, write)
    words = list(argv)
    for number, word in enumerate(words, 1):
        if not isinstance(word, str):
            raise wrong_type("load(argv=...)", "texts", word, f"argument {number} in quotes, as a shell would give it")
    return words


def check_variables(env: Mapping[Any, Any]) -> None:
    """TypeError for a variable whose name is no text, or one that could be ours and holds none."""
    for name, value in env.items():
        if not isinstance(name, str):
            raise wrong_type("load(env=...)", "variables whose names are texts", name, "{'CONFBAG__EXEC__GRAPH': ...}")
        if name[:8].upper() == "CONFBAG_" and not isinstance(value, str):
            place = f"load(env=...): {printable(name)}"
            raise wrong_type(place, "a text, as every variable does", value, "'false' for false, '8' for 8")
