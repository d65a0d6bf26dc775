"""Summarised messages stay under the laws: deletions, edits, marks, forgetting."""

from typing import Any

import pytest

from gateway.content.task import DELETED
from gateway.conversation import Quote
from gateway.events import InputRequested, Notice
from gateway.registry import ToolRule
from gateway.store.units import deletion
from teams.model_context import AutoChatCompletionContext
from tests.fakes.tested_store import rows_of, tables_of
from tests.gateway.journeys.test_edits import ANN, BOB, BOSS, FILE
from tests.gateway.scripted import ALLOW, calls, model, of, solo
from tests.gateway.sessions.test_deleted_words import PICTURE, Desk
from tests.pairwise import pairwise


class Library(Desk):
    """A team that summarises when it is told to."""

    def __init__(self, folder, *answers, client=None) -> None:
        super().__init__(folder, *answers, client=client)
        self.contexts: list[AutoChatCompletionContext] = []
        self.teams.make = self.made
        self.done = 0

    def made(self):
        context = AutoChatCompletionContext(self.client)
        self.contexts.append(context)
        return solo(self.client, tools=[self.read, self.act], model_context=context)

    async def read(self) -> str:
        """Read."""
        return "what Eve wrote"

    async def act(self) -> str:
        """Act."""
        self.done += 1
        return "done"

    async def compact(self) -> None:
        """Summarise all but the newest question and its answer."""
        made = await self.contexts[-1].compact()
        assert made is not None
        assert made.text.startswith("SUMMARY")

    async def all_kept(self) -> str:
        """Every row of the store."""

        store: Any = self.gateway.store
        tables = await store.read(tables_of)
        rows = [await rows_of(store, f"SELECT * FROM {table}") for table in tables]
        return "\n".join(repr(each) for each in rows)


FILES = {"text": (), "file": (FILE,), "image": (PICTURE,)}
ANSWERS = ("one", "two", "SUMMARY of CANARY", "three", "SUMMARY II of CANARY", "four", "five")


AGAIN = {"a summary": False, "a summary of a summary": True}


# What the pairs leave out runs with the chaos tests, here and below.
@pairwise(again=AGAIN, files=FILES, restarts=[False, True])
async def test_no_summary_keeps_the_words_of_a_deleted_message(tmp_path, files, again, restarts):
    client = model(*(ANSWERS if again else ANSWERS[:4] + ANSWERS[5:]))
    desk = Library(tmp_path, client=client)
    async with desk:
        await desk.turn("1", "the code is CANARY", attachments=files)
        await desk.turn("2", "thanks")
        await desk.compact()
        thread = (await desk.turn("3", "well?")).thread
        assert "SUMMARY" in desk.sent()
        if again:
            await desk.compact()
        if not restarts:
            await desk.delete("1")
            await desk.turn("4", "what is the code?")
    if restarts:
        desk, turns = Library(tmp_path, client=client), desk.turns
        async with desk:
            desk.turns = turns
            await desk.delete("1")
            await desk.turn("4", "what is the code?")
    assert "SUMMARY" not in desk.sent()
    assert "CANARY" not in desk.sent()
    assert all(each in desk.sent() for each in (DELETED, "one", "thanks", "three"))
    async with Library(tmp_path, client=client) as later:
        assert b"CANARY" not in await later.saved(thread)
        later.turns = 4
        await later.turn("5", "and now?")
        assert "CANARY" not in later.sent()


async def test_a_deletion_of_what_no_summary_covers_leaves_it(tmp_path):
    async with Library(tmp_path, "one", "two", "SUMMARY", "three", "four") as desk:
        await desk.turn("1", "hello")
        await desk.turn("2", "the code is CANARY")
        await desk.compact()
        await desk.turn("3", "well?")
        await desk.delete("2")
        await desk.turn("4", "and now?")
    assert "SUMMARY" in desk.sent()
    assert DELETED in desk.sent()
    assert "CANARY" not in desk.sent()


async def test_an_edit_of_what_a_summary_covers_is_offered_and_told_as_any(tmp_path):
    async with Library(tmp_path, "one", "two", "SUMMARY", "three", "four") as desk:
        first = await desk.turn("1", "the code is 1")
        await desk.turn("2", "thanks")
        await desk.compact()
        await desk.turn("3", "well?")
        await desk.edit("1", "the code is 2")
        await desk.type(f"/again {first.inbox}")
        events = await desk.events(first.thread, 4)
    offers = [event.command for event in of(Notice, events) if event.command]
    assert offers == [f"/again {first.inbox}"]
    assert "SUMMARY" in desk.sent()
    assert desk.told()[-1] == "the code is 2"


@pairwise(brought=["quote", "result"], restarts=[False, True], again=AGAIN)
async def test_tools_ask_for_foreign_text_of_which_only_a_summary_is_left(
    tmp_path, brought, restarts, again
):
    answers = ["one", "two", "SUMMARY", "three", calls("act")]
    if brought == "result":
        answers.insert(0, calls("read"))
    if again:
        answers.insert(-1, "SUMMARY II")
    client = model(*answers)
    rules = {"read": ToolRule(action="allow", output="foreign"), "act": ALLOW}
    quotes = (Quote(text="what Eve wrote", author="Eve"),) if brought == "quote" else ()

    async def act(desk: Library) -> None:
        receipt = await desk.say("4", "act")
        events = await desk.events(receipt.thread, 4)
        assert [each.tool for each in of(InputRequested, events)] == ["act"]
        assert "Eve" not in desk.sent()
        assert "SUMMARY" in desk.sent()
        assert desk.done == 0

    async with Library(tmp_path, client=client) as desk:
        desk.teams.rules = rules
        await desk.turn("1", "look", quotes=quotes)
        assert "Eve" in desk.sent()
        await desk.turn("2", "thanks")
        await desk.compact()
        await desk.turn("3", "well?")
        if again:
            await desk.compact()
        if not restarts:
            await act(desk)
    if restarts:
        async with Library(tmp_path, client=client) as desk:
            desk.teams.rules = rules
            await act(desk)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("way", ["/forget", "person", "other person", "thread"])
async def test_what_is_forgotten_leaves_no_summary_behind(tmp_path, way):
    """A summary holds words of several people: it goes with each."""
    answers = ("one", "two", "SUMMARY of CANARY", "three", "four")
    async with Library(tmp_path, *answers) as desk:
        await desk.turn("1", "the code is CANARY", ANN)
        await desk.turn("2", "thanks", BOB)
        await desk.compact()
        thread = (await desk.turn("3", "well?", BOB)).thread
        assert "SUMMARY of CANARY" in await desk.all_kept()
        match way:
            case "/forget":
                assert "several people" not in (await desk.type("/forget", BOSS)).reply
            case "thread":
                await desk.gateway.store.run(deletion.delete_thread, thread)
            case _:
                person = ANN if way == "person" else BOB
                await desk.gateway.store.run(deletion.delete_person, person.id)
        assert "CANARY" not in await desk.all_kept()
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"SUMMARY" not in stored
