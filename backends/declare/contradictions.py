"""What a registry refuses: rows, rules and fills that contradict each other or name what nobody knows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from confbag.backends.declare.choices import Choice, against, literals
from confbag.backends.declare.derived import DERIVED, PLATFORM_FACTS, in_order
from confbag.backends.declare.implementation import Implementation
from confbag.backends.declare.op import Op
from confbag.backends.declare.requires import Requires, Specified
from confbag.backends.declare.rules import Fill, Rule
from confbag.backends.declare.taken import COMPONENT, REGIMES, TOOLKIT, of_fact, of_ours
from confbag.backends.platforms.components import components
from confbag.backends.platforms.platform import TOOLKITS, canonical
from confbag.backends.words.conditions import Condition
from confbag.bag.schemas import elsewhere
from confbag.bag.validation import validate
from confbag.errors import RegistrationError
from confbag.schema.holdable import parts
from confbag.words.once import once
from confbag.words.provenance import AUTO, Layer, Setting
from confbag.words.suggest import nearest
from confbag.words.text import listed

if TYPE_CHECKING:
    from confbag.backends.declare.registry import Registry


def refuse(registry: Registry) -> None:
    """Raise RegistrationError for the first contradiction, naming the row, rule or fill that has it."""
    names = _Names(registry)
    for op in registry.ops.values():
        if (whose := of_ours(op.name)) is not None:
            raise RegistrationError(f"op {op.name}: its name is {whose}; rename the op")
        for keys in op.settings.values():
            for key in keys:
                names.setting(key, f"op {op.name}: settings")
            _generality(registry, op, keys)
        if op.sites is not None:
            names.setting(op.sites, f"op {op.name}: sites")
            held = {part.piece for part in parts(names.leaves[op.sites].annotation) if not part.inside}
            if not held & {int, tuple, Sequence, Mapping, Any}:
                raise RegistrationError(
                    f"op {op.name}: sites: {op.sites} can hold none; declare it as a number, as tuple[str, ...], or as "
                    "a mapping of names to facts"
                )
        names.condition(op.applies, f"op {op.name}: applies")
        for feature, condition in op.asks.items():
            names.condition(condition, f"op {op.name}: asks {feature}", op)
        rows = registry.rows(op.name)
        for row in rows:
            _row(registry, names, op, row)
        for one, other in itertools.combinations(rows, 2):
            _pair(op.name, one, other)
    for name, condition in registry.named.items():
        _named(registry, names, name, condition)
    in_order(registry.named)
    _twice((*registry.rules, *registry.fills))
    for rule in registry.rules:
        _rule(registry, names, rule)
    for fill in registry.fills:
        _fill(registry, names, fill)
    for key, choices in registry.choices.items():
        for choice in (choice for rows in choices.values() for choice in rows):
            names.setting(key, choice.source)
            _choice(registry, choice)
            _requires(registry, names, choice.source, choice.requires)
    for missing in registry.not_arranged:
        for condition in (missing.when, missing.could or Condition()):
            names.condition(condition, f"arrange {missing.name}")
    _values(registry, names)


def _generality(registry: Registry, op: Op, keys: Sequence[str]) -> None:
    """Refuse a general key that the schema does not say covers the exact one: precedence would not know of it."""
    for general in keys[1:]:
        if keys[0] not in registry.keys[general].covers:
            raise RegistrationError(
                f"op {op.name}: settings: {general} would speak for {keys[0]}, and the schema does not say so; declare "
                f"the field as Annotated[Auto[Name], Covers(({keys[0].rpartition('.')[2]!r},))]"
            )


class _Names:
    """Every fact that a condition may read, and the values that a fact may have where those are few."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.leaves = registry.keys
        self.decided = {
            *(registry.decided(op, regime) for op in registry.ops.values() for regime in op.regime_names),
            *(f"{op}:graph" for op in registry.ops),
        }
        self.facts = {*self.leaves, *DERIVED, *PLATFORM_FACTS, *registry.named, *self.decided}
        self.both = self.decided & self.leaves.keys()

    def setting(self, key: str, where: str) -> None:
        if key not in self.leaves:
            raise RegistrationError(f"{where}: unknown setting {key!r}{self.hint(key, self.leaves)}")

    def condition(self, condition: Condition, where: str, op: Op | None = None) -> None:
        for fact in condition.facts_named():
            self.fact(fact, where, op)
        for fact, values in condition.values_named():
            self.values(fact, values, where, op)

    def fact(self, fact: str, where: str, op: Op | None = None) -> None:
        """op: the one whose sites' facts may be read beside all others."""
        if fact in self.both:
            raise RegistrationError(
                f"{where}: {fact!r} is a key of the schema and what was decided for an op; rename the op or the key"
            )
        if fact in REGIMES:
            self.regime(fact, where, op)
        elif fact.startswith((TOOLKIT, COMPONENT)):
            self.brought(fact, where)
        elif fact not in self.facts and fact not in (beside := op.site_facts if op is not None else ()):
            raise RegistrationError(f"{where}: unknown fact {fact!r}{self.hint(fact, {*self.facts, *beside})}")

    def regime(self, fact: str, where: str, op: Op | None) -> None:
        """A regime is known while a slot of an op that has some is decided, and at no other time."""
        if op is None:
            raise RegistrationError(f"{where}: {fact!r} is a fact of one slot, and nothing is asked of one here")
        if not op.regimes or op.kind_of_regime != fact:
            has = f"write {op.kind_of_regime!r}" if op.regimes else "leave it out"
            raise RegistrationError(f"{where}: {op.name} has no {fact}s; {has}")

    def brought(self, fact: str, where: str) -> None:
        """A component or a toolkit is one that somebody knows: what nobody has would hold nowhere, in silence."""
        start, there = (COMPONENT, self.components) if fact.startswith(COMPONENT) else (TOOLKIT, self.toolkits)
        name = fact.removeprefix(start)
        if (canonical(name) if start == COMPONENT else name) not in there:
            close = nearest(name, there)
            hint = f"did you mean {start}{close}?" if close else "name it in a requirement or a platform's facts first"
            raise RegistrationError(f"{where}: unknown fact {fact!r}; {hint}")

    @once
    def components(self) -> frozenset[str]:
        """Every component that somebody brings or asks for."""
        libraries = [library.component for library in self.registry.libraries.values() if library.component]
        every = {
            *(name for one in components().values() for name in (one.name, *one.distributions)),
            *(each.name for requires in self.required for each in requires.parsed_components),
            *(Specified.parse(component, "component").name for component in libraries),
            *(name for platform in self.registry.platforms.values() for name in platform.packages or ()),
        }
        return frozenset(map(canonical, every))

    @once
    def toolkits(self) -> frozenset[str]:
        """Every toolkit whose version somebody says or asks for."""
        return frozenset(
            {
                *TOOLKITS,
                *(name for platform in self.registry.platforms.values() for name in platform.toolkit),
                *(each.name for requires in self.required for each in requires.parsed_toolkit),
            }
        )

    @property
    def required(self) -> Iterator[Requires]:
        """What rows and values of settings require."""
        for op in self.registry.ops:
            yield from (row.requires for row in self.registry.rows(op))
        for choices in self.registry.choices.values():
            yield from (choice.requires for rows in choices.values() for choice in rows)

    def hint(self, name: str, known: Iterable[str]) -> str:
        """What to write instead, or the schema that has it."""
        there = elsewhere(name, self.registry.schema)
        return f"; {there}" if there else _meant(name, known)

    def values(self, fact: str, values: Iterable[Any], where: str, op: Op | None = None) -> None:
        regime = op is not None and fact in REGIMES
        choices = op.regime_names if op is not None and regime else self.choices(fact)
        if choices is None:
            return
        whose = op.name if op is not None and regime else fact
        for value in values:
            if value is not None and value not in choices:
                hint = _meant(str(value), map(str, choices)) or f"; it is one of {', '.join(map(str, choices))}"
                raise RegistrationError(f"{where}: unknown {fact.rpartition('.')[2]} {value!r} of {whose}{hint}")

    def choices(self, fact: str) -> Sequence[Any] | None:
        if fact == "platform.device":
            return self.registry.devices
        leaf = self.leaves.get("memory.kv_cache_dtype" if fact == "memory.kv_cache" else fact)
        if leaf is None:
            return None
        found = tuple(literals(leaf.annotation))
        return (*found, AUTO) if found and leaf.auto else found or None


def _meant(name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    return f"; did you mean {close}?" if close else ""


def _named(registry: Registry, names: _Names, name: str, condition: Condition) -> None:
    """A condition with a name is held before anything is decided."""
    where = registry.named_at.get(name, f"fact {name}")
    whose = of_fact(name, registry.keys, registry.ops)
    if whose is not None:
        raise RegistrationError(f"{where}: {name} is {whose}; give the condition a name of its own")
    names.condition(condition, where)
    for fact in condition.facts_named():
        if fact in names.decided:
            raise RegistrationError(f"{where}: it is held before {fact} is decided; write that where it is asked")


def _choice(registry: Registry, choice: Choice) -> None:
    wrong = against(choice, registry.choices, registry.keys, registry.ops)
    if wrong is not None:
        raise RegistrationError(f"{choice.source}: {wrong}")


def _row(registry: Registry, names: _Names, op: Op, row: Implementation) -> None:
    where = row.place
    _requires(registry, names, where, row.requires, op)
    for feature in row.requires.features:
        if feature not in op.asks:
            known = f"; {op.name} asks for {', '.join(op.asks) or 'no feature'}"
            raise RegistrationError(f"{where}: unknown feature {feature!r}{_meant(feature, op.asks) or known}")
    if row.requires.library is not None and row.requires.library not in registry.libraries:
        raise RegistrationError(f"{where}: unknown library {row.requires.library!r}; register it with registry.library")
    _native_ops(registry, where, row)
    for regime, companion in row.companions.items():
        if regime not in op.regime_names:
            known_regimes = [name for name in op.regime_names if name]
            raise RegistrationError(
                f"{where}: companions: unknown {op.kind_of_regime} {regime!r}{_meant(regime, known_regimes)}"
            )
        if companion not in registry.providers(op.name):
            raise RegistrationError(f"{where}: unknown companion {companion!r} for {regime}")


def _requires(registry: Registry, names: _Names, where: str, requires: Requires, op: Op | None = None) -> None:
    """Refuse devices and facts that nobody knows."""
    for device in requires.device:
        if device not in registry.devices:
            hint = nearest(device, registry.devices)
            raise RegistrationError(
                f"{where}: unknown device {device!r}; {f'write {hint}' if hint else 'register its platform first'}"
            )
    for need in requires.needs:
        names.fact(need.fact, f"{where}: needs", op)
        names.condition(need.condition, f"{where}: needs", op)
        names.condition(need.when, f"{where}: needs, when", op)


def _native_ops(registry: Registry, where: str, row: Implementation) -> None:
    """Refuse what a library's own list does not hold: two texts of one schema would drift apart."""
    library = registry.libraries.get(row.requires.library or "")
    if library is None or not library.ops:
        return
    for native in row.requires.native_ops:
        declared = library.declared(native.name)
        if declared is None:
            hint = nearest(native.name, [op.name for op in library.ops])
            raise RegistrationError(
                f"{where}: library {library.name} lists no {native.name}"
                + (f"; did you mean {hint}?" if hint else "; add its schema there")
            )
        if declared != native:
            raise RegistrationError(
                f"{where}: {native.name} is not what library {library.name} lists\n"
                f"  here:  {native}\n  there: {declared}"
            )


def _pair(op: str, one: Implementation, other: Implementation) -> None:
    where = "".join(f"{row.source}: " for row in (other,) if row.source)
    if one.provider == other.provider:
        if one.variant == other.variant:
            raise RegistrationError(
                f"{where}{op}, {one.name}: registered twice; a second one needs a variant, or replaces={one.provider!r}"
            )
        if not _apart(one, other):
            raise RegistrationError(
                f"{where}{op}: the variants {one.name} and {other.name} can both be asked; "
                "let their requirements exclude it"
            )
    elif one.priority == other.priority > 0 and not _apart(one, other):
        raise RegistrationError(
            f"{where}{op}: {one.name} and {other.name} have priority {one.priority} and can both be asked; "
            "make one higher"
        )


def _apart(one: Implementation, other: Implementation) -> bool:
    """Whether no situation satisfies both: disjoint regimes, or disjoint values of one fact."""
    if one.regimes and other.regimes and not set(one.regimes) & set(other.regimes):
        return True
    theirs = other.allowed
    for fact, (kind_a, a) in one.allowed.items():
        if fact not in theirs:
            continue
        kind_b, b = theirs[fact]
        if kind_a == kind_b == "in" and not any(item in b for item in a):
            return True
        if {kind_a, kind_b} == {"in", "not"}:
            inside, outside = (a, b) if kind_a == "in" else (b, a)
            if all(item in outside for item in inside):
                return True
    return False


def _twice(rules: Iterable[Rule | Fill]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.name in seen:
            raise RegistrationError(f"{rule.place}: there are two of this name, by which plans tell them; rename one")
        seen.add(rule.name)


def _rule(registry: Registry, names: _Names, rule: Rule) -> None:
    where = rule.place
    op = registry.ops.get(rule.op)
    if op is None:
        hint = _meant(rule.op, registry.ops) or "; register it first, or leave the rule out where it is not installed"
        raise RegistrationError(f"{where}: unknown op {rule.op!r}{hint}")
    for regime in (*rule.regimes, *((rule.same_as,) if rule.same_as else ())):
        if regime not in op.regime_names:
            raise RegistrationError(f"{where}: {op.name} has no {op.kind_of_regime} {regime!r}")
    if rule.up_to is not None and op.measure is None:
        raise RegistrationError(f"{where}: up_to is so much of the op's measure, and {op.name} has none")
    known = registry.providers(op.name)
    if rule.propose is not None and rule.propose not in known:
        raise RegistrationError(f"{where}: {op.name} has no provider {rule.propose!r}; known: {listed(sorted(known))}")
    names.condition(rule.when, f"{where}: when", op)


def _fill(registry: Registry, names: _Names, fill: Fill) -> None:
    where = fill.place
    names.condition(fill.when, f"{where}: when")
    if fill.after is not None and fill.after not in registry.ops:
        raise RegistrationError(f"{where}: unknown op {fill.after!r} in `after`{_meant(fill.after, registry.ops)}")
    for key, value in fill.set.items():
        names.setting(key, f"{where}: set")
        if isinstance(value, Mapping):
            names.fact(value["value_of"], f"{where}: set {key}: value_of")
        else:
            names.values(key, (value,), f"{where}: set")


def _values(registry: Registry, names: _Names) -> None:
    """Refuse a value that its key does not take. They are validated many at once: each time costs a whole Config."""
    rounds: list[dict[str, Setting]] = []
    for fill in registry.fills:
        for key, value in fill.set.items():
            if isinstance(value, Mapping):
                continue
            fitting = next((one for one in rounds if key not in one or one[key].value is value), None)
            if fitting is None:
                rounds.append(fitting := {})
            fitting.setdefault(key, Setting(key, value, Layer.RULE, fill.place))
    for settings in rounds:
        _, faults = validate(registry.schema, {key: (setting,) for key, setting in settings.items()})
        for fault in faults:
            if fault.key in settings:
                raise RegistrationError(f"{fault.where}: set {fault.key}: {fault.message}")
