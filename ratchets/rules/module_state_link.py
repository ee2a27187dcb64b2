"""CB121 across modules: what is state, who registers, and which files must still be asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from confbag.ratchets.configuration import Configuration
from confbag.ratchets.finding import Finding, Place
from confbag.ratchets.names.changes import Change
from confbag.ratchets.names.exports import Tree
from confbag.ratchets.names.held import GIVEN, ITEM
from confbag.ratchets.names.mutations import Facts
from confbag.ratchets.rules.module_state_users import Users

CODE = "CB121"


def judge(facts: Mapping[str, Facts], configuration: Configuration) -> Iterator[Finding]:
    """One finding a change, and one a cached function."""
    state = State(facts, configuration)
    changes = [
        (path, change, found)
        for path, one in facts.items()
        for change in one.changes
        if (found := state.changed(change, one.exports.module)) is not None
    ]
    registering = Users(facts, state.tree).registering({change.owner for _, change, _ in changes})
    seen: set[tuple[str, Place]] = set()
    for path, change, (symbol, message) in changes:
        if (path, change.place) in seen or change.owner in registering:
            continue
        seen.add((path, change.place))
        yield _finding(path, change.place, symbol, message)
    for path, one in facts.items():
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


class State:
    """The facts of all modules, asked together."""

    def __init__(self, facts: Mapping[str, Facts], configuration: Configuration) -> None:
        self.tree = Tree(one.exports for one in facts.values())
        self.kinds = {one.exports.module: one.kinds for one in facts.values()}
        self.sources = {
            name: f"the {spec.name}"
            for spec in configuration.records
            for accessor in spec.accessors
            for name in self.tree.all(accessor.replace("()", ""))
        }

    def changed(self, change: Change, module: str) -> tuple[str, str] | None:
        """The state that a change is of, and what to say."""
        if change.how == "global":
            name = min(change.paths).removeprefix(module).lstrip(".")
            return name, f"`{name}` of the module is stored while the engine runs; keep it in an object"
        names = sorted({name for path in change.paths for name in self.tree.all(path)})
        for name in names:
            found = self._state(name, change.how, module)
            if found is not None:
                return found
        return self._new(names, module) if change.how == "store" else None

    def _new(self, names: list[str], here: str) -> tuple[str, str] | None:
        """A store of a name that the other module does not bind, or of one that is computed."""
        for name in names:
            module, _, last = name.rpartition(".")
            if module in self.kinds and last not in self.kinds[module] and name not in self.kinds:
                shown = last if module == here else name
                return shown, f"`{shown}` is stored from another module; keep it in an object"
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
            if _is_changed(kind, rest.split(".") if rest else [], how):
                return shown, f"`{shown}`, made at module level, is changed in a function; keep it in an object"
            if how == "store" and not rest:
                return shown, f"`{shown}` is stored from another module; keep it in an object"
        elif kind in ("class", "def") and rest:
            attribute = self._of_class(self.kinds[module], name, rest.split("."), how)
            if attribute is not None:
                shown = attribute if module == here else f"{module}.{attribute}"
                return shown, (
                    f"`{shown}` is changed from outside of the {'class' if kind == 'class' else 'function'}"
                    "; keep it in an object"
                )
        elif how == "store" and not rest and kind not in (None, "import"):
            return shown, f"`{shown}` is stored from another module; keep it in an object"
        return None

    def _of_class(self, kinds: Mapping[str, str], owner: str, parts: list[str], how: str) -> str | None:
        """The attribute of a class, or of one in it, that a change is of."""
        while len(parts) > 1 and kinds.get(f"{owner}.{parts[0]}") == "class":
            owner = f"{owner}.{parts[0]}"
            parts = parts[1:]
        attribute, *rest = parts
        name = f"{owner}.{attribute}"
        if attribute in (ITEM, GIVEN) or kinds.get(name) == "safe":
            return None
        if how == "store" and not rest:
            return name
        return name if _is_changed(kinds.get(name), rest, how) else None

    def reads(self, uses: frozenset[str]) -> str | None:
        """What of settings a cached function reads."""
        for use in sorted(uses):
            for name in self.tree.all(use):
                found = self.sources.get(name.replace("()", "")) or _setting(name)
                if found is not None:
                    return found
        return None


def _is_changed(kind: str | None, rest: list[str], how: str) -> bool:
    """Whether what is done to something of a kind, or to what it holds (`rest`), changes it."""
    if kind not in ("container", "instance"):
        return False
    if GIVEN in rest and (kind != "container" or not {ITEM, GIVEN}.issuperset(rest[: rest.index(GIVEN)])):
        # `session.get(url).encoding = "utf-8"` changes no session.
        return False
    if how == "next":
        # A container has no next; an iterator that something holds is told from nothing else.
        return kind == "instance" and not rest
    return bool(rest) or how == "item" or (how == "call" and kind == "container")


def _setting(path: str) -> str | None:
    """Whether a path is the bag's or the environment's."""
    if path in ("os.environ", "os.environb", "os.getenv", "os.getenvb") or path.startswith("os.environ."):
        return "the environment"
    head, _, name = path.rpartition(".")
    if head in ("confbag", "confbag.process.context") and (name.startswith("get_") or name == "attention_backends"):
        return "the bag"
    return None
