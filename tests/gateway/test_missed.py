"""Missed messages are judged by their age when Parley came back."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.conversation import ConversationKey
from gateway.gateway import Gateway
from gateway.missed import DAY, MissedRules, OpenGap
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, solo

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


async def test_nothing_is_too_old_by_a_clock_that_is_doubted(tmp_path: Path) -> None:
    now = 500 * DAY
    gap = OpenGap(place=ROOM, since=0, until=now, returned=now, id=1)
    teams = ScriptedTeams(lambda: solo("unused"))
    async with Gateway(new_store(tmp_path), teams, clock=lambda: now) as gateway:
        at = now - 100 * DAY
        assert await gateway.missed_verdict(gap, at, now=now) == "too_old"
        gateway.compare_time("slack", at + 60)
        assert await gateway.missed_verdict(gap, at, now=now) == "offer"
        assert await gateway.missed_verdict(gap, now - 60, now=now) == "answer"
