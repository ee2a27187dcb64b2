"""The capability registry: every op, implementation, rule, library and platform that this installation knows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from confbag.backends.declare import catalogue
from confbag.backends.declare.arrangements import NotArranged
from confbag.backends.declare.choices import Choice, against, held
from confbag.backends.declare.contradictions import refuse
from confbag.backends.declare.derived import DERIVED
from confbag.backends.declare.implementation import Implementation, Target
from confbag.backends.declare.libraries import Library
from confbag.backends.declare.op import Op, build
from confbag.backends.declare.rules import Fill, Rule
from confbag.backends.declare.taken import of_fact, of_platform
from confbag.backends.platforms.platform import Platform
from confbag.backends.words.conditions import Condition
from confbag.errors import PlatformError, RegistrationError
from confbag.schema.config import Config
from confbag.schema.given import check_schema
from confbag.schema.leaves import Leaf, leaves
from confbag.words.given import called, expect
from confbag.words.suggest import nearest

if TYPE_CHECKING:
    from confbag.backends.platforms.probe_facts import Look

_T = TypeVar("_T")

DEVICES = ("cuda", "hip", "npu", "xpu", "musa", "mps", "cpu")


class PluginFailure(NamedTuple):
    """A plug-in that was discovered and could not be loaded: shown in every plan, never hidden."""

    name: str
    distribution: str
    error: str

    def __str__(self) -> str:
        return f"plug-in {self.name} ({self.distribution}) FAILED and is left out: {self.error}"


class Registry:
    """What can be chosen from, filled by the `register(registry)` functions of the entry-point group, ours first.

    schema: whose keys rules, requirements and settings may read. A plug-in of one engine's schema asks it, and adds
    nothing to the registry of another: `if not issubclass(registry.schema, MyConfig): return`.

    discovered: plug-ins whose settings are read and that nobody named, each with its distribution: what is wrong with
    one of them is shown, and ends no plan.

    Two registries share nothing: `add` takes an op with the rows declared on it, later rows belong to the registry.
    """

    def __init__(self, schema: type[Config] = Config) -> None:
        check_schema(schema, "Registry", "Registry(MyConfig)")
        self.schema = schema
        self.ops: dict[str, Op] = {}
        self.rules: list[Rule] = []
        self.fills: list[Fill] = []
        self.choices: dict[str, dict[str, list[Choice]]] = {}
        self.not_arranged: list[NotArranged] = []
        self.named: dict[str, Condition] = {}
        self.named_at: dict[str, str] = {}
        self.libraries: dict[str, Library] = {}
        self.platforms: dict[str, Platform] = {}
        self.devices: list[str] = list(DEVICES)
        self.failures: list[PluginFailure] = []
        self.discovered: dict[str, str] = {}
        self.probes: dict[str, Look] = {}
        self._rows: dict[str, list[Implementation]] = {}
        self._declared: dict[str, int] = {}
        self._plugin: str | None = None
        self._checked: tuple[int, ...] | None = None
        self._tables: dict[tuple[str, ...], Any] = {}

    @classmethod
    def installed(cls, schema: type[Config] = Config) -> Registry:
        """What this installation has for a schema: our ops and those of every installed plug-in; made once for each.

        CONFBAG_PLUGINS names plug-ins, separated by commas: only those are loaded, and one that is missing or fails
        raises PluginError. Without it every installed plug-in is loaded, and one that fails is kept in `failures`,
        which every plan shows. A plug-in is loaded in a child process first, once for each state of its files, so that
        one that hangs or ends its process fails like any other.
        """
        from confbag.backends.declare.plugins import installed

        check_schema(schema, "Registry.installed", "Registry.installed(MyConfig)")
        return installed(schema)

    # What a plug-in calls

    def add(self, op: Op) -> Op:
        """Register an op with the implementations declared on it. Ops are planned in the order of their adding."""
        expect(op, Op, "Registry.add", "an Op", "registry.add(Op('kvcache.last_loc', last_loc))")
        known = self.ops.get(op.name)
        if known is not None:
            raise RegistrationError(
                f"op {op.name} is registered twice; add implementations to it with registry.implement"
            )
        self.ops[op.name] = op
        self._rows[op.name] = list(op.implementations)
        self._declared[op.name] = len(op.implementations)
        self._changed()
        return op

    def implement(self, op: str, provider: str, target: Target, **row: Any) -> Implementation:
        """Add an implementation to a registered op; the fields are those of `Op.implement`."""
        expect(op, str, "Registry.implement", "first the name of an op", "registry.implement('kvcache.last_loc', ...)")
        made = build(self._op(op, row.get("source")), provider, target, **row)
        if made.replaces is not None:
            kept = [other for other in self._rows[op] if made.replaces not in (other.provider, other.name)]
            if len(kept) == len(self._rows[op]):
                known = ", ".join(other.name for other in kept)
                raise RegistrationError(
                    f"{made.place}: it replaces {made.replaces!r}, which is not there; {op} has {known}"
                )
            self._rows[op] = kept
        self._rows[op].append(made)
        self._changed()
        return made

    def catalogue(self, path: str | Path) -> None:
        """Add the libraries, rows, facts, rules and fills of a catalogue file; a contradiction names file and row."""
        expect(path, (str, Path), "Registry.catalogue", "the path of a file", "registry.catalogue('ops.yaml')")
        where = path if isinstance(path, str) else path.name
        data = catalogue.sections(path, where)
        for number, library in enumerate(data.get("libraries", ()), 1):
            self.library(Library.of(library, f"{where}: library {number}"))
        for provider, target, fields in catalogue.rows(data, where):
            self.implement(data["op"], provider, target, **fields)
        for name, condition in data.get("facts", {}).items():
            self.fact(name, condition, where=f"{where}: fact {name}")
        for number, rule in enumerate(data.get("choose", ()), 1):
            self.rules.append(Rule.of(rule, f"{where}: rule {number}", self._plugin))
        for number, fill in enumerate(data.get("fill", ()), 1):
            self.fills.append(Fill.of(fill, f"{where}: fill {number}", self._plugin))
        for key, values in data.get("settings", {}).items():
            for number, value in enumerate(values if isinstance(values, (list, tuple)) else [values], 1):
                choice = Choice.of(key, value, f"{where}: {key}, {number}", self._plugin)
                self._choose(choice if catalogue.is_own(path) else held(choice, self.keys))
        for number, row in enumerate(data.get("arrange", ()), 1):
            self.not_arranged.append(NotArranged.of(row, f"{where}: arrange {number}"))
        self._changed()

    def fact(self, name: str, condition: Mapping[str, Any], *, where: str = "") -> None:
        """Give a condition a name that other conditions may read."""
        expect(name, str, "Registry.fact", "first a name", "registry.fact('small', {'model.num_heads': {'max': 8}})")
        where = where or f"fact {name}"
        if name in self.named:
            raise RegistrationError(f"{where} is registered twice")
        has = of_fact(name, self.keys, self.ops)
        if has is not None:
            raise RegistrationError(f"{where}: {name} is {has}; give the condition a name of its own")
        made = Condition(condition, where=where)
        if next(made.facts_named(), None) is None:
            raise RegistrationError(f"{where}: it reads no fact; write what must hold")
        self.named[name] = made
        self.named_at[name] = where
        self._changed()

    def rule(self, name: str, op: str, **data: Any) -> Rule:
        """Add one rule; a plug-in's rules go before ours on the devices that their conditions name."""
        made = Rule.of({"name": name, "op": op, **data}, f"rule {name}", self._plugin)
        self.rules.append(made)
        self._changed()
        return made

    def choice(self, key: str, value: str, **data: Any) -> Choice:
        """Let a setting that names something by a word take one more: `exec.sampling_backend`, `spec.algorithm`, or an
        engine's own. The other fields are those of a catalogue's `settings`: what it needs."""
        expect(key, str, "Registry.choice", "first a key", "registry.choice('exec.sampling_backend', 'acme')")
        choice = Choice.of(key, {"value": value, **data}, f"choice {value} of {key}", self._plugin)
        return self._choose(held(choice, self.keys))

    def _choose(self, choice: Choice) -> Choice:
        wrong = against(choice, self.choices, self.keys, self.ops)
        if wrong is not None:
            raise RegistrationError(f"{choice.source}: {wrong}")
        self.choices.setdefault(choice.key, {}).setdefault(choice.value, []).append(choice)
        self._changed()
        return choice

    def library(self, library: Library) -> Library:
        """Register a native op library, which implementations name in their requirements."""
        expect(library, Library, "Registry.library", "a Library", "registry.library(Library('acme', 'acme', ...))")
        if library.name in self.libraries:
            raise RegistrationError(f"library {library.name!r} is registered twice")
        self.libraries[library.name] = library
        self._changed()
        return library

    def device(self, kind: str) -> None:
        """Make a new device kind known."""
        expect(kind, str, "Registry.device", "the name of a device kind", "registry.device('acme')")
        if kind not in self.devices:
            self.devices.append(kind)

    def platform(self, name: str, platform: Platform) -> None:
        """Make a platform known by name, and its device with it."""
        write = "registry.platform('acme:a1', Platform('acme', 'a1'))"
        expect(name, str, "Registry.platform", "first a name", write)
        expect(platform, Platform, "Registry.platform", "second a Platform", write)
        if name in self.platforms:
            raise RegistrationError(f"platform {name!r} is registered twice")
        has = of_platform(name)
        if has is not None:
            raise RegistrationError(f"platform {name!r} is {has}; give yours a name of its own, such as 'acme:a1'")
        self.device(platform.device)
        self.platforms[name] = platform

    def probe(self, device: str, look: Look) -> None:
        """Let `look(evidence, software)` find a device kind of its own on this machine; None when it is not there.

        It is asked whenever this machine is probed: it reads through the evidence, and what only a loaded library can
        tell it asks for in a child, by `evidence.ask`. What it raises becomes a note of the platform.
        """
        expect(device, str, "Registry.probe", "first a device kind", "registry.probe('acme', look)")
        if device in DEVICES or device in self.probes:
            raise RegistrationError(f"probe of {device}: {device} is probed already")
        if not callable(look):
            raise RegistrationError(
                f"probe of {device}: {called(look)} is no function of the evidence and the software; "
                f"write registry.probe({device!r}, look)"
            )
        self.device(device)
        self.probes[device] = look

    def find_platform(self, spec: str) -> Platform:
        """The platform that `--platform` names, those of plug-ins among them. A name that a plug-in may have had, which
        failed, says so. Raises PlatformError for an unknown name, ConfigError for a file that is wrong."""
        try:
            return Platform.find(spec, added=self.platforms, devices=self.devices, probes=self.probes)
        except PlatformError as error:
            if self.failures and not os.path.exists(spec):
                failed = "; ".join(map(str, self.failures))
                raise PlatformError(f"{error} ({failed})") from error
            raise

    # What the planner reads

    @property
    def keys(self) -> Mapping[str, Leaf]:
        """Every key of the schema."""
        return leaves(self.schema)

    def decided(self, op: Op, regime: str | None) -> str:
        """The fact that holds the provider decided for an op, or a regime of it."""
        return op.name if regime is None else f"{op.name}@{regime}"

    def blamed(self, fact: str) -> str:
        """The setting whose source an error names for a fact; a fact that is none is its own."""
        if fact in DERIVED:
            return DERIVED[fact].blamed
        # Of a condition with a name, the last fact that it reads: it says most.
        named = self.named.get(fact)
        return self.blamed(list(named.facts_named())[-1]) if named else fact

    def rows(self, op: str) -> Sequence[Implementation]:
        """Every implementation of an op, in order of registration."""
        return self._rows[op]

    def providers(self, op: str) -> Mapping[str, Sequence[Implementation]]:
        """Provider -> its variants, in an order that does not depend on registration."""

        def make() -> dict[str, list[Implementation]]:
            ordered = sorted(self._rows[op], key=lambda row: (row.provider, row.variant or ""))
            return {name: list(rows) for name, rows in itertools.groupby(ordered, key=lambda row: row.provider)}

        return self._table(make, "providers", op)

    def everyone(self) -> frozenset[str]:
        """Every provider of any op."""
        return self._table(lambda: frozenset(row.provider for rows in self._rows.values() for row in rows), "everyone")

    def aliases(self, op: str) -> Mapping[str, str]:
        """Old name -> the provider to write instead."""
        return self._table(
            lambda: {alias: row.provider for row in self._rows[op] for alias in row.aliases}, "aliases", op
        )

    def answering(self, op: str) -> frozenset[str]:
        """Every name, old ones included, that a provider of the op answers to."""
        return self._table(lambda: frozenset({*self.providers(op), *self.aliases(op)}), "answering", op)

    def by_priority(self, op: str) -> Sequence[Implementation]:
        """The implementations that have a priority, the highest first."""

        def make() -> list[Implementation]:
            wanted = [row for row in self._rows[op] if row.priority > 0]
            return sorted(wanted, key=lambda row: (-row.priority, row.provider, row.variant or ""))

        return self._table(make, "priority", op)

    def components(self) -> tuple[str, ...]:
        """The components that conditions ask about by `component.NAME`."""

        def make() -> tuple[str, ...]:
            named = {fact for condition in self._conditions() for fact in condition.facts_named()}
            return tuple(sorted(fact.removeprefix("component.") for fact in named if fact.startswith("component.")))

        return self._table(make, "components")

    def rules_for(self, op: str, device: str) -> Sequence[Rule]:
        """The rules of an op in order; on a device that a plug-in's rules name, those go first."""
        return self._table(
            lambda: _own_first([rule for rule in self.rules if rule.op == op], device), "rules", op, device
        )

    def fills_after(self, op: str | None, device: str) -> Sequence[Fill]:
        """The fills that belong after an op (None: before any), in the order of rules."""
        return self._table(
            lambda: _own_first([fill for fill in self.fills if fill.after == op], device), "fills", op or "", device
        )

    def _conditions(self) -> Iterator[Condition]:
        for op in self.ops.values():
            yield op.applies
            yield from op.asks.values()
            for row in self._rows[op.name]:
                for need in row.requires.needs:
                    yield from (need.condition, need.when)
        for choices in self.choices.values():
            for need in (need for rows in choices.values() for row in rows for need in row.requires.needs):
                yield from (need.condition, need.when)
        yield from self.named.values()
        yield from (rule.when for rule in self.rules)
        yield from (fill.when for fill in self.fills)
        for missing in self.not_arranged:
            yield from (missing.when, missing.could or Condition())

    def _table(self, make: Callable[[], _T], *key: str) -> _T:
        """What is derived from what was registered, made once: a plan reads it many times."""
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = make()
        made: _T = found
        return made

    def _changed(self) -> None:
        self._checked = None
        self._tables = {}

    def check(self, *, tested: bool = False) -> None:
        """Refuse contradictions: unknown names, ties, overlapping variants, rules without a provider.

        tested: all of it is our own, whose contradictions our tests would have found; looking again costs every start.
        """
        # Lists may have been appended to directly; what is derived from them is made anew then.
        lists: tuple[Sized, ...] = (self.rules, self.fills, self.named, self.choices, self.not_arranged)
        stamp = tuple(
            len(one) for one in (*lists, *self._rows.values(), *(op.implementations for op in self.ops.values()))
        )
        if self._checked == stamp:
            return
        self._changed()
        for name, op in self.ops.items():
            late = op.implementations[self._declared[name] :]
            if late:
                raise RegistrationError(
                    f"{late[0].place}: it was declared on the op after registry.add had taken its rows; "
                    f"declare it before that, or write registry.implement({name!r}, ...)"
                )
        if not tested:
            refuse(self)
        for rows in self._rows.values():
            rows[:] = [self._with_component(row) for row in rows]
        self._tables = {}
        self._checked = stamp

    def _with_component(self, row: Implementation) -> Implementation:
        """The row with the component that its library comes from among its requirements."""
        library = self.libraries.get(row.requires.library or "")
        if library is None or library.component is None or library.component in row.requires.components:
            return row
        return replace(row, requires=row.requires.having(library.component))

    def _op(self, name: str, where: str | None) -> Op:
        found = self.ops.get(name)
        if found is None:
            hint = nearest(name, self.ops)
            raise RegistrationError(
                f"{f'{where}: ' if where else ''}unknown op {name!r}; "
                + (f"did you mean {hint}?" if hint else "register it with registry.add first")
            )
        return found


_Decides = TypeVar("_Decides", Rule, Fill)


def _own_first(rules: Sequence[_Decides], device: str) -> list[_Decides]:
    """The rules in order, but those first by which a plug-in decides on this device."""
    own = [rule.plugin is not None and _names_device(rule, device) for rule in rules]
    return [rule for first in (True, False) for rule, is_own in zip(rules, own, strict=True) if is_own is first]


def _names_device(rule: Rule | Fill, device: str) -> bool:
    named = rule.when.data.get("platform.device")
    return named == device or (isinstance(named, (list, tuple)) and device in named)
