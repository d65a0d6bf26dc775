"""Routes: people, places and what makes no sense."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gateway.config.routes import Route, listed


def test_one_text_stands_for_a_list_of_it() -> None:
    assert listed("a") == ["a"]
    assert listed(["a", "b"]) == ["a", "b"]
    route = Route.model_validate({"adapter": "slack", "channels": "*", "users": "members"})
    assert (route.channels, route.users, route.mode) == (["*"], ["members"], "queue")


def test_a_guild_is_a_workspace() -> None:
    data = {"adapter": "discord", "guild": "1", "channels": ["2"], "roles": ["3"]}
    assert Route.model_validate(data).workspace == ["1"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"channels": []}, "give the route channels, or dm = true"),
        ({"users": []}, "give the route users"),
        ({"pairing": True}, "expected dm = true with it"),
        ({"guests": True}, "alone it admits no one"),
        ({"external": True}, "alone it admits no one"),
        ({"guild": "1", "workspace": "2"}, "they mean the same"),
        ({"limits": {"turns": 0}}, "greater than or equal to 1"),
    ],
)
def test_a_route_that_lets_nobody_in_is_refused(change: dict[str, Any], said: str) -> None:
    data = {"adapter": "slack", "channels": ["C1"], "users": ["U1"]}
    assert Route.model_validate(data).users == ["U1"]
    with pytest.raises(ValidationError, match=said):
        Route.model_validate(data | change)
