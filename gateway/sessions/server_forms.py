"""Forms of tool servers as questions, and answers as their values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from gateway.client import CANCEL
from gateway.values import value

DECLINE, SKIP = "Decline", "Skip"
ACCEPT, DONE, YES, NO = "Accept", "Done", "Yes", "No"

MOST_FIELDS = 20
LONGEST_TEXT = 2000
LONGEST_NOTE = 300
"""Characters of a server's message, and of what it says of a field."""

LONGEST_CHOICES = 9_000
"""Characters of a field's choices together: what every platform's menu takes."""

_NUMBERS = {"integer": "a whole number", "number": "a number"}


@value
class Field:
    """One question of a form; without a name it asks for agreement."""

    name: str
    kind: str
    note: str = ""
    choices: Mapping[str, Any]
    """Values by the words to choose them by."""
    several: bool = False
    required: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        """Words that are no value."""
        return (DECLINE, CANCEL) if self.required else (SKIP, DECLINE, CANCEL)

    @property
    def options(self) -> tuple[str, ...]:
        """Suggested answers; none for free text, where digits would choose."""
        return () if self.several or not self.choices else (*self.choices, *self.words)

    def word(self, text: str) -> str:
        """The word that a text is, or ""."""
        said = text.strip().casefold()
        return next((word for word in self.words if word.casefold() == said), "")

    def take(self, text: str, content: dict[str, Any]) -> None:
        """Add the words' value to a form's content.

        Raises ValueError with what is wrong.
        """
        if self.name and self.word(text) != SKIP:
            content[self.name] = self._value(text)

    def _value(self, text: str) -> Any:
        if self.several:
            words = [word.strip() for word in text.split(",") if word.strip()]
            return [self._choice(word) for word in words]
        if self.choices:
            return self._choice(text)
        if self.kind not in _NUMBERS:
            return text
        try:
            return int(text) if self.kind == "integer" else float(text)
        except ValueError:
            raise ValueError(f"{text!r} is not {_NUMBERS[self.kind]}.") from None

    def _choice(self, text: str) -> Any:
        for word, meant in self.choices.items():
            if text.casefold() == word.casefold():
                return meant
        raise ValueError(f"{text!r} is none of: {', '.join(self.choices)}.")


@value
class Form:
    """A server's message with its fields."""

    message: str
    fields: tuple[Field, ...]
    has_content: bool = True

    def prompt(self, field: Field, server: str, why: str) -> str:
        """The question for one field; `why` the last answer was none."""
        lines = [f"The server {server} asks: {self.message}"]
        if field.name:
            lines.append(_line(field))
        if not field.options:
            lines.append(f"Write an answer, or one of: {', '.join(field.words)}.")
        return "\n".join([*lines, why] if why else lines)


def form_of(params: Mapping[str, Any]) -> Form:
    """The form of a server's question."""
    message = str(params.get("message", ""))[:LONGEST_TEXT]
    if "url" in params:
        agree = Field(name="", kind="", choices={DONE: True})
        url = str(params["url"])[:LONGEST_TEXT]
        return Form(message=f"{message}\n{url}", fields=(agree,), has_content=False)
    schema = cast("Mapping[str, Any]", params.get("requestedSchema") or {})
    required = schema.get("required") or ()
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties") or {})
    if len(properties) > MOST_FIELDS:
        raise ValueError(f"A server's form may have {MOST_FIELDS} fields.")
    fields = tuple(
        _field(name, each, required=name in required) for name, each in properties.items()
    )
    return Form(message=message, fields=fields or (Field(name="", kind="", choices={ACCEPT: 1}),))


def _field(name: str, schema: Mapping[str, Any], *, required: bool) -> Field:
    kind = str(schema.get("type", "string"))
    said = filter(None, (schema.get("title"), schema.get("description")))
    several = kind == "array"
    choices = _choices(schema.get("items") or {} if several else schema)
    if sum(map(len, choices)) > LONGEST_CHOICES:
        raise ValueError(f"The choices of a field may have {LONGEST_CHOICES} characters.")
    return Field(
        name=name,
        kind=kind,
        note=": ".join(map(str, said))[:LONGEST_NOTE],
        choices=choices,
        several=several,
        required=required,
    )


def _choices(schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema.get("type") == "boolean":
        return {YES: True, NO: False}
    if titled := schema.get("oneOf") or schema.get("anyOf"):
        return {str(each.get("title") or each["const"]): each["const"] for each in titled}
    values = schema.get("enum") or ()
    return dict(zip(map(str, schema.get("enumNames") or values), values, strict=False))


def _line(field: Field) -> str:
    """The field in words."""
    about = [_NUMBERS.get(field.kind, "")]
    if field.several:
        about = [f"some of {', '.join(field.choices)}, with commas"]
    if not field.required:
        about.append("optional")
    told = ", ".join(filter(None, about))
    name = field.name[:LONGEST_NOTE]
    line = f"{name}: {field.note}" if field.note else name
    return f"{line} ({told})" if told else line
