"""Text that can be encoded, without halves of characters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from pydantic import BaseModel

T = TypeVar("T")


def whole_text(text: str) -> str:
    """The text with its surrogates joined; U+FFFD for lone ones.

    JSON may hold such halves, and nothing that is encoded may: no file, request or database.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_texts(value: T) -> T:
    """The value with all texts in it whole; itself, if they are."""
    given: Any = value
    match given:
        case str():
            return cast("T", whole_text(given))
        case Mapping():
            mapping = cast("Mapping[Any, Any]", given)
            whole = {whole_texts(key): whole_texts(each) for key, each in mapping.items()}
            return value if whole == mapping else cast("T", whole)
        case list() | tuple() | frozenset():
            members = cast("Collection[Any]", given)
            make = cast("Callable[[Iterable[Any]], Any]", type(members))
            made = make(whole_texts(each) for each in members)
            return value if made == members else made
        case BaseModel():
            values = {name: getattr(given, name) for name in type(given).model_fields}
            changed = _changed(values)
            return cast("T", given.model_copy(update=changed) if changed else given)
        case _ if is_dataclass(given) and not isinstance(given, type):
            values = {field.name: getattr(given, field.name) for field in fields(given)}
            changed = _changed(values)
            return cast("T", replace(given, **changed) if changed else given)
        case _:
            return value


def _changed(values: Mapping[str, Any]) -> dict[str, Any]:
    whole = {name: whole_texts(old) for name, old in values.items()}
    return {name: new for name, new in whole.items() if new != values[name]}
