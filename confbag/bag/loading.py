"""From sources to a bag: every source is read, every fault of all of them is told at once, and the rest becomes a
Bag."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from confbag.bag.answers import with_answers
from confbag.bag.arguments import check_arguments, check_variables, check_words
from confbag.bag.bag import Bag
from confbag.bag.chains import Chains, chained, entries
from confbag.bag.plugins import plugin_settings
from confbag.bag.reading import PathLike, checkpoint_of, keys_of
from confbag.bag.validation import check_losers, validate
from confbag.errors import ConfigError, Fault
from confbag.schema.config import Config
from confbag.sources import Found
from confbag.sources.argv import read_argv
from confbag.sources.env import read_environment
from confbag.sources.keys import Keys
from confbag.sources.overrides import read_mapping, read_overrides
from confbag.sources.presets import read_preset
from confbag.sources.yaml import read_file
from confbag.words.given import wrong_type
from confbag.words.provenance import Setting
from confbag.words.text import capped

if TYPE_CHECKING:
    from confbag.sources.record import Record

_PLACE = re.compile(r"(?P<name>.*):(?P<line>\d+):(?P<column>\d+)\Z", re.DOTALL)


class Draft(NamedTuple):
    """What the sources said before anything is refused, so that a caller adds its own faults and raises all of them
    once.

    understood: the keys that could be, dotted; without those that have a fault. ignored: what a record holds that is
    not understood, by name, with the reason.
    """

    schema: type[Config]
    faults: tuple[Fault, ...]
    understood: Mapping[str, Any]
    ignored: Mapping[str, str]
    read_from: str | None
    chains: Chains
    config: Config | None

    def values(self) -> Mapping[str, Any]:
        """Every key that could be understood."""
        return self.understood

    def entries(self, key: str) -> Mapping[str, Setting]:
        """Of a mapping that sources merge: each entry, and who set it."""
        return entries(self.chains.get(key, ()))

    def chain(self, key: str) -> tuple[Setting, ...]:
        """Every source that set a key, the lowest first; none where only its default speaks."""
        return self.chains.get(key, ())

    def setting(self, key: str) -> Setting | None:
        """The setting that wins for a key; None where only its default speaks."""
        chain = self.chain(key)
        return chain[-1] if chain else None

    def bag(self) -> Bag:
        """The bag; ConfigError with every fault where there is one."""
        if self.faults or self.config is None:
            raise ConfigError(self.faults)
        return Bag(self.schema, read_from=self.read_from, ignored=self.ignored, _checked=(self.chains, self.config))


def load(
    *files: PathLike | Mapping[str, Any],
    schema: type[Config] = Config,
    preset: str | None = None,
    model: PathLike | None = None,
    record: Record | None = None,
    env: Mapping[str, str] | None = None,
    argv: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Bag:
    """The bag of these sources; ConfigError with every fault of all of them.

    Lowest first: defaults, preset, plug-ins' defaults, the checkpoint's facts, record, files, environment, argv,
    overrides. Within one layer a later file wins, and an exact key before a general one.

    files: paths of YAML files, or mappings with what a file would say, keys dotted or nested.
    schema: the engine's own Config.
    preset: a named set of values, beside those that files name and above them.
    model: a checkpoint's config.json, or its folder; without it, model.path when that is such a folder.
    record: an engine's startup arguments, Record("sglang", argv=[...]).
    env: the environment; None is os.environ.
    argv: ["--set", "KEY=VALUE", ...]; sys.argv is never read.
    overrides: what nothing else overrides, keys dotted or nested.
    """
    return read(
        *files, schema=schema, preset=preset, model=model, record=record, env=env, argv=argv, overrides=overrides
    ).bag()


def read(
    *files: PathLike | Mapping[str, Any],
    schema: type[Config] = Config,
    preset: str | None = None,
    model: PathLike | None = None,
    record: Record | None = None,
    env: Mapping[str, str] | None = None,
    argv: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Draft:
    """What `load` reads, with its faults not yet raised."""
    check_arguments(schema, preset=preset, model=model, record=record, env=env, overrides=overrides)
    words = check_words(argv)
    if env is not None:
        check_variables(env)
    keys = keys_of(schema)
    plugins = plugin_settings(schema).found
    asked = [_recorded(record, keys)] if record is not None else []
    texts = [_file(file, number, keys) for number, file in enumerate(files, 1)]
    above = [
        *asked,
        *texts,
        read_environment(os.environ if env is None else env, keys, plugins.environment),
        read_argv(words, keys),
        *([read_overrides("load", overrides, keys)] if overrides is not None else []),
    ]
    presets = [read_preset(text.preset.value, keys, text.preset.origin) for text in texts if text.preset is not None]
    presets += [read_preset(preset, keys)] if preset is not None else []
    presets, plugins, above = (
        [with_answers(schema, found) for found in presets],
        with_answers(schema, plugins),
        [with_answers(schema, found) for found in above],
    )
    read_from, facts = checkpoint_of(model, _path([*presets, plugins, *above]))
    return draft(schema, [*presets, plugins, facts, *above], read_from)


def _recorded(record: Record, keys: Keys) -> Found:
    from confbag.sources.record import read_record  # here: most bags are read of no record

    return read_record(record, keys)


def _file(file: PathLike | Mapping[str, Any], number: int, keys: Keys) -> Found:
    """What one file says, or a mapping in its place."""
    if isinstance(file, Mapping):
        return read_mapping(file, f"load argument {number}", keys)
    if isinstance(file, (str, os.PathLike)):
        return read_file(file, keys)
    raise wrong_type(
        "load",
        "paths of YAML files and mappings of keys to values",
        file,
        "load('serve.yaml'), load({'exec.graph': False}) or load(record=Record('sglang', argv=[...]))",
    )


def _path(found: Iterable[Found]) -> Any:
    """The model.path that wins, the sources given lowest first."""
    given = [setting for source in found for setting in source.settings if setting.key == "model.path"]
    return given[-1].value if given else None


def draft(schema: type[Config], sources: Sequence[Found], read_from: str | None) -> Draft:
    """What sources said, given lowest first."""
    settings = [
        # A source may give one key twice itself, the second time higher: a record's flags go before its file.
        replace(setting, order=2 * place + setting.order)
        for place, source in enumerate(sources)
        for setting in source.settings
    ]
    chains: Chains = chained(schema, settings)
    config, wrong = validate(schema, chains)
    faults = [*(fault for source in sources for fault in source.faults), *wrong, *check_losers(schema, chains)]
    values = _values(schema, chains, config, wrong)
    order = {name: index for index, source in enumerate(sources) for name in _names(source)}
    told = sorted(dict.fromkeys(faults), key=lambda fault: _place(fault, order))
    return Draft(
        schema=schema,
        faults=tuple(capped(told, lambda more: Fault(None, None, f"and {more} more faults; mend these first"))),
        understood=values,
        ignored=MappingProxyType({name: why for source in sources for name, why in source.ignored.items()}),
        read_from=read_from,
        chains=chains,
        config=config,
    )


def _values(schema: type[Config], chains: Chains, config: Config | None, wrong: Iterable[Fault]) -> Mapping[str, Any]:
    """What is left when the settings that have a fault are taken away.

    A rule across keys speaks up only once each of them is sound. What it says of the rest is no fault to report,
    because it may complain of a default that stands in for a faulty value, but its keys are not understood either.
    """
    bad: set[str | None] = {fault.key for fault in wrong}
    sound = chains
    while config is None:
        left = {key: chain for key, chain in sound.items() if not _within(key, bad)}
        if len(left) == len(sound):
            return MappingProxyType({})
        sound = left
        config, wrong = validate(schema, sound)
        bad |= {fault.key for fault in wrong}
    values = Bag(schema, _checked=(sound, config)).values()
    return MappingProxyType({key: value for key, value in values.items() if not _within(key, bad)})


def _within(key: str, sections: Iterable[str | None]) -> bool:
    return any(section is None or key == section or key.startswith(f"{section}.") for section in sections)


def _names(source: Found) -> Iterator[str]:
    """What the settings and faults of one source call it."""
    yield from (_split(setting.origin)[0] for setting in source.settings)
    yield from (_split(fault.where or "")[0] for fault in source.faults)


def _split(where: str) -> tuple[str, int, int]:
    found = _PLACE.match(where)
    return (found["name"], int(found["line"]), int(found["column"])) if found else (where, 0, 0)


def _place(fault: Fault, order: Mapping[str, int]) -> tuple[int, int, int, str, str]:
    """Sources as they were read, then by line; within one that has no lines, by name."""
    name, line, column = _split(fault.where or "")
    if name not in order:  # a rule across keys names everyone who set one of them
        name, line, column = _split(name.partition(" and ")[0])
    return order.get(name, len(order)), line, column, name, fault.key or ""
