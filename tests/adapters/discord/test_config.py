"""`[adapters.discord]`."""

from __future__ import annotations

import base64

import pytest

from adapters.discord.config import API, Config, required_permissions

ID = base64.urlsafe_b64encode(b"80351110224678912").decode().rstrip("=")


@pytest.mark.parametrize(
    ("token", "ids"), [(f"{ID}.a.b", ("bot 80351110224678912",)), ("no-id.a.b", ()), ("a", ())]
)
def test_a_token_begins_with_the_bots_id(token: str, ids: tuple[str, ...]) -> None:
    config = Config.model_validate({"token": token})
    assert config.app_ids == ids
    assert config.api_address == API


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, {"Create Public Threads"}),
        ({"threads": "private"}, {"Create Private Threads"}),
        ({"threads": "none", "webhooks": True}, {"Manage Webhooks"}),
    ],
)
def test_permissions_are_those_that_the_settings_need(
    settings: dict[str, object], wanted: set[str]
) -> None:
    found = required_permissions(Config.model_validate({"token": "a", **settings}))
    assert "Send Messages" in found
    more = {"Create Public Threads", "Create Private Threads", "Manage Webhooks"}
    assert found.keys() & more == wanted
