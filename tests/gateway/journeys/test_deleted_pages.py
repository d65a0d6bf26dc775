"""Deleted texts that were too long, or that an orchestrator repeats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.content.task import DELETED
from gateway.conversation import Attachment, Author, Quote
from gateway.events import Notice, ToolStarted
from gateway.gateway import Limits
from gateway.sessions.deleted_words import NO_PAGE
from gateway.sessions.live_team import FORGETS
from teams import MagenticOneGroupChat, RoundRobinGroupChat
from teams.agents import AssistantAgent, SocietyOfMindAgent
from teams.models import ContextOverflow
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.scripted_model import calls
from tests.gateway.journeys.test_edits import ANN, BOB
from tests.gateway.journeys.test_stopped import Door
from tests.gateway.scripted import of
from tests.gateway.sessions.test_deleted_words import Desk
from tests.gateway.sessions.test_team_change import Defined
from tests.pairwise import pairwise
from tests.teams._group_chats.test_magentic_one import Orchestrator, helper, ledger

LONG = "".join(f"CANARY of day {n}. " for n in range(4_000))
SMALL = 40_000
"""Characters that the model takes."""
BRIEF = "Days in short."


class Hall(Desk):
    """A platform whose model takes few characters."""

    def __init__(self, folder: Path, model: NarrowModel, **more) -> None:
        self.model = model
        super().__init__(folder, client=model, **more)

    async def decide(self, way: str) -> None:
        """Decide what comes of a text, and see the turn that follows."""
        thread = (await self.type(f"/aside {way}")).thread
        self.turns += 1
        await self.events(thread, self.turns)

    def sent(self) -> str:
        return str(self.model.messages())


def single(model: NarrowModel):
    return lambda: RoundRobinGroupChat(
        [AssistantAgent("ann", model, max_tool_iterations=5)], max_turns=1
    )


def two(model: NarrowModel):
    """The first says what its tool gave; the second hears that."""
    return lambda: RoundRobinGroupChat(
        [AssistantAgent("ann", model), AssistantAgent("bob", model)], max_turns=2
    )


def inner(model: NarrowModel):
    """A team inside of an agent."""
    return lambda: RoundRobinGroupChat(
        [SocietyOfMindAgent("outer", single(model)(), model)], max_turns=1
    )


FILE = Attachment(name="a.txt", media_type="text/plain", data=LONG.encode())
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "message": ("message-1.txt", {"text": LONG}),
    "another spelling": ("message-01.txt", {"text": LONG}),
    "quote": ("message-1-1.txt", {"text": "look", "quotes": (Quote(text=LONG, author="Eve"),)}),
    "file": ("message-1-1.txt", {"text": "look", "attachments": (FILE,)}),
    "file behind a quote": (
        "message-1-2.txt",
        {"text": "", "quotes": (Quote(text="CANARY", author="Eve"),), "attachments": (FILE,)},
    ),
}


def page(file: str, start: int = 8_000):
    return calls(("read_more", {"file": file, "start": start}))


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
@pytest.mark.parametrize("way", WAYS)
async def test_pages_of_a_deleted_text_are_told_no_more(
    tmp_path: Path, way: str, restarted: bool
) -> None:
    file, said = WAYS[way]
    model = NarrowModel(page(file), "Read.", "well.", "And well.", most=SMALL)
    desk = Hall(tmp_path, model, teams=Defined(single(model)))
    async with desk:
        thread = (await desk.turn("1", **said)).thread
        await desk.decide("attach")
        assert f"(A page of {file}:)" in desk.sent()
        assert "CANARY" in desk.sent()
        if not restarted:
            await desk.delete("1")
            await desk.turn("2", "well?")
    if restarted:
        desk, turns = Hall(tmp_path, model, teams=Defined(single(model))), desk.turns
        async with desk:
            desk.turns = turns
            await desk.delete("1")
            await desk.turn("2", "well?")
    async with Hall(tmp_path, model, teams=Defined(single(model))) as later:
        assert b"CANARY" not in await later.saved(thread)
        later.turns = desk.turns
        await later.turn("3", "and?")
    for sent in (str(model.messages(-2)), str(model.messages())):
        assert "CANARY" not in sent
        assert all(each in sent for each in (DELETED, NO_PAGE, "Read.", "well?"))


@pytest.mark.parametrize("build", [two, inner], ids=["an agent's answer", "an inner team"])
async def test_pages_are_found_wherever_agents_hear_them(tmp_path: Path, build) -> None:
    answers = (page("message-1.txt"), "Heard.", "one", "two")
    model = NarrowModel(*answers, most=SMALL)
    async with Hall(tmp_path, model, teams=Defined(build(model))) as desk:
        thread = (await desk.turn("1", LONG)).thread
        await desk.decide("attach")
        assert any("CANARY of day 600." in str(each) for each in model.requests)
        await desk.delete("1")
        model.add("three", "four")
        await desk.turn("2", "well?")
        assert "CANARY" not in desk.sent()
        saved = await desk.saved(thread)
        assert b"CANARY" not in saved
        assert NO_PAGE.encode() in saved


async def test_pages_of_what_is_still_there_stay(tmp_path: Path) -> None:
    model = NarrowModel(page("message-1.txt"), "Read.", "two", "three", most=SMALL)
    async with Hall(tmp_path, model, teams=Defined(single(model))) as desk:
        await desk.turn("1", LONG)
        await desk.decide("attach")
        await desk.turn("2", "the code is SECRET")
        await desk.delete("2")
        await desk.turn("3", "well?")
    assert "CANARY of day 600." in desk.sent()
    assert "SECRET" not in desk.sent()


async def test_no_page_of_a_page_gives_deleted_words(tmp_path: Path) -> None:
    model = NarrowModel(page("message-1.txt"), "Read.", most=SMALL)
    async with Hall(tmp_path, model, teams=Defined(single(model))) as desk:
        thread = (await desk.turn("1", LONG)).thread
        await desk.decide("attach")
        (read,) = of(ToolStarted, await desk.events(thread, 2))
        model.add(page(f"result-{read.call}.txt", 0), "Again.")
        await desk.turn("2", "again")
        assert "CANARY of day 600." in desk.sent()
        await desk.delete("1")
        model.add(page(f"result-{read.call}.txt", 0), "Nothing.")
        await desk.turn("3", "and again")
        assert "CANARY" not in desk.sent()
        assert f"There is no file 'result-{read.call}.txt' here." in desk.sent()
        assert b"CANARY" not in await desk.saved(thread)


async def test_a_page_that_was_read_before_a_kill_is_not_told_from_the_journal(
    tmp_path: Path,
) -> None:
    door = Door()

    async def wait() -> str:
        """Wait."""
        await door.pass_through()
        return "ok"

    def build():
        agent = AssistantAgent("ann", model, tools=[wait], max_tool_iterations=5)
        return RoundRobinGroupChat([agent], max_turns=1)

    both = calls(("read_more", {"file": "message-1.txt"}), ("wait", {}))
    model = NarrowModel("Long.", both, most=SMALL)
    limits = Limits(shutdown=0.05)
    async with Hall(tmp_path, model, teams=Defined(build), limits=limits) as desk:
        await desk.turn("1", LONG)
        await desk.decide("attach")
        thread = (await desk.say("2", "more", BOB)).thread
        await door.reached.wait()
        await desk.delete("1")
    door.open()
    model.add("Done.")
    async with Hall(tmp_path, model, teams=Defined(build)) as desk:
        await desk.events(thread, 3)
        assert "CANARY" not in desk.sent()
        assert b"CANARY" not in await desk.saved(thread)


async def test_a_page_that_was_too_long_itself_goes_with_its_message(tmp_path: Path) -> None:
    model = NarrowModel(page("message-1.txt"), "Read.", "two", most=12_000)
    async with Hall(tmp_path, model, teams=Defined(single(model))) as desk:
        thread = (await desk.turn("1", LONG)).thread
        await desk.decide("attach")
        await desk.decide("attach")
        assert "CANARY of day 600." in str(model.messages())
        await desk.delete("1")
        await desk.turn("2", "well?")
        assert "CANARY" not in desk.sent()
        assert b"CANARY" not in await desk.saved(thread)


async def test_of_a_deleted_page_nothing_is_attached(tmp_path: Path) -> None:
    model = NarrowModel("Long.", page("message-1.txt"), "Go on.", most=12_000)
    async with Hall(tmp_path, model, teams=Defined(single(model))) as desk:
        await desk.turn("1", LONG)
        await desk.decide("attach")
        await desk.turn("2", "more", BOB)
        await desk.delete("1")
        await desk.decide("attach")
    assert "CANARY" not in desk.sent()


SAID = (("1", "One by Ann.", ANN), ("2", LONG, ANN), ("3", "Three.", ANN))
BY_TWO = (SAID[0], ("2", LONG, BOB), SAID[2])


class Collecting(Hall):
    """A platform that makes one task of several messages."""

    def __init__(self, folder: Path, model: NarrowModel) -> None:
        limits = Limits(collect=0.2)
        super().__init__(folder, model, teams=Defined(single(model)), mode="collect", limits=limits)

    async def begin(self, said: Sequence[tuple[str, str, Author]], way: str) -> None:
        """Let all be said at once, and decide about the long one."""
        receipts = [await self.say(*each) for each in said]
        self.turns = 1
        await self.events(receipts[0].thread, 1)
        if way != "drop":
            await self.decide(way)


KEPT = {"drop": "", "summarise": BRIEF, "attach": "CANARY of day 0."}


# What the pairs leave out runs with the chaos tests.
@pairwise(
    restarted={"at once": False, "after a restart": True},
    said={"one author": SAID, "two authors": BY_TWO},
    way=[*KEPT],
)
async def test_what_was_shortened_stays_so_when_another_message_of_its_task_goes(
    tmp_path: Path, way: str, said: Sequence[tuple[str, str, Author]], restarted: bool
) -> None:
    model = NarrowModel("Hm.", "well.", "And.", most=SMALL, summary=BRIEF)

    async def go_on(desk: Collecting) -> None:
        thread = (await desk.turn("4", "well?")).thread
        sent = desk.sent()
        assert "One by Ann." not in sent
        assert b"One by Ann." not in await desk.saved(thread)
        assert KEPT[way] in sent
        assert "CANARY of day 600." not in sent
        if way == "drop":
            return
        assert all(each in sent for each in (DELETED, "Three."))
        assert [each in sent for each in ("[Ann", "[Bob")] == [said is BY_TWO] * 2
        await desk.delete("3")
        await desk.turn("5", "and?")
        assert KEPT[way] in desk.sent()
        assert "Three." not in desk.sent()

    async with Collecting(tmp_path, model) as desk:
        await desk.begin(said, way)
        await desk.delete("1")
        if not restarted:
            await go_on(desk)
    if restarted:
        async with Collecting(tmp_path, model) as later:
            later.turns = desk.turns
            await go_on(later)


@pytest.mark.parametrize("said", [SAID, BY_TWO], ids=["one author", "two authors"])
@pytest.mark.parametrize("way", KEPT)
async def test_what_was_shortened_goes_alone(
    tmp_path: Path, way: str, said: Sequence[tuple[str, str, Author]]
) -> None:
    model = NarrowModel("Hm.", "well.", most=SMALL, summary=BRIEF)
    async with Collecting(tmp_path, model) as desk:
        await desk.begin(said, way)
        await desk.delete("2", said[1][2])
        thread = (await desk.turn("4", "well?")).thread
        saved = await desk.saved(thread)
        for gone in ("CANARY", BRIEF):
            assert gone not in desk.sent()
            assert gone.encode() not in saved
        assert b"One by Ann." in saved
        assert b"Three." in saved


@pytest.mark.parametrize("open_run", [False, True], ids=["done", "open"])
@pytest.mark.parametrize("author", [ANN, BOB], ids=["alone", "with others"])
async def test_an_orchestrator_does_not_go_on_with_a_deleted_task(
    tmp_path: Path, open_run: bool, author: Author
) -> None:
    found = ContextOverflow("no more") if open_run else ledger(done=True)
    leads = [Orchestrator(ledger(), found), Orchestrator(ledger(done=True))]

    def build():
        return MagenticOneGroupChat([helper("found")], leads[0])

    async with Desk(tmp_path, "unused", teams=Defined(build)) as desk:
        await desk.turn("0", "hello", author)
        thread = (await desk.turn("1", "the code is\nCANARY")).thread
        assert "CANARY" in str(leads[0].requests[-1])
        lead = leads.pop(0)
        await desk.delete("1")
        await desk.turn("2", "well?")
        events = await desk.events(thread, 3)
        assert b"CANARY" not in await desk.saved(thread)
    assert FORGETS in [each.text for each in of(Notice, events)]
    assert lead.requests
    assert leads[0].requests
    assert "CANARY" not in str(leads[0].requests)
    assert re.search(r"well\?", str(leads[0].requests[-1]))
