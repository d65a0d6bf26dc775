"""Chats and queues of chats as teams."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from teams.conversable import ChatTaskResult, ConversableAgent, ConversableChat, ConversableQueue
from teams.core import CancellationToken
from teams.messages import TextMessage, ToolCallExecutionEvent
from teams.ui import Console
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.cut_chats import ANSWERS, World, chat_of, in_pieces, whole, without_ids
from tests.teams.conversable.pairs import agent, contents, saying


def queue_of(world: World) -> ConversableQueue:
    def counted(name: str, *texts: str) -> ConversableAgent:
        speaker = agent(name, default_auto_reply=None)

        def say_next(*_: Any, **__: Any) -> tuple[bool, Any]:
            number = world.calls[name]
            world.calls[name] += 1
            return True, texts[number] if number < len(texts) else None

        speaker.register_reply(lambda _: True, say_next)
        return speaker

    user = counted("user", "more")
    return ConversableQueue(
        [
            {"chat_id": 1, "recipient": counted("al", "one", "two"), "message": "first"},
            {"chat_id": 2, "recipient": counted("bo", "three"), "message": "second"},
            {"chat_id": 3, "recipient": counted("cy", "four"), "prerequisites": [1, 2]},
        ],
        user,
    )


@pytest.mark.parametrize("compact", [False, True])
async def test_a_queue_cut_off_at_every_item_does_nothing_twice(compact: bool):
    async with FakeOpenAI() as server:
        world, again = World(server), World(server)
        expected, _, state = await whole(queue_of, world, "topic")
        items, result, saved = await in_pieces(queue_of, again, "topic", compact=compact)
    assert sorted(items) == sorted(expected)
    assert again.calls == world.calls
    assert {key: chat.summary for key, chat in result.chats.items()} == {
        1: "two",
        2: "three",
        3: "four",
    }
    assert without_ids(saved) == without_ids(state)


async def test_a_later_task_goes_on_with_the_history_and_none_has_nothing_to_do():
    al, bo = saying("al"), saying("bo", "one", "two")
    team = ConversableChat(al, bo)
    await team.run(task="first")
    await team.run(task="second")
    assert contents(al.chat_messages[bo]) == ["first", "one", "second", "two"]
    assert (await team.run()).stop_reason == "There is nothing to continue."


async def test_a_cancelled_chat_ends_at_once_and_leaves_no_task():
    started = asyncio.Event()

    async def never(*_: Any, **__: Any) -> tuple[bool, Any]:
        started.set()
        await asyncio.Event().wait()
        return True, None

    al, bo = saying("al"), agent("bo")
    bo.register_reply([ConversableAgent], never)
    token = CancellationToken()
    before = asyncio.all_tasks()

    async def cancel() -> None:
        await started.wait()
        token.cancel()

    async with asyncio.timeout(1), asyncio.TaskGroup() as group:
        group.create_task(cancel())
        with pytest.raises(asyncio.CancelledError):
            await ConversableChat(al, bo).run(task="hi", cancellation_token=token)
    assert asyncio.all_tasks() <= before
    assert contents(al.chat_messages[bo]) == ["hi"]


async def test_a_stream_left_early_goes_on_where_it_stood():
    al, bo = saying("al", "two"), saying("bo", "one", "three")
    async with aclosing(al.a_initiate_chat_stream(bo, message="zero")) as stream:
        first = [(await anext(stream)).content, (await anext(stream)).content]
    assert first == ["zero", "one"]
    items = [item async for item in al.unfinished_chat.run_stream()]
    assert contents(al.chat_messages[bo]) == ["zero", "one", "two", "three"]
    assert [item.content for item in items[:-1]] == ["two", "three"]
    assert items[-1].chat.summary == "three"
    assert items[0].metadata == {"to": "bo"}


async def test_an_abandoned_chat_that_was_only_loaded_keeps_what_was_said():
    async with FakeOpenAI(*ANSWERS) as server:
        world = World(server)
        team, state = chat_of(world), dict[str, Any]()
        async with aclosing(team.run_stream(task="go")) as stream:
            async for item in stream:
                if isinstance(item, ToolCallExecutionEvent):
                    state |= await team.save_state()
                    break
        user, writer = world.agents()
        other = ConversableChat(user, writer)
        await other.load_state(state)
        await other.abandon_turn()
        assert [each["role"] for each in user.chat_messages[writer]] == [
            "assistant",
            "assistant",
            "tool",
        ]
        assert len(server.requests) == 1


async def test_messages_join_a_running_chat_before_its_next_reply():
    heard: list[list[Any]] = []

    def listens(_: Any, messages: list[Any], **__: Any) -> tuple[bool, str]:
        heard.append(contents(messages))
        return True, f"reply {len(heard)}"

    al, bo = agent("al", default_auto_reply="go on"), agent("bo")
    bo.register_reply(lambda _: True, listens)
    team = ConversableChat(al, bo, max_turns=2)
    said: list[tuple[str, str]] = []
    async for item in team.run_stream(task="start"):
        if isinstance(item, TextMessage):
            said.append((item.source, item.content))
            if item.content == "reply 1":
                team.add_messages([TextMessage(content="be brief", source="boss")])
    assert heard[0] == ["start"]
    assert "be brief" in heard[1]
    assert said[-1] == ("bo", "reply 2")


async def test_the_console_shows_a_chat(capsys: pytest.CaptureFixture[str]):
    al, bo = saying("al", "two"), saying("bo", "one", "three")
    result = await Console(al.a_initiate_chat_stream(bo, message="zero", silent=True))
    assert isinstance(result, ChatTaskResult)
    assert result.chat is not None
    assert result.chat.summary == "three"
    shown = capsys.readouterr().out
    places = [shown.index(word) for word in ("zero", "one", "two", "three")]
    assert places == sorted(places)


async def test_a_chat_that_is_reset_begins_anew():
    team = ConversableChat(saying("al", "1", "2"), saying("bo", "a", "b"), max_turns=1)
    assert team.participant_names == ["al", "bo"]

    async def continues() -> bool:
        state = await team.save_state()
        return state["agent_states"]["ConversableChatManager"]["run"]["continues"]

    await team.run(task="hi")
    assert await continues()
    stream = team.run_stream(task="ho")
    await anext(stream)
    with pytest.raises(RuntimeError, match="stop it before you reset it"):
        await team.reset()
    await stream.aclose()
    await team.reset()
    assert not await continues()
