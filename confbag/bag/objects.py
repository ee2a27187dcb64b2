"""A bag of an object that an engine keeps its own settings in: its resolved values, each with where it is from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confbag.bag.bag import Bag
from confbag.bag.loading import draft
from confbag.bag.reading import PathLike, checkpoint_of, keys_of
from confbag.errors import Fault, RegistrationError
from confbag.schema.config import Config
from confbag.schema.derived import Derived
from confbag.schema.engine_fields import unknown
from confbag.schema.engine_types import fits, plain_value
from confbag.schema.given import check_schema
from confbag.schema.leaves import leaves
from confbag.schema.phrases import described, expected
from confbag.sources import Found
from confbag.sources.keys import same
from confbag.sources.record import Record, read_record
from confbag.words.given import called
from confbag.words.provenance import Layer, Setting
from confbag.words.text import printable


def bag_of(engine: Any, schema: type[Config], model: PathLike | None = None) -> Bag:
    """`Bag.of`."""
    check_schema(schema, "Bag.of", "Bag.of(server_args, schema_from(ServerArgs))")
    derived = getattr(schema, "derived", None)
    if not isinstance(derived, Derived):
        raise RegistrationError(f"Bag.of takes a schema that schema_from made, and {schema.__qualname__} is none")
    if not isinstance(engine, derived.cls):
        whose = derived.cls.__qualname__
        raise TypeError(
            f"the schema is one of {whose}, and this is {called(engine)}; write Bag.of({whose}(...), schema)"
        )
    found = _read(engine, schema, derived)
    answered = _answered(engine, derived)
    record = Found()
    if derived.record is not None:
        record = read_record(Record(derived.record, values=engine), keys_of(schema))
        # What no key of ours answers to has one of its own here.
        record = Found(record.settings, record.faults)
    path = [
        setting.value for source in (record, answered) for setting in source.settings if setting.key == "model.path"
    ]
    read_from, facts = checkpoint_of(model, path[-1] if path else None)
    return draft(schema, [facts, record, answered, found], read_from).bag()


def _read(engine: Any, schema: type[Config], derived: Derived) -> Found:
    """The engine's own fields. One that is what its key is by default was set by nobody."""
    settings: list[Setting] = []
    faults: list[Fault] = []
    known = leaves(schema)
    for key, path in derived.fields.items():
        where = ".".join((type(engine).__qualname__, *path))
        leave_out = f"write leave_out=[{'.'.join(path)!r}] in schema_from"
        held = _held(engine, path)
        if held is _UNSET:
            faults.append(Fault(where, key, f"is not set on the object; set it before Bag.of, or {leave_out}"))
            continue
        value = _plain(held)
        if value is _UNSET or not fits(known[key].annotation, value):
            wanted = expected(known[key].annotation)
            said = "another type" if known[key].secret else described(held)
            if isinstance(held, Mapping) and not known[key].secret:
                said = "a mapping whose keys or values are of other types"
            hint = f"mend the annotation, or {leave_out}"
            faults.append(Fault(where, key, f"is annotated as {wanted}, and holds {said}; {hint}"))
        elif value != known[key].default or isinstance(value, bool) is not isinstance(known[key].default, bool):
            settings.append(Setting(key, value, Layer.RECORD, where))
    ignored = {**derived.left_out, **dict(unknown(derived.cls, engine))}
    return Found(tuple(settings), tuple(faults), ignored=ignored)


def _answered(engine: Any, derived: Derived) -> Found:
    """What the engine's fields say of keys of ours; a field that is None says nothing, and two that say different
    things of one key are a fault."""
    settings: dict[str, Setting] = {}
    faults: list[Fault] = []
    for dotted, key in derived.answers.items():
        value = _plain(_held(engine, tuple(dotted.split("."))))
        if value is None or value is _UNSET:
            continue
        where = printable(f"{type(engine).__qualname__}.{dotted}")
        first = settings.setdefault(key, Setting(key, value, Layer.RECORD, where))
        if not same(first.value, value):
            faults.append(Fault(where, key, f"is answered by {first.origin} too, which says otherwise; set them alike"))
    return Found(tuple(settings.values()), tuple(faults))


def _held(engine: Any, path: tuple[str, ...]) -> Any:
    """The value at the end of a path; None where nothing stands on the way, _UNSET where an attribute was never set."""
    for name in path:
        engine = None if engine is None else getattr(engine, name, _UNSET)
        if engine is _UNSET:
            break
    return engine


def _plain(held: Any) -> Any:
    """A value as a bag holds it; _UNSET for what is no plain data."""
    try:
        return plain_value(held)
    except TypeError:
        return _UNSET


_UNSET: Any = object()
