"""Calls that write to Slack keep to their methods' limits."""

from __future__ import annotations

from typing import cast

from adapters.slack.connection.rate_limits import APPEND, SlackLimits
from adapters.slack.connection.web_api import Calls
from adapters.slack.outbound.paced_calls import PacedCalls
from gateway.conversation import ConversationKey
from gateway.pacing.pacer import Pacer
from gateway.surface import Place
from tests.fakes.hand_clock import HandClock

PLACE = Place(key=ConversationKey(platform="slack", workspace="T1", channel="C1"), thread="t")


async def test_pieces_come_further_apart_the_more_messages_grow_and_the_less_is_left() -> None:
    clock, unused = HandClock(), cast("Calls", None)
    calls = PacedCalls(unused, SlackLimits(Pacer(clock=clock)), clock, frozenset, str)
    append = calls.bucket(PLACE, APPEND)
    assert calls.gap(PLACE, 20) == 0.7
    for _ in range(35):
        await append.take(0)
    assert calls.gap(PLACE, 1) == 0.7
    assert 2 < calls.gap(PLACE, 10) < 5
    for _ in range(14):
        await append.take(0)
    assert calls.gap(PLACE, 10) > 6
