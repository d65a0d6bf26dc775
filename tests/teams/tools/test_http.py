"""Requests to an HTTP server as a tool, at the wire."""

from __future__ import annotations

from typing import Any

import pytest

from teams.tools import BaseTool, ToolTraits
from teams.tools.http import HttpTool

TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": TEXT,
        "page": {"type": "integer"},
        "tags": {"type": "array", "items": TEXT},
        "exact": {"type": "boolean"},
        "sort": {"type": "string", "default": "title"},
        "author": {"anyOf": [TEXT, {"type": "null"}], "default": None},
    },
    "required": ["id"],
}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"host": "good.com@evil.com"}, "a host alone"),
        ({"host": "evil.com/x"}, "a host alone"),
        ({"host": "evil.com?"}, "a host alone"),
        ({"host": "a b"}, "a host alone"),
        ({"host": ""}, "a host alone"),
        ({"host": "x:y"}, "x:y"),
        ({"host": "::1%x]@evil.com"}, "a host alone"),
        ({"port": 0}, "port"),
        ({"port": 65536}, "port"),
        ({"path": "/a\nb"}, "path"),
        ({"path": "/a#b"}, "path"),
        ({"scheme": "file"}, "scheme"),
        ({"method": "TRACE"}, "method"),
        ({"return_type": "xml"}, "return_type"),
        ({"headers": {"Host": "other.example"}}, "'Host' can't be set"),
        ({"headers": {"a b": "c"}}, "'a b' can't be set"),
        ({"json_schema": {"type": "string"}}, "object"),
    ],
)
def test_what_can_not_be_sent_is_refused_at_once(settings: dict[str, Any], said: str):
    given: dict[str, Any] = {"name": "x", "host": "h", "port": 80, "json_schema": SCHEMA}
    with pytest.raises(ValueError, match=said):
        HttpTool(**{**given, **settings})


def test_it_loads_autogens_form_and_comes_back_equal():
    config = {
        "name": "book",
        "description": "Find a book.",
        "scheme": "https",
        "host": "api.example.com",
        "port": 443,
        "path": "/books/{id}",
        "method": "GET",
        "headers": {"X-Key": "k"},
        "json_schema": SCHEMA,
        "return_type": "json",
        "timeout": 2.5,
    }
    form = {"provider": "autogen_ext.tools.http.HttpTool", "config": config}
    tool = BaseTool.load_component(form)
    assert isinstance(tool, HttpTool)
    assert (tool.name, tool.description) == ("book", "Find a book.")
    assert tool.schema.get("parameters", {}).get("required") == ["id"]
    dumped = tool.dump_component()
    assert (dumped.provider, dumped.config) == ("teams.tools.http.HttpTool", config)
    theirs = tool.dump_component(provider="autogen")
    assert (theirs.provider, theirs.component_type) == (form["provider"], "tool")
    assert theirs.config == config
    least = {"name": "x", "host": "h", "port": 80, "json_schema": SCHEMA}
    defaults = BaseTool.load_component({**form, "config": least}).dump_component().config
    assert {**defaults, **least} == defaults
    expected = ("HTTP tool", "http", "/", "POST", "text", 5.0)
    names = ("description", "scheme", "path", "method", "return_type", "timeout")
    assert tuple(defaults[name] for name in names) == expected


def test_calls_that_may_be_repeated_are_those_of_http():
    found = {
        method: HttpTool("x", "h", 80, SCHEMA, method=method).traits
        for method in ("GET", "PUT", "DELETE", "POST", "PATCH")
    }
    assert [method for method in found if found[method].idempotent] == ["GET", "PUT", "DELETE"]
    assert found["POST"] == ToolTraits()
    assert not any(traits.read_only or traits.own_output for traits in found.values())
