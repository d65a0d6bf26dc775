"""Tables of platforms, and the texts in them."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from gateway.config.table import AdapterSection, host_name, template

TITLE = TypeAdapter[str](Annotated[str, template("team", "person")])
HOST = TypeAdapter[str](Annotated[str, host_name("127.0.0.1")])


def test_an_account_has_a_name_of_its_own() -> None:
    table = AdapterSection(platform="slack")
    named = table.named("support")
    assert (named.account, named.platform) == ("support", "slack")
    assert table.account == ""


def test_a_platform_tells_no_places_unless_it_knows_them() -> None:
    table = AdapterSection()
    assert (table.api_address, table.app_ids, table.listens_at) == ("", (), None)


@pytest.mark.parametrize("text", ["plain", "{team} for {person}", "{{team}}"])
def test_a_template_has_known_fields(text: str) -> None:
    assert TITLE.validate_python(text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [("{taem}", "no field {taem}.*'?team'?"), ("{team", "for a plain brace, write it twice")],
)
def test_another_field_in_a_template_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        TITLE.validate_python(text)


@pytest.mark.parametrize("host", ["localhost", "a-b.example", "10.0.0.1", "::1"])
def test_a_host_is_a_name_or_an_address(host: str) -> None:
    assert HOST.validate_python(host) == host


@pytest.mark.parametrize(
    ("host", "meant"),
    [("http://a.example/b", "a.example"), ("a.example:80", "a.example"), ("/", "127.0.0.1")],
)
def test_an_url_is_no_host(host: str, meant: str) -> None:
    with pytest.raises(ValidationError, match=f"write '{meant}'"):
        HOST.validate_python(host)
