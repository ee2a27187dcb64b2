"""The events of YAML text, from whichever parser PyYAML has, and what its complaints mean."""

from __future__ import annotations

from typing import Any

import yaml

# What the parsers say, without what they quote: that could be a value.
_PROBLEMS = (
    ("mapping values are not allowed", "a `: ` where no mapping can begin; quote the value or check the indentation"),
    (
        "cannot start any token",
        "a character that cannot begin a value; quote the value, and indent with spaces, not tabs",
    ),
    ("unexpected end of stream", "a quote that is never closed; close it"),
    ("',' or", "a flow list or mapping that lacks a comma or its closing bracket; add it"),
    (
        "could not find expected ':'",
        "a line that is neither `key: value` nor the rest of a value; add the colon or quote it",
    ),
    ("nesting depth", "nested deeper than any setting; flatten it"),
    ("escape", "an escape that double quotes do not have; use single quotes"),
    ("tag handle", "a tag that is none of YAML's core tags; remove it"),
    ("document start", "text after the end of the document; one document a file"),
    ("indicator", "indentation that does not match the lines above; align it"),
    ("expected key", "indentation that does not match the lines above; align it"),
    ("block end", "indentation that does not match the lines above; align it"),
    ("node content", "a value that is missing; write it, or close the bracket"),
)


def problem(error: yaml.YAMLError) -> tuple[Any, str]:
    """Where the text stops being YAML (None where the parser does not know) and what to do about it."""
    said = str(getattr(error, "problem", "") or "")
    mark = getattr(error, "problem_mark", None)
    if "end of stream" in said:  # the quote that was opened says more than the end of the file
        mark = getattr(error, "context_mark", None) or mark
    return mark, next((ours for theirs, ours in _PROBLEMS if theirs in said), "this is not valid YAML; check the line")


def parser(text: str) -> Any:
    """What gives the events of `text` one by one: libyaml, or where PyYAML came without it, PyYAML's own."""
    if yaml.__with_libyaml__:
        from yaml._yaml import CParser

        return CParser(text.encode())
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class PythonParser(Reader, Scanner, Parser):
        def __init__(self) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)

    return PythonParser()
