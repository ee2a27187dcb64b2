"""What an installed distribution asks of another one, by the requirements in its own metadata (PEP 508)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from confbag.backends.platforms.platform import canonical


def asked_of(name: str, metadata: str) -> str:
    """The versions of a distribution that a METADATA text asks for here, as a PEP 440 specifier; empty is any.

    A requirement whose marker names another environment, or an extra, asks for nothing; of several that hold each does.
    """
    # packaging is right about all of the grammar, and most metadata does not ask.
    if not re.search(rf"^Requires-Dist:\s*{re.escape(name)}\b", metadata, re.M | re.I):
        return ""
    return ",".join(dict.fromkeys(specifier for specifier in _specifiers(name, metadata) if specifier))


def _specifiers(name: str, metadata: str) -> Iterator[str]:
    from email.parser import HeaderParser

    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
    from packaging.requirements import InvalidRequirement, Requirement

    # The headers end at the first empty line: a description may quote a requirement.
    for text in HeaderParser().parsestr(metadata).get_all("Requires-Dist", ()):
        try:
            wanted = Requirement(" ".join(str(text).split()))
            here = wanted.marker is None or wanted.marker.evaluate()
        except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            continue  # installers refuse it too, and what it asks nobody knows
        if here and canonical(wanted.name) == name:
            yield str(wanted.specifier)
