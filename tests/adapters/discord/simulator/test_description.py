"""The check against Discord's API description finds deviations."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.discord.testing import Call
from tests.fakes.discord_api import Mismatch, api_description

USER = {
    "id": "1",
    "username": "alice",
    "avatar": None,
    "discriminator": "0",
    "public_flags": 0,
    "flags": 0,
    "global_name": None,
    "primary_guild": None,
}
TOO_MANY = {"code": 0, "message": "Slow down", "retry_after": 1.5, "global": False}
THREADS = "/channels/1/messages/2/threads"


def call(method: str, path: str, status: int = 200, **more: Any) -> Call:
    return Call(method=method, route=path, path=path, at=0.0, status=status, **more)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(call("GET", "/nothing"), id="no such path"),
        pytest.param(call("PUT", "/users/@me", body={}), id="no such method"),
        pytest.param(call("POST", THREADS, 201, body={"name": "n" * 101}), id="long name"),
        pytest.param(call("POST", THREADS, 201, body={}), id="name missing"),
        pytest.param(call("GET", "/users/1", answer={**USER, "id": 1}), id="number as id"),
        pytest.param(call("GET", "/users/1", answer={"id": "1"}), id="fields missing"),
        pytest.param(call("GET", "/users/1", 302, answer={}), id="no such status"),
        pytest.param(call("POST", "/channels/1/typing", 204, answer={}), id="unwanted body"),
        pytest.param(call("GET", "/users/1", 404, answer={"code": 10013}), id="half an error"),
    ],
)
def test_what_is_not_as_described(wrong: Call) -> None:
    with pytest.raises(Mismatch):
        api_description().check(wrong)


@pytest.mark.parametrize(
    "right",
    [
        call("GET", "/users/1", answer=USER),
        call("POST", "/users/@me/channels", body={"recipient_id": 1}, status=500),
        call("GET", "/users/1", 429, answer=TOO_MANY),
        call("GET", "/nowhere", 404, answer={"code": 0, "message": "404: Not Found"}),
    ],
)
def test_what_is_as_described(right: Call) -> None:
    api_description().check(right)
