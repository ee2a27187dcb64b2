"""A function's parameters against its contract's."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confbag.backends.declare.op import Op
from confbag.backends.declare.signature import check_contract, check_signature
from confbag.errors import RegistrationError, SignatureError
from confbag.testing import check_implementation


def contract(table: Any, rows: Any, page: int = 64, scale: float = 1.0) -> Any:
    """The contract."""


def same(table: Any, rows: Any, page: int = 64, scale: float = 1.0) -> Any:
    return table, rows, page, scale


def lacks_one(table, rows, page=64):
    return None


def renamed(table, lines, page=64, scale=1.0):
    return None


def reordered(rows, table, page=64, scale=1.0):
    return None


def other_default(table, rows, page=128, scale=1.0):
    return None


def integer_default(table, rows, page=64, scale=1):
    return None


def no_default(table, rows, page, scale):
    return None


def new_default(table, rows=None, page=64, scale=1.0):
    return None


def keyword_only(table, rows, page=64, *, scale=1.0):
    return None


def positional_only(table, rows, /, page=64, scale=1.0):
    return None


def extra_with_default(table, rows, page=64, scale=1.0, debug=False):
    return None


def swallows(*args, **kwargs):
    return None


def extra_keywords(table, rows, page=64, scale=1.0, **kwargs):
    return None


REFUSED = [
    (lacks_one, "it lacks 'scale'"),
    (renamed, "parameter 2 must be 'rows', is 'lines'"),
    (reordered, "parameter 1 must be 'table', is 'rows'"),
    (other_default, "the default of 'page' must be 64, is 128"),
    (integer_default, "the default of 'scale' must be 1.0, is 1"),
    (no_default, "the default of 'page' must be 64, is absent"),
    (new_default, "the default of 'rows' must be absent, is None"),
    (keyword_only, "parameter 'scale' must be"),
    (positional_only, "parameter 'table' must be"),
    (extra_with_default, "it has 'debug', which the contract has not"),
    (extra_keywords, "it has 'kwargs', which the contract has not"),
    (swallows, "parameter 1 must be 'table', is 'args'"),
]


@pytest.mark.parametrize(("function", "said"), REFUSED, ids=[function.__name__ for function, _ in REFUSED])
def test_anything_but_the_contracts_parameters_is_refused_with_both_signatures(
    function: Callable[..., Any], said: str
) -> None:
    with pytest.raises(SignatureError) as caught:
        check_signature("kvcache.last_loc", "acme", contract, function)
    text = str(caught.value)
    assert text.startswith(f"kvcache.last_loc, acme: {said}")
    assert "contract:       last_loc(table, rows, page=64, scale=1.0)" in text
    assert f":{function.__name__}{inspect.signature(function)}" in text


def test_equal_parameters_pass_whatever_the_annotations() -> None:
    check_signature("x", "acme", contract, same)
    check_signature("x", "acme", contract, lambda table, rows, page=64, scale=1.0: None)


def test_a_decorator_that_hands_everything_on_is_looked_through() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    check_signature("x", "acme", contract, logged(logged(same)))
    with pytest.raises(SignatureError, match="it lacks 'scale'"):
        check_signature("x", "acme", contract, logged(lacks_one))


def test_a_wrapper_that_only_looks_like_the_contract_is_refused() -> None:
    @functools.wraps(same)
    def narrow(table: Any, rows: Any) -> None:
        return None

    assert len(inspect.signature(narrow).parameters) == 4
    with pytest.raises(SignatureError, match="it lacks 'page', 'scale'"):
        check_signature("x", "acme", contract, narrow)

    def disguised(table: Any) -> None:
        return None

    disguised.__signature__ = inspect.signature(same)  # type: ignore[attr-defined]
    with pytest.raises(SignatureError, match="it lacks 'rows'"):
        check_signature("x", "acme", contract, disguised)


def test_callables_without_a_readable_signature_are_refused() -> None:
    with pytest.raises(SignatureError, match="wrap it in a function"):
        check_signature("x", "acme", contract, max)


def test_objects_and_partials_count_by_what_they_take() -> None:
    class Kernel:
        def __call__(self, table: Any, rows: Any, page: int = 64, scale: float = 1.0) -> None:
            return None

    check_signature("x", "acme", contract, Kernel())
    check_signature("x", "acme", contract, Kernel().__call__)
    with pytest.raises(SignatureError):
        check_signature("x", "acme", contract, functools.partial(same, None))


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


@st.composite
def functions(draw: st.DrawFn) -> Callable[..., Any]:
    names = draw(NAMES)
    plain = draw(st.integers(0, len(names)))
    defaults = [draw(st.sampled_from(["0", "0.0", "False", "None", "'a'", "float('nan')"])) for _ in names[plain:]]
    parameters = [*names[:plain], *(f"{name}={value}" for name, value in zip(names[plain:], defaults, strict=True))]
    space: dict[str, Any] = {}
    exec(f"def f({', '.join(parameters)}):\n    'made'", space)
    made: Callable[..., Any] = space["f"]
    return made


@given(functions(), functions())
def test_it_passes_exactly_when_names_order_and_defaults_are_equal(
    left: Callable[..., Any], right: Callable[..., Any]
) -> None:
    def shape(function: Callable[..., Any]) -> list[tuple[str, str, type]]:
        parameters = inspect.signature(function).parameters.values()
        return [(each.name, repr(each.default), type(each.default)) for each in parameters]

    if shape(left) == shape(right):
        check_signature("x", "acme", left, right)
    else:
        with pytest.raises(SignatureError):
            check_signature("x", "acme", left, right)


def test_a_contract_is_a_documented_function_of_positional_parameters() -> None:
    def silent(x: Any) -> None: ...

    def keyword(x: Any, *, y: Any) -> None:
        """Documented."""

    def variadic(*x: Any) -> None:
        """Documented."""

    for wrong, said in (
        (silent, "docstring"),
        (keyword, "keyword-only y"),
        (variadic, r"\* or \*\*"),
        (max, "function"),
    ):
        with pytest.raises(RegistrationError, match=said):
            check_contract("a.b", wrong)
    check_contract("a.b", contract)


def test_a_function_is_refused_at_registration() -> None:
    op = Op("kvcache.last_loc", contract)
    with pytest.raises(SignatureError, match="it lacks 'scale'"):
        op.implement("acme", lacks_one)
    assert op.implementations == []


def test_check_implementation_imports_the_target_and_compares(module: Callable[[str, str], str]) -> None:
    name = module(
        "confbag_t_vendor", "def fits(table, rows, page=64, scale=1.0): ...\ndef lacks(table, rows, page=64): ...\n"
    )
    op = Op("kvcache.last_loc", contract)
    op.implement("fits", f"{name}:fits")
    lacks = op.implement("lacks", f"{name}:lacks")
    op.implement("absent", f"{name}:nothing_like_it")
    op.implement("gone", "confbag_t_no_such_module:f")
    op.implement("theirs", None, engine="SGLang")
    check_implementation(op, "fits")
    check_implementation(op, same)
    for refused in ("lacks", lacks, lacks_one):
        with pytest.raises(SignatureError, match="it lacks 'scale'"):
            check_implementation(op, refused)
    with pytest.raises(RegistrationError, match=r"op-missing.*it has fits, lacks"):
        check_implementation(op, "absent")
    with pytest.raises(RegistrationError, match=r"package-missing.*confbag_t_no_such_module"):
        check_implementation(op, "gone")
    with pytest.raises(AttributeError, match="SGLang constructs its own class"):
        check_implementation(op, "theirs")
