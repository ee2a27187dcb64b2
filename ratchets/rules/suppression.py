"""CB100: a comment of ours that allows nothing. Always on; `suppressions` judges it."""

from __future__ import annotations

from confbag.ratchets.codes import SUPPRESSION
from confbag.ratchets.rules.case import Case

CODE = SUPPRESSION
NAME = "suppression"
MEANS = """
A comment `# ratchet: allow CODE -- reason` that allows nothing: no finding of that code is on its statement any more,
its reason is missing, its code is unknown, or it cannot be read.
"""
WHY = """
A comment that allows nothing today allows the next finding on its line unseen.
"""
INSTEAD = """
Remove the comment, or write it whole: one or more codes, two hyphens, the reason. It stands on the finding's line, or
on the first or last line of its statement or compound header; `allow-file` is about the whole file. `maybe` after the
codes, or `if=py>=3.12`, says that it may allow nothing elsewhere.
"""
CASES = (
    Case("without_a_reason", "x = 1  # ratchet: allow CB101\n", ("CB100 allow CB101",)),
    Case("nothing_to_allow", "x = 1  # ratchet: allow CB101 -- gone\n", ("CB100 allow CB101",)),
    Case("nothing_in_the_file", "# ratchet: allow-file CB111 -- gone\nx = 1\n", ("CB100 allow-file CB111",)),
    Case("an_unknown_code", "x = 1  # ratchet: allow CR999 -- gone\n", ("CB100 allow CR999",)),
    Case("another_word", "x = 1  # ratchet: ignore CB101 -- gone\n", ("CB100 ignore CB101 -- gone",)),
    Case("may_allow_nothing", "x = 1  # ratchet: allow CB101 maybe -- only elsewhere\n"),
    Case("text_in_a_string", 'x = "# ratchet: allow CB101"\n'),
)
