from __future__ import annotations

from functools import cached_property
from typing import Any

import pytest

from skillsync.values import Value, field, fields_of, replace


class Point(Value, kw_only=False):
    x: int
    y: int = 0


class Named(Value):
    name: str
    seen: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False)


class Weighed(Named, cached=True):
    weight: int

    @cached_property
    def heavy(self) -> bool:
        return self.weight > 1


class Empty(Value):
    pass


class Other(Value, kw_only=False):
    x: int
    y: int = 0


def test_equal_are_those_of_one_class_with_equal_fields() -> None:
    assert Point(1) == Point(1, 0) == Point(x=1)
    assert hash(Point(1)) == hash(Point(1, 0))
    assert Point(1) != Point(1, 2)
    assert Point(1) != Other(1)
    assert Point(1) != (1, 0)
    assert len({Point(1), Point(1), Other(1), Empty(), Empty()}) == 3
    assert Named(name="a", note="b") == Named(name="a")
    assert Weighed(name="a", weight=1) != Named(name="a")


def test_a_default_is_made_for_each() -> None:
    first, second = Named(name="a"), Named(name="a")
    first.seen.append("x")
    assert second.seen == []


@pytest.mark.parametrize("change", [lambda one: setattr(one, "x", 2), lambda one: delattr(one, "x")])
def test_no_field_is_ever_set_again(change: Any) -> None:  # noqa: ANN401  # a function
    one = Point(1)
    with pytest.raises(AttributeError, match=r"Point\.x can't be .* values never change"):
        change(one)
    assert one.x == 1


def test_it_keeps_what_it_works_out() -> None:
    one = Weighed(name="a", weight=2)
    assert one.heavy
    assert one.__dict__ == {"heavy": True}
    assert not hasattr(Point(1), "__dict__")


@pytest.mark.parametrize(
    ("kind", "given", "named", "reason"),
    [
        (Point, (), {}, "Point needs x"),
        (Point, (1, 2, 3), {}, r"Point can't take \(1, 2, 3\)"),
        (Point, (1,), {"z": 3}, "Point can't take z"),
        (Point, (1,), {"x": 1}, "Point can't take x"),
        (Named, (), {"note": ""}, "Named needs name"),
        (Named, ("a",), {}, r"Named can't take \('a',\)"),
    ],
)
def test_what_is_missing_or_too_much_is_an_error(
    kind: type[Value], given: tuple[int, ...], named: dict[str, object], reason: str
) -> None:
    with pytest.raises(TypeError, match=reason):
        kind(*given, **named)


def test_another_with_some_fields_changed() -> None:
    one = Weighed(name="a", weight=1)
    assert replace(one, name="b", weight=3) == Weighed(name="b", weight=3)
    assert fields_of(one) == {"name": "a", "seen": [], "note": "", "weight": 1}
    assert one.name == "a"


def test_it_is_shown_as_what_makes_it() -> None:
    assert repr(Point(1)) == "Point(x=1, y=0)"
    assert eval(repr(Point(1, 2))) == Point(1, 2)  # noqa: S307  # the line above


def test_those_whose_fields_go_by_place_are_taken_apart_by_it() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_many_of_a_class_are_made_as_few_are() -> None:
    class Often(Value):
        a: int
        b: str = "x"
        c: list[int] = field(default_factory=list)

    class Placed(Value, kw_only=False):
        a: int
        b: int = 2

    def made(number: int) -> tuple[Often, Often, Placed, Placed]:
        return Often(a=number), Often(a=number, b="y", c=[1]), Placed(number), Placed(number, b=3)

    first = made(0)
    latest = first
    for number in range(1, 200):
        latest = made(number)
        assert [fields_of(one) | {"a": 0} for one in latest] == [fields_of(one) for one in first]
    assert made(7) == made(7)
    assert latest[0].c is not made(7)[0].c
    kinds: tuple[tuple[Any, ...], ...] = (
        (Often,),
        (Often, 1),
        (Placed,),
        (Placed, 1, 2, 3),
    )
    for kind, *given in kinds:
        with pytest.raises(TypeError):
            kind(*given)
    with pytest.raises(TypeError):
        Often(a=1, d=2)  # type: ignore[call-arg]
    for _ in range(60):
        assert Empty() == Empty()
        assert Named(name="a") == Named(name="a")
    assert Weighed(name="a", weight=3).heavy
