"""The JSON Schema of a table."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gateway.config.routes import Names
from gateway.config.schema import left_out, own_kind, schema_of
from teams.kinds import Secret, Section


class Table(Section):
    """A table."""

    key: Secret
    """The key of it."""

    names: Names = Field(default_factory=list)
    """Some names."""

    size: int | None = 3


def schema() -> dict[str, Any]:
    told: list[object] = []
    made = schema_of(Table, told.append)
    assert told == []
    return made


def test_a_setting_has_its_text_and_default() -> None:
    made = schema()
    names = made["properties"]["names"]
    assert "title" not in made
    assert {"type": "string"} in names["anyOf"]
    assert made["properties"]["size"] == {"type": "integer", "default": 3}


def test_a_secret_may_be_in_a_variable_or_a_file() -> None:
    made = schema()
    assert {"key", "key_env", "key_file"} <= made["properties"].keys()
    ways = [{"required": [name]} for name in ("key", "key_env", "key_file")]
    assert made["allOf"] == [{"anyOf": ways}]


def test_a_kind_of_somebody_is_an_import_path() -> None:
    made = own_kind("path")
    assert made["required"] == ["path"]
    assert made["properties"]["path"]["type"] == "string"


def test_a_plugin_that_fails_is_told_in_one_line() -> None:
    said = left_out("agent.x", ValueError("bad\nmore"))
    assert said == "agent.x is left out: ValueError: bad"
