"""People who can not be told directly, tried again later."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.dead_ends import DeadEnds
from adapters.slack.simulator.clock import VirtualClock
from gateway.conversation import ConversationKey
from gateway.surface import CallRejected, OutcomeUnknown, PlatformUnreachable

KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1.0")


class Host:
    def count_dead_end(self, outcome: str) -> None:
        pass


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

    async def send(*_: object) -> None:
        nonlocal tries
        tries += 1
        if refusal is not None:
            raise refusal

    host: Any = Host()
    ends = DeadEnds(host, "slack", send, str, clock)
    await ends.tell(KEY, "slack:T1:U1", "forbidden")
    for seconds, more in ((60, soon), (3600, later)):
        before = tries
        clock.advance(seconds)
        await ends.tell(KEY, "slack:T1:U1", "forbidden")
        assert tries - before == more
