"""The known word that somebody most likely meant."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 100


SUGGESTED = 25
"""So many names get a suggestion: looking for a near one takes its time, and a thousand unknown ones are no typo."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The member of `known` that is closest to `word`, or None where none is close.

    Case and separators never matter, and a dotted name is found by its last part: `deterministic` means
    `exec.deterministic`.
    """
    if not word or len(word) > _LONGEST:  # comparing is quadratic, and nobody mistypes that much
        return None
    candidates = sorted(set(known))
    squeezed = {name: _squeeze(name) for name in candidates}
    wanted = _squeeze(word)
    for name in candidates:
        if squeezed[name] == wanted:
            return name
    by_tail = [name for name in candidates if "." in name and wanted and squeezed[name].endswith(wanted)]
    whole_tail = [name for name in by_tail if _squeeze(name.rpartition(".")[2]) == wanted or len(by_tail) == 1]
    if whole_tail and len(wanted) > 3:
        return whole_tail[0]
    return _similar(word, candidates)


def _squeeze(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _similar(word: str, candidates: list[str]) -> str | None:
    from difflib import SequenceMatcher  # here: only a mistake pays for the import

    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(word.lower())
    best, best_score = None, 0.7
    for name in candidates:
        matcher.set_seq1(name.lower())
        if matcher.real_quick_ratio() > best_score and matcher.quick_ratio() > best_score:
            score = matcher.ratio()
            if score > best_score:
                best, best_score = name, score
    return best


def one_edit(word: str, known: Iterable[str]) -> str | None:
    """The member of `known` that is one letter added, left out or changed away from `word`; None where none is."""
    return next((name for name in known if name != word and _one_apart(name, word)), None)


def _one_apart(one: str, other: str) -> bool:
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    if len(longer) - len(shorter) > 1:
        return False
    same = next((at for at, (a, b) in enumerate(zip(longer, shorter, strict=False)) if a != b), len(shorter))
    return longer[same + 1 :] == shorter[same + (len(longer) == len(shorter)) :]
