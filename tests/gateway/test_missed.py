"""Missed messages are judged by their age when Parley came back."""

from __future__ import annotations

import pytest

from gateway.conversation import ConversationKey
from gateway.missed import MissedRules, OpenGap

ROOM = ConversationKey(platform="slack", workspace="T1", channel="C1")
RULES = MissedRules()


@pytest.mark.parametrize(
    ("at", "verdict"),
    [
        (999, "answer"),
        (101, "answer"),
        (99, "offer"),
        (1500, "offer"),
        (2100, "answer"),
        (3001, "offer"),
        (19_500, "answer"),
    ],
)
def test_the_age_is_that_of_the_return(at: float, verdict: str) -> None:
    gap = OpenGap(place=ROOM, since=0, until=3000, returned=1000, id=1)
    assert gap.verdict(at, RULES, back=20_000) == verdict


def test_very_old_messages_are_only_counted() -> None:
    gap = OpenGap(place=ROOM, since=0, until=1e6, returned=1e6, id=1)
    assert gap.verdict(1e6 - RULES.offer - 1, RULES, back=1e6) == "too_old"
