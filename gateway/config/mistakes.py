"""One mistake in a table: its place, its cause, its words."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from pydantic import SecretStr
from pydantic_core import ErrorDetails, PydanticUndefined

from gateway.base.suggest import did_you_mean, nearest
from gateway.config.problems import toml_path, value_at
from gateway.config.remains import Remains
from gateway.config.setting_types import (
    kinds_text,
    members_of,
    plugin_names,
    settings_of,
    tag_keys,
    type_at,
)
from gateway.config.toml import KeyPath
from teams.kinds import Section, SettingMistake

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


class Mistake:
    """One mistake, with its path as the file writes it."""

    def __init__(
        self,
        root: type[Section],
        details: ErrorDetails,
        written: dict[str, Any],
        remains: Remains,
        setting: SettingMistake | None = None,
    ) -> None:
        path, self._expected, self._field = type_at(root, details["loc"])
        self.path = _as_written(remains.in_file(path), written)
        self._written = written
        _, parent, _ = type_at(root, details["loc"][:-1])
        self._known = settings_of(parent)
        self._details = details
        self._kind: str = details["type"]
        self._context = details.get("ctx", {})
        self._setting = setting
        if setting:
            self.path = remains.in_file((*path, *setting.key))
        self._is_tag = False
        if key := self._misspelt_tag():
            self.path = (*self.path, key)
            self._kind, self._known = "extra_forbidden", tag_keys(self._expected)
            self._is_tag = True

    @property
    def unusable(self) -> KeyPath:
        """Parts to remove so that the rest is valid."""
        return self.path[:-1] if self._kind == "missing" else self.path

    def follows(self, remains: Remains) -> bool:
        """True if it was reported before, or only follows from what was."""
        if self._setting:
            table = self.path[: len(self.path) - len(self._setting.key)]  # as the file writes it
            return remains.is_known(self.path) or remains.follows(table, self._setting.given)
        if self._kind in _FOLLOWING:
            return remains.is_known(self.path)
        if self._kind == "union_tag_not_found":  # the key that told the kind was wrong
            return remains.follows(self.path, tag_keys(self._expected))
        return remains.is_cause(self.path)

    @property
    def is_unknown_name(self) -> bool:
        """True for a key that there is no setting for."""
        return self._kind == "extra_forbidden"

    @property
    def means_the_type(self) -> bool:
        """True for a misspelt key that stands for the table's kind."""
        return self._is_tag or self._meant() in ("type", "provider")

    def rename(self, remains: Remains) -> bool:
        """Give a misspelt key its right name; False if there is none."""
        remains.blame(self.path)
        meant = self._meant()
        return bool(meant) and remains.rename(self.path, meant)

    def describe(self) -> str:
        """The mistake in words."""
        found = _value_text(self._expected, self._written, self.path)
        match self._kind:
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
                said = f"{self._found_type()}, expected {kinds_text(self._expected)}"
            case "union_tag_invalid":
                tag = str(self._context["tag"])
                hint = did_you_mean(
                    tag, [*map(str, members_of(self._expected)), *plugin_names(self._expected)]
                )
                said = f"found {tag!r}, expected {kinds_text(self._expected)}; {hint}".rstrip("; ")
            case _:
                said = f"found {found}, expected {self._expectation()}{self._advice()}"
        return said

    def _found_type(self) -> str:
        """A type that is no text, or that there is none."""
        place = (*self.path, "type")
        try:
            value_at(self._written, place)
        except LookupError:
            return "has no type"
        return f"found type = {_value_text(str, self._written, place)}"

    def _is_table(self) -> bool:
        try:
            return isinstance(value_at(self._written, self.path), dict)
        except LookupError:
            return False

    def _expectation(self) -> str:
        kind = self._kind
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
        match self._kind, value:
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

    def _meant(self) -> str:
        """The right name of an unknown key, or ""."""
        return nearest(str(self.path[-1]), self._known) if self.is_unknown_name else ""

    def _misspelt_tag(self) -> str:
        """The misspelt key of a table that stands for its kind."""
        if self._kind != "union_tag_not_found" or not self._is_table():
            return ""
        table = cast("dict[str, object]", value_at(self._written, self.path))
        others = {key for kind in members_of(self._expected).values() for key in settings_of(kind)}
        tags = tag_keys(self._expected)
        return next((key for key in table if key not in others and nearest(key, tags)), "")

    def _alternatives(self) -> str:
        known = self._known
        return did_you_mean(str(self.path[-1]), known) or f"known are {', '.join(known)}"


def _is_plain(text: str) -> bool:
    """True for the text of a number or of true and false."""
    return bool(_PLAIN_TEXT.fullmatch(text.lower()))


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)


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
