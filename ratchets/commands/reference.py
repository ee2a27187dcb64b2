"""The rules in words, from the rules' own modules: one for a terminal, all of them for the reference page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from confbag.ratchets.codes import RULES, SUPPRESSION
from confbag.ratchets.configuration import DEFAULT_CODES
from confbag.ratchets.rules.case import Case

CODES = (SUPPRESSION, *RULES)


def rule(code: str) -> Any:
    """The module of a rule: its CODE, NAME, MEANS, WHY, INSTEAD and CASES."""
    name = "suppression" if code == SUPPRESSION else RULES[code]
    return import_module(f"confbag.ratchets.rules.{name}")


def explained(code: str) -> str:
    """One rule for a terminal."""
    module = rule(code)
    parts = [f"{code} {module.NAME} ({_when(code)})", "", _wrapped(module.MEANS), ""]
    parts += ["Why", _wrapped(module.WHY, "  "), "", "What to write instead", _wrapped(module.INSTEAD, "  ")]
    for case in module.CASES:
        parts += ["", f"{_verdict(case)}: {case.name.replace('_', ' ')}", textwrap.indent(_code(case), "    ")]
        if case.fixed is not None:
            parts += ["  after `confbag ratchet fix`", textwrap.indent(case.fixed.strip("\n"), "    ")]
    return "\n".join(parts) + "\n"


def page() -> str:
    """Every rule, as docs/ratchet-rules.md holds them."""
    parts = [
        "# The rules of the ratchets",
        "",
        "Made by `confbag ratchet explain --page` from the rules' own modules; every case below is a test.",
        "`confbag ratchet explain CODE` prints one rule.",
        "",
        "| code | name | when |",
        "|---|---|---|",
        *(f"| [{code}](#{_anchor(code)}) | {rule(code).NAME} | {_when(code)} |" for code in CODES),
    ]
    for code in CODES:
        module = rule(code)
        parts += ["", f"## {code} {module.NAME}", "", _flat(module.MEANS), "", _flat(f"**Why.** {module.WHY}")]
        parts += ["", _flat(f"**Instead.** {module.INSTEAD}")]
        for case in module.CASES:
            parts += ["", f"{_verdict(case)}: {case.name.replace('_', ' ')}", "", "```text", _code(case), "```"]
            if case.fixed is not None:
                parts += ["", "After `confbag ratchet fix`:", "", "```text", case.fixed.strip("\n"), "```"]
    return "\n".join(parts) + "\n"


def _when(code: str) -> str:
    if code == SUPPRESSION:
        return "always"
    return "on by default" if code in DEFAULT_CODES else "on when its table is there"


def _anchor(code: str) -> str:
    return f"{code} {rule(code).NAME}".lower().replace(" ", "-")


def _verdict(case: Case) -> str:
    return f"Finds {', '.join(f'`{found}`' for found in case.finds)}" if case.finds else "Finds nothing"


def _code(case: Case) -> str:
    return "\n\n".join(_files(case))


def _files(case: Case) -> Iterator[str]:
    for path, text in case.files.items():
        yield f"# {path}\n{text.strip(chr(10))}"
    yield f"# {case.path}\n{case.code.strip(chr(10))}" if case.files else case.code.strip("\n")


def _flat(text: str) -> str:
    return "\n".join(textwrap.wrap(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False))


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(" ".join(text.split()), 100, initial_indent=indent, subsequent_indent=indent)
