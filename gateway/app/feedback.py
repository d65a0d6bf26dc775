"""Rated answers with what led to them, for whoever improves a team."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from gateway.app.threads import stored_events
from gateway.base.redaction import REDACTION
from gateway.client import ThreadInfo
from gateway.delivery.items import SpeechItem, key_of
from gateway.delivery.view import ThreadView
from gateway.errors import NotFound
from gateway.events import SessionEvent
from gateway.items import AgentItem, HumanItem
from gateway.store.protocols import SessionReader
from gateway.store.records import RatedAnswer
from gateway.store.units import outbox, people
from gateway.store.units import threads as thread_units

BEFORE = 20
"""Messages that are told with an answer: those right before its end."""
PARTS, GENERATIONS = 30, 4
"""Messages that an answer may take, and how often each may have been written anew."""
WORDS = (
    "Each line holds words of people: what they asked, what they were answered, and why they were "
    "content or not. Keep it where only those read it who may read the threads."
)


async def rated_threads(store: SessionReader) -> AsyncIterator[tuple[ThreadInfo, list[str]]]:
    """Threads with rated answers, each with its lines of JSON.

    One that was deleted, or is forgotten meanwhile, is left out.
    """
    ratings: dict[str, list[RatedAnswer]] = {}
    for each in await store.run(people.ratings):
        ratings.setdefault(each.thread, []).append(each)
    for id_, rated in ratings.items():
        try:
            thread = await store.run(thread_units.thread, id_)
            doubtful = (await store.run(outbox.delivery, id_)).doubtful
        except NotFound:
            continue
        told = await _told(thread, rated, stored_events(store, id_), doubtful)
        yield thread, [*map(_line, told)]


async def _told(
    thread: ThreadInfo,
    rated: Sequence[RatedAnswer],
    events: AsyncIterable[SessionEvent],
    doubtful: int,
) -> list[dict[str, Any]]:
    """The ratings, with the messages that a platform has shown."""
    view, said = ThreadView(doubtful=doubtful), list[tuple[int, dict[str, str]]]()
    async for event in events:
        view.apply(event)
        for item in view.picture.news:
            match item:
                case HumanItem():
                    said.append((event.seq, {"role": "person", "text": item.text}))
                case AgentItem(open=False) if item.text:
                    agent = {"role": "agent", "name": item.agent.name, "text": item.text}
                    said.append((event.seq, agent))
                case _:
                    pass
    speeches = [each for each in view.items if isinstance(each, SpeechItem)]
    shown = {
        key_of(thread.id, each.id, n, generation): each
        for each in speeches
        for n in range(PARTS)
        for generation in range(GENERATIONS)
    }
    found: list[dict[str, Any]] = []
    for each in rated:
        answer = shown.get(each.part)
        context = [told for seq, told in said if answer is None or seq < answer.seq]
        told = {"agent": answer.agent, "text": answer.text} if answer is not None else None
        at = datetime.fromtimestamp(each.at, UTC).isoformat(timespec="seconds")
        row = asdict(each) | {"at": at, "verdict": "good" if each.good else "bad"}
        found.append(row | {"team": thread.team, "answer": told, "context": context[-BEFORE:]})
    return found


def _line(row: dict[str, Any]) -> str:
    return REDACTION.all(json.dumps(row, ensure_ascii=False))
