"""Costs of a side's answers, and their outcomes under faults."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Sequence

from adapters.slack.simulator.call import Call
from adapters.slack.testing import Person, Refusal
from benchmarks.peers.served import BEGIN, REST, Served, live_mentions, served, whole
from benchmarks.peers.sides import Side
from benchmarks.processes import family_seconds

Samples = dict[str, list[float]]
APPROVES = re.compile(r"approve|allow", re.IGNORECASE)
EVERY = 5
"""Calls of which one is refused."""
MENTIONS, CRASHED = 30, 40
PATIENCE = 45.0
"""Seconds for the answers, from the last question on: longer than Slack's retries take."""


async def calm(side: Side, count: int) -> Samples:
    """One question after the other, with the process left alone."""
    async with served(side) as it:
        firsts = [await _first_word(it, f"slow-{number}") for number in range(count)]
        await asyncio.sleep(REST)
        calls, cpu = len(it.slack.calls()), family_seconds(it.pid)
        for number in range(1, count + 1):
            await _answer(it, f"short-{number}")
        await asyncio.sleep(REST)
        found: Samples = {
            "first": firsts,
            "calls": [(len(it.slack.calls()) - calls) / count],
            "cpu": [(family_seconds(it.pid) - cpu) / count],
            "memory": [it.memory],
        }
        asked = await it.asks("ping-1")
        await it.slack.until(lambda: any("ping-1." in each for each in it.texts()))
        await asyncio.sleep(1)  # what a peer still changes of it
        pings = {live for each in it.messages(asked) for live in live_mentions(each)}
        found["pings"] = [float(len(pings))]
        if side.removes:
            found["stranger"] = [await _stranger(it)]
        return found


async def _answer(it: Served, question: str) -> None:
    await it.asks(question)
    await it.needs(question)


async def _first_word(it: Served, question: str) -> float:
    begun = time.perf_counter()
    asked = await it.asks(question)
    await it.slack.until(lambda: any(BEGIN in each.text for each in it.messages(asked)))
    taken = time.perf_counter() - begun
    await it.needs(question)
    await asyncio.sleep(0.5)
    return taken


async def _stranger(it: Served) -> float:
    """1 if a tool runs after a stranger's click.

    The click of the one who asked must let it run.
    """
    asker = it.asker("tool-1")
    await it.asks("tool-1")
    await it.slack.until(lambda: _approval(it, asker))
    await asyncio.sleep(1)  # no person is faster
    assert it.kept.exists(), f"{it.side.name} ran a tool before anybody approved it"
    await it.stranger.clicks(*_approval(it, asker)[0])
    await asyncio.sleep(2 * REST)
    if not it.kept.exists():
        return 1.0
    await asker.clicks(*_approval(it, asker)[0])
    await it.slack.until(lambda: not it.kept.exists())
    return 0.0


def _approval(it: Served, asker: Person) -> list[tuple[str, str]]:
    """Messages that ask for an approval, with the button that gives it."""
    seen = [*it.messages(), *it.slack.private(asker)]
    return [(each.ts, name) for each in seen for name in each.buttons if APPROVES.search(name)]


async def limited(side: Side) -> Samples:
    """30 mentions in six seconds, under Slack's rate limits."""
    questions = [f"short-{number + 1}" for number in range(MENTIONS)]
    async with served(side, rates=True) as it:
        for question in questions:
            await it.asks(question)
            await asyncio.sleep(6 / MENTIONS)
        await it.answered(*questions, within=PATIENCE)
        too_many = sum(each.status == 429 for each in it.slack.calls())
        return {
            "limited": [outcomes(it.texts(), questions)["answered"]],
            "too many": [float(too_many)],
        }


async def refused(side: Side) -> Samples:
    """Ten questions while every fifth call is refused."""
    questions = [f"short-{number + 1}" for number in range(10)]
    seen = Counter[str]()

    def fifth(_: Call) -> bool:
        seen["calls"] += 1
        return seen["calls"] % EVERY == 0

    async with served(side) as it:
        it.slack.faults.add(Refusal("internal_error"), fifth, times=-1)
        for question in questions:
            await it.asks(question)
            await asyncio.sleep(0.5)
        await it.answered(*questions, within=PATIENCE)
        return {"refused": [outcomes(it.texts(), questions)["answered"]]}


async def crashed(side: Side) -> Samples:
    """40 mentions, among which the process is killed and started anew."""
    questions = [f"slow-{number}" for number in range(CRASHED)]
    async with served(side) as it, asyncio.TaskGroup() as group:
        for number, question in enumerate(questions):
            await it.asks(question)
            await asyncio.sleep(0.25)
            if number == CRASHED // 2:
                await it.kill()
            if number == CRASHED * 3 // 4:
                group.create_task(_again(it), name="start")
        await it.answered(*questions, within=2 * PATIENCE)
        await asyncio.sleep(REST)  # in which an answer might come twice
        found = outcomes(it.texts(), questions)
        return {name: [found[name]] for name in ("answered", "lost", "doubled")}


async def _again(it: Served) -> None:
    await it.start()


def outcomes(texts: Sequence[str], questions: Sequence[str]) -> dict[str, float]:
    """Numbers of questions answered whole, never, and more than once."""
    times = [whole(texts, question) for question in questions]
    return {
        "answered": float(sum(each > 0 for each in times)),
        "lost": float(sum(each == 0 for each in times)),
        "doubled": float(sum(each > 1 for each in times)),
    }
