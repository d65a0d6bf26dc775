"""Text that can be encoded, without halves of characters."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel

T = TypeVar("T")

_WITHOUT_TEXT = frozenset({type(None), bool, int, float, bytes})
_COLLECTIONS = frozenset({list, tuple, dict, frozenset})


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
        case list() | tuple() | frozenset():
            members = cast("Collection[Any]", given)
            make = cast("Callable[[Iterable[Any]], Any]", type(members))
            made = make(whole_texts(each) for each in members)
            return value if made == members else made
        case _ if names := _field_names(cast("type[Any]", type(given))):
            changed = _changed(given, names)
            return replace(given, **changed) if changed else value
        case Mapping():
            mapping = cast("Mapping[Any, Any]", given)
            whole = {whole_texts(key): whole_texts(each) for key, each in mapping.items()}
            return value if whole == mapping else cast("T", whole)
        case BaseModel():
            changed = _changed(given, type(given).model_fields)
            return cast("T", given.model_copy(update=changed) if changed else given)
        case _:
            return value


def whole_json(text: str | bytes) -> Any:
    """The JSON value, with all texts whole. Raises ValueError or RecursionError."""
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    value = json.loads(whole_text(text))
    return whole_texts(value) if "\\u" in text else value


@lru_cache(maxsize=256)
def _field_names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass; none of another class."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def _changed(given: object, names: Iterable[str]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name in names:
        old: object = getattr(given, name)
        # Nearly all are of these kinds: no call for each.
        if type(old) in _WITHOUT_TEXT or (isinstance(old, str) and old.isascii()):
            continue
        if type(old) in _COLLECTIONS and not old:
            continue
        if (new := whole_texts(old)) is not old:
            changed[name] = new
    return changed
