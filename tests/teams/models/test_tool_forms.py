"""Names and schemas of tools, made fit for providers."""

import re
from typing import Any

import pytest

from teams.models._tool_forms import ToolNames, fitting

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@pytest.mark.parametrize("longest", [64, 50])
def test_names_of_tools_are_told_apart_and_found_again(longest):
    own = ["we ird!", "we_ird_", "w" * 80, "w" * 81, "", "ok", "ö", "ü"]
    names = ToolNames(longest, own)
    sent = [names.sent(name) for name in own]
    assert all(map(LEGAL.fullmatch, sent))
    assert max(map(len, sent)) == longest
    assert [names.own[name] for name in sent] == own
    assert names.sent("ok") == "ok"
    assert sent == [ToolNames(longest, own).sent(name) for name in own]
    assert names.sent("of an earlier tool") not in sent


@pytest.mark.parametrize(
    ("given", "fit"),
    [
        ({"a": {"type": "array"}}, {"a": {"type": "array", "items": {}}}),
        ({"a": {"type": "array", "items": False}}, {"a": {"type": "array", "items": {}}}),
        (
            {"a": {"prefixItems": [{"type": "string"}, {"type": "null"}], "items": False}},
            {"a": {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
        ),
        (
            {"a": {"items": [{"type": "string"}, {"type": "string"}]}},
            {"a": {"items": {"type": "string"}}},
        ),
        (
            {"a": {"anyOf": [{"type": "array"}, {"type": "null"}]}},
            {"a": {"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]}},
        ),
        ({"a": True, "items": {"type": "string"}}, {"a": {}, "items": {"type": "string"}}),
        ({"a": {"enum": [], "required": True}}, {"a": {}}),
        ({"a": {"default": {"type": "array"}}}, {"a": {"default": {"type": "array"}}}),
    ],
)
def test_schemas_of_arguments_are_made_fit(given: Any, fit: Any):
    tool: Any = {"name": "t", "parameters": {"type": "object", "properties": given}}
    assert fitting(tool, "t")["parameters"] == {"type": "object", "properties": fit}  # pyright: ignore[reportTypedDictNotRequiredAccess]


def test_alternatives_at_the_top_become_one_object():
    cat, dog = (
        {"type": "object", "properties": {"kind": {"const": kind}, kind: {}}, "required": ["kind"]}
        for kind in ("cat", "dog")
    )
    tool: Any = {
        "name": "t",
        "parameters": {
            "oneOf": [{"$ref": "#/$defs/Cat"}, dog],
            "allOf": [{"properties": {"name": {"type": "string"}}, "required": ["name"]}],
            "$defs": {"Cat": cat},
        },
    }
    parameters: Any = fitting(tool, "t").get("parameters")
    assert parameters["type"] == "object"
    assert {*parameters["properties"]} == {"kind", "cat", "dog", "name"}
    assert {*parameters["required"]} == {"kind", "name"}
    assert "oneOf" not in parameters


def test_the_tool_of_the_caller_stays_as_it_is():
    inner: Any = {"type": "array", "prefixItems": [{}]}
    tool: Any = {"name": "t", "parameters": {"anyOf": [{"properties": {"a": inner}}]}}
    fitting(tool, "u")
    assert tool == {"name": "t", "parameters": {"anyOf": [{"properties": {"a": inner}}]}}
    assert inner == {"type": "array", "prefixItems": [{}]}
