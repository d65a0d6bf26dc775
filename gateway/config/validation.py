"""A check of the tables against their types, with readable mistakes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import SecretStr, Tag, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined

from gateway.base.suggest import did_you_mean, nearest
from gateway.config.problems import Problem, toml_path, value_at
from gateway.config.remains import Remains
from gateway.config.table import Section, SettingMistake
from gateway.config.toml import KeyPath

S = TypeVar("S", bound=Section)

_LONGEST_VALUE = 60
_PLAIN = (bool, int, float, str)
_PLAIN_TEXT = re.compile(r"true|false|-?\d+(\.\d+)?")
_CHOICE = re.compile(r"'([^']*)'")
_SENTENCE = re.compile(r"(?<=[^.][.:])\s")
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
    "finite_number": "a finite number",
}
_FOLLOWING = ("too_short", "missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Generic[S]):
    """A config's valid parts, its mistakes, and the rest of its file."""

    value: S
    problems: list[Problem]
    remains: Remains


def validate(
    kind: type[S],
    data: dict[str, Any],
    *,
    written: dict[str, Any],
    folder: Path,
    known: Iterable[KeyPath] = (),
    secrets: bool = True,
) -> Checked[S]:
    """The data as its type without wrong parts, and the mistakes.

    `written` is the data as it stands in the file, so that no value of a variable is ever shown.
    Places in `known` were reported before. Without `secrets`, none is read.
    """
    problems: list[Problem] = []
    remains = Remains(data)
    context = {"folder": folder, "secrets": secrets}
    for place in known:
        remains.blame(place)
    while True:
        try:
            text = json.dumps(remains.data(), default=str)
            value = kind.model_validate_json(text, strict=True, context=context)
        except ValidationError as error:
            mistakes = [
                mistake
                for details in error.errors()
                for mistake in _mistakes(kind, details, written, remains)
            ]
        else:
            return Checked(value=value, problems=problems, remains=remains)
        # What is in a misspelt table, or lacks because of its name, shows once it is renamed.
        now = [each for each in mistakes if each.is_unknown_name] or mistakes
        told = [each for each in now if not each.follows(remains)]
        problems += [Problem(path=each.path, text=each.describe()) for each in told]
        remains.remove([each.unusable for each in now if not each.rename(remains)])


def _mistakes(
    root: type[Section], details: ErrorDetails, written: dict[str, Any], remains: Remains
) -> Iterator[_Mistake]:
    """One of pydantic's errors, which may stand for several mistakes of ours."""
    if details["type"] != "setting":
        yield _Mistake(root, details, written, remains)
        return
    found: tuple[SettingMistake, ...] = details.get("ctx", {})["mistakes"]
    for each in found:
        yield _Mistake(root, details, written, remains, each)


class _Mistake:
    """One mistake, with its path as the file writes it."""

    def __init__(
        self,
        root: type[Section],
        details: ErrorDetails,
        written: dict[str, Any],
        remains: Remains,
        setting: SettingMistake | None = None,
    ) -> None:
        path, self._expected, self._field = _walk(root, details["loc"])
        self.path = _as_written(remains.in_file(path), written)
        self._written = written
        _, self._parent, _ = _walk(root, details["loc"][:-1])
        self._details = details
        self._context = details.get("ctx", {})
        self._setting = setting
        if setting:
            self.path = remains.in_file((*path, *setting.key))

    @property
    def unusable(self) -> KeyPath:
        """Parts to remove so that the rest is valid."""
        return self.path[:-1] if self._details["type"] == "missing" else self.path

    def follows(self, remains: Remains) -> bool:
        """True if it was reported before, or only follows from what was."""
        if self._setting:
            table = self.path[: len(self.path) - len(self._setting.key)]  # as the file writes it
            return remains.is_known(self.path) or remains.follows(table, self._setting.given)
        if self._details["type"] in _FOLLOWING:
            return remains.is_known(self.path)
        return remains.is_cause(self.path)

    @property
    def is_unknown_name(self) -> bool:
        """True for a key that there is no setting for."""
        return self._details["type"] == "extra_forbidden"

    def rename(self, remains: Remains) -> bool:
        """Give a misspelt key its right name; False if there is none."""
        remains.blame(self.path)
        meant = nearest(str(self.path[-1]), self._known()) if self.is_unknown_name else ""
        return bool(meant) and remains.rename(self.path, meant)

    def describe(self) -> str:
        """The mistake in words."""
        found = _value_text(self._expected, self._written, self.path)
        match self._details["type"]:
            case "setting":
                said = self._setting.problem if self._setting else ""
            case "value_error":
                said = str(self._context["error"])
            case "missing":
                said = f"is missing: {self._purpose() or 'this table needs it'}"
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
                said = f"found {found}, expected {self._expectation()}{self._advice()}"
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
        if kind == "too_long":
            return f"at most {self._context['max_length']} entries"
        if kind == "string_pattern_mismatch":
            return f"a text of the form {self._context['pattern']}"
        message = self._details["msg"].removeprefix("Input should be ")
        return _EXPECTED.get(kind, f"a value {message}")

    def _advice(self) -> str:
        """A way out: the right spelling, or the value by default."""
        value = self._value()
        match self._details["type"], value:
            case "literal_error", str():
                hint = did_you_mean(value, _CHOICE.findall(self._context["expected"]))
            case "int_type" | "float_type" | "bool_type", str() if _is_plain(value):
                hint = f"write {value.lower()}, without quotes"
            case "string_type", int() | float():
                hint = f'write "{_toml(value).strip(chr(34))}", in quotes'
            case "list_type", str():
                hint = f'write ["{value}"], in brackets' if len(value) <= _LONGEST_VALUE else ""
            case "list_type", dict():
                hint = f"write [[{toml_path(self.path)}]], with two brackets"
            case (("dict_type" | "model_type" | "model_attributes_type"), list()):
                hint = f"write [{toml_path(self.path)}], with one bracket"
            case _:
                hint = ""
        hint = hint or self._without()
        if not hint and (purpose := self._purpose()):
            return f" ({purpose})"
        return f"; {hint}" if hint else ""

    def _without(self) -> str:
        """The value that holds if the setting is left out."""
        if self._field is None or self._field.default in (PydanticUndefined, None, ""):
            return ""
        default = self._field.default
        return f"left out, it is {_toml(default)}" if isinstance(default, _PLAIN) else ""

    def _purpose(self) -> str:
        """The first sentence about the setting, from its docstring."""
        text = (self._field.description or "") if self._field else ""
        first = " ".join(_SENTENCE.split(text.strip())[0].split()).rstrip(".:")
        return first[:1].lower() + first[1:] if first[1:2].islower() else first

    def _value(self) -> object:
        try:
            return value_at(self._written, self.path) if self._expected is not SecretStr else None
        except LookupError:
            return None

    def _known(self) -> list[str]:
        if isinstance(self._parent, type) and issubclass(self._parent, Section):
            return self._parent.settings()
        return []

    def _alternatives(self) -> str:
        known = self._known()
        return did_you_mean(str(self.path[-1]), known) or f"known are {', '.join(known)}"


def _walk(kind: Any, location: KeyPath) -> tuple[KeyPath, Any, FieldInfo | None]:
    """Pydantic's location without unions' tags, and the expected type with its setting."""
    path: KeyPath = ()
    field: FieldInfo | None = None
    for part in location:
        members = _members(kind)
        if len(members) > 1 and part in members:
            kind = members[part]
        else:
            path = (*path, part)
            parent = _single(kind)
            if isinstance(parent, type) and issubclass(parent, Section):
                field = parent.model_fields.get(str(part))
            kind = _child(parent, part)
    return path, _single(kind), field


def _is_plain(text: str) -> bool:
    """True for the text of a number or of true and false."""
    return bool(_PLAIN_TEXT.fullmatch(text.lower()))


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)


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
        return field.annotation if field else _free_child(kind)
    return arguments[-1] if (arguments := get_args(kind)) else object


def _free_child(kind: type[Section]) -> Any:
    """The type of keys that a table has no setting for."""
    if kind.model_config.get("extra") != "allow":
        return object
    hints = get_type_hints(kind, include_extras=True)
    return get_args(hints["__pydantic_extra__"])[-1]


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
            return "a list" if value else "an empty list"
        case _:
            text = repr(value)
            return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
