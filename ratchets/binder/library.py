"""Calls of the standard library's functions, and of imported ones that are not known."""

from __future__ import annotations

from dataclasses import replace

from confbag.ratchets.binder.calling import Call
from confbag.ratchets.binder.containers import Containers
from confbag.ratchets.binder.facts import Handoff
from confbag.ratchets.binder.values import (
    OTHER,
    UNKNOWN,
    Box,
    Builtin,
    Const,
    Fields,
    Getter,
    Of,
    Parameter,
    Partial,
    Record,
    Symbol,
    Value,
    box,
    constant,
    interesting,
    join,
    records,
)

_SAME = {"typing.cast", "typing_extensions.cast"}
_CACHES = {
    "functools.lru_cache", "functools.cache", "functools.cached_property", "functools.wraps",
    "functools.singledispatch", "functools.update_wrapper", "functools.singledispatchmethod", "atexit.register",
    "contextlib.contextmanager", "contextlib.asynccontextmanager", "types.MethodType", "types.coroutine",
}  # fmt: skip
_FIRST = {
    "asyncio.run", "asyncio.wait_for", "asyncio.ensure_future", "asyncio.create_task", "asyncio.shield",
    "typing.assert_type", "typing.reveal_type", "typing_extensions.assert_type", "typing_extensions.reveal_type",
    "itertools.cycle", "itertools.islice", "copy.error", "inspect.unwrap",
}  # fmt: skip
_THREADS = {"asyncio.to_thread": 0, "anyio.to_thread.run_sync": 0}
_NAMESPACES = {"types.SimpleNamespace", "argparse.Namespace"}
_CONTEXTS = {"contextlib.nullcontext", "contextlib.closing", "contextlib.aclosing"}
_ASDICT = {"dataclasses.asdict", "attr.asdict", "attrs.asdict", "msgspec.structs.asdict", "msgspec.to_builtins"}
_SHALLOW = {"copy.copy", "weakref.proxy"}
_REPLACE = {"dataclasses.replace", "copy.replace", "attr.evolve", "attrs.evolve", "msgspec.structs.replace"}


class Library(Containers):
    """What they give and what they read."""

    def library(self, symbol: Symbol, call: Call) -> tuple[Value, bool]:
        """A call of something imported, and whether it took `vars(record)` among its arguments."""
        path = symbol.path
        first = call.argument(0)
        if path in _SAME:
            return call.argument(1) or UNKNOWN, True
        if path.startswith("builtins."):
            return self.builtin(path.removeprefix("builtins."), call)
        if path in ("functools.partial", "functools.partialmethod"):
            keywords = tuple((name, value) for name, value, _ in call.keywords if name is not None)
            return frozenset({Partial(first, tuple(call.args[1:]), keywords)}), True
        if path in _FIRST:
            return first or UNKNOWN, True
        if path in _THREADS:
            return self.apply(first, Call(call.node, call.args[1:], call.nodes[1:], call.keywords)), True
        if path == "weakref.ref":
            return frozenset({Partial(frozenset({Builtin("<same>")}), (first,), ())}), True
        if path in _NAMESPACES:
            return box(True, [(name, value) for name, value, _ in call.keywords if name is not None]), False
        if path == "collections.namedtuple":
            return self._named_tuple(call), True
        if path in ("itertools.chain", "itertools.chain.from_iterable", "itertools.repeat"):
            elements = [first] if path.endswith("repeat") else [self.element(value) for value in call.args]
            inside = join(elements)
            if path.endswith("from_iterable"):
                inside = self.element(inside)
            return (box(False, (), inside) if interesting(inside) else UNKNOWN), True
        if path == "functools.reduce":
            return self._reduce(call), False
        if path in _CACHES:
            return first or frozenset({symbol}), True
        if path in _CONTEXTS:
            return box(False, ((0, first),)) if interesting(first) else UNKNOWN, True
        if path in ("operator.attrgetter", "operator.itemgetter", "operator.methodcaller"):
            given = call.args[:1] if path.endswith("methodcaller") else call.args
            names = [constant(value) for value in given]
            kind = path.rpartition(".")[2]
            known = None if None in names or call.spread else tuple(name for name in names if name is not None)
            return frozenset({Getter(kind, known)}), True
        if path in ("operator.getitem", "operator.setitem", "operator.delitem"):
            if path == "operator.getitem":
                return self.item(first, call.argument(1), call.nodes[1] if len(call.nodes) > 1 else call.node), True
            for atom in first:
                if isinstance(atom, Fields):
                    self.write_key(atom, call.argument(1), call.nodes[1] if len(call.nodes) > 1 else call.node)
            return OTHER, True
        if path in _SHALLOW:
            return self._copy(first, "shallow"), False
        if path == "copy.deepcopy":
            return self._copy(first, "deep"), False
        if path in _REPLACE:
            names_given = frozenset(name for name, _, _ in call.keywords if name is not None)
            return frozenset(
                replace(atom, copied=atom.copied or "shallow", replaced=atom.replaced | names_given)
                if isinstance(atom, Record)
                else atom
                for atom in first
            ) or UNKNOWN, False
        if path in _ASDICT:
            return self.fields_of(first, call, live=False), False
        if path == "inspect.getattr_static":
            return self.read_by_name(first, call), False
        if path == "importlib.import_module":
            return self._import_module(call), True
        if path in ("operator.call",) and call.args:
            return self.apply(first, Call(call.node, call.args[1:], call.nodes[1:], call.keywords)), True
        found = self.world.name(path + "()")
        if found is not None:
            return found, False
        for position, value in enumerate(call.args):
            if records(value):
                self.wanted.add(path)
                for record in records(value):
                    place = self.token(call.node)
                    name = f"{position}"
                    self.handoffs[place, record.spec, path, name] = Handoff(
                        place, record.spec, path, name, record.guess
                    )
        for keyword, value, _ in call.keywords:
            for record in records(value) if keyword is not None else ():
                self.wanted.add(path)
                place = self.token(call.node)
                self.handoffs[place, record.spec, path, str(keyword)] = Handoff(
                    place, record.spec, path, str(keyword), record.guess
                )
            for atom in value:
                if isinstance(atom, Parameter) and keyword is not None:
                    self._pass_on(atom, path, keyword)
        for position, value in enumerate(call.args):
            for atom in value:
                if isinstance(atom, Parameter):
                    self._pass_on(atom, path, f"{position}")
        last = path.rpartition(".")[2]
        if last[:1].isupper() and not last.isupper():
            return frozenset({Of(path)}), False
        return frozenset({Symbol(path + "()")}), False

    def _named_tuple(self, call: Call) -> Value:
        given = call.argument(1)
        text = constant(given)
        names: list[str | int] = []
        if isinstance(text, str):
            names = list(text.replace(",", " ").split())
        else:
            for atom in given:
                if isinstance(atom, Box) and not atom.rest:
                    names = [found for found in (constant(value) for _, value in atom.items) if found is not None]
        return frozenset({Getter("namedtuple", tuple(names))}) if names else UNKNOWN

    def _reduce(self, call: Call) -> Value:
        function, source, start = call.argument(0), call.argument(1), call.argument(2)
        elements = [atom for atom in source if isinstance(atom, Box)]
        if len(elements) == 1 and not elements[0].rest and len(elements[0].items) <= 8:
            value = start
            for _, element in elements[0].items:
                inner = Call(call.node, [value, element] if value else [element], [call.node] * 2, [])
                value = self.apply(function, inner) if value else element
            return value or UNKNOWN
        element = self.element(source) if source else UNKNOWN
        return self.apply(function, Call(call.node, [join([start, element]), element], [call.node] * 2, []))

    def _pass_on(self, parameter: Parameter, path: str, name: str) -> None:
        facts = self.functions.get(parameter.key)
        if facts is not None:
            facts.passes.setdefault(parameter.name, set()).add((path, name))
            if parameter.key in self.demanded:
                self.wanted.add(path)

    def _import_module(self, call: Call) -> Value:
        path = self.text_of(call.argument(0))
        if path is None:
            return UNKNOWN
        if path.startswith("."):
            package = self.text_of(call.argument(1) or call.keyword("package")) or ""
            dots = len(path) - len(path.lstrip("."))
            parts = package.split(".") if package else []
            parts = parts[: len(parts) - (dots - 1)] if dots > 1 else parts
            path = ".".join([*parts, path.lstrip(".")])
        self.known_modules.add(path)
        return frozenset({Symbol(path)})

    def _copy(self, value: Value, how: str) -> Value:
        return (
            frozenset(
                replace(atom, copied="deep" if "deep" in (how, atom.copied) else how)
                if isinstance(atom, Record)
                else atom
                for atom in value
            )
            or UNKNOWN
        )

    def get_through(self, getter: Getter, call: Call) -> Value:
        """A call of what operator.attrgetter and its like made."""
        first = call.argument(0)
        if getter.kind == "namedtuple":
            names = getter.names or ()
            held: dict[str | int, Value] = {}
            for position, (name, value) in enumerate(zip(names, call.args, strict=False)):
                held[position] = held[str(name)] = value
            for keyword, value, _ in call.keywords:
                if keyword is not None:
                    held[keyword] = value
            return box(False, held.items())
        if getter.kind == "attrgetter":
            if getter.names is None:
                self.unlisted(first, call)
                return UNKNOWN
            values = []
            for name in getter.names:
                current = first
                for part in str(name).split("."):
                    current = self.attribute(current, part, call.node)
                values.append(current)
            return values[0] if len(values) == 1 else box(False, enumerate(values))
        if getter.kind == "methodcaller":
            if getter.names is None:
                self.unlisted(first, call)
                return UNKNOWN
            method = self.attribute(first, str(getter.names[0]), call.node)
            return self.apply(method, Call(call.node, [], [], []))
        if getter.names is None:
            return self.item(first, UNKNOWN, call.node)
        values = [self.item(first, frozenset({Const(name)}), call.node) for name in getter.names]
        return values[0] if len(values) == 1 else box(False, enumerate(values))
