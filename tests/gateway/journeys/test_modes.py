"""Modes of approval: accepted edits, plans, and their ends."""

import json

import pytest

from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import ASK, ToolFinished
from gateway.gateway import Gateway
from gateway.picture import Picture
from gateway.registry import DiffRule, ToolRule
from gateway.store.units import audit as audit_units
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, solo, until

pytestmark = pytest.mark.usefixtures("database")

EDIT = ToolRule(
    action="ask",
    paths=("path",),
    diff=DiffRule(path="path", content="content"),
    output="trusted",
)
RULES = {
    "write": EDIT,
    "send": ToolRule(action="ask", output="trusted"),
    "look": ToolRule(action="allow", read_only=True, output="trusted"),
    "fetch": ToolRule(action="allow", read_only=True),
}
WRITE = json.dumps({"path": "notes.md", "content": "new"})


class Desk:
    """A team with tools, and the operator at the terminal."""

    def __init__(self, folder, *answers) -> None:
        self.folder = folder
        self.done: list[str] = []
        self.client = model(*answers)
        tools = [self.write, self.send, self.look, self.fetch]
        self.teams = ScriptedTeams(lambda: solo(self.client, tools=tools), rules=RULES)
        self.thread = ""

    async def write(self, path: str, content: str) -> str:
        """Write a file."""
        self.done.append(f"write {path}")
        return "written"

    async def send(self) -> str:
        """Send something."""
        self.done.append("send")
        return "sent"

    async def look(self) -> str:
        """Look at something."""
        self.done.append("look")
        return "seen"

    async def fetch(self) -> str:
        """Fetch a page."""
        self.done.append("fetch")
        return "fetched"

    def open(self) -> Gateway:
        self.gateway = Gateway(new_store(self.folder), self.teams)
        return self.gateway

    async def say(self, text: str) -> str:
        client = self.gateway.client
        self.thread = self.thread or (await client.create_thread()).id
        return (await client.send(self.thread, text)).reply

    async def go(self, text: str = "go") -> tuple[str, list[ToolFinished]]:
        """Outcome of a turn, and its calls."""
        after = await self.seq() if self.thread else 0
        await self.say(text)
        news = await until(self.gateway.client, self.thread, ends, after)
        return news[-1].outcome, of(ToolFinished, news)

    async def seq(self) -> int:
        return (await self.gateway.client.thread(self.thread)).last_seq

    async def mode(self) -> str:
        picture, last = Picture(), await self.seq()
        if not last:
            return picture.approval
        events = await until(self.gateway.client, self.thread, lambda each: each.seq == last)
        for event in events:
            picture.apply(event)
        return picture.approval


async def test_accepted_edits_run_and_are_kept_like_any_approval(tmp_path):
    answers = [calls("write", write=WRITE), "done"] * 2
    desk = Desk(tmp_path, *answers)
    async with desk.open():
        await desk.say("/mode accept edits")
        assert await desk.mode() == "accept edits"
        assert (await desk.go())[0] == "done"
        assert desk.done == ["write notes.md"]
        assert (await desk.say("/grants")).startswith("the mode accept edits, for ")
        await desk.say("/revoke accept edits")
        assert await desk.mode() == ASK
        assert (await desk.say("/grants")).startswith("No tool is approved")
        assert (await desk.go())[0] == "waiting"
        told = await desk.gateway.store.run(audit_units.audit, desk.thread)
        assert ("revoked", "accept edits") in [(row.what, row.tool) for row in told]
    assert desk.done == ["write notes.md"]


async def test_other_calls_ask_where_edits_are_accepted(tmp_path):
    desk = Desk(tmp_path, calls("send"), "done")
    async with desk.open():
        await desk.say("/mode accept edits")
        assert (await desk.go())[0] == "waiting"
    assert desk.done == []


async def test_edits_ask_once_foreign_text_has_come(tmp_path):
    write = calls("write", write=WRITE)
    desk = Desk(tmp_path, calls("fetch"), write, write, "done")
    async with desk.open():
        await desk.say("/mode accept edits")
        assert (await desk.go())[0] == "waiting"
        # Nor does it help to choose the mode anew: other than an approval, it knows no call.
        await desk.say("/mode ask")
        await desk.say("/mode accept edits")
        asked = await desk.seq()
        await desk.say("/deny not now")
        rests = await until(desk.gateway.client, desk.thread, ends, asked)
        assert rests[-1].outcome == "waiting"
    assert desk.done == ["fetch"]


async def test_a_plan_lets_only_read_only_calls_run_and_says_so_to_the_model(tmp_path):
    desk = Desk(tmp_path, calls("write", "send", "look", write=WRITE), "my plan")
    async with desk.open():
        await desk.say("/mode plan")
        outcome, results = await desk.go()
    assert (outcome, desk.done) == ("done", ["look"])
    refused = [each.result for each in results if each.failed]
    assert len(refused) == 2
    assert all("the mode plan" in each for each in refused)


async def test_a_plan_holds_in_the_midst_of_a_turn(tmp_path):
    desk = Desk(tmp_path, calls("send"), "my plan")
    async with desk.open():
        assert (await desk.go())[0] == "waiting"
        await desk.say("/mode plan")
        await desk.say("/approve")
        await until(
            desk.gateway.client, desk.thread, lambda each: ends(each) and each.outcome == "done"
        )
    assert desk.done == []


async def test_a_mode_ends_with_the_process(tmp_path):
    desk = Desk(tmp_path, calls("write", write=WRITE))
    async with desk.open():
        await desk.say("/mode accept edits")
    async with desk.open():
        assert await desk.mode() == ASK
        assert (await desk.go())[0] == "waiting"
    assert desk.done == []


async def test_a_mode_ends_with_a_new_thread(tmp_path):
    desk = Desk(tmp_path)
    async with desk.open() as gateway:
        await desk.say("/mode plan")
        old, desk.thread = desk.thread, (await gateway.client.send(desk.thread, "/new")).thread
        assert desk.thread != old
        assert await desk.mode() == ASK
        assert (await desk.say("/grants")).startswith("No tool is approved")


async def test_only_the_terminal_chooses_a_mode(tmp_path):
    desk = Desk(tmp_path, "hello")
    key = ConversationKey(platform="x", workspace="T1", channel="C1", root="1")
    async with desk.open() as gateway:
        await desk.say("/mode accept edits")
        for text in ("/mode plan", "/mode accept edits", "!mode plan", "/revoke accept edits"):
            said = InboundMessage(key=key, author=Author(id="x:T1:eve", name="Eve"), text=text)
            await gateway.accept(said)
        assert await desk.mode() == "accept edits"


async def test_the_same_mode_again_tells_the_thread_nothing(tmp_path):
    desk = Desk(tmp_path)
    async with desk.open():
        await desk.say("/mode plan")
        before = await desk.seq()
        assert (await desk.say("/mode plan")).startswith("The mode is plan.")
        assert (await desk.say("/mode nonsense")).startswith("The mode is plan.")
        assert await desk.seq() == before


async def test_a_fork_asks(tmp_path):
    desk = Desk(tmp_path, "my plan")
    async with desk.open() as gateway:
        await desk.say("/mode plan")
        await desk.go()
        desk.thread = (await gateway.client.fork_thread(desk.thread)).id
        assert await desk.mode() == ASK
        assert (await desk.say("/grants")).startswith("No tool is approved")
