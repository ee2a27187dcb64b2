"""Calls of the standard library's functions, and of imported ones that are not known."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from confbag.ratchets.binder.call import Call
from confbag.ratchets.binder.containers import as_mapping
from confbag.ratchets.binder.part import Part
from confbag.ratchets.binder.values import (
    NOTHING,
    OTHER,
    UNKNOWN,
    Alias,
    Box,
    Builtin,
    Fields,
    Getter,
    Of,
    Partial,
    Property,
    Record,
    Symbol,
    Value,
    awaited,
    box,
    constant,
    depth,
    interesting,
    join,
    merged,
    says_nothing,
    text_of,
)
from confbag.ratchets.source.modules import absolute

Given = tuple[Value, bool]
_FIRST = (
    "asyncio.wait_for", "asyncio.ensure_future", "asyncio.create_task", "asyncio.shield",
    "typing.assert_type", "typing.reveal_type", "typing_extensions.assert_type", "typing_extensions.reveal_type",
    "itertools.cycle", "itertools.islice", "copy.error", "inspect.unwrap", "types.MappingProxyType",
)  # fmt: skip
_DECORATORS = (
    "functools.lru_cache", "functools.cache", "functools.wraps",
    "functools.singledispatch", "functools.update_wrapper", "functools.singledispatchmethod",
    "contextlib.contextmanager", "contextlib.asynccontextmanager", "types.MethodType", "types.coroutine",
)  # fmt: skip
# What calls a function some time, by the function's position.
_CALLING = {"atexit.register": 0, "weakref.finalize": 1}
_CONTEXTS = ("contextlib.nullcontext", "contextlib.closing", "contextlib.aclosing")
_VARIABLES = tuple(f"{module}.{name}" for module in ("typing", "typing_extensions") for name in ("TypeVar", "NewType"))
_LOOPS = ("asyncio.get_event_loop()", "asyncio.new_event_loop()", "asyncio.get_running_loop()")
_RUNNING = ("asyncio.run", *(f"{loop}.run_until_complete" for loop in _LOOPS))
_GETTERS = ("operator.attrgetter", "operator.itemgetter", "operator.methodcaller")
_REPLACE = ("dataclasses.replace", "copy.replace", "attr.evolve", "attrs.evolve", "msgspec.structs.replace")
_ASDICT = ("dataclasses.asdict", "attr.asdict", "attrs.asdict", "msgspec.structs.asdict", "msgspec.to_builtins")

_FIELDS = ("dataclasses.field", "attr.ib", "attr.field", "attrs.field", "msgspec.field", "pydantic.Field")
_ALIKE = {
    "collections.OrderedDict": "dict",
    "collections.UserDict": "dict",
    "collections.deque": "list",
    "collections.UserList": "list",
    "itertools.product": "<product>",
    "itertools.zip_longest": "zip",
}

_NESTED = 2  # partials of partials in a loop grow without end


class Library(Part):
    """What they give and what they read."""

    def call(self, symbol: Symbol, call: Call) -> Given:
        """A call of something imported, and whether it took `vars(record)` among its arguments."""
        path = symbol.path
        known = _KNOWN.get(path)
        if known is not None:
            return known(self, path, call)
        if path.startswith("builtins."):
            return self.binder.builtins.call(path.removeprefix("builtins."), call)
        return self._unknown(path, call), False

    def _unknown(self, path: str, call: Call) -> Value:
        found = self.state.world.name(path + "()")
        if found is not None:
            return found
        self.binder.spawning.made(path, call)
        given = self.binder.elsewhere.of(path, None, call) if self.binder.elsewhere.matters(call) else NOTHING
        if given:
            return given
        last = path.rpartition(".")[2]
        handed = (*call.args, *(value for _, value, _ in call.keywords))
        taken = frozenset(atom for value in handed for atom in value if isinstance(atom, Record))
        made = last[:1].isupper() and not last.isupper()
        return frozenset({Of(path, taken) if made else Symbol(path + "()", taken)})

    def _cast(self, path: str, call: Call) -> Given:
        value = call.argument(1) or UNKNOWN
        node = call.nodes[0] if call.nodes else None
        if says_nothing(value) and isinstance(node, ast.expr):
            declared = self.binder.annotations.of(node)
            if declared is not None and interesting(declared):
                return declared, True
        return value, True

    def _type_variable(self, path: str, call: Call) -> Given:
        """TypeVar is what bounds it, NewType what it is made of."""
        bounds = [node.value for name, _, node in call.keywords if name == "bound" and isinstance(node, ast.keyword)]
        bounds += [node for node in call.nodes[1:] if isinstance(node, ast.expr)]
        promises = [self.binder.annotations.of(node) for node in bounds]
        known = [promise for promise in promises if promise is not None]
        promise = join(known)
        says = interesting(promise) or (known and len(known) == len(promises))
        return frozenset({Alias(promise) if says else Of(path)}), True

    def _first(self, path: str, call: Call) -> Given:
        return call.argument(0) or UNKNOWN, True

    def _run(self, path: str, call: Call) -> Given:
        return awaited(call.argument(0)) or UNKNOWN, True

    def _gather(self, path: str, call: Call) -> Given:
        if call.spread:
            return UNKNOWN, True
        return box(False, enumerate(awaited(value) for value in call.args)), True

    def _decorator(self, path: str, call: Call) -> Given:
        # Called without a function it gives the decorator.
        return call.argument(0) or frozenset({Symbol(path)}), True

    def _after(self, path: str, call: Call) -> Given:
        self.binder.spawning.after(_CALLING[path], call)
        return call.argument(0) or frozenset({Symbol(path)}), True

    def _context(self, path: str, call: Call) -> Given:
        first = call.argument(0)
        return box(False, ((0, first),)) if interesting(first) else UNKNOWN, True

    def _partial(self, path: str, call: Call) -> Given:
        keywords = tuple((name, value) for name, value, _ in call.keywords if name is not None)
        if any(depth(value) > _NESTED for value in (*call.args, *(value for _, value in keywords))):
            return UNKNOWN, True
        return frozenset({Partial(call.argument(0), tuple(call.args[1:]), keywords)}), True

    def _called(self, path: str, call: Call) -> Given:
        inner = Call(call.node, call.args[1:], call.nodes[1:], call.keywords)
        return self.binder.callees.apply(call.argument(0), inner), True

    def _namespace(self, path: str, call: Call) -> Given:
        return box(True, [(name, value) for name, value, _ in call.keywords if name is not None]), False

    def _chain(self, path: str, call: Call) -> Given:
        element = self.binder.displays.element
        inside = call.argument(0) if path.endswith("repeat") else join([element(value) for value in call.args])
        if path.endswith("from_iterable"):
            inside = element(inside)
        return (box(False, (), inside) if interesting(inside) else UNKNOWN), True

    def _getter(self, path: str, call: Call) -> Given:
        kind = path.rpartition(".")[2]
        names = [constant(value) for value in (call.args[:1] if kind == "methodcaller" else call.args)]
        known = None if None in names or call.spread else tuple(name for name in names if name is not None)
        return frozenset({Getter(kind, known)}), True

    def _item(self, path: str, call: Call) -> Given:
        node = call.nodes[1] if len(call.nodes) > 1 else call.node
        return self.binder.items.of(call.argument(0), call.argument(1), node), True

    def _write_item(self, path: str, call: Call) -> Given:
        node = call.nodes[1] if len(call.nodes) > 1 else call.node
        for atom in call.argument(0):
            if isinstance(atom, Fields):
                self.binder.methods.write_key(atom, call.argument(1), node)
        return OTHER, True

    def _copy(self, path: str, call: Call) -> Given:
        deep = path == "copy.deepcopy"
        return frozenset(
            replace(atom, copied="deep" if deep or atom.copied == "deep" else "shallow")
            if isinstance(atom, Record)
            else atom
            for atom in call.argument(0)
        ) or UNKNOWN, False

    def _replace(self, path: str, call: Call) -> Given:
        given = frozenset(name for name, _, _ in call.keywords if name is not None)
        return frozenset(
            replace(atom, copied=atom.copied or "shallow", replaced=atom.replaced | given)
            if isinstance(atom, Record)
            else atom
            for atom in call.argument(0)
        ) or UNKNOWN, False

    def _asdict(self, path: str, call: Call) -> Given:
        return self.binder.by_name.fields_of(call.argument(0), call, live=False), False

    def _read(self, path: str, call: Call) -> Given:
        return self.binder.by_name.read(call.argument(0), call), False

    def _reference(self, path: str, call: Call) -> Given:
        return frozenset({Partial(frozenset({Builtin("<same>")}), (call.argument(0),), ())}), True

    def _built(self, path: str, call: Call) -> Given:
        """A container of the library that takes what a builtin one takes."""
        return self.binder.builtins.call(_ALIKE[path], call)

    def _default_dict(self, path: str, call: Call) -> Given:
        inner = Call(call.node, call.args[1:], call.nodes[1:], call.keywords)
        held, _ = self.binder.builtins.call("dict", inner)
        given = self._made(call.argument(0), call)
        boxes = [atom for atom in held if isinstance(atom, Box)] or [Box(True, ())]
        # Others may have put something under the key.
        rest = join([given, UNKNOWN]) if interesting(given) else given
        return join(box(True, one.items, join([one.rest, rest])) for one in boxes), False

    def _made(self, factory: Value, call: Call) -> Value:
        """What a factory gives when it is called with nothing."""
        return self.binder.callees.apply(factory, Call(call.node, [], [], [])) if factory else NOTHING

    def _chain_map(self, path: str, call: Call) -> Given:
        return merged(join(as_mapping(value) for value in call.args)) or UNKNOWN, False

    def _star_map(self, path: str, call: Call) -> Given:
        element = self.binder.displays.element(call.argument(1))
        values = []
        for atom in element:
            args = [held for _, held in atom.items] if isinstance(atom, Box) and not atom.rest else []
            inner = Call(call.node, args, [call.node] * len(args), [])
            values.append(self.binder.callees.apply(call.argument(0), inner))
        given = join(values)
        return box(False, (), given) if interesting(given) else UNKNOWN, False

    def _field(self, path: str, call: Call) -> Given:
        """A dataclass field: what it is where a constructor is given nothing."""
        given = join(
            [
                call.keyword("default"),
                call.argument(0) if path == "pydantic.Field" else NOTHING,
                self._made(call.keyword("default_factory") or call.keyword("factory"), call),
            ]
        )
        # A constructor may be given something else.
        return (given | UNKNOWN if interesting(given) else frozenset({Symbol(path + "()")})), False

    def _context_variable(self, path: str, call: Call) -> Given:
        """A context variable; its default is what it would give by itself."""
        default = call.keyword("default")
        held: Value = frozenset({Of(path)})
        if interesting(default):
            held |= {Partial(frozenset({Builtin("<same>")}), (default,), ())}
        return held, False

    def _cached_property(self, path: str, call: Call) -> Given:
        first = call.argument(0)
        return frozenset({Property(first) if interesting(first) else Symbol(path)}), True

    def _named_tuple(self, path: str, call: Call) -> Given:
        given = call.argument(1)
        text = constant(given)
        names: list[str | int] = []
        if isinstance(text, str):
            names = list(text.replace(",", " ").split())
        else:
            for atom in given:
                if isinstance(atom, Box) and not atom.rest:
                    names = [found for found in (constant(value) for _, value in atom.items) if found is not None]
        return frozenset({Getter("namedtuple", tuple(names))}) if names else UNKNOWN, True

    def _reduce(self, path: str, call: Call) -> Given:
        function, source, value = call.argument(0), call.argument(1), call.argument(2)
        elements = [atom for atom in source if isinstance(atom, Box)]
        if len(elements) == 1 and not elements[0].rest and len(elements[0].items) <= 8:
            for _, element in elements[0].items:
                inner = Call(call.node, [value, element], [call.node] * 2, [])
                value = self.binder.callees.apply(function, inner) if value else element
            return value or UNKNOWN, False
        element = self.binder.displays.element(source) if source else UNKNOWN
        inner = Call(call.node, [join([value, element]), element], [call.node] * 2, [])
        return self.binder.callees.apply(function, inner), False

    def _import_module(self, path: str, call: Call) -> Given:
        text = text_of(call.argument(0))
        if text is None:
            return UNKNOWN, True
        name = text.lstrip(".")
        package = text_of(call.argument(1) or call.keyword("package")) or ""
        found = absolute(package, name, len(text) - len(name))
        self.state.known_modules.add(found)
        return frozenset({Symbol(found)}), True


_KNOWN: dict[str, Callable[[Library, str, Call], Given]] = {
    **dict.fromkeys(("typing.cast", "typing_extensions.cast"), Library._cast),
    **dict.fromkeys(_FIRST, Library._first),
    **dict.fromkeys(_DECORATORS, Library._decorator),
    **dict.fromkeys(_CONTEXTS, Library._context),
    **dict.fromkeys(_CALLING, Library._after),
    **dict.fromkeys(("functools.partial", "functools.partialmethod"), Library._partial),
    **dict.fromkeys(("asyncio.to_thread", "anyio.to_thread.run_sync", "operator.call"), Library._called),
    **dict.fromkeys(("types.SimpleNamespace", "argparse.Namespace"), Library._namespace),
    **dict.fromkeys(("itertools.chain", "itertools.chain.from_iterable", "itertools.repeat"), Library._chain),
    **dict.fromkeys(_VARIABLES, Library._type_variable),
    **dict.fromkeys(_RUNNING, Library._run),
    "asyncio.gather": Library._gather,
    **dict.fromkeys(_GETTERS, Library._getter),
    **dict.fromkeys(("operator.setitem", "operator.delitem"), Library._write_item),
    **dict.fromkeys(("copy.copy", "weakref.proxy", "copy.deepcopy"), Library._copy),
    **dict.fromkeys(_REPLACE, Library._replace),
    **dict.fromkeys(_ASDICT, Library._asdict),
    **dict.fromkeys(_ALIKE, Library._built),
    **dict.fromkeys(_FIELDS, Library._field),
    "collections.defaultdict": Library._default_dict,
    "collections.ChainMap": Library._chain_map,
    "contextvars.ContextVar": Library._context_variable,
    "functools.cached_property": Library._cached_property,
    "itertools.starmap": Library._star_map,
    "operator.getitem": Library._item,
    "weakref.ref": Library._reference,
    "collections.namedtuple": Library._named_tuple,
    "functools.reduce": Library._reduce,
    "inspect.getattr_static": Library._read,
    "importlib.import_module": Library._import_module,
}
