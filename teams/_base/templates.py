"""Templates that came as data: they name fields, and reach nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from string import Formatter
from typing import Any

from typing_extensions import override

_KEYS = re.compile(r"\[[^\]]*\]")
_WIDE = re.compile(r"\d{5}")
_LEVELS = 2
"""Levels of fields: a format may name fields itself, as in `{price:{width}}`."""


class _Templates(Formatter):
    """As `str.format`, without attributes and without endless padding."""

    @override
    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, int | str]:
        _refuse_attribute(field_name)
        return super().get_field(field_name, args, kwargs)

    @override
    def format_field(self, value: Any, format_spec: str) -> str:
        if _WIDE.search(format_spec):
            raise ValueError(f"a template may not ask for a text as wide as {format_spec!r}")
        return super().format_field(value, format_spec)


_TEMPLATES = _Templates()


def fill(template: str, /, **fields: Any) -> str:
    """The template with the fields in it, as by `str.format`.

    It may take parts by key or number (`{city[name]}`), but no attribute, through which a template
    would reach whatever the process holds: ValueError.
    """
    return _TEMPLATES.vformat(template, (), fields)


def checked_template(what: str, template: str, fields: Collection[str] | None = None) -> str:
    """The template, if it names these fields and no others.

    Without `fields` it may name any. Raises ValueError, which calls the template `what`.
    """
    try:
        named = {*_fields(template)}
    except ValueError as error:
        raise ValueError(f"The {what} is no valid template: {error}.") from error
    if fields is not None and (unknown := sorted(named - {*fields})):
        known = ", ".join(f"{{{field}}}" for field in fields)
        raise ValueError(
            f"The {what} has unknown fields: {', '.join(map(repr, unknown))}. Known are {known}; "
            "write a brace that is meant as one twice."
        )
    return template


def _fields(template: str, levels: int = _LEVELS) -> Iterator[str]:
    """Its fields without their keys."""
    for _, field, spec, _ in Formatter().parse(template):
        if field is None:
            continue
        if not levels:
            raise ValueError("its fields are nested too deep")
        _refuse_attribute(field)
        yield _KEYS.sub("", field)
        yield from _fields(spec or "", levels - 1)


def _refuse_attribute(field: str) -> None:
    if "." in _KEYS.sub("", field):
        raise ValueError(f"a template may name a field or a key in it, but no attribute: {field!r}")
