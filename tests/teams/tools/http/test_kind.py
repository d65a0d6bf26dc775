"""A web service as a tool of config.toml."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from teams._base.kinds import Want
from teams.tools.http import HttpToolConfig
from teams.tools.http.kind import HttpToolKind

BOOK = {
    "name": "book",
    "description": "Find a book.",
    "http": "https://api.example.com/books/{id}?lang=en",
    "parameters": {"properties": {"id": {"type": "string"}}},
    "headers": {"X-Key": "k"},
}


def kind(**settings: Any) -> HttpToolKind:
    return HttpToolKind.model_validate({**BOOK, **settings})


@pytest.mark.parametrize(
    ("http", "port", "path"),
    [
        (BOOK["http"], 443, "/books/{id}?lang=en"),
        ("http://here:81", 81, "/"),
        ("http://here/x", 80, "/x"),
    ],
)
def test_an_address_has_a_port_and_a_path(http: str, port: int, path: str):
    table = kind(http=http)
    assert (table.address.scheme, table.port, table.path) == (http.split(":")[0], port, path)


@pytest.mark.parametrize(
    ("http", "said"),
    [
        ("ftp://here", "expected an address"),
        ("https://al:pw@here", "give a header instead"),
        ("https://here:x", "expected an address"),
        ("https://here/{title}", "found {title}, which is not among"),
    ],
)
def test_another_address_is_refused(http: str, said: str):
    with pytest.raises(ValidationError, match=said):
        kind(http=http)


def test_the_tool_is_made_as_it_is_written():
    tool = kind(timeout=2, return_type="json").made(lambda path: path)
    config = tool.dump_component().config
    assert (tool.name, tool.description, tool.method) == ("book", "Find a book.", "GET")
    assert (config["scheme"], config["host"], config["port"]) == ("https", "api.example.com", 443)
    assert config["path"] == "/books/{id}?lang=en"
    assert config["headers"] == {"X-Key": "k"}
    assert (config["timeout"], config["return_type"]) == (2, "json")
    assert tool.traits.read_only
    assert not kind(method="POST").made(lambda path: path).traits.read_only


def test_it_wants_its_address():
    config = HttpToolConfig(name="x", host="here", port=80, json_schema={"type": "object"})
    assert [*HttpToolKind.wants(config)] == [Want("address", "http://here:80")]
