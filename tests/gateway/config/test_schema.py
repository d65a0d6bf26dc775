"""The JSON Schema of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from gateway.config.routes import Names
from gateway.config.schema import left_out, own_kind, schema_of
from teams.kinds import KindsOf, Secret, Section
from tests.gateway.app.test_plugins import brings


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


class Surroundings(Section):
    """A table with a table of one of several kinds."""

    context: Annotated[Any, KindsOf(family="context")]
    """Texts that a model is sent."""


@pytest.mark.usefixtures("fresh_imports")
def test_kinds_are_in_it_and_those_that_fail_are_told(tmp_path: Path) -> None:
    brings(tmp_path, "context.robin = nothing")
    told: list[object] = []
    made = schema_of(Surroundings, told.append)
    [line] = told
    assert str(line).startswith("context.robin is left out: ")
    kinds = made["$defs"]
    assert "buffered" in str(kinds)
    assert own_kind("type")["description"] in str(made)
