"""kill -9 of a loaded gateway, at named and random points."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest

from tests.chaos.history import ThreadReport, Verdict, check, read
from tests.chaos.load import ANSWERS, CONVERSATIONS, POINTS
from tests.chaos.process import ROOT
from tests.fakes.forked import forked
from tests.fakes.tested_store import rows_in

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(120)]

SEEDS = 25
PER_CHANGE = 2
"""Seeds that run per change; `make nightly` has the rest."""
FINAL = {conversation: ANSWERS[team] for conversation, team in CONVERSATIONS.items()}


async def run(folder: Path, point: str, nth: int, *more: str) -> bool:
    """Run the load; True if the process lived to its end."""
    log = folder / "log"
    process = await forked(
        *("tests.chaos.load", str(folder), point, str(nth), *more),
        folder=ROOT,
        environment=os.environ,
        log=log,
    )
    code = await process.wait()
    assert code in (0, -signal.SIGKILL), log.read_text()
    return code == 0


def verdict_on(folder: Path) -> Verdict:
    """The verdict on the record, compared with the store."""
    store = folder / "store"
    threads = rows_in(store, "SELECT id, key FROM threads")
    names = {thread: key.split("/")[3] for thread, key in threads}
    told = {name: told_of(store, thread) for thread, name in names.items()}
    lines = [*read(folder / "history", names), *read(folder / "wall")]
    return check(lines, told, answers=FINAL)


def told_of(store: Path, thread: str) -> ThreadReport:
    """The store's report on one thread."""
    taken: dict[int, int] = {}
    written = rows_in(store, "SELECT message_id FROM inbox WHERE thread = :thread", thread=thread)
    for (name,) in written:
        n = int(name.rpartition("-")[2])
        taken[n] = taken.get(n, 0) + 1
    events = [
        json.loads(body)
        for (body,) in rows_in(
            store, "SELECT body FROM events WHERE thread = :thread ORDER BY seq", thread=thread
        )
    ]
    assert not [
        event["text"] for event in events if event["kind"] == "notice" and event["level"] == "error"
    ]
    return ThreadReport(
        taken,
        worked_on=[
            int(message["text"].rpartition("-")[2])
            for event in events
            if event["kind"] == "turn_started"
            for message in event["messages"]
        ],
        said=[
            event["text"]
            for event in events
            if event["kind"] == "message_finished" and event["text"]
        ],
    )


async def test_a_gateway_that_nobody_kills_keeps_its_word(tmp_path: Path) -> None:
    assert await run(tmp_path, "none", 0)
    assert verdict_on(tmp_path), verdict_on(tmp_path)


@pytest.mark.parametrize("point", POINTS)
async def test_killed_at_each_point_it_keeps_its_word(tmp_path: Path, point: str) -> None:
    for kill in (1, 3):
        assert not await run(tmp_path, point, kill), "it was not killed"
    assert await run(tmp_path, "none", 0)
    assert verdict_on(tmp_path), verdict_on(tmp_path)


@pytest.mark.parametrize(
    "point",
    [
        "before recording the post",
        *(pytest.param(each, marks=pytest.mark.nightly) for each in ("before post", "after post")),
    ],
)
async def test_where_a_platform_cannot_tell_what_was_posted_a_second_post_is_marked(
    tmp_path: Path, point: str
) -> None:
    assert not await run(tmp_path, point, 5, "blind")
    assert await run(tmp_path, "none", 0, "blind")
    assert verdict_on(tmp_path), verdict_on(tmp_path)
    marked = [line.text for line in read(tmp_path / "wall") if line.unsure]
    assert marked  # the doubt is shown, whether or not there is a second one


@pytest.mark.parametrize(
    "seed",
    [
        *range(PER_CHANGE),
        *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(PER_CHANGE, SEEDS)),
    ],
)
async def test_killed_anywhere_it_keeps_its_word(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    blind = ["blind"] if seed % 3 == 0 else []
    assert not await run(tmp_path, "any", chance.randrange(1, 500), *blind)
    await run(tmp_path, "any", chance.randrange(1, 500), *blind)  # once more, if it comes so far
    assert await run(tmp_path, "none", 0, *blind)
    assert verdict_on(tmp_path), verdict_on(tmp_path)
