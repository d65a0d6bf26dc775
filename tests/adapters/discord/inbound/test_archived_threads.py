"""Archived threads in which something was said."""

from __future__ import annotations

from typing import Any, cast

import pytest

from adapters.discord.connection.values import Channel, sent_at
from adapters.discord.inbound import archived_threads
from adapters.discord.inbound.archived_threads import (
    LATE,
    ArchivedThreads,
    WokenThreads,
    archive_of,
    place_of,
)
from gateway.missed import OpenGap
from gateway.surface import RateLimited

THREAD = "80351110224678912"
AT = sent_at(THREAD)
WOKEN = Channel(id=THREAD, type=11, parent="5")
PARENT = Channel(id="5", type=0)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The steady time, which stands still."""
    now = [100.0]
    monkeypatch.setattr(archived_threads, "monotonic", lambda: now[0])
    return now


def gap(**more: Any) -> OpenGap:
    values: dict[str, Any] = {
        "id": 1,
        "place": archive_of("discord", "5"),
        "since": AT - 10,
        "until": AT + 10,
        "returned": AT + 10,
        "cursor": "",
        **more,
    }
    return OpenGap(**values)


def test_an_archive_is_a_place_of_its_own() -> None:
    assert place_of("discord", "5") != archive_of("discord", "5")
    assert place_of("discord", "5").channel == archive_of("discord", "5").channel == "5"


def test_a_thread_that_woke_up_has_the_gaps_of_the_pauses(now: list[float]) -> None:
    woken = WokenThreads("discord")
    assert woken.gaps(WOKEN, AT + 20) == []
    assert woken.begin([PARENT], AT - 5, AT + 5) == {}
    [found] = woken.gaps(WOKEN, AT + 20)
    assert (found.place, found.since, found.until) == (place_of("discord", THREAD), AT - 5, AT + 5)
    assert [*woken.begin([WOKEN], AT + 6, AT + 7)] == [THREAD]
    woken.tell([WOKEN])
    assert woken.gaps(WOKEN, AT + 20) == []


def test_an_archive_that_was_listed_is_known_a_little_longer(now: list[float]) -> None:
    for end in ("skip", "end"):
        woken = WokenThreads("discord")
        woken.inherit([gap()])
        assert len(woken.gaps(WOKEN, AT + 20)) == 1
        if end == "skip":
            woken.skip("5")
        else:
            woken.end("5", [], AT + 10)
        assert len(woken.gaps(WOKEN, AT + 20)) == 1
        now[0] += LATE + 1
        assert woken.gaps(WOKEN, AT + 20) == []


class Rest:
    """Lists of archived threads."""

    account = "discord"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def call(self, method: str, path: str, query: Any) -> Any:
        self.asked.append(path)
        return {"threads": [{"id": THREAD, "last_message_id": THREAD}], "has_more": False}


async def test_a_page_of_an_archive_names_threads_in_which_something_was_said() -> None:
    rest = Rest()
    archives = ArchivedThreads(cast("Any", rest))
    page = await archives.read(gap())
    assert [*page.further] == [place_of("discord", THREAD)]
    assert page.cursor == "private "
    last = await archives.read(gap(cursor=page.cursor))
    assert last.cursor is None
    assert [path.rpartition("/")[2] for path in rest.asked] == ["public", "private"]


async def test_an_inherited_archive_waits_for_what_the_connection_tells(now: list[float]) -> None:
    for known in ("told", "none"):
        archives = ArchivedThreads(cast("Any", Rest()))
        archives.inherit([gap()])
        assert len(archives.woken.gaps(WOKEN, AT + 20)) == 1
        with pytest.raises(RateLimited):
            await archives.read(gap())
        if known == "told":
            archives.tell([PARENT])
        else:
            archives.wait_for_none()
        assert (await archives.read(gap())).further
