"""Who uses a function, and whether it runs only while modules are imported: registration is no state of the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confbag.ratchets.names.exports import Tree
from confbag.ratchets.names.mutations import Facts


class Users:
    """Functions by path, and the outermost functions that use them ("" for code that runs at import, uncalled)."""

    def __init__(self, facts: Mapping[str, Facts], tree: Tree) -> None:
        self.tree = tree
        # By the last part of their paths; the tree tells which paths are one function.
        self._used: dict[str, dict[str, set[str]]] = {}
        self._called: dict[str, set[str]] = {}
        # What is handed on, by the last part of what it is: the module, its name there, and the path.
        self._handed: dict[str, list[tuple[str, str, str]]] = {}
        for one in facts.values():
            for path in one.registering:
                self._called.setdefault(_last(path), set()).add(path)
            for user, paths in one.used.items():
                for path in paths:
                    self._used.setdefault(_last(path), {}).setdefault(path, set()).add(user)
            for name, targets in one.exports.names.items():
                for target in targets:
                    self._handed.setdefault(_last(target), []).append((one.exports.module, name, target))
        self._known: dict[str, frozenset[tuple[str, str]]] = {}

    # What is known

    def of(self, function: str) -> set[str]:
        """The users of a function, itself left out."""
        found: set[str] = set()
        for last in self._spellings(function):
            for path, users in self._used.get(last, {}).items():
                if path == function or function in self.tree.all(path):
                    found |= users
        return found - {function}

    def called(self, function: str) -> bool:
        """Whether a function is a decorator somewhere, or called while a module is imported."""
        return any(
            path == function or function in self.tree.all(path)
            for last in self._spellings(function)
            for path in self._called.get(last, ())
        )

    def _spellings(self, path: str) -> set[str]:
        """The last parts of the paths that lead to a function."""
        return {_last(path), *(name for _, name in self._carriers(path))}

    def _carriers(self, path: str) -> frozenset[tuple[str, str]]:
        """The modules that hand something on, and its name there; a star is not seen here."""
        found = self._known.get(path)
        if found is None:
            carriers: set[tuple[str, str]] = set()
            lasts = {_last(path)}
            edge = list(lasts)
            while edge:
                for module, name, target in self._handed.get(edge.pop(), ()):
                    if (module, name) not in carriers and (target == path or path in self.tree.all(target)):
                        carriers.add((module, name))
                        if name not in lasts:
                            lasts.add(name)
                            edge.append(name)
            found = self._known[path] = frozenset(carriers)
        return found

    def registering(self, functions: Iterable[str]) -> set[str]:
        """Those of the functions that run only while modules are imported, by what the facts say."""
        users = self._around(functions)
        told = self._told(users)
        return {function for function in users if told.get(function)}

    def _around(self, functions: Iterable[str]) -> dict[str, set[str]]:
        """The users of functions, those of the users, and so on."""
        users: dict[str, set[str]] = {}
        edge = list(functions)
        while edge:
            function = edge.pop()
            if function not in users:
                found = users[function] = self.of(function) if function else set()
                if "" not in found:
                    edge.extend(found)
        return users

    def _told(self, users: Mapping[str, set[str]]) -> dict[str, bool]:
        """Which functions run at import alone; those that only use each other are never told, as nobody calls them."""
        # A module's `__getattr__` loads what is asked of the module, which is no state either.
        told: dict[str, bool] = {"": False, **{one: True for one in users if self._is_lazy(one)}}
        using: dict[str, list[str]] = {}
        for function, found in users.items():
            for user in found:
                using.setdefault(user, []).append(function)
        edge = [*told, *(function for function, found in users.items() if not found and function)]
        while edge:
            function = edge.pop()
            if function not in told:
                found = users[function]
                if any(told.get(user) is False for user in found):
                    told[function] = False
                elif all(told.get(user) for user in found):
                    told[function] = bool(found) or self.called(function)
                else:
                    continue
            edge.extend(user for user in using.get(function, ()) if user not in told)
        return told

    def _is_lazy(self, function: str) -> bool:
        module, _, name = function.rpartition(".")
        return name == "__getattr__" and module in self.tree.modules


def _last(path: str) -> str:
    return path.rpartition(".")[2]
