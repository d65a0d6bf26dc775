"""A check of the tables against their types, with readable mistakes."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from pydantic import SecretStr, Tag, ValidationError
from pydantic_core import ErrorDetails

from gateway.base.suggest import did_you_mean
from gateway.config.problems import Problem, value_at
from gateway.config.table import Section
from gateway.config.toml import KeyPath

S = TypeVar("S", bound=Section)

_LONGEST_VALUE = 60
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "path_type": "a path",
}


def validate(
    kind: type[S], data: dict[str, Any], *, written: dict[str, Any], folder: Path
) -> tuple[S, list[Problem]]:
    """The data as its type without wrong parts, and the mistakes.

    `written` is the data as it stands in the file, so that no value of a variable is ever shown.
    """
    data = copy.deepcopy(data)
    problems: list[Problem] = []
    removed: set[KeyPath] = set()
    while True:
        try:
            text = json.dumps(data, default=str)
            value = kind.model_validate_json(text, strict=True, context={"folder": folder})
        except ValidationError as error:
            mistakes = [_Mistake(kind, details, written) for details in error.errors()]
        else:
            return value, problems
        for mistake in mistakes:
            if mistake.path not in removed and not mistake.follows_from(removed):
                problems.append(Problem(path=mistake.path, text=mistake.describe()))
            removed.add(_remove(data, mistake.unusable))


class _Mistake:
    """One of pydantic's errors, with its path as the file writes it."""

    def __init__(self, root: type[Section], details: ErrorDetails, written: dict[str, Any]) -> None:
        path, self._expected = _walk(root, details["loc"])
        self.path = _as_written(path, written)
        self._written = written
        _, self._parent = _walk(root, details["loc"][:-1])
        self._details = details
        self._context = details.get("ctx", {})
        if details["type"] == "setting":
            self.path = (*self.path, self._context["key"])

    @property
    def unusable(self) -> KeyPath:
        """Parts to remove so that the rest is valid."""
        return self.path[:-1] if self._details["type"] == "missing" else self.path

    def follows_from(self, removed: set[KeyPath]) -> bool:
        """True if the table is empty only because parts were removed."""
        within = (gone[: len(self.path)] == self.path for gone in removed)
        return self._details["type"] == "too_short" and any(within)

    def describe(self) -> str:
        """The mistake in words."""
        found = _value_text(self._expected, self._written, self.path)
        match self._details["type"]:
            case "setting":
                said = self._context["problem"]
            case "value_error":
                said = str(self._context["error"])
            case "missing":
                said = "is missing"
            case "extra_forbidden":
                said = f"there is no setting {self.path[-1]!r}; {self._alternatives()}"
            case "union_tag_not_found" if not self._is_table():
                said = f"found {found}, expected a table"
            case "union_tag_not_found":
                said = f"has no type, expected {_kinds(self._expected)}"
            case "union_tag_invalid":
                tag = str(self._context["tag"])
                hint = did_you_mean(tag, map(str, _members(self._expected)))
                said = f"found {tag!r}, expected {_kinds(self._expected)}; {hint}".rstrip("; ")
            case _:
                said = f"found {found}, expected {self._expectation()}"
        return said

    def _is_table(self) -> bool:
        try:
            return isinstance(value_at(self._written, self.path), dict)
        except LookupError:
            return False

    def _expectation(self) -> str:
        kind = self._details["type"]
        if kind == "literal_error":
            return self._context["expected"]
        if kind == "too_short":
            return "at least one entry"
        message = self._details["msg"].removeprefix("Input should be ")
        return _EXPECTED.get(kind, f"a value {message}")

    def _alternatives(self) -> str:
        known: list[str] = []
        if isinstance(self._parent, type) and issubclass(self._parent, Section):
            known = self._parent.settings()
        return did_you_mean(str(self.path[-1]), known) or f"known are {', '.join(known)}"


def _walk(kind: Any, location: KeyPath) -> tuple[KeyPath, Any]:
    """Pydantic's location without unions' tags, and the expected type."""
    path: KeyPath = ()
    for part in location:
        members = _members(kind)
        if len(members) > 1 and part in members:
            kind = members[part]
        else:
            path = (*path, part)
            kind = _child(_single(kind), part)
    return path, _single(kind)


def _members(kind: Any) -> dict[str | int, Any]:
    """The types of a union by tag; others under ""."""
    if get_origin(kind) is Annotated:
        base, *metadata = get_args(kind)
        tags = [each.tag for each in metadata if isinstance(each, Tag)]
        return {tags[0]: base} if tags else _members(base)
    if get_origin(kind) in (Union, UnionType):
        members: dict[str | int, Any] = {}
        for member in get_args(kind):
            members |= {} if member is type(None) else _members(member)
        return members
    return {"": kind}


def _single(kind: Any) -> Any:
    """The type without wrappers, unless it is a union of several."""
    members = list(_members(kind).values())
    return members[0] if len(members) == 1 else kind


def _child(kind: Any, part: str | int) -> Any:
    """The type of a table's key or of a list's items."""
    if isinstance(kind, type) and issubclass(kind, Section):
        field = kind.model_fields.get(str(part))
        return field.annotation if field else object
    return arguments[-1] if (arguments := get_args(kind)) else object


def _kinds(union: Any) -> str:
    """The ways in which a table names its union's member."""
    members = _members(union)
    types = [repr(tag) for tag, kind in members.items() if "type" in kind.model_fields]
    keys = [repr(tag) for tag, kind in members.items() if "type" not in kind.model_fields]
    if not types:
        return f"the key {_any_of(keys)}"
    return f"type = {_any_of(types)}" + (f", or the key {_any_of(keys)}" if keys else "")


def _any_of(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _as_written(path: KeyPath, written: dict[str, Any]) -> KeyPath:
    """The path up to a plain value that stands for a table."""
    for length in range(1, len(path)):
        try:
            if not isinstance(value_at(written, path[:length]), dict | list):
                return path[:length]
        except LookupError:
            break
    return path


def _value_text(expected: Any, written: dict[str, Any], path: KeyPath) -> str:
    """The file's value, shortened, and never a secret."""
    try:
        value = value_at(written, path)
    except LookupError:
        return "nothing"
    match value:
        case _ if expected is SecretStr:
            return "something else"
        case bool():
            return str(value).lower()
        case dict():
            return "a table" if value else "an empty table"
        case list():
            return "a list"
        case _:
            text = repr(value)
            return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _remove(data: dict[str, Any], path: KeyPath) -> KeyPath:
    """Remove the value at the path, or the nearest one.

    Of a list's item the whole list goes, so that the others keep their numbers. Answers what is
    gone; since there always is something, validation comes to an end.
    """
    item = next((at for at, part in enumerate(path) if isinstance(part, int)), len(path))
    for length in range(item, 0, -1):
        *around, key = path[:length]
        with contextlib.suppress(LookupError):
            table = cast("dict[str | int, Any]", value_at(data, tuple(around)))
            del table[key]
            return path[:length]
    data.clear()
    return ()
