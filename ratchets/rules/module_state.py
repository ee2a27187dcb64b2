"""CB121 module-state: run-time state at module level."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding, Place
from confbag.ratchets.names import mutations
from confbag.ratchets.names.exports import Tree
from confbag.ratchets.names.mutations import Change, Facts
from confbag.ratchets.rules.module_state_cases import CASES as CASES
from confbag.ratchets.source.parse import Module

CODE = "CB121"
NAME = "module-state"
MEANS = (
    "State of the run at module level: a `global` store; a module-level container or instance changed in a function; a "
    "class attribute stored from outside of the class; a cached function that reads a record, the bag or the "
    "environment. No findings: imports under `global`, registration (functions used only as decorators or called at "
    "module level), threading.local, ContextVar, locks, a module's __getattr__, stores on foreign classes."
)
WHY = (
    "Whoever imports the module shares the state: two engines in one process disagree, a test leaks into the next, and "
    "a cached answer outlives the setting that it was made from."
)
INSTEAD = (
    "Keep the state in an object that start-up makes and hands on, or in the bag (`bag.derived`); build tables at "
    "import, from decorators."
)


def triggers(configuration: Configuration) -> tuple[bytes, ...] | None:
    """Any file can hold state, or change another's."""
    return None


def wanted(tree: ast.Module, configuration: Configuration) -> bool:
    """Any file can use a function of another, which tells whether that is registration."""
    return True


def collect(module: Module, configuration: Configuration) -> Facts:
    """What the module's names are, what its functions change, and which functions it uses."""
    return mutations.collect(module)


def judge(facts: Mapping[str, Facts], configuration: Configuration) -> Iterator[Finding]:
    """One finding a change, and one a cached function."""
    state = _State(facts, configuration)
    for path, one in facts.items():
        seen: set[Place] = set()
        for change in one.changes:
            found = state.changed(change, one.exports.module)
            if found is None or change.place in seen or state.registers(change.owner):
                continue
            if change.owner.removeprefix(one.exports.module).lstrip(".") == "__getattr__":
                continue
            seen.add(change.place)
            symbol, message = found
            yield _finding(path, change.place, symbol, message)
        for cached in one.cached:
            reads = state.reads(cached.uses)
            if reads is not None:
                yield _finding(
                    path,
                    cached.place,
                    cached.name,
                    f"`{cached.name}` is cached and reads {reads}: its first answer outlives the setting; read when "
                    "asked, or keep the answer with `bag.derived`",
                )


def _finding(path: str, at: Place, symbol: str, message: str) -> Finding:
    return Finding(
        path,
        at.line,
        at.column,
        CODE,
        symbol,
        at.qualname,
        message,
        end_line=at.end_line,
        end_column=at.end_column,
        first=at.first,
        last=at.last,
    )


class _State:
    """The facts of all modules, asked together."""

    def __init__(self, facts: Mapping[str, Facts], configuration: Configuration) -> None:
        self.tree = Tree(one.exports for one in facts.values())
        self.kinds = {one.exports.module: one.kinds for one in facts.values()}
        self.registering: set[str] = set()
        self.users: dict[str, set[str]] = {}
        owners = {change.owner for one in facts.values() for change in one.changes}
        last = {owner.rpartition(".")[2] for owner in owners}
        handed_on = {name for one in facts.values() for name in one.exports.names}
        for one in facts.values():
            # What is no owner's name, and no name that hands one on, needs no look.
            for path in one.registering:
                if path.rpartition(".")[2] in last or path.rpartition(".")[2] in handed_on:
                    self.registering |= self.tree.all(path)
        for one in facts.values():
            for path, user in one.used:
                name = path.rpartition(".")[2]
                if name in last or name in handed_on:
                    for other in self.tree.all(path):
                        self.users.setdefault(other, set()).add(user)
        self._registers: dict[str, bool] = {}
        self.sources = {
            name: f"the {spec.name}"
            for spec in configuration.records
            for accessor in spec.accessors
            for name in self.tree.all(accessor.replace("()", ""))
        }

    def registers(self, owner: str) -> bool:
        """Whether a function runs only while modules are imported."""
        known = self._registers.get(owner)
        if known is None:
            self._registers[owner] = False
            users = self.users.get(owner, set()) - {owner}
            known = (owner in self.registering or bool(users)) and all(
                user != "" and self.registers(user) for user in users
            )
            self._registers[owner] = known
        return known

    def changed(self, change: Change, module: str) -> tuple[str, str] | None:
        """The state that a change is of, and what to say."""
        if change.how == "global":
            name = min(change.paths).removeprefix(module).lstrip(".")
            return name, f"`{name}` of the module is stored while the engine runs; keep it in an object"
        for name in sorted({name for path in change.paths for name in self.tree.all(path)}):
            found = self._state(name, change.how, module)
            if found is not None:
                return found
        return None

    def _state(self, path: str, how: str, here: str) -> tuple[str, str] | None:
        module = path
        while module and module not in self.kinds:
            module = module.rpartition(".")[0]
        if not module or module == path:
            return None
        name, _, rest = path[len(module) + 1 :].partition(".")
        kind = self.kinds[module].get(name)
        shown = name if module == here else f"{module}.{name}"
        if kind in ("container", "instance"):
            if rest or how == "item" or (how == "call" and kind == "container"):
                return shown, f"`{shown}`, made at module level, is changed in a function; keep it in an object"
            if how == "store" and module != here:
                return shown, f"`{shown}` is stored from another module; keep it in an object"
        elif kind in ("class", "def") and rest:
            attribute = rest.partition(".")[0]
            held = self.kinds[module].get(f"{name}.{attribute}") == "container"
            if (how == "store" and "." not in rest) or (held and how in ("item", "call")):
                return f"{shown}.{attribute}", (
                    f"`{shown}.{attribute}` is changed from outside of the {'class' if kind == 'class' else 'function'}"
                    "; keep it in an object"
                )
        elif how == "store" and not rest and module != here and kind is not None and kind != "import":
            return shown, f"`{shown}` is stored from another module; keep it in an object"
        return None

    def reads(self, uses: frozenset[str]) -> str | None:
        """What of settings a cached function reads."""
        for use in sorted(uses):
            for name in self.tree.all(use):
                found = self.sources.get(name.replace("()", "")) or _setting(name)
                if found is not None:
                    return found
        return None


def _setting(path: str) -> str | None:
    """Whether a path is the bag's or the environment's."""
    if path in ("os.environ", "os.environb", "os.getenv", "os.getenvb") or path.startswith("os.environ."):
        return "the environment"
    head, _, name = path.rpartition(".")
    if head in ("confbag", "confbag.context") and (name.startswith("get_") or name == "attention_backends"):
        return "the bag"
    return None
