"""Open requests and threads for people's own pages."""

from dataclasses import replace

import pytest

from gateway.client import Answer
from gateway.store.decisions import RequestAnswer
from gateway.store.units import homes
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, BOB, KEY, approval, begun, end, take

pytestmark = pytest.mark.usefixtures("database")


async def test_the_threads_that_somebody_has_asked_in_are_linked(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await begun(store, "hi", link="https://x/1")
        await take(store, author=BOB, thread="u", key=replace(KEY, root="2"))
        here = (KEY.platform, KEY.workspace, 10)
        assert await store.run(homes.asked_threads, ANN.id, *here) == {"t": "https://x/1"}
        assert await store.run(homes.asked_threads, BOB.id, *here) == {}  # it has not begun
        assert await store.run(homes.asked_threads, ANN.id, KEY.platform, "T2", 10) == {}
        assert await store.run(homes.asked_threads, ANN.id, "y", KEY.workspace, 10) == {}


async def test_open_requests_of_a_platform_are_listed_until_they_are_answered(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        asked = tuple(approval(work, each) for each in ("r1", "r2"))
        await end(store, work, "waiting", requests=asked)
        assert {*await store.run(homes.open_requests, KEY.platform)} == {"r1", "r2"}
        assert await store.run(homes.open_requests, "other") == []
        answer = RequestAnswer(request="r1", answer=Answer(kind="deny"), outcome="denied")
        await take(store, "no", answer, kind="answer")
        assert await store.run(homes.open_requests, KEY.platform) == ["r2"]
