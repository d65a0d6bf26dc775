"""Deliveries, edits and deletions around a later message's turn, in every order.

Law: whatever comes in whatever order, the team is told each message once, in its author's own words
as they were when its turn began, and nothing that was deleted before.
"""

import asyncio
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access, Admission
from gateway.content.task import DELETED
from gateway.conversation import Author, ConversationKey, EventKind, InboundMessage, order_key
from gateway.events import TurnFinished
from gateway.gateway import Gateway, Limits
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import UnitStore, rows_of
from tests.gateway.scripted import CAN_CALL, ScriptedTeams, solo, until

ANN, NOBODY = Author(id="x:ann", name="Ann"), Author(id="")
MODES = ("queue", "collect", "steer", "interrupt")
EVENTS = ("deliver", "redeliver", "edit", "delete", "later", "turn end")
ORDERS = [
    order
    for order in permutations(EVENTS)
    if order.index("deliver") < order.index("redeliver")  # they look the same
]
MARKS = {"A": "10.5", "B": "20.5"}
OLD, NEW, LATER = "as written", "as edited", "the later one"


BUSY = """
    SELECT 1 FROM threads t WHERE (state <> 'idle'
     OR EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued')) AND key = :key
"""
TURNS = "SELECT u.id FROM turns u JOIN threads t ON t.id = u.thread AND t.key = :key ORDER BY u.n"
OUTCOME = """
    SELECT outcome FROM inbox WHERE kind = 'message' AND message_id = :mark AND conversation = :key
"""


class Everybody(Access):
    """Everybody may write, in threads of one mode."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode

    def judge(self, message):
        return Admission(mode=self.mode)


class Gate(ReplayChatCompletionClient):
    """A model that answers while it is open."""

    def __init__(self) -> None:
        super().__init__(["answer"] * 20, CAN_CALL)
        self.opened = asyncio.Event()
        self.asked = asyncio.Event()
        self.told = []
        """The last request, also of a turn that was stopped."""

    async def create(self, messages, **more):
        self.told = messages
        self.asked.set()
        await self.opened.wait()
        return await super().create(messages, **more)


class Conversation:
    """One conversation, and what the law expects of it."""

    def __init__(self, gateway: Gateway, number: int, mode: str) -> None:
        self.gateway = gateway
        assert isinstance(gateway.store, UnitStore)
        self.store = gateway.store
        self.key = ConversationKey(platform="x", workspace="T1", channel=f"C{number}", root="1")
        self.mode = mode
        self.gate = Gate()
        self.thread = ""
        self.seq = 0
        self.expected = {"A": OLD, "B": LATER}
        self.turns: list[tuple[Any, ...]] = []
        """Those that had begun when a message was deleted that the team had heard."""

    async def happens(self, event: str) -> None:
        match event:
            case "deliver" | "redeliver":
                await self.deliver("A", OLD)
            case "later":
                await self.deliver("B", LATER)
            case "edit":
                if self.expected["A"] and (
                    await self.waits("A") or (not await self.came("A") and self.thread)
                ):
                    self.expected["A"] = NEW
                await self.accept("A", "edit", NEW)
            case "delete":
                if await self.waits("A") or not await self.came("A"):
                    self.expected["A"] = ""
                elif self.expected["A"]:
                    self.turns = await self.rows(TURNS)
                await self.accept("A", "delete", author=NOBODY)
            case _ if self.thread:
                await self.turn_ends()
            case _:
                pass

    async def deliver(self, name: str, text: str) -> None:
        new = not await self.came(name)
        busy = self.thread and (await self.gateway.client.thread(self.thread)).state != "idle"
        receipt = await self.accept(name, "message", text)
        self.thread = receipt.thread or self.thread
        if new and receipt.outcome != "refused" and (not busy or self.mode == "interrupt"):
            await self.turn_begins()

    async def accept(self, name: str, event: EventKind, text: str = "", author: Author = ANN):
        what = "edit" if event == "edit" else "delete" if event == "delete" else "create"
        return await self.gateway.accept(
            InboundMessage(
                key=self.key,
                author=author,
                event=event,
                text=text,
                message_id=MARKS[name],
                order_key=order_key(MARKS[name]) if event == "message" else "",
                dedupe=(self.key.dedupe(what, MARKS[name]),),
                keeps_files=event == "edit",
            )
        )

    async def turn_begins(self) -> None:
        await self.gate.asked.wait()
        self.gate.asked.clear()

    async def turn_ends(self) -> None:
        """Let the team answer until nothing is left to answer."""
        self.gate.opened.set()
        while await self.rows(BUSY):
            ended = await until(
                self.gateway, self.thread, lambda e: isinstance(e, TurnFinished), self.seq
            )
            self.seq = ended[-1].seq
        self.gate.opened.clear()
        self.gate.asked.clear()

    async def rows(self, query: str, **values: str) -> list[tuple[Any, ...]]:
        return await rows_of(self.store, query, key=str(self.key), **values)

    async def outcome(self, name: str) -> str:
        found = await self.rows(OUTCOME, mark=MARKS[name])
        return found[0][0] if found else ""

    async def came(self, name: str) -> bool:
        return bool(await self.outcome(name))

    async def waits(self, name: str) -> bool:
        return await self.outcome(name) == "queued"

    async def all_expected(self) -> list[str]:
        """All that the team should have been told at its last turn."""
        if self.turns and self.turns != await self.rows(TURNS):
            self.expected["A"] = DELETED
        return sorted(filter(None, self.expected.values()))

    def told(self) -> list[str]:
        """All that the team was told, in its order."""
        return [
            part
            for each in self.gate.told
            if each.type == "UserMessage"
            for part in str(each.content).split("\n\n")
        ]


async def plays(folder: Path, mode: str, orders) -> None:
    clients: list[Gate] = []
    teams = ScriptedTeams(lambda: solo(clients[-1], messages=2))
    limits = Limits(collect=0.0)
    async with Gateway(new_store(folder), teams, access=Everybody(mode), limits=limits) as gateway:
        for number, order in enumerate(orders):
            conversation = Conversation(gateway, number, mode)
            clients.append(conversation.gate)
            async with asyncio.timeout(10):
                for event in order:
                    await conversation.happens(event)
                await conversation.turn_ends()
            expected = await conversation.all_expected()
            assert sorted(conversation.told()) == expected, (mode, order)


@pytest.mark.nightly
@pytest.mark.timeout(120)
@pytest.mark.parametrize("mode", MODES)
async def test_every_order_tells_each_message_once_in_its_newest_words(tmp_path, mode):
    await plays(tmp_path, mode, ORDERS)


@pytest.mark.parametrize("mode", ["queue", "interrupt"])
async def test_what_comes_out_of_order_is_taken_once_as_it_is_by_now(tmp_path, mode):
    deleted = ("delete", "later", "deliver", "redeliver", "edit", "turn end")
    edited = ("later", "edit", "deliver", "redeliver", "turn end", "delete")
    straggler = ("later", "deliver", "turn end", "redeliver", "edit", "delete")
    await plays(tmp_path, mode, [deleted, edited, straggler])


@pytest.mark.parametrize("way", ["thread", "person", "/forget"])
async def test_what_was_deleted_here_is_neither_delivered_nor_read_again(tmp_path, way):
    clients: list[Gate] = []
    teams = ScriptedTeams(lambda: solo(clients[-1], messages=2))
    async with Gateway(new_store(tmp_path), teams, access=Everybody("queue")) as gateway:
        conversation = Conversation(gateway, 1, "queue")
        clients.append(conversation.gate)
        await conversation.happens("deliver")
        await conversation.turn_ends()
        before = await gateway.conversations.history_limit(conversation.key)
        match way:
            case "thread":
                await gateway.client.delete_thread(conversation.thread)
            case "person":
                await gateway.client.delete_person(ANN.id)
            case _:
                key = conversation.key
                await gateway.accept(InboundMessage(key=key, author=ANN, text="/forget"))
        again = await conversation.accept("A", "message", OLD)
        key = conversation.key.dedupe("create", MARKS["A"])
        known = await gateway.known_keys([key])
        after = await gateway.conversations.history_limit(conversation.key)
        later = await conversation.accept("B", "message", LATER)
        conversation.gate.opened.set()
    assert (again.outcome, again.reply, later.outcome) == ("refused", "", "turn")
    assert known == {key}
    marks = [order_key(mark) for mark in MARKS.values()]
    assert [before.allows(mark, 0) for mark in marks] == [True, True]
    assert [after.allows(mark, 0) for mark in marks] == [False, True]


async def test_a_history_older_than_what_is_kept_does_not_count(tmp_path):
    limits = Limits(retention=100.0)
    gateway = Gateway(
        new_store(tmp_path), ScriptedTeams(lambda: solo("hi")), limits=limits, clock=lambda: 1e9
    )
    async with gateway:
        limit = await gateway.conversations.history_limit(ConversationKey(platform="x", root="1"))
    assert [limit.allows("", 1e9 - age) for age in (99, 101)] == [False, False]
    assert [limit.allows("1", 1e9 - age) for age in (99, 101)] == [True, False]


async def test_an_older_edit_that_comes_late_changes_nothing(tmp_path):
    clients: list[Gate] = []
    teams = ScriptedTeams(lambda: solo(clients[-1], messages=2))
    async with Gateway(new_store(tmp_path), teams, access=Everybody("queue")) as gateway:
        conversation = Conversation(gateway, 1, "queue")
        clients.append(conversation.gate)
        await conversation.happens("later")
        for known in (False, True):  # the message itself comes in between
            for at, text in (("32", "newest"), ("31", "older")):
                await gateway.accept(
                    InboundMessage(
                        key=conversation.key,
                        author=ANN,
                        event="edit",
                        text=text,
                        message_id=MARKS["A"],
                        order_key=order_key(at),
                        dedupe=(conversation.key.dedupe("edit", MARKS["A"], f"{at}{known}"),),
                        keeps_files=True,
                    )
                )
            await conversation.accept("A", "message", OLD)
        await conversation.turn_ends()
    assert conversation.told() == [LATER, "newest"]


async def test_a_deleted_person_leaves_no_early_edit_and_no_conversation_behind(tmp_path):
    bob = Author(id="x:bob", name="Bob")
    clients: list[Gate] = []
    teams = ScriptedTeams(lambda: solo(clients[-1], messages=2))
    async with Gateway(new_store(tmp_path), teams, access=Everybody("queue")) as gateway:
        conversation = Conversation(gateway, 1, "queue")
        clients.append(conversation.gate)
        receipt = await conversation.accept("B", "message", LATER, bob)
        conversation.thread = receipt.thread
        await conversation.accept("A", "edit", NEW)
        private = ConversationKey(platform="x", channel="D1", user="ann")
        for mark in ("1", "2"):
            await gateway.accept(
                InboundMessage(key=private, author=ANN, text="hi", order_key=order_key(mark))
            )
        await conversation.turn_ends()
        await gateway.client.delete_person(ANN.id)
        assert (await gateway.conversations.history_limit(private)).order_key == ""
    assert await rows_of(conversation.store, "SELECT * FROM early_edits") == []
