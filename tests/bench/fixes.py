"""`confbag ratchet fix` on a copy of `sglang/srt` that reads its settings the old way again.

Run `python tests/bench/fixes.py FOLDER` (see ratchets.py for the folder). SGLang reads most settings through getters
already, so a copy is made in which the getters of `examples/ratchets/sglang/accessors.toml` are reads of the record, in
many forms and encodings, and `fix` has to give the getters back. It exits 1 where a changed file does not parse,
differs from SGLang's own in more than imports and formatting, or changes again in a second run.
"""

from __future__ import annotations

import argparse
import ast
import codecs
import contextlib
import io
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from confbag.ratchets.command import main as ratchet
from confbag.ratchets.config.file import load

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "ratchets" / "sglang"
ACCESSOR = "get_server_args"
HOME = "sglang.srt.runtime_context"
IMPORT = f"from {HOME} import {ACCESSOR}\n"
INVERTED = ("radix_cache_is_on", "get_memory().disable_radix_cache")
CONFIGURATION = f"""\
roots = ["sglang/srt"]
enable = ["CB101"]
[[record]]
name = "server_args"
accessors = ["{HOME}.{ACCESSOR}"]
types = ["sglang.srt.server_args.ServerArgs"]
owners = ["sglang/srt/runtime_context.py", "sglang/srt/server_args.py", "sglang/srt/arg_groups/"]
fields = "accessors.toml"
"""
FORMS = (
    "get_server_args().{field}",
    "(get_server_args().{field})",
    "(  # why\n    get_server_args()\n    .{field}\n)",
    "get_server_args(\n).{field}",
    "get_server_args() . {field}",
    "(lambda: get_server_args().{field})()",
    "alias",
)


def aged(text: str, number: int, table: dict[str, str]) -> tuple[str, int]:
    """A file with its getters as reads of the record, and how many there are."""
    tree = ast.parse(text)
    utf8 = text.encode()
    starts = [0]
    for line in utf8.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    edits: list[tuple[int, int, str]] = []
    heads: dict[int, str] = {}
    count = 0
    for node, function, formatted in _reads(tree, table):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        if formatted and re.match(rb"\s*=\s*[!:}]", utf8[end:]):
            # `f"{read=}"` prints the expression: no one may rewrite that.
            continue
        form = FORMS[0 if formatted else (number + count) % len(FORMS)]
        field = table[ast.unparse(node)]
        if form == "alias" and function is not None:
            first = function.body[0]
            docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if docstring or first.lineno == function.lineno or getattr(first, "decorator_list", None):
                form = FORMS[0]
            else:
                heads[starts[first.lineno - 1]] = " " * first.col_offset + f"aged_args = {ACCESSOR}()\n"
                form = "aged_args.{field}"
        elif form == "alias":
            form = FORMS[0]
        if ast.unparse(node) == INVERTED[1] and not formatted:
            form, field = f"(not {form})", INVERTED[0]
        edits.append((start, end, form.format(field=field)))
        count += 1
    if not count:
        return text, 0
    for at, head in heads.items():
        edits.append((at, at, head))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == HOME and number % 2:
            names = ", ".join(sorted({ACCESSOR, *(alias.name for alias in node.names)}))
            start, end = starts[node.lineno - 1], starts[node.end_lineno or 0]
            edits.append((start, end, f"from {HOME} import {names}\n"))
            break
    else:
        first = next(
            node for node in tree.body if not isinstance(node, ast.Expr) and getattr(node, "module", "") != "__future__"
        )
        edits.append((starts[first.lineno - 1], starts[first.lineno - 1], IMPORT))
    for start, end, new in sorted(edits, key=lambda edit: edit[0], reverse=True):
        utf8 = utf8[:start] + new.encode() + utf8[end:]
    made = utf8.decode()
    try:
        ast.parse(made)
    except SyntaxError:
        # A form that cannot stand in one of the places.
        return text, 0
    return made, count


def _reads(
    tree: ast.Module, table: dict[str, str]
) -> Iterator[tuple[ast.Attribute, ast.FunctionDef | ast.AsyncFunctionDef | None, bool]]:
    """The getters' reads, the function each is in, and whether it stands in an f-string or a nested function."""
    stack: list[tuple[ast.AST, ast.FunctionDef | ast.AsyncFunctionDef | None, bool]] = [(tree, None, False)]
    while stack:
        node, function, formatted = stack.pop()
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and ast.unparse(node) in table:
            yield node, function, formatted
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in node.body:
                stack.append((part, node, formatted))
            continue
        formatted = formatted or isinstance(node, (ast.JoinedStr, ast.ClassDef))
        stack.extend((child, function, formatted) for child in ast.iter_child_nodes(node))


def encoded(text: str, number: int) -> bytes:
    """The text as one of the kinds of bytes that files come in."""
    kind = number % 7
    if kind == 1:
        return text.replace("\n", "\r\n").encode()
    if kind == 2:
        return codecs.BOM_UTF8 + text.encode()
    if kind == 3:
        return text.rstrip("\n").encode()
    if kind == 4:
        return ("\x0c" + text).encode()
    if kind == 5 and text.isascii():
        return ("# -*- coding: latin-1 -*-\n# caf\xe9\n" + text).encode("latin-1")
    if kind == 6:
        tabs = re.sub(r"(?m)^(?: {4})+", lambda match: "\t" * (len(match[0]) // 4), text)
        with contextlib.suppress(SyntaxError):
            # Not where the blanks are part of a text, or line up otherwise.
            if ast.dump(ast.parse(tabs)) == ast.dump(ast.parse(text)):
                return tabs.encode()
    return text.encode()


def meaning(tree: ast.Module) -> str:
    """A tree without what `fix` may change beside the reads: imports of the accessor's module, and `not not`."""
    wanted = _Plain().visit(tree)
    return ast.dump(wanted)


class _Plain(ast.NodeTransformer):
    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        return None if node.module == HOME else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        inner = self.generic_visit(node)
        assert isinstance(inner, ast.UnaryOp)
        twice = isinstance(inner.op, ast.Not) and isinstance(inner.operand, ast.UnaryOp)
        if twice and isinstance(inner.operand.op, ast.Not):  # type: ignore[attr-defined]
            return inner.operand.operand  # type: ignore[attr-defined]
        return inner

    def visit_Call(self, node: ast.Call) -> ast.expr:
        # `(lambda: read)()`, one of the forms.
        self.generic_visit(node)
        if isinstance(node.func, ast.Lambda) and not node.args and not node.func.args.args:
            return node.func.body
        return node


def run(folder: Path) -> tuple[int, str]:
    """The command, in a folder."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = ratchet(["fix"], folder)
    return status, err.getvalue()


def main() -> int:
    """Age a copy, fix it twice, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="make the copy here, and leave it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        copy = args.keep or Path(temporary)
        shutil.copytree(args.folder / "sglang" / "srt", copy / "sglang" / "srt", dirs_exist_ok=True)
        fields = (EXAMPLE / "accessors.toml").read_text(encoding="utf-8")
        fields += (
            f'{INVERTED[0]} = {{read = "{INVERTED[1]}", import = "from {HOME} import get_memory", inverted = true}}\n'
        )
        (copy / "accessors.toml").write_text(fields, encoding="utf-8")
        (copy / "ratchets.toml").write_text(CONFIGURATION, encoding="utf-8")
        spec = load(copy / "ratchets.toml").records[0]
        table = {value.expression: name for name, value in spec.fields.items() if not value.inverted}
        originals: dict[Path, tuple[str, bytes]] = {}
        reads = 0
        owners = ("runtime_context.py", "server_args.py", "arg_groups")
        for file in sorted((copy / "sglang" / "srt").rglob("*.py")):
            if file.relative_to(copy / "sglang" / "srt").parts[0] in owners:
                continue
            text = file.read_text(encoding="utf-8")
            made, count = aged(text, len(originals), table) if any(one in text for one in table) else (text, 0)
            if count:
                content = encoded(made, len(originals))
                originals[file] = (text, content)
                file.write_bytes(content)
                reads += count
        started = time.process_time()
        status, said = run(copy)
        seconds = time.process_time() - started
        after = {file: file.read_bytes() for file in originals}
        faults = list(_faults(originals, after))
        again = run(copy)
        faults += [f"{file}: changes again" for file in originals if file.read_bytes() != after[file]]
        left = [line for line in said.splitlines() if line.startswith("left")]
    print(f"{reads} reads in {len(originals)} files; status {status}, then {again[0]}; {seconds:.1f} s of this process")
    print(said.splitlines()[-2:] if len(said.splitlines()) > 1 else said)
    print(f"{len(left)} left:", Counter(line.rpartition(": ")[2] for line in left).most_common())
    print("\n".join(faults))
    return 1 if faults or status else 0


def _faults(originals: dict[Path, tuple[str, bytes]], after: dict[Path, bytes]) -> Iterator[str]:
    for file, (text, before) in originals.items():
        now = after[file]
        if now == before:
            yield f"{file}: not changed"
            continue
        try:
            tree = ast.parse(now)
        except (SyntaxError, ValueError) as error:
            yield f"{file}: does not parse: {error}"
            continue
        if meaning(tree) != meaning(ast.parse(text)):
            yield f"{file}: differs from the original"
        for name, kept in (("a BOM", codecs.BOM_UTF8), ("a form feed", b"\x0c"), ("CR LF", b"\r\n")):
            if (kept in before) != (kept in now):
                yield f"{file}: {name} is gone or new"
        if before.count(b"\r\n") == before.count(b"\n") and now.count(b"\r\n") != now.count(b"\n"):
            yield f"{file}: its line ends are mixed now"
        if before.endswith(b"\n") != now.endswith(b"\n"):
            yield f"{file}: its last line ends otherwise"


if __name__ == "__main__":
    raise SystemExit(main())
