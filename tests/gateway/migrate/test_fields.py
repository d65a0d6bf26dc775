"""Fields of a component, each taken or reported."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.migrate.fields import (
    Fields,
    Report,
    class_of,
    is_component,
    plain_value,
    slug,
    variable,
    without_password,
)

CLIENT = {"provider": "autogen_ext.models.openai.OpenAIChatCompletionClient", "config": {}}


def fields(report: Report, **config: Any) -> Fields:
    return Fields({"provider": "x.Y", "config": config}, "team.agents[0]", report)


def test_a_loss_is_told_with_its_place() -> None:
    report = Report()
    report.lose("team.name", "too long")
    report.lose("", "no team")
    assert report.lost == ["team.name: too long", "the file: no team"]


def test_what_nobody_takes_is_reported() -> None:
    report = Report()
    found = fields(report, name="a", odd=1, harmless=2, empty=[], none=None)
    assert found.take("name") == "a"
    assert found.left() == ["harmless", "odd"]
    found.rest("harmless")
    assert report.lost == ["team.agents[0].odd: config.toml has no such setting"]


def test_null_is_the_default_of_a_field() -> None:
    found = fields(Report(), name=None, no=False)
    assert found.take("name", "b") == "b"
    assert found.take("absent", "c") == "c"
    assert found.take("no", True) is False


def test_entries_have_paths() -> None:
    found = fields(Report(), tools=["a", "b"], one="a")
    assert found.items("tools") == [
        ("team.agents[0].tools[0]", "a"),
        ("team.agents[0].tools[1]", "b"),
    ]
    assert found.items("one") == []
    assert found.at("tools") == "team.agents[0].tools"
    assert Fields({"config": {}}, "", Report()).at("tools") == "tools"


def test_a_component_is_one_or_none() -> None:
    found = fields(Report(), model_client=CLIENT, other="text")
    assert found.component("model_client") == CLIENT
    assert found.component("other") is None


def test_given_fields_are_copied_without_nulls() -> None:
    found = fields(Report(), description="costs ${x}", extra={"a": None, "b": 1}, empty={})
    copied = found.copy("description", "extra", "empty", "absent")
    assert copied == {"description": "costs $${x}", "extra": {"b": 1}}
    assert found.left() == []


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (CLIENT, True),
        ({"provider": "a"}, False),
        ({"provider": 1, "config": {}}, False),
        ([], False),
    ],
)
def test_a_component_has_a_provider_and_a_config(value: Any, is_one: bool) -> None:
    assert is_component(value) is is_one


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("autogen_agentchat.agents.AssistantAgent", "AssistantAgent"),
        ("teams.agents.AssistantAgent", "AssistantAgent"),
        ("openai_chat_completion_client", "OpenAIChatCompletionClient"),
        ("mine.AssistantAgent", ""),
    ],
)
def test_a_class_of_somebody_else_has_no_name(provider: str, name: str) -> None:
    assert class_of({"provider": provider, "config": {}}) == name


def test_a_plain_value_has_no_nulls_and_no_variables() -> None:
    assert plain_value(["${a}", None, {"b": None, "c": 1}]) == ["$${a}", {"c": 1}]


def test_an_address_loses_its_password() -> None:
    assert without_password("redis://me:secret@host:1/2?a=b") == "redis://host:1/2?a=b"


def test_a_variable_has_capital_letters() -> None:
    assert variable("mcp-1", "api key!") == "MCP_1_API_KEY"


@pytest.mark.parametrize(
    ("text", "name"),
    [("My team", "My_team_3"), ("4o", "model_4o"), ("¿?", "model"), ("gpt-4.1", "gpt_4_1")],
)
def test_a_slug_is_a_free_identifier(text: str, name: str) -> None:
    assert slug(text, {"My_team": 1, "My_team_2": 1}, "model") == name
