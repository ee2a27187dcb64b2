"""What the value of a key may be made of: refused when the schema is read, or read as its annotation says."""

from __future__ import annotations

import collections
import pickle
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from collections.abc import Set as AnySet
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Optional, Union

import pytest
from pydantic import BaseModel, Field, create_model

from confbag import Auto, Config, Namespace, RegistrationError, Secret, adopt, auto, handoff, load, publish
from confbag.process.context import unpublish
from confbag.schema.leaves import leaves


class Plain(BaseModel):
    width: int = 2

    def area(self) -> int:
        return self.width**2


class Worker(Namespace):
    threads: Auto[int] = auto


class Login(Namespace):
    token: Secret | None = None


@dataclass
class Loose:
    x: int = 1


@dataclass(frozen=True)
class Fixed:
    x: int = 1


class Point(NamedTuple):
    x: int = 1


class Draft(Namespace):
    """An optional namespace: one value, a whole mapping."""

    depth: int = 2
    name: str = "eagle"

    def twice(self) -> int:
        return self.depth * 2


class Serve(Namespace):
    draft: Draft | None = None
    several: tuple[Draft, ...] = ()
    by_name: Mapping[str, Draft] = {}
    logins: tuple[Login, ...] = ()


class ServeConfig(Config):
    serve: Serve = Serve()


def schema_of(annotation: Any, default: Any = ...) -> type[Config]:
    """A schema whose one key `n.x` has this annotation."""
    namespace = create_model("N", __base__=Namespace, x=(annotation, default))
    return create_model("C", __base__=Config, n=(namespace, ...))


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (list[int], r"n\.x holds a list, which could change under its readers; write tuple\[X, \.\.\.\]"),
        (dict[str, int], r"n\.x holds a dict, .* write Mapping\[K, V\]"),
        (MutableMapping[str, int], r"n\.x holds a MutableMapping"),
        (set[int], r"n\.x holds a set, .* write frozenset\[X\]"),
        (AnySet[int], r"n\.x holds a Set, .* write frozenset\[X\]"),
        (collections.deque[int], r"n\.x holds a deque"),
        (collections.Counter[str], r"n\.x holds a Counter"),
        (Mapping[str, list[int]], r"n\.x holds a list"),
        (Iterable[int], r"n\.x holds a Iterable, which can be read once; write tuple"),
        (Optional[Iterator[int]], r"n\.x holds a Iterator"),  # noqa: UP045 - both spellings are annotations
        (Loose, r"n\.x holds a Loose, a dataclass .* frozen=True"),
        (tuple[Loose, ...], r"n\.x holds a Loose"),
        (Plain, r"n holds a N|n\.x holds a Plain, a pydantic model that is no Namespace.* confbag\.Namespace"),
        (tuple[Plain, ...], r"n\.x holds a Plain"),
        (Plain | None, r"n\.x holds a Plain"),
        (tuple[Auto[int], ...], r"n\.x has an `auto` inside its value"),
        (tuple[Worker, ...], r"n\.x has an `auto` inside its value"),
        (Mapping[str, Worker], r"n\.x has an `auto` inside its value"),
        (Worker | None, r"n\.x has an `auto` inside its value"),
    ],
)
def test_what_could_change_or_hides_an_auto_is_refused(annotation: Any, said: str) -> None:
    with pytest.raises(RegistrationError, match=said):
        leaves(schema_of(annotation))


@pytest.mark.parametrize(
    ("annotation", "given", "read"),
    [
        (tuple[int, ...], [1, 2], (1, 2)),
        (frozenset[int], [1], frozenset({1})),
        (Mapping[str, tuple[int, ...]], {"a": [1]}, {"a": (1,)}),
        (Fixed, {"x": 3}, Fixed(3)),
        (Point, [4], Point(4)),
        (Union[int, None], 3, 3),  # noqa: UP007 - both spellings are annotations
        (Annotated[int, Field(ge=1)], 3, 3),
        (Auto[Optional[int]], None, None),  # noqa: UP045
        (Optional[Auto[int]], None, None),  # noqa: UP045
    ],
)
def test_what_cannot_change_is_read_as_it_is_annotated(annotation: Any, given: Any, read: Any) -> None:
    bag = load({"n.x": given}, schema=schema_of(annotation, ...), env={})
    assert bag["n.x"] == read


def test_an_optional_namespace_is_one_value() -> None:
    for depth in (None, 4):
        given = {} if depth is None else {"serve": {"draft": {"depth": depth}, "several": [{}], "by_name": {"a": {}}}}
        bag = load(given, schema=ServeConfig, env={})
        held = bag["serve.draft"]
        if depth is None:
            assert held is None
            continue
        assert isinstance(held, Draft)
        assert (held.depth, held.twice(), held.name) == (depth, 2 * depth, "eagle")
        assert bag.dump()["serve"]["draft"] == {"depth": depth, "name": "eagle"}
        assert bag.fingerprint() != load(schema=ServeConfig, env={}).fingerprint()
        assert bag.unresolved() == load(schema=ServeConfig, env={}).unresolved()
        again = pickle.loads(pickle.dumps(bag))
        assert again == bag
        assert again["serve.several"] == (Draft(),)
        with pytest.raises(Exception, match="frozen"):
            held.depth = 3  # type: ignore[misc]


def test_an_optional_namespace_travels() -> None:
    bag = load({"serve": {"draft": {"depth": 4}}}, schema=ServeConfig, env={})
    blob = handoff(bag)
    publish(bag, role="x", allow_auto=True)
    unpublish()
    assert adopt(blob, schema=ServeConfig, role="y", allow_auto=True)["serve.draft"] == Draft(depth=4)


def test_a_secret_inside_a_value_hides_the_whole_value() -> None:
    bag = load({"serve": {"logins": [{"token": "open sesame"}]}}, schema=ServeConfig, env={})
    assert leaves(ServeConfig)["serve.logins"].secret
    assert "sesame" not in f"{bag!r} {bag.dump()} {bag.chain('serve.logins')} {bag.settings()}"
    [login] = bag["serve.logins"]
    assert login.token.reveal() == "open sesame"


def test_what_only_the_whole_schema_has_is_refused() -> None:
    with pytest.raises(RegistrationError, match=r"World\.world is of the whole schema.*one of them"):

        class World(Config):
            def world(self) -> int:
                return self.parallel.tp_size

    with pytest.raises(RegistrationError, match=r"Size\.size is of the whole schema"):

        class Size(Config):
            @property
            def size(self) -> int:
                return self.parallel.tp_size


def test_a_property_does_not_hide_a_field() -> None:
    class Base(Namespace):
        x: int = 1

    with pytest.raises(RegistrationError, match=r"\.x has the name of a field"):

        class Hides(Base):
            @property
            def x(self) -> int:  # type: ignore[override]
                return 2


def test_a_default_made_of_other_fields_is_refused() -> None:
    class Made(Namespace):
        x: int = 1
        y: int = Field(default_factory=lambda values: values["x"] + 1)

    class MadeConfig(Config):
        made: Made = Made()

    with pytest.raises(RegistrationError, match=r"made\.y has a default that is made of other fields"):
        load(schema=MadeConfig, env={})


def test_what_cannot_be_validated_names_its_key() -> None:
    with pytest.raises(RegistrationError, match=r"n\.x is annotated with what cannot be validated"):
        load(schema=schema_of(memoryview | None), env={})
