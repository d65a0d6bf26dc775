"""The victim: asks, and measures the time of its answers."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.security.redteam.chats import Chat, until
from tests.security.redteam.words import FIRST_WORD, LAST_WORD, VICTIM

UNANSWERED = 90.0
"""Seconds after which a question counts as unanswered.

Of an event that was not acknowledged, Slack's third try comes after a minute
(docs.slack.dev/apis/events-api, "Retries").
"""


@dataclass
class Waits:
    """Seconds from a question to the first and the last word."""

    first: list[float] = field(default_factory=list[float])
    whole: list[float] = field(default_factory=list[float])
    unanswered: int = 0


async def ask_until(chat: Chat, ends: float, waits: Waits, who: str) -> None:
    """Ask until that time; each question begins a thread of its own."""
    number = 0
    while time.monotonic() < ends:
        number += 1
        await ask_once(chat, waits, f"{who} {number}", who)


async def ask_once(chat: Chat, waits: Waits, question: str, who: str) -> None:
    """Ask one question and wait for its answer."""
    began = time.monotonic()
    asked = await chat.ask(who, f"{VICTIM} {question}", "quiet")
    for word, times in ((FIRST_WORD, waits.first), (LAST_WORD, waits.whole)):
        if not await until(
            lambda word=word: any(word in each for each in chat.answers(asked)), UNANSWERED
        ):
            waits.unanswered += 1
            return
        times.append(time.monotonic() - began)


def percentile(times: Sequence[float], share: float) -> float:
    """The value under which that share of all lies; nan of none."""
    if not times:
        return math.nan
    return sorted(times)[min(len(times) - 1, math.ceil(share * len(times)) - 1)]
