"""Modules that a name leads through and that nobody has read yet: they hold no trigger, and may hand it on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import translate

from confbag.ratchets.names.exports import Echoes, Tree, words
from confbag.ratchets.names.naming import foreign

_GLOB = re.compile(r"[*?\[]")


def asked(tree: Tree, paths: Iterable[str], words: Iterable[str]) -> set[str]:
    """The modules, not in the tree so far, that may say what a path with one of the words (or globs) in it is.

    `from engine.api import u; u.is_npu()`: engine/api.py holds `from engine import utils as u`, and not the word.
    """
    given = frozenset(words)
    plain = frozenset(word for word in given if not _GLOB.search(word))
    globs = [re.compile(translate(word)) for word in sorted(given - plain)]
    found: set[str] = set()
    for path in paths:
        parts = path.replace("()", "").split(".")
        if plain.isdisjoint(parts) and not any(glob.match(part) for glob in globs for part in parts):
            continue
        for name in tree.all(path):
            head = "" if foreign(name) or ":" in name else name.replace("()", "")
            while head:
                if head not in tree.modules:
                    found.add(head)
                head = head.rpartition(".")[0]
    return found


def handed(tree: Tree) -> Iterable[str]:
    """The paths that modules hand on under names of their own."""
    for one in tree.modules.values():
        for paths in (*one.names.values(), *one.attributes.values()):
            yield from paths


def echoes(tree: Tree, targets: Collection[str], lasts: Iterable[str], paths: Iterable[str]) -> Echoes:
    """Names under which modules hand targets on, and the modules that those names and `lasts` lead through."""
    found = words(tree, targets)
    known = {*lasts, *(word.decode() for word in found)}
    return found, asked(tree, [*targets, *paths, *handed(tree)], known)
