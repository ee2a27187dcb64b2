"""The bag: every setting of one process, typed and immutable, each with the chain of sources that set it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from confbag.bag.answers import answered
from confbag.bag.chains import Chains, chained, covered, entries
from confbag.bag.validation import validate
from confbag.errors import ConfigError, Fault, RegistrationError
from confbag.schema.config import Config
from confbag.schema.frozen import freeze
from confbag.schema.given import check_schema
from confbag.schema.identity import named
from confbag.schema.leaves import leaves, model_of, namespaces, retired
from confbag.words.given import wrong_type
from confbag.words.plain import fingerprint, plain
from confbag.words.provenance import AUTO, Filled, Layer, Setting
from confbag.words.suggest import nearest
from confbag.words.table import immutable

if TYPE_CHECKING:
    from confbag.namespaces.device import Device
    from confbag.namespaces.disagg import Disagg
    from confbag.namespaces.exec import Exec
    from confbag.namespaces.memory import Memory
    from confbag.namespaces.model import Model
    from confbag.namespaces.parallel import Parallel
    from confbag.namespaces.spec import Spec

_DEFAULT = "default"
_PATH = "model.path"


class Bag:
    """Settings, typed and immutable: `bag.exec.attention.decode`, `bag["exec.attention.decode"]`, `bag.chain(...)` for
    who set it.

    A namespace is an attribute that holds a frozen slotted object; reading a field of it that is still `auto` raises
    UnresolvedError, while `bag[key]` and `values()` show `auto`. Make one with `load`; `Bag(schema, settings)` is what
    it calls; `Bag.of` reads an object that an engine keeps its own settings in.
    """

    # Slots, because a process reads these all the time; an engine's own namespaces are in __dict__, a little slower.
    __slots__ = (
        "__dict__",
        "_chains",
        "_config",
        "_fingerprint",
        "_flat",
        "_root",
        "device",
        "disagg",
        "exec",
        "ignored",
        "memory",
        "model",
        "parallel",
        "read_from",
        "schema",
        "spec",
    )

    exec: Exec
    device: Device
    model: Model
    parallel: Parallel
    spec: Spec
    memory: Memory
    disagg: Disagg
    schema: type[Config]
    read_from: str | None
    ignored: Mapping[str, str]
    _chains: Chains
    _config: Config
    _root: Config
    _flat: Mapping[str, Any] | None
    _fingerprint: str | None

    def __init__(
        self,
        schema: type[Config] = Config,
        settings: Iterable[Setting] = (),
        *,
        read_from: str | None = None,
        ignored: Mapping[str, str] | None = None,
        _checked: tuple[Chains, Config] | None = None,
    ) -> None:
        """ConfigError holds every value that the schema refuses.

        schema: the Config of the keys.
        settings: what sources said, each with its layer.
        read_from: the path that the checkpoint's facts are of.
        ignored: what a record held that is not understood, by name, with the reason.
        """
        if _checked is None:
            check_schema(schema, "Bag", "Bag(MyConfig, settings), or load({'exec.graph': False}) for values")
            if isinstance(settings, (str, Mapping)):
                raise wrong_type("Bag(settings=...)", "Settings", settings, "load({'exec.graph': False}) for values")
            chains: Chains = chained(schema, settings)
            config, faults = validate(schema, chains)
            if config is None:
                raise ConfigError(faults)
        else:
            chains, config = _checked
        root = freeze(config)
        for name in schema.model_fields:
            if name in _RESERVED:
                raise RegistrationError(
                    f"a bag has its own {name!r}; call the namespace of {schema.__qualname__} something else"
                )
            _put(self, name, getattr(root, name))
        for name, value in (
            ("schema", schema),
            ("read_from", read_from),
            ("ignored", MappingProxyType(dict(ignored or {}))),
            ("_chains", chains),
            ("_config", config),
            ("_root", root),
            ("_flat", None),
            ("_fingerprint", None),
        ):
            _put(self, name, value)

    @classmethod
    def of(cls, engine: object, schema: type[Config], model: str | os.PathLike[str] | None = None) -> Bag:
        """The bag of an object that an engine keeps its own settings in: its resolved values, and where each is from.

        engine: an instance of the class that `schema` was made from.
        schema: what `schema_from` made of its class.
        model: a checkpoint's config.json, or its folder; without it, model.path when that is such a folder.

        A field that holds its default was set by nobody. Raises ConfigError for fields whose values are not what their
        annotations say, TypeError for an object of another class.
        """
        from confbag.bag.objects import bag_of

        return bag_of(engine, schema, model)

    def __getitem__(self, key: str) -> Any:
        try:
            return self.values()[key]
        except (KeyError, TypeError):
            raise self._missing(key) from None

    def values(self) -> Mapping[str, Any]:
        """Every leaf by its dotted key; secrets are Secret objects. Computed once, read-only."""
        if self._flat is None:
            _put(self, "_flat", MappingProxyType(dict(_flatten("", self._config))))
            return self.values()
        return self._flat

    def chain(self, key: str) -> tuple[Setting, ...]:
        """Every source that set the key, the lowest first; the first one is its default."""
        leaf = leaves(self.schema).get(key) if isinstance(key, str) else None
        if leaf is None:
            raise self._missing(key)
        return (Setting(key, leaf.default, Layer.DEFAULT, _DEFAULT), *self._chains.get(key, ()))

    def setting(self, key: str) -> Setting:
        """The highest one: its value as the source gave it, and where that is."""
        return self.chain(key)[-1]

    def entries(self, key: str) -> Mapping[str, Setting]:
        """Of a mapping that sources merge, such as a pin: each entry, and who set it."""
        return entries(self.chain(key)[1:])

    def origin(self, key: str) -> str:
        """Where the value was set, in the words that errors use."""
        return self.setting(key).origin

    def asked(self, key: str) -> Setting | None:
        """The highest setting below the rules that is no default and no `auto`: what somebody asked for; None without
        one."""
        found = [setting for setting in self.chain(key) if setting.layer is not Layer.RULE][-1]
        return None if found.layer is Layer.DEFAULT or found.value == AUTO else found

    def is_set(self, key: str) -> bool:
        """Whether somebody asked for this value: a source above the defaults and below the rules, and other than
        `auto`."""
        return self.asked(key) is not None

    def sources(self) -> tuple[str, ...]:
        """What set anything, lowest first, without lines and flags: files, `environment`, `--set`, `record sglang`."""
        names: dict[str, None] = {}
        for setting in sorted(self.settings(), key=lambda setting: setting.rank):
            if setting.layer is not Layer.RULE:
                names.setdefault(setting.source)
        return tuple(names)

    def unresolved(self) -> tuple[str, ...]:
        """The keys that still hold `auto`."""
        values = self.values()
        return tuple([key for key, leaf in leaves(self.schema).items() if leaf.auto and values[key] == AUTO])

    def resolve(self, decisions: Mapping[str, Filled], over: Collection[str] = ()) -> Bag:
        """The bag with a plan's decisions. What somebody set differently is a fault, but for the keys in `over`, whose
        decision goes before what was set: the new name of an old one, or what a higher layer asked for."""
        settings, faults = [], []
        values = self.values()
        for key, filled in decisions.items():
            if key not in values:
                faults.append(Fault(f"rule {filled.rule}", key, self._unknown(key)))
            elif key in over or not self.is_set(key):
                settings.append(Setting.filled(key, filled))
            elif values[key] != filled.value:
                faults.append(
                    Fault(
                        self.origin(key),
                        key,
                        f"was set here, and rule {filled.rule} would change it ({filled.why}); "
                        "set it to auto, or drop what asks for the rule",
                    )
                )
        if faults:
            raise ConfigError(faults)
        return self._with(settings, {(setting.key, Layer.RULE) for setting in settings}, self.read_from)

    def override(self, source: str, changes: Mapping[str, Any]) -> Bag:
        """The bag with values that nothing else overrides; keys dotted or nested. `source` is named wherever one shows.

        What a rule decided for these keys gives way, and for those that they cover. When model.path changes, the facts
        of the checkpoint are read again for the new path, and if they differ every rule's decision is dropped with
        them: plan such a bag again.
        """
        from confbag.bag.reading import facts_of, overrides_of

        order = 1 + max((one.order for one in self.settings() if one.layer is Layer.OVERRIDE), default=0)
        settings = overrides_of(self.schema, source, changes, order)
        settings, faults = answered(self.schema, settings)
        if faults:
            raise ConfigError(faults)
        settings = (*settings, *self._covered(settings))
        dropped = {(setting.key, Layer.RULE) for setting in settings}
        read_from = self.read_from
        path = next((setting.value for setting in settings if setting.key == _PATH), self[_PATH])
        if path != self[_PATH]:
            read_from, facts = facts_of(path)
            old = [setting for setting in self.settings() if setting.layer is Layer.CHECKPOINT]
            dropped |= {(setting.key, Layer.CHECKPOINT) for setting in old}
            if {fact.key: fact.value for fact in facts} != {fact.key: fact.value for fact in old}:
                dropped |= {(setting.key, Layer.RULE) for setting in self.settings()}
            settings = (*facts, *settings)
        return self._with(settings, dropped, read_from)

    def unfilled(self) -> Bag:
        """The bag without what rules filled: what a plan starts from."""
        filled = {(setting.key, setting.layer) for setting in self.settings() if setting.layer is Layer.RULE}
        return self._with((), filled, self.read_from) if filled else self

    def fingerprint(self) -> str:
        """SHA-256 over canonical JSON of every field that does not opt out (`json_schema_extra={"fingerprint":
        False}`); no secrets."""
        if self._fingerprint is None:
            values = self.values()
            kept = {key: values[key] for key, leaf in leaves(self.schema).items() if leaf.fingerprint}
            _put(self, "_fingerprint", fingerprint(kept))
            return self.fingerprint()
        return self._fingerprint

    def dump(self) -> dict[str, Any]:
        """Nested plain data, as a file would say it; secrets are redacted."""
        return self._config.model_dump(mode="json")

    def settings(self) -> tuple[Setting, ...]:
        """Every setting of every source, the defaults left out."""
        return tuple(setting for chain in self._chains.values() for setting in chain)

    def _covered(self, settings: Iterable[Setting]) -> list[Setting]:
        """What these settings say of the keys that they cover, and that a rule had filled."""
        given = {setting.key: setting for setting in settings}
        return [
            replace(setting, key=exact, text=None, why=f"{key} was set there and covers it")
            for key, setting in given.items()
            for exact in leaves(self.schema)[key].covers
            if exact not in given and self.setting(exact).layer is Layer.RULE
        ]

    def _with(self, settings: Iterable[Setting], dropped: Collection[tuple[str, Layer]], read_from: str | None) -> Bag:
        chains = dict(self._chains)
        for key in {key for key, _ in dropped} & chains.keys():
            chains[key] = tuple(setting for setting in chains[key] if (key, setting.layer) not in dropped)
        for key, added in chained(self.schema, settings).items():
            chains[key] = tuple(sorted((*chains.get(key, ()), *added), key=lambda setting: setting.rank))
        chains = covered(self.schema, {key: chain for key, chain in chains.items() if chain})
        config, faults = validate(self.schema, chains)
        if config is None:
            raise ConfigError(faults)
        return Bag(self.schema, read_from=read_from, ignored=self.ignored, _checked=(chains, config))

    def _missing(self, key: object) -> Exception:
        if isinstance(key, str):
            return KeyError(self._unknown(key))
        return wrong_type("a bag", "a dotted key", key, "bag['exec.graph']")

    def _unknown(self, key: str) -> str:
        replacement = retired(self.schema).get(key)
        if replacement is not None:
            return f"{key} is retired; read {replacement}"
        if key in namespaces(self.schema):
            return f"{key} is a namespace; read bag.{key}, or one of its keys"
        near = nearest(key, leaves(self.schema))
        return f"no key {key}" + (f"; did you mean {near}?" if near else "")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a bag cannot be changed; bag.override(source, {{{name!r}: ...}}) makes another")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a bag cannot be changed")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bag):
            return NotImplemented
        return self.schema is other.schema and bool(self._root == other._root)

    def __hash__(self) -> int:
        return hash((self.schema, self.fingerprint()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (named(self.schema), self.settings(), self.read_from, dict(self.ignored))

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={plain(self[key])!r}" for key in self._chains)
        return f"<Bag of {self.schema.__qualname__}: {given or 'defaults'}>"


_put = object.__setattr__
_RESERVED = frozenset(dir(Bag)) - frozenset(Config.model_fields)


def _restore(
    schema: type[Config], settings: tuple[Setting, ...], read_from: str | None, ignored: Mapping[str, str]
) -> Bag:
    return Bag(schema, settings, read_from=read_from, ignored=ignored)


def _flatten(prefix: str, model: BaseModel) -> Iterator[tuple[str, Any]]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if model_of(field) is not None:
            yield from _flatten(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", immutable(value) if isinstance(value, (dict, list)) else value
