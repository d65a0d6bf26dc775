"""People, channels and groups, also where Slack can not be asked."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.slack.connection.web_api import Refusal
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.author_lookup import AuthorLookup
from adapters.slack.inbound.parsed import Draft
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.surface import PlatformUnreachable, RateLimited

KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1.0")
SAID = Draft(message=InboundMessage(key=KEY, author=Author(id="")), user="U1", home="T1")


class Slack:
    """Calls, of which those for the group's members fail in turn."""

    def __init__(self, *errors: Exception) -> None:
        self.clients = self
        self.errors = [*errors]

    def me(self, team: str) -> Workspace:
        return Workspace(id=team)

    async def read(self, _: str, method: str, **__: object) -> dict[str, Any]:
        if method == "users.info":
            return {"user": {"id": "U1", "team_id": "T1", "name": "ann"}}
        if self.errors:
            raise self.errors.pop(0)
        return {"users": ["U1"]}


@pytest.mark.parametrize(
    "error", [PlatformUnreachable("No answer."), RateLimited(30.0), TimeoutError()]
)
async def test_who_is_in_by_the_group_alone_is_not_refused_for_a_call_that_failed(
    error: Exception,
) -> None:
    slack: Any = Slack(error)
    people = AuthorLookup(slack, lambda: ["S1"])
    with pytest.raises(type(error)):
        await people.author(SAID)
    assert (await people.author(SAID)).groups == {"S1"}


async def test_a_refusal_of_slacks_holds_for_five_minutes() -> None:
    now = 0.0
    slack: Any = Slack(Refusal("missing_scope", "No scope."))
    people = AuthorLookup(slack, lambda: ["S1"], clock=lambda: now)
    assert not (await people.author(SAID)).groups
    now = 299.0
    assert not (await people.author(SAID)).groups
    now = 301.0
    assert (await people.author(SAID)).groups == {"S1"}


class Names(Slack):
    """Calls for names, which are counted."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__(*errors)
        self.asked: list[str] = []

    async def read(self, _: str, method: str, **more: object) -> dict[str, Any]:
        self.asked.append(method)
        if method == "users.info":
            return await super().read(_, method, **more)
        if self.errors:
            raise self.errors.pop(0)
        if method == "usergroups.list":
            return {"usergroups": [{"id": "S1", "handle": "crew"}, {"id": "S2", "handle": "ops"}]}
        return {"channel": {"id": more["channel"], "name": f"room-{more['channel']}".lower()}}


async def test_channels_and_groups_have_names_that_are_asked_for_once_in_a_while() -> None:
    now = 0.0
    slack: Any = Names()
    people = AuthorLookup(slack, list, clock=lambda: now)
    wanted = ["U1", "C1", "S1", "B1", "X"]
    named = {"U1": "ann", "C1": "room-c1", "S1": "crew", "B1": "", "X": ""}
    assert await people.names("T1", wanted) == named
    now = 299.0
    assert await people.names("T1", [*wanted, "S2"]) == {**named, "S2": "ops"}
    assert sorted(slack.asked) == ["conversations.info", "usergroups.list", "users.info"]
    now = 301.0
    await people.names("T1", wanted)
    assert len(slack.asked) == 6


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (Refusal("missing_scope", "No scope."), False),
        (PlatformUnreachable("No answer."), True),
        (Refusal("http_502", "A proxy's page."), True),
    ],
)
async def test_a_name_that_cannot_be_had_stays_an_id(error: Exception, again: bool) -> None:
    slack: Any = Names(error)
    people = AuthorLookup(slack, list, clock=lambda: 0.0)
    assert not (await people.names("T1", ["C1"])).get("C1")
    assert bool((await people.names("T1", ["C1"])).get("C1")) == again


async def test_of_many_names_ten_are_asked_for() -> None:
    slack: Any = Names()
    people = AuthorLookup(slack, list)
    assert len(await people.names("T1", [f"C{n}" for n in range(99)])) == 10
    assert len(slack.asked) == 10
