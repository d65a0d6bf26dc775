"""Conversations over any client: following, sending, withdrawing and reconnecting."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from adapters.terminal import conversation as module
from adapters.terminal.conversation import Conversation
from gateway.errors import GatewayClosed, GatewayError, NotFound, OtherConfig, StoreFull
from gateway.events import Notice, SessionEvent, SpeakerStarted, TurnFinished
from gateway.values import NO_ORIGIN, Origin
from tests.adapters.terminal.running import began, delta, said
from tests.fakes.scripted_client import ScriptedClient

HERE = Origin(path="/a/config.toml", digest="a")


def conversation_with(client: ScriptedClient) -> Conversation:
    return Conversation(client, changed=lambda: None, opened=lambda: None, lost=lambda: None)


async def until(ready) -> None:
    async with asyncio.timeout(5):
        while True:
            if ready():
                return
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("start", "opened"),
    [({}, "new"), ({"thread": "old"}, "old"), ({"new": True}, None)],
    ids=["the last", "a named", "an empty"],
)
async def test_it_starts_with_the_thread_asked_for(start, opened):
    client = ScriptedClient()
    client.add_thread("Old", id="old", ago=100)
    client.add_thread("New", id="new")
    conversation = conversation_with(client)
    await conversation.start(**start)
    assert (conversation.thread.id if conversation.thread else None) == opened


async def test_another_config_s_thread_is_not_opened():
    client = ScriptedClient()
    client.add_thread("Theirs", id="theirs", foreign=True)
    conversation = conversation_with(client)
    await conversation.start(origin=HERE)
    assert conversation.thread is None
    client.add_thread("Ours", id="ours", ago=100)
    await conversation.start(origin=HERE)
    assert conversation.thread is not None
    assert conversation.thread.id == "ours"


@pytest.mark.parametrize(
    ("runs", "elsewhere"),
    [
        (HERE, False),
        (Origin(path="/copy/config.toml", digest="a"), False),
        (NO_ORIGIN, False),
        (Origin(path="/b/config.toml", digest="b"), True),
        (Origin(path="built-in"), True),
    ],
    ids=["ours", "a copy", "unknown", "another", "built-in"],
)
async def test_a_gateway_with_another_config_is_named_and_its_last_thread_is_not_ours(
    runs: Origin, elsewhere: bool
):
    client = ScriptedClient()
    client.pid, client.config = 12, runs
    client.add_thread("Theirs")
    conversation = conversation_with(client)
    await conversation.start(origin=HERE)
    assert (conversation.thread is None) == elsewhere
    config = "the built-in config" if runs.path == "built-in" else repr(runs.path)
    told = f" and runs with {config}, not with this chat's config" if elsewhere else ""
    said = f"Process 12 owns the threads{told}. This chat works through it."
    assert conversation.attached == said


@pytest.mark.parametrize("agrees", [True, False])
async def test_a_gateway_with_another_config_is_written_to_once_the_person_agrees(agrees: bool):
    client, asked = ScriptedClient(), []
    client.pid, client.config = 12, Origin(path="/b/config.toml", digest="b")

    async def agree(told: str) -> bool:
        asked.append(told)
        return agrees

    conversation = Conversation(
        client, changed=lambda: None, opened=lambda: None, lost=lambda: None, agree=agree
    )
    await conversation.start(origin=HERE)
    if agrees:
        await conversation.send("go on")
        await conversation.send("and on")
    else:
        with pytest.raises(OtherConfig, match="not with this chat's config"):
            await conversation.send("go on")
        assert (conversation.thread, conversation.outbox) == (None, [])
        await conversation.adopt()  # as line mode does it
        await conversation.send("go on")
    assert len(asked) == 1
    assert asked[0].endswith("What you write is sent to its models.")


@pytest.mark.parametrize("agrees", [True, False])
async def test_going_on_in_another_config_s_thread_asks_once(agrees: bool):
    client, asked = ScriptedClient(), []
    client.add_thread("Theirs", id="theirs", foreign=True)

    async def agree(told: str) -> bool:
        asked.append(told)
        return agrees

    conversation = Conversation(
        client,
        changed=lambda: None,
        opened=lambda: None,
        lost=lambda: None,
        agree=agree,
    )
    await conversation.start(thread="theirs")
    if agrees:
        await conversation.send("go on")
        await conversation.send("and on")
        assert conversation.thread is not None
        assert not conversation.thread.foreign
    else:
        with pytest.raises(OtherConfig):
            await conversation.send("go on")
        assert conversation.outbox == []
    assert asked == ["All of it is sent to gpt (models.example)."]
    assert [text for _, text in client.sent] == (["go on", "and on"] if agrees else [])


async def test_a_thread_that_is_not_there_is_an_error():
    with pytest.raises(NotFound):
        await conversation_with(ScriptedClient()).start(thread="gone")


async def test_messages_are_sent_in_order_also_when_the_gateway_is_slow():
    client = ScriptedClient()
    client.gate.clear()
    conversation = conversation_with(client)
    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(conversation.send(str(number)))
        await until(lambda: len(conversation.outbox) == 5)
        client.gate.set()
    assert [text for _, text in client.sent] == list("01234")
    assert len(client.all) == 1
    assert [each.item.sending for each in conversation.outbox] == [False] * 5
    following = asyncio.get_running_loop().create_task(conversation.follow())
    await until(lambda: not conversation.outbox)  # the thread tells of all of them
    following.cancel()
    await asyncio.wait([following])


async def test_a_model_that_was_chosen_is_shown_when_no_turn_runs_with_another():
    client = ScriptedClient()
    client.team_agents = {"a": "big-1"}
    thread = client.add_thread("Trip", model="small-1")
    conversation = conversation_with(client)
    await conversation.start()
    following = asyncio.get_running_loop().create_task(conversation.follow())
    await until(lambda: conversation.models == ["small-1"])
    speaks = SpeakerStarted(thread=thread, turn="u", agent="a", model="small-1")
    await client.happen(thread, began("Go"), speaks)
    entry = client.all[thread]
    entry.info = replace(entry.info, model="")
    await client.happen(thread, Notice(thread=thread, text="Each agent uses its own model."))
    await until(lambda: conversation.thread is not None and conversation.thread.model == "")
    assert conversation.models == ["small-1"]
    await client.happen(thread, TurnFinished(thread=thread, turn="u", outcome="done"))
    await until(lambda: conversation.models == ["big-1"])
    following.cancel()
    await asyncio.wait([following])


async def test_a_message_that_was_not_stored_is_not_in_the_outbox_any_more():
    client = ScriptedClient()
    client.add_thread("a")
    conversation = conversation_with(client)
    await conversation.start()
    client.fail = StoreFull()
    with pytest.raises(StoreFull):
        await conversation.send("hello")
    assert conversation.outbox == []


class BreakingClient(ScriptedClient):
    """Its streams of events break off after so many events."""

    def __init__(self, *after: int, error: type[GatewayError] = GatewayError) -> None:
        super().__init__()
        self.after = list(after)
        self.error = error
        self.asked: list[int] = []

    async def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent, None]:
        self.asked.append(after)
        left = self.after.pop(0) if self.after else 1000
        async for event in super().events(thread, after=after):
            if not left:
                raise (
                    self.error() if self.error is GatewayClosed else self.error("The line is down.")
                )
            left -= 1
            yield event


async def test_a_broken_stream_is_taken_up_where_it_broke(monkeypatch):
    monkeypatch.setattr(module, "FIRST_RETRY", 0.0)
    client = BreakingClient(2, 0)
    thread = client.add_thread("a")
    script = (began("go"), delta("a", "m", "one "), delta("a", "m", "two"), began("next", first=7))
    await client.happen(thread, *script)
    conversation = conversation_with(client)
    await conversation.start()
    following = asyncio.get_running_loop().create_task(conversation.follow())
    await until(lambda: "human-7" in conversation.model.items)
    await client.happen(thread, said("a", "m", "one two"))
    await until(lambda: conversation.model.last_seq == 3)
    following.cancel()
    assert conversation.model.last_reply() == "one two"
    assert client.asked == [0, 1, 1]
    assert conversation.trouble == ""
    await asyncio.wait([following])


async def test_a_gateway_that_is_gone_is_not_asked_again_and_another_client_goes_on():
    client = BreakingClient(1, error=GatewayClosed)
    thread = client.add_thread("a")
    await client.happen(thread, began("go"), began("more", first=7))
    lost: list[str] = []
    conversation = Conversation(
        client, changed=lambda: None, opened=lambda: None, lost=lambda: lost.append("lost")
    )
    await conversation.start()
    await conversation.follow()
    assert "shutting down" in conversation.trouble
    assert (client.asked, lost) == ([0], ["lost"])
    successor = ScriptedClient()
    successor.all = client.all
    conversation.replace_client(successor)
    assert conversation.trouble == ""
    following = asyncio.get_running_loop().create_task(conversation.follow())
    await until(lambda: list(conversation.model.items) == ["human-100", "human-7"])
    following.cancel()
    await asyncio.wait([following])


async def test_a_long_replay_lets_others_run():
    client = ScriptedClient()
    thread = client.add_thread("a")
    await client.happen(thread, *(began(str(n), first=n) for n in range(1000)))
    conversation = conversation_with(client)
    await conversation.start()
    following = asyncio.get_running_loop().create_task(conversation.follow())
    breaths = 0
    while conversation.model.last_seq < 1000:
        await asyncio.sleep(0)
        breaths += 1
    assert breaths >= 9
    following.cancel()
    await asyncio.wait([following])


async def test_taking_back_gives_the_newest_waiting_message():
    client = ScriptedClient()
    conversation = conversation_with(client)
    assert await conversation.withdraw_newest() is None
    await conversation.send("start")
    following = asyncio.get_running_loop().create_task(conversation.follow())
    await conversation.send("first")
    await conversation.send("second")
    await until(lambda: len(conversation.model.queued) == 2)
    assert await conversation.withdraw_newest() == "second"
    await until(lambda: len(conversation.model.queued) == 1)
    assert await conversation.withdraw_newest() == "first"
    following.cancel()
    await asyncio.wait([following])


async def test_deleting_the_open_thread_shows_an_empty_one_and_others_leave_it():
    client = ScriptedClient()
    client.add_thread("Old", id="old", ago=100)
    client.add_thread("New", id="new")
    conversation = conversation_with(client)
    await conversation.start()
    await conversation.delete("old")
    assert conversation.thread is not None
    await conversation.delete("new")
    assert conversation.thread is None


async def test_keys_that_follow_each_other_walk_the_modes():
    client = ScriptedClient()
    conversation = conversation_with(client)
    await conversation.start(new=True)
    await asyncio.gather(*(conversation.switch_mode() for _ in range(4)))
    modes = ["accept edits", "plan", "ask", "accept edits"]
    assert [text for _, text in client.sent] == [f"/mode {mode}" for mode in modes]
    assert conversation.model.approval == "accept edits"
    assert len(client.all) == 1


@pytest.mark.parametrize("leave", ["new", "another", "close", "deleted"])
async def test_a_mode_ends_when_its_thread_is_left(leave):
    client = ScriptedClient()
    client.add_thread("Old", id="old", ago=100)
    conversation = conversation_with(client)
    await conversation.start(new=True)
    await conversation.switch_mode("plan")
    assert conversation.thread is not None
    thread = conversation.thread.id
    if leave == "deleted":
        await conversation.delete(thread)
    elif leave != "close":
        conversation.open(await client.thread("old") if leave == "another" else None)
    await conversation.end_modes(client, closes=leave == "close")
    await conversation.end_modes(client)
    ends = [(thread, "/mode ask")] * (leave != "deleted")
    assert client.sent[1:] == ends


async def test_a_mode_that_another_chat_left_behind_ends_when_the_thread_is_opened():
    client = ScriptedClient()
    thread = client.add_thread("Old")
    left = Notice(thread=thread, text="", approval="accept edits")
    await client.happen(thread, began("go"), said("coder", "m", "done"), left)
    conversation = conversation_with(client)
    await conversation.start()
    async with asyncio.TaskGroup() as group:
        following = group.create_task(conversation.follow())
        await until(lambda: client.sent == [(thread, "/mode ask")])
        await until(lambda: conversation.model.approval == "ask")
        await conversation.switch_mode("plan")
        await client.happen(thread, said("coder", "n", "more"))
        await until(lambda: "more" in conversation.model.last_reply())
        assert conversation.model.approval == "plan"
        following.cancel()
