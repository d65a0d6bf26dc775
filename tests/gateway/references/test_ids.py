"""Ids in routes and policies, against a platform's forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from gateway.config.root import Config
from gateway.config.routes import Route
from gateway.config.table import AdapterSection, IdForm
from gateway.references.ids import check_ids, check_route_ids
from gateway.references.routes import Platforms


class Club(AdapterSection):
    """A platform with people and places."""

    people_have_workspaces: ClassVar[bool] = True
    ids: ClassVar[Mapping[str, IdForm]] = {
        "workspace": IdForm("the id of a club", r"[T]\d+", "T12", "Look at its page."),
        "channels": IdForm("the id of a room", r"[C]\d+", "C12", "Look at its door."),
        "users": IdForm("the id of a person", r"[U]\d+", "U12", "Ask them.", {"B": "it is a bot"}),
    }


PLATFORMS = Platforms(
    kinds={"club": Club, "open": AdapterSection},
    accounts={"club": "club", "second": "club", "open": "open"},
)


def route(**more: Any) -> Route:
    return Route.model_validate({"adapter": "club", "channels": "*", "users": "members"} | more)


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({}, None, ""),
        ({"users": ["U1", "club:T1:U2"], "channels": ["C1"]}, None, ""),
        ({"adapter": "open", "users": "whoever"}, None, ""),
        ({"users": "everyone"}, ("users", 0), 'write "members" for all members'),
        ({"channels": "all"}, ("channels", 0), 'write "*" for all channels'),
        ({"users": ["U1", "B7"]}, ("users", 1), "it is a bot"),
        ({"users": "other:T1:U2"}, ("users", 0), "such as 'U12'; Ask them."),
        ({"users": "U0123ABCD"}, ("users", 0), "an example; put the id of a person there"),
        ({"roles": "R1"}, ("roles",), "club has no roles, so no one matches"),
    ],
)
def test_an_id_of_a_route_fits_its_platform(
    change: dict[str, Any], path: tuple[Any, ...] | None, said: str
) -> None:
    problems = [*check_route_ids([(3, route(**change))], PLATFORMS)]
    assert [problem.path for problem in problems] == ([("routes", 3, *path)] if path else [])
    assert all(said in problem.text for problem in problems)


@pytest.mark.parametrize(
    ("policies", "path", "said"),
    [
        ({"operators": ["club:T1:U1", "open:x", "absent:y"]}, None, ""),
        ({"operators": ["club:U1"]}, ("operators", 0), "such as 'club:T12:U12'; Ask them."),
        ({"operators": ["second:T1:U1"]}, ("operators", 0), "expected club:...: people have"),
        ({"approvals": ["second:T1:C1"]}, None, ""),
        ({"approvals": ["club:T1:U1"]}, ("approvals", 0), "such as 'club:T12:C12'"),
        (
            {"tools": {"rm": {"action": "ask", "approvers": ["asker", "club:U1"]}}},
            ("tools", "rm", "approvers", 1),
            "the id of a person",
        ),
    ],
)
def test_an_id_of_a_policy_names_its_platform(
    policies: dict[str, Any], path: tuple[Any, ...] | None, said: str
) -> None:
    config = Config.model_validate({"policies": policies})
    problems = [*check_ids(config, PLATFORMS)]
    assert [problem.path for problem in problems] == ([("policies", *path)] if path else [])
    assert all(said in problem.text for problem in problems)


def test_a_role_is_one_of_some_platform() -> None:
    cases = [{"action": "deny", "roles": ["operators", "operator"]}]
    config = Config.model_validate(
        {"policies": {"tools": {"rm": {"action": "ask", "cases": cases}}}}
    )
    club = Platforms(kinds={"club": Club}, accounts={"club": "club"})
    [problem] = check_ids(config, club)
    assert problem.path == ("policies", "tools", "rm", "cases", 0, "roles", 1)
    assert "no role: no platform here has any; did you mean 'operators'?" in problem.text
    assert [*check_ids(config, PLATFORMS)] == []
