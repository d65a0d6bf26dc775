"""Chats that are cut off and go on in fresh objects."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from teams._base.tool_call import LARGEST_ARGUMENTS
from teams._run.run import NextCall
from teams.agents import ApprovalRequest, ApprovalResponse
from teams.base import ToolCall, run_hooks
from teams.conversable import ChatTaskResult, ConversableAgent, ConversableChat, ConversableQueue
from teams.core import CancellationToken
from teams.messages import (
    ModelClientStreamingChunkEvent,
    TextMessage,
    ToolCallExecutionEvent,
    UserInputRequestedEvent,
)
from teams.tools import ToolResult
from teams.ui import Console
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import agent, contents, saying


class World:
    """Server and counters outside of the agents."""

    def __init__(self, server: FakeOpenAI) -> None:
        self.server = server
        self.calls: Counter[str] = Counter()

    def config(self, **options: Any) -> dict[str, Any]:
        entry = {"model": "gpt-4o", "api_key": "sk-test", "base_url": self.server.url, **options}
        return {"config_list": [entry]}

    def agents(self) -> tuple[ConversableAgent, ConversableAgent]:
        """A person with tools, and an assistant with a critic."""
        user = agent("user", human_input_mode="TERMINATE", max_consecutive_auto_reply=3)
        writer = agent("writer", llm_config=self.config())
        critic = agent("critic", llm_config=self.config())

        def count(what: str) -> str:
            self.calls[f"count {what}"] += 1
            return f"counted {what}"

        writer.register_for_llm(description="Count.")(count)
        user.register_for_execution()(count)
        writer.register_nested_chats(
            [{"recipient": critic, "max_turns": 1, "summary_method": "last_msg"}],
            trigger=lambda sender: sender is user and _last(writer, user) == "review it",
        )

        def passes(*_: Any, **__: Any) -> tuple[bool, None]:
            self.calls["passed"] += 1
            return False, None

        writer.register_reply([ConversableAgent], passes, position=0)
        return user, writer

    async def ask(self, prompt: str, token: CancellationToken | None) -> str:
        self.calls[f"asked {prompt[:12]}"] += 1
        return "review it" if self.calls.total() < 100 and self._first() else "exit"

    def _first(self) -> bool:
        return sum(count for name, count in self.calls.items() if name.startswith("asked")) == 1


def _last(one: ConversableAgent, other: ConversableAgent) -> Any:
    return one.chat_messages[other][-1]["content"]


ANSWERS = (
    Reply(
        calls=(
            Call(name="count", arguments={"what": "a"}),
            Call(name="count", arguments={"what": "b"}),
        )
    ),
    Reply(text="TERMINATE"),
    Reply(text="too long"),
    Reply(text="TERMINATE"),
)


def told(item: Any) -> Any:
    match item:
        case TextMessage():
            return item.source, item.content
        case _:
            return item.source, type(item).__name__


def chat_of(world: World) -> ConversableChat:
    return ConversableChat(*world.agents())


async def whole(make: Any, world: World, task: str) -> tuple[list[Any], ChatTaskResult, Any]:
    team = make(world)
    with run_hooks(ask=world.ask):
        items = [item async for item in team.run_stream(task=task)]
    assert isinstance(items[-1], ChatTaskResult)
    return [told(item) for item in items[:-1]], items[-1], await team.save_state()


async def in_pieces(
    make: Any, world: World, task: str, *, compact: bool
) -> tuple[list[Any], ChatTaskResult, Any]:
    items: list[Any] = []
    state: Any = None
    while True:
        team = make(world)
        if state is not None:
            await (team.load_snapshot([state]) if compact else team.load_state(state))
        with run_hooks(ask=world.ask):
            stream = team.run_stream(task=None if state is not None else task)
            async with aclosing(stream):
                item = await anext(stream)
                if isinstance(item, ChatTaskResult):
                    return items, item, await team.save_state()
                items.append(told(item))
                saved = await (team.save_snapshot() if compact else team.save_state())
        state = saved if compact else json.loads(json.dumps(saved))


def without_ids(state: Any) -> Any:
    return {name: each.get("agent_state") for name, each in state["agent_states"].items()}


@pytest.mark.parametrize("compact", [False, True])
async def test_a_chat_cut_off_at_every_item_does_nothing_twice(compact: bool):
    async with FakeOpenAI(*ANSWERS) as server:
        world = World(server)
        expected, result, state = await whole(chat_of, world, "go")
        requests, calls = len(server.requests), world.calls
    assert requests == 4
    assert expected == [
        ("user", "go"),
        ("writer", "ToolCallRequestEvent"),
        ("user", "ToolCallExecutionEvent"),
        ("writer", "TERMINATE"),
        ("user", "UserInputRequestedEvent"),
        ("user", "review it"),
        ("writer", "review it"),
        ("critic", "too long"),
        ("writer", "too long"),
        ("user", "I am user"),
        ("writer", "TERMINATE"),
        ("user", "UserInputRequestedEvent"),
    ]
    async with FakeOpenAI(*ANSWERS) as server:
        again = World(server)
        items, last, saved = await in_pieces(chat_of, again, "go", compact=compact)
        assert len(server.requests) == requests
    assert items == expected
    assert again.calls == calls
    assert last.chat is not None
    assert result.chat is not None
    assert last.chat.chat_history == result.chat.chat_history
    assert last.chat.cost == result.chat.cost
    assert without_ids(saved) == without_ids(state)


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


async def test_a_question_suspends_and_keeps_its_id_until_it_is_answered():
    from teams.base import InputRequired

    answers: list[str] = []

    async def ask(prompt: str, token: CancellationToken | None) -> str:
        if not answers:
            raise InputRequired(prompt)
        return answers.pop()

    al, bo = saying("al"), agent("bo", human_input_mode="ALWAYS")
    team = ConversableChat(al, bo)
    with run_hooks(ask=ask):
        first = await team.run(task="hi")
        second = await team.run()
        assert [each.request_id for each in first.pending] == [
            each.request_id for each in second.pending
        ]
        assert first.pending[0].agent == ("bo",)
        assert first.pending[0].prompt.startswith("Replying as bo.")
        asked = [each for each in first.messages if isinstance(each, UserInputRequestedEvent)]
        assert asked[0].request_id == first.pending[0].request_id
        answers.append("hello")
        result = await team.run()
    assert result.pending == ()
    assert contents(al.chat_messages[bo]) == ["hi", "hello"]


async def test_the_gate_refuses_one_call_of_a_batch_and_sees_all_before_any_runs():
    seen: list[str] = []

    async def intercept(call: ToolCall, proceed: Any) -> ToolResult:
        seen.append(f"judged {call.arguments} of {'/'.join(call.agent)}")
        if "b" in call.arguments:
            from teams._tools.workbench import text_result

            return text_result(call.name, "not allowed", is_error=True)
        return await proceed(call)

    def work(what: str) -> str:
        seen.append(f"ran {what}")
        return what

    calls = [
        {"id": f"c{each}", "function": {"name": "work", "arguments": f'{{"what": "{each}"}}'}}
        for each in ("a", "b")
    ]
    al = saying("al")
    bo = agent("bo", function_map={"work": work}, default_auto_reply=None)
    with run_hooks(intercept=intercept):
        await ConversableChat(al, bo, max_turns=1).run(task="x")
        await al.a_initiate_chat(bo, message={"tool_calls": calls, "content": None}, max_turns=1)
    assert seen == [
        'judged {"what": "a"} of bo',
        'judged {"what": "b"} of bo',
        "ran a",
    ]
    responses = al.chat_messages[bo][-1]["tool_responses"]
    assert [each["content"] for each in responses] == ["a", "not allowed"]


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


async def test_model_texts_stream_under_the_id_of_their_message():
    async with FakeOpenAI(Reply(text="hello there")) as server:
        world = World(server)
        al, bo = saying("al"), agent("bo", llm_config=world.config(stream=True))
        items = [item async for item in al.a_initiate_chat_stream(bo, message="hi")]
    chunks = [each for each in items if isinstance(each, ModelClientStreamingChunkEvent)]
    said = next(each for each in items if isinstance(each, TextMessage) and each.source == "bo")
    assert "".join(each.content for each in chunks) == said.content
    assert {each.full_message_id for each in chunks} == {said.id}


async def test_an_outcome_that_is_no_json_names_what_it_is():
    al, bo = saying("al"), agent("bo")
    bo.register_reply([ConversableAgent], lambda *_, **__: (True, {"content": "x", "o": object()}))
    with pytest.raises(Exception, match="reply of bo can't be saved"):
        await ConversableChat(al, bo).run(task="hi")


async def test_an_agent_remembers_partners_that_it_meets_later():
    al, bo = saying("al"), saying("bo", "one")
    await al.a_initiate_chat(bo, message="hi")
    state = json.loads(json.dumps(await al.save_state()))
    again, partner = saying("al"), saying("bo", "two")
    await again.load_state(state)
    await again.a_initiate_chat(partner, message="more", clear_history=False)
    assert contents(again.chat_messages[partner]) == ["hi", "one", "more", "two"]


async def test_a_call_that_was_cut_off_does_not_run_again():
    saved: list[Any] = []

    def make() -> tuple[ConversableChat, ConversableAgent]:
        async def pay() -> str:
            saved.append(json.dumps(await team.save_state()))
            return "paid"

        call = {"id": "c1", "function": {"name": "pay", "arguments": "{}"}}
        al = saying("al", {"tool_calls": [call], "content": None})
        bo = agent("bo", function_map={"pay": pay}, default_auto_reply="hm")
        team = ConversableChat(al, bo, max_turns=2)
        return team, al

    first, _ = make()
    await first.run(task="go")
    again, al = make()
    await again.load_state(json.loads(saved[0]))
    await again.run()
    assert len(saved) == 1
    (conversation,) = al.chat_messages.values()
    assert "may or may not have happened" in conversation[-1]["content"]


def files(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


async def test_refused_code_is_a_text_and_does_not_run(tmp_path: Path):
    asked: list[str] = []

    async def approve(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request.code)
        return ApprovalResponse(approved=False, reason="too loud")

    config = {"work_dir": str(tmp_path), "use_docker": False}
    al, bo = saying("al"), agent("bo", code_execution_config=config)
    with run_hooks(approve_code=approve):
        result = await ConversableChat(al, bo, max_turns=1).run(
            task="```sh\ntouch ran.txt\n```",
        )
    assert [code.strip() for code in asked] == ["touch ran.txt"]
    text = result.messages[-1].to_text()
    assert "exitcode: 1" in text
    assert "not approved. The reason: too loud" in text
    assert files(tmp_path) == []


async def test_code_that_was_changed_before_it_was_let_pass_is_what_runs(tmp_path: Path):
    async def change(call: ToolCall, proceed: NextCall) -> ToolResult:
        return await proceed(replace(call, arguments=call.arguments.replace("rm", "echo")))

    config = {"work_dir": str(tmp_path), "use_docker": False}
    (tmp_path / "kept.txt").touch()
    al, bo = saying("al"), agent("bo", code_execution_config=config)
    with run_hooks(intercept=change):
        result = await ConversableChat(al, bo, max_turns=1).run(task="```sh\nrm kept.txt\n```")
    assert "kept.txt" in result.messages[-1].to_text()
    assert (tmp_path / "kept.txt").exists()


async def test_code_of_no_end_is_not_run(tmp_path: Path):
    config = {"work_dir": str(tmp_path), "use_docker": False}
    al, bo = saying("al"), agent("bo", code_execution_config=config)
    task = f"```sh\ntouch ran.txt\n# {'x' * LARGEST_ARGUMENTS}\n```"
    result = await ConversableChat(al, bo, max_turns=1).run(task=task)
    assert "too much code" in result.messages[-1].to_text()
    assert files(tmp_path) == []


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
