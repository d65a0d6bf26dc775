"""Instances of pydantic models without pydantic's work, for values that are known to be right.

The set of fields that pydantic keeps with each instance is larger than most messages' text; here
all instances of a class share one that names every field, so that an assignment adds nothing to it.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

_slots: Any = BaseModel.__dict__
_set_values = _slots["__dict__"].__set__
_set_extra = _slots["__pydantic_extra__"].__set__
_set_private = _slots["__pydantic_private__"].__set__

set_fields_set = _slots["__pydantic_fields_set__"].__set__
"""`set_fields_set(instance, names)`: what pydantic takes for the fields that were given."""


def unvalidated(model: type[M], values: dict[str, Any], names: set[str]) -> M:
    """An instance that holds `values` itself, which are complete; `names` are all its fields."""
    made = model.__new__(model)
    _set_values(made, values)
    set_fields_set(made, names)
    _set_extra(made, None)
    _set_private(made, None)
    return made
