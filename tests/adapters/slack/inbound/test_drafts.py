"""Members of user groups, where Slack can not be asked."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.slack.connection.web_api import Refusal
from adapters.slack.inbound.drafts import AuthorLookup
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

    def workspace(self, _: str) -> None:
        return None

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
