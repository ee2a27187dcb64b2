"""Whether a file's text can hold a change of module state at all: a look at the bytes, so that few files need a tree.

It only errs towards keeping a file. What stands in strings and comments counts, a name counts as the module's own
wherever it may be bound, and where the text does not say what is changed, anything may be.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable, Collection, Iterable

MUTATORS = frozenset(
    {
        "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add", "discard", "update",
        "setdefault", "popitem", "intersection_update", "difference_update", "symmetric_difference_update",
        "appendleft", "extendleft", "popleft", "rotate", "move_to_end", "subtract",
    }
)  # fmt: skip
# Methods behind the syntax that sets and deletes, and functions that change their first argument.
DUNDERS = frozenset({"__setattr__", "__delattr__", "__setitem__", "__delitem__", "__iadd__", "__ior__", "__next__"})
CHANGING = frozenset(
    {
        "heappush", "heappop", "heapify", "heapreplace", "heappushpop", "shuffle", "insort", "insort_left",
        "insort_right", "setitem", "delitem", "iadd", "iconcat", "iand", "ior", "isub", "ixor",
    }
)  # fmt: skip
LIBRARIES = frozenset({"numpy", "torch", "triton"})
_RECEIVERS = {b"self", b"cls"}
# What stands before a parenthesis that calls nothing, and the calls that give what they are asked for.
_OPENING = frozenset(
    {b"or", b"and", b"not", b"in", b"is", b"if", b"elif", b"else", b"return", b"yield", b"await", b"while", b"assert"}
    | {b"getattr", b"import_module", b"with", b"for", b"lambda", b"del", b"print"}
)
# Methods that give an item, as a subscript does.
_GIVING = frozenset({b"get", b"setdefault"})
_FAR = 300
# Patterns of calls whose first argument is changed, and the words without which there are none.
_ARGUMENTS = (
    ("setattr", (b"setattr", b"delattr")),
    ("getter", (b"getattr",)),
    ("dunder", (b"__setattr__", b"__delattr__", b"__setitem__", b"__delitem__", b"__iadd__", b"__ior__")),
    ("unbound", (b"list.", b"dict.", b"set.", b"bytearray.", b"deque.")),
    ("viewed", (b"vars", b"type")),
    ("next", (b"next",)),
    ("imported", (b"import_module", b"__import__")),
    ("changing", tuple(word.encode() for word in sorted(CHANGING))),
)


def looks(own: Iterable[str] = ()) -> Callable[[bytes], bool]:
    """The look at a file's bytes; `own` are the names of the tree's packages, which are no library's."""
    return Glance(own).keeps


class Glance:
    """The patterns, compiled as they are first needed: most files of a commit need few."""

    def __init__(self, own: Iterable[str] = ()) -> None:
        names = (sys.stdlib_module_names | LIBRARIES | set(dir(builtins))) - set(own)
        self._foreign = {name.encode() for name in names}
        self._patterns: dict[str, re.Pattern[bytes]] = {}

    def keeps(self, source: bytes) -> bool:
        """Whether a tree is needed."""
        if b"global" in source and self._stores(source):
            return True
        if b"functools" in source and self._pattern("cache").search(source):
            return True
        text = _plain(source)
        changed = self._changed(text)
        if changed is None:
            return True
        if not changed:
            return False
        names = self._names(text)
        return names is None or bool(changed & names) or self._aliased(text, changed, names)

    def _all(self, name: str, text: bytes) -> list[bytes]:
        found: list[bytes] = self._pattern(name).findall(text)
        return found

    def _pattern(self, name: str) -> re.Pattern[bytes]:
        found = self._patterns.get(name)
        if found is None:
            found = self._patterns[name] = re.compile(b"".join(_PARTS[name]))
        return found

    def _stores(self, source: bytes) -> bool:
        """Whether there is a `global` statement, or a use of `globals`."""
        return any(
            match[0] == b"globals" or source[: match.start()].rstrip(b" \t\x0c")[-1:] in b"\r\n:;"
            for match in self._pattern("global").finditer(source)
        )

    # What is changed

    def _changed(self, text: bytes) -> set[bytes] | None:
        """Names whose attributes or items the text may set, delete or change by a method; None: any may be."""
        if b"modules[" in text:
            return None
        found = set(self._all("store", text))
        found.update(self._all("chained", text))
        for match in self._pattern("inline").finditer(text):
            if self._pattern("compound").match(_line(text, match.start())):
                found.add(match[1])
        for match in self._pattern("later").finditer(text):
            if not _inside(_line(text, match.start())):
                found.add(match[1])
        found.update(self._all("as", text))
        for part in self._all("opened", text):
            found.update(self._all("word", part))
        for name in ("grouped", "for", "with"):
            for part in self._all(name, text):
                found.update(self._all("rooted", part))
        if b"del" in text:
            for part in self._all("del", text):
                found.update(self._all("rooted", part))
        for name, words in _ARGUMENTS:
            if any(word in text for word in words):
                if name == "changing" and self._pattern("renamed").search(text):
                    return None
                for part in self._all(name, text):
                    found.update(self._all("word", part))
        for name in ("mutator", "given of"):
            for match in self._pattern(name).finditer(text):
                roots = self._base(text, match.start())
                if roots is None:
                    return None
                found |= roots
        return found - _RECEIVERS

    def _base(self, text: bytes, end: int) -> set[bytes] | None:
        """The names that the object of a method call may be, or be held by; None where the text does not say."""
        before = text[max(0, end - _FAR) : end].rstrip()
        while True:
            match = self._pattern("ending").search(before)
            if match is not None:
                return {match[1]}
            before = self._pattern("attributes").sub(b"", before)
            if not before.endswith((b")", b"]")):
                return set()
            opening = _opening(before)
            if opening is None or self._pattern("bracket").search(before, before.rfind(b"\n", 0, opening) + 1):
                return None
            head = before[:opening].rstrip(b" \t")
            name = self._pattern("ending").search(head)
            last = b"" if name is None or head.endswith(b"\n") else name[2] or name[1]
            if last in _OPENING:
                last = b""
            if before.endswith(b"]"):
                if not (last or head.endswith((b")", b"]")) or self._pattern("attributes").search(head)):
                    return set()  # a display is nobody's
                before = head
            elif last in _GIVING and name is not None and name[2]:
                before = head[: head.rfind(b".")].rstrip()
            elif last in (b"vars", b"type") or not (last or head.endswith((b")", b"]"))):
                return set(self._all("word", before[opening:]))
            else:
                return set()  # what a call gives is no name's

    # What names are

    def _names(self, text: bytes) -> set[bytes] | None:
        """Names that may be the module's or another module's; None: any may be."""
        if b"import_module" in text or b"__import__" in text:
            return None
        found = set(self._all("definition", text))
        for match in self._pattern("import").finditer(text):
            names = match[1]
            before = text[text.rfind(b"\n", 0, match.start()) : match.start()].strip()
            origin = self._pattern("origin").search(before)
            if origin is None and before and not before.endswith(b":"):
                continue
            if origin is None:
                for part in names.split(b","):
                    words = self._all("word", part)
                    if words and words[0] not in self._foreign:
                        found.update((words[0], words[-1]))
            elif origin[1].partition(b".")[0] not in self._foreign:
                if b"*" in names:
                    return None
                found.update(self._all("word", names))
        found.update(self._all("bound", self._pattern("defined").sub(b"\n", text)))
        return None if found & _RECEIVERS else found

    def _aliased(self, text: bytes, changed: set[bytes], names: set[bytes]) -> bool:
        """Whether something changed may be another name for one of these."""
        given: list[tuple[list[bytes] | None, int, Collection[bytes]]] = []
        for match in self._pattern("given").finditer(text):
            start = match.start()
            if text[start - 1 : start] == b":" or not _argument(text, start):
                given.append((None, start, (match[1] or match[2],)))
        for match in self._pattern("loop").finditer(text):
            given.append((self._all("word", match[1]), 0, self._all("object", match[2])))
        for name in ("side", "walrus", "getattr"):
            for match in self._pattern(name).finditer(text):
                given.append((None, match.start(), self._all("word", match[1])))
        for match in self._pattern("unpacked").finditer(text):
            line = _line(text, match.start() + 1) + match[1]
            if not _inside(line):
                values = self._pattern("call").sub(b"()", match[2])
                given.append((self._all("word", line), 0, self._all("item", values)))
        known = names
        while True:
            more: set[bytes] = set()
            for left, start, found in given:
                if not known.isdisjoint(found):
                    more.update(self._left(text, start) if left is None else left)
            more -= known
            if not more.isdisjoint(changed):
                return True
            if not more:
                return False
            known = known | more

    def _left(self, text: bytes, start: int) -> list[bytes]:
        """The names that a value which stands here may be given to."""
        # The sign itself may be where the value starts.
        return self._all("left", _line(text, start) + b"=") or self._all("left", text[max(0, start - _FAR) : start])


def _opening(text: bytes) -> int | None:
    """Where the bracket opens that the text ends with."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] in b")]") - (text[index] in b"([")
        if depth == 0:
            return index
    return None


def _line(text: bytes, end: int) -> bytes:
    return text[text.rfind(b"\n", 0, end) + 1 : end]


def _inside(line: bytes) -> bool:
    """Whether a line has opened a parenthesis, other than at its start, and not closed it."""
    rest = line.lstrip(b" \t(*")
    return rest.count(b"(") > rest.count(b")")


def _argument(text: bytes, sign: int) -> bool:
    """Whether an equals sign names an argument of a call, as far as its line and the one before show."""
    line = _line(text, sign)
    before = _line(text, max(0, sign - len(line) - 1)).rstrip()
    return _inside(line) or (before.endswith((b"(", b",", b"[", b"{")) and b"#" not in before)


def _plain(source: bytes) -> bytes:
    """The text with one kind of line end, each statement on a line of its own."""
    text = b"\n" + source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\x0c", b"")
    return text.replace(b"\\\n", b" ").replace(b";", b"\n")


_TEXT = rb"\"[^\"\n]*\"|'[^'\n]*'|"
_PLAIN = rb"[^\[\]\"']"
_NESTED = rb"\[(?:T|P|\[(?:T|P|\[(?:T|P)*\])*\])*\]".replace(b"T|", _TEXT).replace(b"P", _PLAIN)
_CALLED = rb"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
# From a name to what it holds, by attributes, items and `get`.
_REACH = rb"(?:\s*\.\s*" + _NAME + rb"|\s*" + _NESTED + rb"|(?<=get)" + _CALLED + rb")*"
_PATH = rb"(?:[ \t]*\.[ \t]*" + _NAME + rb"|[ \t]*" + _NESTED + rb")"
_SET = rb"(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)"
# What follows a target: what is set, further targets, or an annotation.
_THEN = rb"[ \t]*(?:" + _SET + rb"|[,:][^\n(]*=(?!=))"
# A subscript that nests too deep to see its end.
_DEEP = rb"[ \t]*(?!" + _NESTED + rb")\["
_TARGET = rb"(?:" + _PATH + rb"+(?:" + _THEN + rb"|" + _DEEP + rb")|" + _DEEP + rb")"


def _any(words: Iterable[str]) -> bytes:
    return "|".join(sorted(words)).encode()


_EDGE = rb"(?<![\w.\x80-\xff])"
_PARTS: dict[str, tuple[bytes, ...]] = {
    "word": (_NAME,),
    "rooted": (_EDGE, rb"(", _NAME, rb")\s*[.\[]"),
    "ending": (_EDGE, rb"(", _NAME, rb")(?:\s*\.\s*(", _NAME, rb"))*\s*\Z"),
    "attributes": (rb"(?:\s*\.\s*", _NAME, rb")+\s*\Z"),
    "global": (rb"global(?:s\b|[ \t\x0c\\])",),
    "cache": (rb"cache(?<![\w.]cache)\b(?![ \t]*[=\[.])|lru_cache|[@.][\w.]*\bcache\b[ \t]*[(\r\n]",),
    "store": (rb"\n[ \t]*(?!self[.\[])(", _NAME, rb")", _TARGET),
    "inline": (rb":[ \t]*(?!self[.\[])(", _NAME, rb")", _TARGET),
    "chained": (rb"=\s*(", _NAME, rb")", _PATH, rb"*[ \t]*=(?!=)"),
    # In a tuple of targets, behind the first.
    "later": (
        rb",[ \t]*\*?(?!self[.\[])(", _NAME, rb")", _PATH, rb"+[ \t]*",
        rb"(?:,[^\n()=]*)?=(?!=)",
    ),
    "opened": (rb"\n[ \t]*(\([^=\n]*\)[ \t]*[.\[][^=\n]*)=(?!=)",),
    "grouped": (rb"\n[ \t]*([(\[][^=()]{0,400}[)\]])[ \t]*=(?!=)",),
    "del": (rb"\n[ \t]*del\b([^\n(]*(?:\([^)]*\))?[^\n]*)",),
    "for": (rb"for\b(?<![\w.]for)([^:=\n]{1,200}?[.\[][^:=\n]{0,200}?)\bin\b",),
    "as": (rb"as(?<=[\s)\]]as)[\s(\[]+(", _NAME, rb")\s*[.\[]"),
    "with": (rb"as(?<=[\s)\]]as)\s*([(\[][^:]{0,400})",),
    "setattr": (rb"attr(?:(?<=setattr)|(?<=delattr))\s*\(([^,]*)",),
    "getter": (rb"\n[ \t]*getattr\s*\(([^,]*)",),
    # A call, or the method handed on.
    "mutator": (
        rb"\.\s*(?:", _any(MUTATORS | DUNDERS), rb")\b(?=\s*[(),\]}\n]|[ \t]*#|[ \t]+(?:if|or|and|else|for)\b)",
    ),
    "given of": (rb"\.\s*get\s*(?:", _CALLED, rb"\s*[.\[]|(?!", _CALLED, rb")\()"),
    "dunder": (_EDGE, rb"(?:object|type|list|dict|set)\s*\.\s*(?:", _any(DUNDERS), rb")\s*\(([^,)]*)"),
    "unbound": (rb"\b(?:list|dict|set|bytearray|deque)\s*\.\s*(?:", _any(MUTATORS), rb")\s*\(([^,)]*)"),
    "viewed": (_EDGE, rb"(?:vars|type)\s*\(([^,)]*)"),
    # What a call imports is set where it stands.
    "imported": (rb"(import_module|__import__)\s*\([^()]*\)", _PATH, rb"+", _THEN),
    "next": (rb"next(?<![\w]next)\s*\(([^,)]*)",),
    "changing": (rb"\b(?:", _any(CHANGING), rb")\s*\(([^,)]*)"),
    "renamed": (rb"\b(?:", _any(CHANGING), rb")[ \t]+as\b"),
    "loop": (
        rb"for\b(?<![\w.]for)([^:=\n]{1,200}?)\bin\b",
        rb"((?:(?:[^\n:\[]|\[[^\n\]]*\])*[(\[{,][ \t]*\n)*(?:[^\n:\[]|\[[^\n\]]*\])*)",
    ),
    "object": (_EDGE, rb"(", _NAME, rb")\b(?![ \t]*[(=])"),
    # A bracket within quotes.
    "bracket": (rb"\"[^\"\n]*[\[\]()][^\"\n]*\"|'[^'\n]*[\[\]()][^'\n]*'",),
    "definition": (rb"\n(?:async[ \t]+)?(?:def|class)[ \t]+(", _NAME, rb")"),
    "import": (rb"import\b(?<![\w.]import)[ \t]*(\([^)]*\)|[^\n]*)",),
    "origin": (rb"(?:\A|:[ \t]*)from[ \t]+([.\w\x80-\xff \t]+)\Z",),
    # Definitions and imports at the top, with everything in them.
    "defined": (rb"\n(?:@|(?:async[ \t]+def|def|class|from|import)\b)[^\n]*(?:\n+(?:[ \t#)\]}][^\n]*)?)*(?=\n)",),
    "bound": (_EDGE, rb"(", _NAME, rb")\s*(?:[-=:,)\]+*/%&|^@<>\n]|in\b)"),
    "given": (
        rb"=(?!=)[ \t]*(?:(?:\(\s*)+(", _NAME, rb")", _REACH, rb"\s*(?=[)\n#]|(?:if|or|and)\b)",
        rb"|(", _NAME, rb")", _REACH, rb"[ \t]*(?=[\n#]|=(?!=)|(?:if|or|and)\b|(?<=x)\Z))",
    ),
    "left": (_EDGE, rb"(", _NAME, rb")[ \t]*(?::[^=\n]*)?=(?!=)"),
    "walrus": (rb"=(?<=:=)[\s(]*(", _NAME, rb")"),
    "side": (rb"(?:or|and|else)\b[\s(]*(", _NAME, rb")", _REACH, rb"[ \t]*(?=[\n#,)]|\b(?:if|or|and|else)\b)"),
    "getattr": (rb"getattr\s*\(([^,]*)",),
    "unpacked": (rb",([ \t]*\*?", _NAME, rb"[ \t]*,?\)?)[ \t]*=(?!=)[ \t]*(\(\s*[^()]*|[^\n]*)"),
    "call": (rb"(?<=[\w\])])\([^()]*\)",),
    "compound": (
        rb"[ \t]*(?:async[ \t]+)?(?:(?:if|elif|else|for|while|with|try|except|finally|case)\b"
        rb"|(?:def|class)\b[^\n]*(?:\)|->[^\n]*)\s*\Z|class\b)",
    ),
    "item": (rb"(?:\A|[,(=])\s*(", _NAME, rb")", _REACH, rb"[ \t]*(?=[,)\n#]|\Z|(?:if|or|and|else)\b)"),
}  # fmt: skip
