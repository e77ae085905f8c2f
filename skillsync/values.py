"""Immutable values: classes that are their fields, and nothing more.

Invariants: pure; no field of a value is ever set again; two values are equal where their class and their fields are.

The standard library's dataclasses were measured and rejected: they load a compiler (`inspect`, `ast`, `dis`) and make
the methods of each class anew in every process, which took longer than all else that a small `verify` does. Other
libraries of this kind compile as well, or load more. Here only what makes the values of a class is compiled, once it is
seen that there are many of them.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable

V = TypeVar("V", bound="Value")
_NOTHING: Any = object()
_FEW = 50  # values of one class, for which compiling would take longer than it saves


class _Field:
    """What is known of a field besides its name."""

    __slots__ = ("compare", "default", "factory")

    def __init__(self, default: Any, factory: Callable[[], Any] | None, *, compare: bool) -> None:  # noqa: ANN401
        self.default = default
        self.factory = factory
        self.compare = compare


def field(
    *,
    default: Any = _NOTHING,  # noqa: ANN401  # of the field's type, which is written beside it
    default_factory: Callable[[], Any] | None = None,
    compare: bool = True,
) -> Any:  # noqa: ANN401
    """Say more of a field than a default: what makes one, or that equality doesn't look at it."""
    return _Field(default, default_factory, compare=compare)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class _Class(type):
    """Makes a class of its annotations: a slot for each."""

    _fields: tuple[tuple[str, Callable[[Any, Any], None], _Field], ...]
    _compared: Callable[[Any], Any]
    _kw_only: bool
    _few: int

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        body: dict[str, Any],
        *,
        kw_only: bool = True,
        cached: bool = False,
    ) -> _Class:
        """Take a class's body.

        `kw_only=False` lets its fields be given by place; `cached` lets it keep what it works out (`cached_property`).
        """
        fields = {
            one: body.pop(one, _NOTHING)
            for one, kind in body.get("__annotations__", {}).items()
            if not kind.startswith("ClassVar")
        }
        body["__slots__"] = (*fields, "__dict__") if cached else tuple(fields)
        # Each class has its own: an inherited one may be compiled for other fields.
        body["__init__"] = _init
        body["__match_args__"] = () if kw_only else tuple(fields)
        made = super().__new__(cls, name, bases, body)
        own = (
            (one, getattr(made, one).__set__, given if isinstance(given, _Field) else _Field(given, None, compare=True))
            for one, given in fields.items()
        )
        made._fields = (*(above for base in bases for above in getattr(base, "_fields", ())), *own)
        made._kw_only = kw_only
        made._few = _FEW
        compared = [one for one, _, details in made._fields if details.compare]
        made._compared = staticmethod(attrgetter(*compared)) if compared else staticmethod(_nothing)
        return made


def _nothing(_value: object) -> tuple[()]:
    return ()


def _init(self: Value, *given: Any, **named: Any) -> None:  # noqa: ANN401  # of the fields' types
    """Take the fields. Raises TypeError for one too many, too few or unknown."""
    kind = type(self)
    kind._few -= 1
    if not kind._few:
        kind.__init__ = _compiled(kind)  # type: ignore[method-assign]
    fields = kind._fields
    taken = 0
    if given:
        for (_, put, _), one in zip(fields, given, strict=False):
            put(self, one)
        fields = fields[len(given) :]
    for name, put, details in fields:
        if name in named:
            put(self, named[name])
            taken += 1
        elif details.factory is not None:
            put(self, details.factory())
        elif details.default is not _NOTHING:
            put(self, details.default)
        else:
            raise TypeError(f"{kind.__name__} needs {name}")
    if taken != len(named) or len(given) > (0 if kind._kw_only else len(kind._fields)):
        raise TypeError(f"{kind.__name__} can't take {', '.join(named) or given}")


class Value(metaclass=_Class):
    """The base of all values: `class Point(Value): x: int`, and then `Point(x=1)`."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: a value stays as it is."""
        raise AttributeError(f"{type(self).__name__}.{name} can't be set: values never change")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse: a value stays as it is."""
        raise AttributeError(f"{type(self).__name__}.{name} can't be taken away: values never change")

    def __eq__(self, other: object) -> bool:
        """Compare class and fields."""
        kind = type(self)
        return kind._compared(self) == kind._compared(other) if kind is type(other) else NotImplemented

    def __hash__(self) -> int:
        """Hash class and fields."""
        kind = type(self)
        return hash((kind, kind._compared(self)))

    def __repr__(self) -> str:
        """Return what makes an equal one."""
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in fields_of(self).items())})"


def _compiled(kind: type[Value]) -> Callable[..., None]:
    """Return a class's `__init__` without the search for what was given."""
    known: dict[str, Any] = {"NOTHING": _NOTHING}
    parameters = ["self", *(["*"] if kind._kw_only and kind._fields else [])]
    lines = []
    for number, (name, put, details) in enumerate(kind._fields):
        known |= {f"put{number}": put, f"default{number}": details.default, f"make{number}": details.factory}
        is_needed = details.factory is None and details.default is _NOTHING
        parameters.append(name if is_needed else f"{name}=default{number}")
        value = name if details.factory is None else f"make{number}() if {name} is NOTHING else {name}"
        lines.append(f"    put{number}(self, {value})\n")
    # Names of fields, which are written in this program, are all that is not written above.
    exec(f"def __init__({', '.join(parameters)}):\n{''.join(lines) or '    pass'}", known)  # noqa: S102
    made: Callable[..., None] = known["__init__"]
    return made


def fields_of(value: Value) -> dict[str, Any]:
    """Return a value's fields by their names, in their order."""
    return {name: getattr(value, name) for name, _, _ in type(value)._fields}


def replace(value: V, **changes: Any) -> V:  # noqa: ANN401
    """Return a value with some fields other than they are."""
    return type(value)(**(fields_of(value) | changes))
