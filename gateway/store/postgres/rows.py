"""Values on their way to PostgreSQL and back: types, rows and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar

from psycopg import Connection as Raw
from psycopg.adapt import Buffer
from psycopg.types.numeric import Int8BinaryDumper, NumericBinaryLoader
from psycopg.types.string import StrBinaryDumper

NUL, SHOWN_NUL = "\0", "\u2400"
"""A character that PostgreSQL keeps in no text, and what stands for it."""


class PlainRow(tuple[Any, ...]):
    """Values by the names of their columns, or by their places."""

    __slots__ = ()
    places: ClassVar[Mapping[str, int]] = {}

    def __getitem__(self, key: Any) -> Any:
        """The value of a column or place, or a slice."""
        return super().__getitem__(self.places[key] if key.__class__ is str else key)

    def keys(self) -> Sequence[str]:
        """The names of the columns, in their order."""
        return tuple(self.places)


@lru_cache(maxsize=1024)
def row_type(columns: tuple[str, ...]) -> type[PlainRow]:
    """The type of rows with these columns."""
    places: dict[str, int] = {}
    for place, column in enumerate(columns):
        places.setdefault(column, place)
    return type("PlainRow", (PlainRow,), {"__slots__": (), "places": places})


class _TextDumper(StrBinaryDumper):
    def dump(self, obj: str) -> Buffer | None:
        """The text; a NUL character is kept as the sign for it."""
        return super().dump(obj.replace(NUL, SHOWN_NUL) if NUL in obj else obj)


class _NumericLoader(NumericBinaryLoader):
    """Reads sums as whole numbers or floats, never as decimals."""

    def load(self, data: Buffer) -> Any:
        number: Decimal = super().load(data)
        return int(number) if number == number.to_integral_value() else float(number)


def adapt(raw: Raw[Any]) -> None:
    """Let a connection exchange values as units expect them.

    One type for whole numbers and one for text: a statement is then prepared once, not once for
    each size of its numbers.
    """
    raw.adapters.register_dumper(int, Int8BinaryDumper)
    raw.adapters.register_dumper(str, _TextDumper)
    raw.adapters.register_loader("numeric", _NumericLoader)
