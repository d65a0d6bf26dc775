"""Bounds and places: what makes no sense is refused."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.config.settings import (
    KEY_BYTES,
    Attachments,
    HealthConfig,
    LimitsConfig,
    NetworkConfig,
    StoreConfig,
    TerminalConfig,
)
from teams.kinds import Section

KEY = base64.urlsafe_b64encode(bytes(KEY_BYTES)).decode()


@pytest.mark.parametrize(
    ("table", "data"),
    [
        (StoreConfig, {"url": "postgresql://u:p@h/n", "schema": "second", "keys": f"1:{KEY}"}),
        (StoreConfig, {"keys": f"2:{KEY}, 1:{KEY}"}),
        (TerminalConfig, {"theme": "nord", "name": " Ann "}),
        (HealthConfig, {"host": "0.0.0.0", "hosts": "parley.internal"}),
        (NetworkConfig, {"proxy": "http://proxy.example.com:3128"}),
        (Attachments, {"types": ["image/*", "text/plain"]}),
    ],
)
def test_a_setting_that_makes_sense_is_taken(table: type[Section], data: dict[str, Any]) -> None:
    made = table.model_validate(data)
    assert made.model_fields_set


@pytest.mark.parametrize(
    ("table", "data", "said"),
    [
        (StoreConfig, {"url": "mysql://h/n"}, "postgresql://"),
        (StoreConfig, {"schema": "pg_x"}, "does not begin with pg_"),
        (StoreConfig, {"keys": "1:short"}, "expected keys as `parley secrets key` prints them"),
        (StoreConfig, {"keys": KEY}, "expected keys as `parley secrets key` prints them"),
        (TerminalConfig, {"theme": "nrod"}, "did you mean 'nord'"),
        (TerminalConfig, {"name": "x" * 61}, "at most 60 characters"),
        (HealthConfig, {"hosts": ["https://a.example"]}, "a host's name without scheme"),
        (HealthConfig, {"host": "http://a.example"}, "write 'a.example'"),
        (NetworkConfig, {"proxy": "proxy"}, "proxy"),
        (Attachments, {"types": ["image"]}, "found 'image'"),
        (LimitsConfig, {"parallel_turns": 0}, "greater than or equal to 1"),
    ],
)
def test_a_setting_without_sense_is_refused(
    table: type[Section], data: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        table.model_validate(data)


def test_one_media_type_stands_for_a_list_of_it() -> None:
    assert Attachments.model_validate({"types": "image/*"}).types == ["image/*"]
