"""Ids of messages, and pydantic instances of values known to be right.

Ids are uuid texts, counted on from a random one. A streamed chunk takes 2.5 µs with this and 5.0
with `uuid4`, a hand-off 84 and 92 (`benchmarks/engine`, Chunks and HandOffs).

The set of fields that pydantic keeps with each instance is larger than most messages' text; here
all instances of a class share one that names every field, so that an assignment adds nothing to it.
A team of three after 200 messages takes 194 KB with this and 376 with `model_construct`, a chunk
2.5 and 5.4 µs, loading 2,000 messages 10 and 30 ms (`benchmarks/engine`, Memory, Chunks, State).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any, Generic, TypeVar
from uuid import uuid4

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

_slots: Any = BaseModel.__dict__
_set_values = _slots["__dict__"].__set__
_set_extra = _slots["__pydantic_extra__"].__set__
_set_private = _slots["__pydantic_private__"].__set__
_set_attribute = object.__setattr__
_new: Any = object.__new__
_all = deque[Any](maxlen=0).extend
"""Takes all of an iterator written in C, which is how a column is set without a step of Python."""

set_fields_set = _slots["__pydantic_fields_set__"].__set__
"""`set_fields_set(instance, names)`: what pydantic takes for the fields that were given."""


def make_unvalidated(model: type[M], values: dict[str, Any], names: set[str]) -> M:
    """Make an instance that holds `values`, complete; `names` are all its fields."""
    made = model.__new__(model)
    _set_values(made, values)
    return _completed(made, names)


class CompactFactory(Generic[M]):
    """Maker of instances that are kept long.

    They take less than half the memory of others, and 0.3 µs more. Python before 3.13 keeps the
    names of an object's attributes once for all objects of the class, but not if the object is
    given a dict of them, which is what pydantic does.
    """

    def __init__(self, model: type[M]) -> None:
        self._model = model
        self._names = set(model.model_fields)
        # Names are shared if they are there before the class has many instances.
        self(dict.fromkeys(model.model_fields))

    def __call__(self, values: dict[str, Any]) -> M:
        """Make an instance of values, complete and in the order of fields."""
        made = self._model.__new__(self._model)
        for name, value in values.items():
            _set_attribute(made, name, value)
        return _completed(made, self._names)

    def many(self, count: int, columns: Mapping[str, Iterable[Any]]) -> list[M]:
        """Make instances from the columns of their values.

        The columns are in the order of the fields. Each takes a third of the time of one alone.
        """
        made: list[M] = list(map(_new, repeat(self._model, count)))
        for name, column in columns.items():
            _all(map(_set_attribute, made, repeat(name), column))
        _all(map(set_fields_set, made, repeat(self._names)))
        _all(map(_set_extra, made, repeat(None)))
        _all(map(_set_private, made, repeat(None)))
        return made


def set_slot(made: Iterable[BaseModel], name: str, values: Iterable[Any]) -> None:
    """Set a slot, no part of the model, in each instance."""
    _all(map(_set_attribute, made, repeat(name), values))


def _completed(made: M, names: set[str]) -> M:
    set_fields_set(made, names)
    _set_extra(made, None)
    _set_private(made, None)
    return made


def _block(_: None) -> Iterator[str]:
    """Ids with one random tail, up to 2**32, from a random start."""
    seed = uuid4()
    return map(f"%08x{str(seed)[8:]}".__mod__, range(seed.time_low, 1 << 32))


def _sequence() -> Callable[[], str]:
    # Iterators written in C: a step is atomic, so workers need no lock.
    return chain.from_iterable(map(_block, repeat(None))).__next__


_next_id = _sequence()


def _reseed() -> None:
    global _next_id
    _next_id = _sequence()


if hasattr(os, "register_at_fork"):  # a forked child would repeat its parent's ids
    os.register_at_fork(after_in_child=_reseed)


def new_id() -> str:
    """Make a uuid text, unique across processes.

    It is no secret: each tells its neighbours.
    """
    return _next_id()
