"""People who can not be told directly, tried again later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import pytest

from adapters.dead_ends import DeadEnds
from adapters.discord.outbound import direct_messages as discord
from adapters.slack.connection import web_api as slack
from adapters.slack.simulator.clock import VirtualClock
from gateway.conversation import ConversationKey
from gateway.surface import CallRejected, Obstacle, OutcomeUnknown, PlatformUnreachable

KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1.0")


class Host:
    def count_dead_end(self, outcome: str) -> None:
        pass


class Words:
    why: Mapping[Obstacle, str] = {"forbidden": "I may not write there."}

    def mention(self, key: ConversationKey) -> str:
        return key.channel


@pytest.mark.parametrize(
    ("refusal", "soon", "later"),
    [
        (None, 0, 0),
        (CallRejected("They take no direct messages."), 0, 1),
        (OutcomeUnknown("Nobody knows."), 0, 1),
        (PlatformUnreachable("Not now."), 1, 1),
    ],
)
async def test_who_could_not_be_told_is_tried_again_later(
    refusal: Exception | None, soon: int, later: int
) -> None:
    clock, tries = VirtualClock(), 0

    class Direct(Words):
        async def send(self, key: ConversationKey, person: str, text: str) -> None:
            nonlocal tries
            tries += 1
            if refusal is not None:
                raise refusal

    host: Any = Host()
    ends = DeadEnds(host, "slack", Direct(), clock)
    await ends.tell(KEY, "slack:T1:U1", "forbidden")
    for seconds, more in ((60, soon), (3600, later)):
        before = tries
        clock.advance(seconds)
        await ends.tell(KEY, "slack:T1:U1", "forbidden")
        assert tries - before == more


PLATFORMS = {"Slack": slack.WHY, "Discord": discord.WHY}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_platform_tells_every_obstacle_in_its_own_words(platform: str) -> None:
    why = PLATFORMS[platform]
    assert why.keys() == {*get_args(Obstacle)}
    others = [each for each in PLATFORMS if each != platform]
    assert not any(name in text for text in why.values() for name in others)
    assert not any("server" in text for text in slack.WHY.values())
    assert not any("/invite" in text for text in discord.WHY.values())
