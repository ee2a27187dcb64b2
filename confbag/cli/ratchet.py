"""`confbag ratchet`: hands over to the ratchets, which have a parser and exit statuses of their own."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the ratchets' command and return its exit status."""
    from confbag.ratchets import command

    return command.main(argv)
