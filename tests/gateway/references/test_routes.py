"""Routes that never hold, because an earlier one takes everything."""

from typing import Any

import pytest

from gateway.config.routes import Route
from gateway.references.routes import hidden_routes

ALL = {"channels": "*", "users": "members"}
EVERYBODY = {"users": "members", "guests": True, "external": True}

HIDDEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (ALL, {**ALL, "channels": "C1", "team": "demo"}),
    (ALL, {**ALL, "workspace": "T1", "mode": "steer"}),
    (ALL, {"channels": "*", "groups": "S1"}),
    ({"channels": ["C1", "C2"], "users": ["U1", "U2"]}, {"channels": "C2", "users": "slack:T1:U2"}),
    ({"dm": True, **EVERYBODY}, {"dm": True, "users": "U1"}),
    ({"channels": "*", "users": "U1", "bots": "B1"}, {"channels": "C1", "bots": "B1"}),
]
SEEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({**ALL, "channels": "C1"}, ALL),
    ({**ALL, "workspace": "T1"}, ALL),
    (ALL, {"channels": "*", "users": "UGUEST"}),
    (ALL, {**ALL, "guests": True}),
    (ALL, {"channels": "*", "bots": "B1"}),
    (ALL, {**ALL, "dm": True}),
    (ALL, {**ALL, "adapter": "discord"}),
    ({"dm": True, "users": "members"}, {"dm": True, "users": "members", "pairing": True}),
    ({"channels": "*", "groups": "S1"}, ALL),
    ({"channels": "*", "users": "slack:T1:U2"}, {"channels": "*", "users": "U2"}),
]


def found(*tables: dict[str, Any]) -> list[tuple[int, int]]:
    return list(hidden_routes([Route.model_validate({"adapter": "slack", **t}) for t in tables]))


@pytest.mark.parametrize(("first", "second"), HIDDEN)
def test_a_route_behind_one_that_takes_everything_never_holds(first, second):
    assert found({"adapter": "other", **ALL}, {"dm": True, "bots": "B9"}, first, second) == [(3, 2)]


@pytest.mark.parametrize(("first", "second"), SEEN)
def test_a_route_that_takes_something_more_holds(first, second):
    assert found(first, second) == []
