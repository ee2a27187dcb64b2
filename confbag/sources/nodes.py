"""YAML text as composed nodes: each knows its place, all is bounded, and every fault is a sentence of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from confbag.errors import Fault
from confbag.sources.events import parser, problem
from confbag.sources.files import CONTROL
from confbag.sources.keys import shown
from confbag.sources.scalars import CORE, ScalarError, plain, tagged

_MAPPING, _SEQUENCE = f"{CORE}map", f"{CORE}seq"
_FAULTS = 200


class Limits(NamedTuple):
    """size: bytes. depth: of nesting, through aliases too. nodes: as written. aliased: nodes that aliases repeat."""

    size: int = 1 << 20
    depth: int = 32
    nodes: int = 50_000
    aliased: int = 10_000


class Node:
    """value: a scalar, a list of nodes, or a dict of key -> (key node, value node), merges done. text: as spelt."""

    __slots__ = ("column", "flow", "height", "line", "size", "text", "value")

    def __init__(self, mark: Any, value: Any, text: str | None = None, *, flow: bool = True) -> None:
        self.line: int = mark.line
        self.column: int = mark.column
        self.value, self.text, self.flow = value, text, flow
        self.size = self.height = 1

    def grow(self, child: Node) -> None:
        """Count a child: how many values an alias to this node repeats, and how deep they go."""
        self.size += child.size
        self.height = max(self.height, child.height + 1)

    def place(self, name: str) -> str:
        return f"{name}:{self.line + 1}:{self.column + 1}"

    def data(self) -> Any:
        """The plain value: scalars, lists and dicts, nothing shared."""
        if isinstance(self.value, dict):
            return {key: item.data() for key, (_, item) in self.value.items()}
        if isinstance(self.value, list):
            return [item.data() for item in self.value]
        return self.value


LIMITS = Limits()


def compose(text: str, name: str, limits: Limits = LIMITS) -> tuple[Node | None, tuple[Fault, ...]]:
    """The root node of the one document in `text` (None when it is empty or broken) and everything wrong with it."""
    composer = _Composer(text, name, limits)
    root = None
    try:
        root = composer.document()
    except _Stop:
        composer.broken = True
    except yaml.YAMLError as error:
        composer.fault(*problem(error), broken=True)
    except (ValueError, OverflowError):  # the pure Python scanner lets chr() raise on an escape
        composer.fault(None, "an escape that names no character; use single quotes", broken=True)
    whole = root is not None and not composer.broken and root.value is not _LOST
    return (root if whole else None), composer.answer()


_LOST: Any = object()
"""The value of a node whose fault is recorded: whoever holds it leaves it out, so that it is not reported twice."""


class _Stop(Exception):
    """Reading any further is pointless or unsafe."""


class _Composer:
    def __init__(self, text: str, name: str, limits: Limits) -> None:
        self.name, self.limits = name, limits
        self.next: Callable[[], Any] = parser(text).get_event
        self.anchors: dict[str, Node | None] = {}
        self.faults: list[Fault] = []
        self.above: list[str] = []
        self.more = self.nodes = self.aliased = 0
        self.broken = False

    def fault(self, mark: Any, message: str, key: str | None = None, *, broken: bool = False) -> None:
        self.broken = self.broken or broken
        if len(self.faults) >= _FAULTS:
            self.more += 1
            return
        where = self.name if mark is None else f"{self.name}:{mark.line + 1}:{mark.column + 1}"
        self.faults.append(Fault(where, shown(key) if key else None, message))

    def stop(self, mark: Any, message: str) -> NoReturn:
        self.fault(mark, message, broken=True)
        raise _Stop

    def answer(self) -> tuple[Fault, ...]:
        more = (Fault(self.name, None, f"and {self.more} more faults like these"),) if self.more else ()
        return (*self.faults, *more)

    def document(self) -> Node | None:
        self.next()  # the stream starts
        if isinstance(self.next(), StreamEndEvent):
            return None
        root = self.node(self.next(), 1)
        self.next()  # the document ends
        after = self.next()
        if not isinstance(after, StreamEndEvent):
            self.stop(after.start_mark, "a second document begins here; one document a file")
        return root

    def node(self, event: Any, depth: int) -> Node:
        mark = event.start_mark
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            self.stop(mark, f"more than {self.limits.nodes} values; this cannot be the file that was meant")
        if isinstance(event, AliasEvent):
            return self.alias(event, depth)
        if depth > self.limits.depth:
            self.stop(mark, f"nested deeper than {self.limits.depth} levels; flatten it")
        if event.anchor is not None:
            self.anchors[event.anchor] = None  # until it is whole: an alias to it from inside would hold itself
        if isinstance(event, ScalarEvent):
            node = Node(mark, self.scalar(event), event.value, flow=event.style not in ("|", ">"))
        elif isinstance(event, SequenceStartEvent):
            self.tag(event, _SEQUENCE)
            node = self.sequence(event, depth)
        else:
            self.tag(event, _MAPPING)
            node = self.mapping(event, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def alias(self, event: Any, depth: int) -> Node:
        mark = event.start_mark
        node = self.anchors.get(event.anchor)
        if node is None:
            within = event.anchor in self.anchors
            problem = (
                "an alias to the very value that it stands in"
                if within
                else "an alias to an anchor that is not above it"
            )
            self.fault(mark, f"{problem}; write the value out", broken=True)
            return Node(mark, None)
        self.aliased += node.size
        if self.aliased > self.limits.aliased:
            self.stop(mark, f"aliases repeat more than {self.limits.aliased} values; write out what is needed")
        if depth + node.height - 1 > self.limits.depth:
            self.stop(mark, f"nested deeper than {self.limits.depth} levels through aliases; flatten it")
        return node

    def scalar(self, event: Any) -> Any:
        try:
            if event.tag is not None and event.tag != "!":
                return tagged(event.value, event.tag)
            if event.tag is None and not event.style:
                return plain(event.value)
        except ScalarError as error:
            self.fault(event.start_mark, str(error))
            return _LOST
        if event.style == '"' and CONTROL.search(event.value):
            self.fault(event.start_mark, "a control character, written as an escape; remove it")
            return _LOST
        return str(event.value)

    def tag(self, event: Any, core: str) -> None:
        if event.tag not in (None, "!", core):
            self.fault(event.start_mark, "a tag that is not YAML's own for a list or a mapping; remove it")

    def sequence(self, start: Any, depth: int) -> Node:
        items: list[Node] = []
        node = Node(start.start_mark, items, flow=bool(start.flow_style))
        while not isinstance(event := self.next(), SequenceEndEvent):
            item = self.node(event, depth + 1)
            if item.value is not _LOST:
                items.append(item)
                node.grow(item)
        return node

    def mapping(self, start: Any, depth: int) -> Node:
        entries: dict[str, tuple[Node, Node]] = {}
        node = Node(start.start_mark, entries, flow=bool(start.flow_style))
        merged: Node | None = None
        while not isinstance(event := self.next(), MappingEndEvent):
            merging = isinstance(event, ScalarEvent) and event.value == "<<" and not event.style and event.tag is None
            key = self.node(event, depth + 1)
            name = key.value
            self.above.append(name if isinstance(name, str) else "")
            value = self.node(self.next(), depth + 1)
            self.above.pop()
            node.grow(value)
            if name is _LOST or value.value is _LOST:
                continue
            if merging and merged is None:
                merged = value
            elif merging:
                self.fault(event.start_mark, "a second merge key; merge a list: `<<: [*one, *other]`")
            elif not isinstance(name, str):
                self.fault(event.start_mark, "a key that is not text; quote it")
            elif name in entries:
                first = entries[name][0].place(self.name)
                dotted = ".".join((*self.above, name))
                self.fault(event.start_mark, f"duplicate key, the first one is at {first}; keep one", dotted)
            else:
                entries[name] = key, value
        if merged is not None:
            self.merge(entries, merged)
        return node

    def merge(self, entries: dict[str, tuple[Node, Node]], merged: Node) -> None:
        """Keys written out win over merged ones, and an earlier merged mapping over a later one."""
        for source in merged.value if isinstance(merged.value, list) else [merged]:
            if isinstance(source.value, dict):
                for name, entry in source.value.items():
                    entries.setdefault(name, entry)
            else:
                self.fault(source, "a merge key merges a mapping or a list of mappings; name one: `<<: *base`")
