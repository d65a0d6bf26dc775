"""Tools of servers: met, met as others, accepted, forgotten."""

from typing import Any

import pytest

from gateway.app.stores import AnyStore
from gateway.client import Answer
from gateway.errors import NotFound
from gateway.events import InputResolved
from gateway.store.decisions import RequestAnswer
from gateway.store.records import KnownTool, MetTool
from gateway.store.units import audit, known_texts, met_tools
from gateway.store.units import events as event_units
from gateway.store.units.known_texts import MOST_OTHERS
from gateway.store.units.requests import TOOL_CHANGED
from tests.fakes.new_store import is_on_postgres, new_store
from tests.gateway.store.talk import ANN, BOB, approval, begin, begun, end, jobs_of, place, take

pytestmark = pytest.mark.usefixtures("database")


def price(digest: str, server: str = "shop", tool: str = "price") -> MetTool:
    return MetTool(server=server, tool=tool, digest=digest, text=f"text {digest}")


async def whats(store: AnyStore) -> list[tuple[str, str, str]]:
    rows = await store.run(
        audit.whole_audit, after=0, since=0.0, until=2.0**40, limit=100, longest=0
    )
    return [(row.what, row.person, row.outcome) for row in rows if row.what.startswith("tool.")]


async def waiting(
    store: AnyStore, thread: str, request: str, tool: str = "shop/price", **more: Any
) -> None:
    """A thread whose turn waits for an approval of the tool."""
    work = await begun(store, thread=thread, key=place(thread))
    asked = approval(work, request, tool=tool, engine_id=request, **more)
    await end(store, work, "waiting", requests=(asked,))


async def test_the_first_text_is_accepted_and_others_are_kept_beside_it(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        assert await store.run(known_texts.known_tool, "shop", "price") is None
        for digest in "aab":
            await store.run(met_tools.meet_tool, price(digest))
        await store.run(met_tools.meet_tool, price("a", "desk/mcp"))
        found = await store.run(known_texts.known_tool, "shop", "price")
        assert found is not None
        assert (found.digest, found.text, found.others) == ("a", "text a", (("b", "text b"),))
        assert [each.server for each in await store.run(known_texts.known_tools)] == [
            "desk/mcp",
            "shop",
        ]
        assert await whats(store) == [("tool.changed", "", "a is now b")]
    assert await new_store(tmp_path).run(known_texts.known_tool, "shop", "price") == found


async def test_a_server_that_never_stops_changing_fills_no_store(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        for n in range(MOST_OTHERS + 5):
            await store.run(met_tools.meet_tool, price(f"d{n}"))
        found = await store.run(known_texts.known_tool, "shop", "price")
        assert found is not None
        assert (found.digest, len(found.others)) == ("d0", MOST_OTHERS)
        assert found.others[-1] == (f"d{MOST_OTHERS + 4}", f"text d{MOST_OTHERS + 4}")


async def test_a_change_ends_grants_and_closes_approvals_everywhere(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(met_tools.meet_tool, price("a"))
        await waiting(store, "t1", "r1")
        always = RequestAnswer(
            request="r1", answer=Answer(kind="approve_always"), outcome="approved", grant=""
        )
        await take(store, "", always, author=BOB, key=place("t1"), thread="t1")
        work = await begin(store, "t1")
        assert [*work.grants] == [("shop/price", "")]
        await end(store, work)
        await waiting(store, "t2", "r2")
        await waiting(store, "t3", "r3", meant="c shop")  # it was asked for another text

        settled = await store.run(met_tools.meet_tool, price("b"))

        assert {thread: [type(each) for each in events] for thread, events in
                settled.events.items()} == {"t2": [InputResolved]}  # fmt: skip
        assert (await store.run(event_units.request, "r2")).outcome == TOOL_CHANGED
        assert (await store.run(event_units.request, "r3")).state == "open"
        assert not (await begun(store, thread="t1", key=place("t1"))).grants
        if is_on_postgres():
            assert ("t2", ANN.id) in await jobs_of(store)
        else:
            assert list(settled.ready) == [("t2", ANN.id)]
        again = await begin(store, "t2")  # it goes on, to ask anew
        assert [each.answer_kind for each in again.requests] == ["deny"]
        assert not (await store.run(met_tools.meet_tool, price("b"))).events


@pytest.mark.parametrize(
    ("called", "kept"),
    [("price", "price"), ("user/price", "user/price"), ("pri\u200bce", "pri⟨U+200B⟩ce")],
)
async def test_an_approval_accepts_the_text_that_it_was_asked_for(tmp_path, called, kept):
    store = new_store(tmp_path)
    accepts = RequestAnswer(request="r1", answer=Answer(kind="approve_new"), outcome="approved")
    async with store.own():
        for digest in "abc":
            await store.run(met_tools.meet_tool, price(digest, tool=kept))
        await waiting(store, "t1", "r1", tool=f"shop/{called}", meant="b shop")
        await take(store, "", accepts, author=BOB, key=place("t1"), thread="t1")
        found = await store.run(known_texts.known_tool, "shop", kept)
        assert isinstance(found, KnownTool)
        assert (found.digest, found.others, found.since > 0) == ("b", (), True)
        assert (await whats(store))[-1] == ("tool.accepted", BOB.id, "a is now b")


async def test_a_forgotten_text_is_accepted_by_nobody(tmp_path):
    store = new_store(tmp_path)
    accepts = RequestAnswer(request="r1", answer=Answer(kind="approve_new"), outcome="approved")
    async with store.own():
        await store.run(met_tools.meet_tool, price("a"))
        await waiting(store, "t1", "r1", meant="gone shop")
        await take(store, "", accepts, author=BOB, key=place("t1"), thread="t1")
        found = await store.run(known_texts.known_tool, "shop", "price")
        assert found is not None
        assert found.digest == "a"
        with pytest.raises(NotFound):
            await store.run(event_units.request, "none")


async def test_the_operator_accepts_a_tool_or_forgets_it(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(met_tools.meet_tool, price("a"))
        accepted = [await store.run(known_texts.accept_tool, price(digest)) for digest in "abb"]
        assert accepted == [False, True, False]
        assert not await store.run(
            known_texts.accept_tool, price("a", tool="new")
        )  # it is met first so
        await store.run(known_texts.forget_tool, "shop", "price")
        await store.run(known_texts.forget_tool, "shop", "price")
        assert [each.tool for each in await store.run(known_texts.known_tools)] == ["new"]
        assert [what for what, *_ in await whats(store)] == ["tool.accepted", "tool.unpinned"]
