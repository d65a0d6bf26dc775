"""Names of channels: asked for daily, sooner after a failed call."""

from __future__ import annotations

from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.slack.connection.web_api import Refusal
from adapters.slack.inbound import place_names
from adapters.slack.inbound.place_names import PlaceNames
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.surface import CallRejected, PlatformUnreachable, RateLimited

KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1.0")
SAID = InboundMessage(key=KEY, author=Author(id="slack:T1:U1"))


class Slack:
    """Calls that are refused, and a host that keeps nothing."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.calls = 0

    async def read(self, *_: object, **__: object) -> dict[str, Any]:
        self.calls += 1
        raise self.error


@pytest.mark.parametrize(
    ("error", "soon"),
    [
        (PlatformUnreachable("No answer."), True),
        (RateLimited(30.0), True),
        (Refusal("http_502", "A proxy's page."), True),
        (Refusal("missing_scope", "No scope."), False),
        (CallRejected("It was deleted.", gone=True), False),
    ],
)
async def test_a_failed_call_is_no_property_of_its_channel(
    monkeypatch: pytest.MonkeyPatch, error: Exception, *, soon: bool
) -> None:
    now, begun = [0.0], list[Coroutine[Any, Any, None]]()
    monkeypatch.setattr(place_names, "time", SimpleNamespace(monotonic=lambda: now[0]))
    slack: Any = Slack(error)
    names = PlaceNames(slack, slack, lambda work, _: begun.append(work))

    async def asked_at(seconds: float) -> bool:
        before, now[0] = slack.calls, seconds
        names.note(SAID)
        while begun:
            await begun.pop()
        return slack.calls > before

    assert await asked_at(1.0)
    assert not await asked_at(60.0)
    assert await asked_at(62.0) == soon
    assert await asked_at(62.0 + 86_402.0)
