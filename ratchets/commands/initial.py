"""The files that `init` writes, as text."""

from __future__ import annotations

from collections.abc import Iterable

from confbag.ratchets.commands.guessing import ROOT, Guess

GITATTRIBUTES = "*.tsv merge=union text eol=lf\n"
_WORKFLOW = """\
# Nothing that the ratchets count may grow. Written once by `confbag ratchet init`; it is yours to change.
name: ratchets
on:
  pull_request:
  push:
    branches: [BRANCH]
jobs:
  ratchets:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install confbag
      - if: github.event_name == 'pull_request'
        run: confbag ratchet check --against "origin/${{ github.base_ref }}" --format github
      - if: github.event_name != 'pull_request'
        run: confbag ratchet check --format github
"""
_HOOK = """\
  - repo: local
    hooks:
      - id: confbag-ratchet
        name: confbag ratchet
        entry: confbag ratchet check
        language: system
        types: [python]
        require_serial: true
"""
HOOKS = f"# The confbag of the environment that commits; `pre-commit install` once in a clone.\nrepos:\n{_HOOK}"
HINTS = """\
next
  commit the configuration, .ratchets/ and the workflow
  `pre-commit install` in each clone
  .github/CODEOWNERS gets a line: /.ratchets/ @the-people-who-may-raise-the-bar
"""
HOOK_HINT = f"  .pre-commit-config.yaml gets, under repos:\n{_HOOK}"


def workflow(branch: str) -> str:
    """For GitHub: a change may raise nothing, and the branch itself is judged."""
    import json

    # A YAML string in quotes is written as JSON writes it; a plain name needs none.
    plain = branch.replace("-", "").replace("/", "").replace("_", "").replace(".", "").isalnum()
    return _WORKFLOW.replace("BRANCH", branch if plain else json.dumps(branch))


def configuration_text(guessed: Guess, prefix: str) -> str:
    """The tables; `prefix` is `tool.confbag.ratchets` in pyproject.toml and empty in a file of our own."""
    lines = [f"[{prefix}]"] if prefix else []
    if guessed.source:
        lines.append(f"source = {_list(guessed.source)}")
    record = f"[[{prefix}.record]]" if prefix else "[[record]]"
    lines += [f"roots = {_list(guessed.roots or (ROOT,))}", "", record, f"name = {_text(guessed.name or 'record')}"]
    for key in ("accessors", "types", "holders", "owners"):
        values = getattr(guessed, key)
        if values:
            lines.append(f"{key} = {_list(values)}")
    return "\n".join(lines) + "\n"


def _list(values: Iterable[str]) -> str:
    return "[" + ", ".join(map(_text, values)) + "]"


def _text(value: str) -> str:
    import json

    # A TOML string of one line is written as JSON writes it.
    return json.dumps(value, ensure_ascii=False)
