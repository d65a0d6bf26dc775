"""The demo team on its own model and on a real client."""

# ruff: noqa: RUF001 (people write signs that look like others)

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.demo import DEMO_AGENTS, DemoChatCompletionClient, build_demo_team, demo_rule
from gateway.demo.understanding import Task, tasks_in
from gateway.human_tools import ChoiceRequired, ask_human
from teams import Swarm
from teams.base import TaskResult, ToolCall, run_hooks
from teams.messages import (
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    TextMessage,
    ToolCallRequestEvent,
)
from teams.models import ChatCompletionClient, CreateResult, SystemMessage, UserMessage
from teams.models.openai import OpenAIChatCompletionClient
from teams.tools import TextResultContent, ToolResult
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI


@dataclass
class Conversation:
    """A person who talks to the team.

    `answers` go to its questions in turn.
    """

    team: Swarm
    answers: list[str] = field(default_factory=list[str])
    given: dict[str, str] = field(default_factory=dict[str, str])
    denied: Sequence[str] = ()
    spoke: list[str] = field(default_factory=list[str])
    called: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list[str])

    async def say(self, text: str) -> str:
        """The team's answer in the end."""
        self.spoke, self.called, self.asked = [], [], []
        task: str | None = text
        while True:
            said, result = await self._run(task)
            if not result.pending:
                return said
            self.asked += [request.prompt for request in result.pending]
            self.given |= {request.request_id: self.answers.pop(0) for request in result.pending}
            task = None

    async def _run(self, task: str | None) -> tuple[str, TaskResult]:
        said, streamed = "", ""
        stream = self.team.run_stream(task=task, output_task_messages=False)
        with run_hooks(intercept=self._intercept):
            async with aclosing(stream):
                async for item in stream:
                    match item:
                        case TaskResult():
                            assert streamed == said, "the stream is not the message"
                            return said, item
                        case TextMessage():
                            said = item.content
                            self.spoke.append(item.source)
                        case HandoffMessage():
                            self.spoke.append(f"{item.source} > {item.target}")
                        case ModelClientStreamingChunkEvent():
                            streamed += item.content
                        case ToolCallRequestEvent():
                            self.called += [
                                (item.source, call.name, json.loads(call.arguments))
                                for call in item.content
                                if not call.name.startswith("transfer_to_")
                            ]
                        case _:
                            pass
        raise AssertionError("the run had no result")

    async def _intercept(self, call: ToolCall, proceed) -> ToolResult:
        if call.key in self.given:
            told = TextResultContent(content=self.given[call.key])
            return ToolResult(name=call.name, result=[told])
        if call.name in self.denied:
            told = TextResultContent(content="A person denied this: too private.")
            return ToolResult(name=call.name, result=[told], is_error=True)
        return await proceed(call)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text("Buy milk.\n```\nCall Ada.\n")
    (tmp_path / "config.toml").write_text("secret")
    return tmp_path


def talk(folder: Path, *answers: str, local: bool = True, denied: Sequence[str] = ()):
    team = build_demo_team(
        DemoChatCompletionClient(pace=0),
        start_folder=folder,
        forbidden=[folder / "config.toml"],
        local=local,
    )
    return Conversation(team, list(answers), denied=denied)


async def test_it_greets_says_what_it_is_and_how_to_get_a_real_model(folder: Path):
    person = talk(folder)
    for message in ["hello", "who are you?", "help", "Why is the sky blue?"]:
        answer = await person.say(message)
        assert "demo model" in answer
        assert "OPENAI_API_KEY" in answer
        assert "OPENAI_BASE_URL" in answer
        assert person.spoke == ["front_desk"]


async def test_a_calculation_goes_from_desk_to_desk_and_is_checked(folder: Path):
    person = talk(folder)
    answer = await person.say("what is 12*7+1?")
    assert answer.startswith("`12*7+1` = **85**")
    assert person.spoke == ["front_desk > specialist", "specialist > reviewer", "reviewer"]
    assert [(who, tool) for who, tool, _ in person.called] == [
        ("specialist", "calculator"),
        ("reviewer", "calculator"),
    ]


async def test_several_calculations_are_made_at_once(folder: Path):
    person = talk(folder)
    answer = await person.say("What's 2+2 and 15/100*240?")
    assert "`2+2` = **4**" in answer
    assert "`15/100*240` = **36**" in answer
    assert len(person.called) == 4


async def test_questions_of_several_kinds_in_one_message_are_all_answered(folder: Path):
    person = talk(folder, denied=["read_file"])
    answer = await person.say("What time is it in Tokyo? Read notes.txt and what is 2*3?")
    assert "In **Tokyo** it is" in answer
    assert "I have not read `notes.txt`." in answer
    assert "`2*3` = **6**" in answer
    assert person.spoke == ["front_desk > specialist", "specialist"]


async def test_what_one_of_several_questions_lacks_is_asked(folder: Path):
    person = talk(folder, "Paris")
    answer = await person.say("what time is it and what is 3*4?")
    assert person.asked == ["Which city or time zone do you mean?"]
    assert "In **Paris** it is" in answer
    assert "`3*4` = **12**" in answer
    again = await person.say("read notes.txt and calculate 1+1")
    assert "Buy milk." in again
    assert "`1+1` = **2**" in again


async def test_a_sum_without_a_result_is_explained(folder: Path):
    for message in ["1/0", "what is 1/0?"]:
        answer = await talk(folder).say(message)
        assert answer == "`1/0` has no result: That divides by zero."


async def test_two_clocks_are_read_in_parallel(folder: Path):
    person = talk(folder)
    answer = await person.say("what time is it in Tokyo and in Paris?")
    assert "Asia/Tokyo" in answer
    assert "Europe/Paris" in answer
    assert [arguments for _, _, arguments in person.called] == [
        {"place": "Tokyo"},
        {"place": "Paris"},
    ]
    assert "no time zone called 'Gotham'" in await person.say("and what time is it in Gotham?")


async def test_it_asks_back_for_what_is_missing_and_goes_on_with_the_answer(folder: Path):
    person = talk(folder, "Tokyo, please")
    answer = await person.say("what time is it?")
    assert person.asked == ["Which city or time zone do you mean?"]
    assert "Asia/Tokyo" in answer
    assert person.spoke == ["front_desk > specialist", "specialist"]
    # The specialist asks, too, where it is the one who is spoken to.
    person.answers.append("9*9")
    assert "**81**" in await person.say("calculate something for me")
    person.answers.append("2-1")
    assert "**1**" in await person.say("calculate something else")


async def test_an_answer_that_does_not_help_is_not_asked_for_again(folder: Path):
    person = talk(folder, "no idea, sorry")
    assert "can't find what to work on" in await person.say("calculate something")
    assert len(person.asked) == 1


async def test_a_file_is_read_and_shown_as_it_is(folder: Path):
    person = talk(folder, "notes.txt")
    answer = await person.say("read notes.txt")
    assert answer.startswith("**notes.txt** has 3 lines and 5 words:")
    assert "````\nBuy milk.\n```\nCall Ada.\n````" in answer
    assert await person.say("read a file") == answer
    assert "Parley itself" in await person.say("read config.toml")
    assert "no file 'nothing.md'" in await person.say("show me nothing.md")


async def test_a_refused_file_is_not_read(folder: Path):
    person = talk(folder, denied=["read_file"])
    answer = await person.say("read notes.txt")
    assert answer == "I have not read `notes.txt`. A person denied this: too private."


async def test_where_others_can_reach_it_no_file_is_read(folder: Path):
    person = talk(folder, local=False)
    assert "only for the person at the terminal" in await person.say("read notes.txt")
    assert person.called == []


async def test_the_same_team_works_on_a_real_client(folder: Path, openai_server: FakeOpenAI):
    openai_server.script(
        Reply(calls=[Call(name="transfer_to_specialist", id="t1")]),
        Reply(calls=[Call(name="calculator", arguments={"expression": "12*7+1"}, id="c1")]),
        Reply(text="12*7+1 = 85", calls=[Call(name="transfer_to_reviewer", id="t2")]),
        Reply(calls=[Call(name="calculator", arguments={"expression": "12*7+1"}, id="c2")]),
        Reply(text="It is **85**, confirmed."),
        Reply(calls=[Call(name="transfer_to_front_desk", id="t3")]),
        Reply(text="You're welcome."),
    )
    client = OpenAIChatCompletionClient(model="gpt-4o", base_url=openai_server.url)
    team = build_demo_team(client, start_folder=folder, local=True)
    first = await team.run(task="What is 12*7+1?")
    second = await team.run(task="Thanks!")
    await client.close()

    assert [request.refused for request in openai_server.requests] == [None] * 7
    assert [message.source for message in first.messages if isinstance(message, TextMessage)] == [
        "user",
        "reviewer",
    ]
    assert second.messages[-1].to_text() == "You're welcome."
    # The reviewer was told the specialist's result.
    assert "12*7+1 = 85" in str(openai_server.requests[3].messages)
    for request in openai_server.requests:
        assert request.system.startswith("You are ")
        assert "ask_human" in request.tools


# Parts


def calculate(*expressions: str) -> Task:
    return Task("calculator", expressions)


def clock(*places: str) -> Task:
    return Task("clock", places)


def read(*paths: str) -> Task:
    return Task("read_file", paths)


@pytest.mark.parametrize(
    ("message", "tasks"),
    [
        ("what is 12*7+1?", [calculate("12*7+1")]),
        ("-3 + 5", [calculate("-3 + 5")]),
        ("2+2\n3+4\n", [calculate("2+2"), calculate("3+4")]),
        (
            "what time is it in Tokyo and in Paris? and what is 3*4?",
            [clock("Tokyo", "Paris"), calculate("3*4")],
        ),
        (
            "read a.txt, then calculate 2*3 and also what time is it",
            [read("a.txt"), calculate("2*3"), clock()],
        ),
        ("What’s 12*7 + 1", [calculate("12*7 + 1")]),
        ("the value of sqrt(16)", [calculate("sqrt(16)")]),
        ("9**9**9", [calculate("9**9**9")]),
        ("5-3", [calculate("5-3")]),
        ("compare 3-5 people", []),
        ("We met on 2024-05-17.", []),
        ("How many times do I need to say it", []),
        ("what's the weather in Paris?", []),
        ("time?", [clock()]),
        ("What time is it in New York right now?", [clock("New York")]),
        ("time in Tokyo, Paris and Berlin", [clock("Tokyo", "Paris", "Berlin")]),
        ("what is the date today?", [clock()]),
        ("read docs/a.md and b.txt", [read("docs/a.md", "b.txt")]),
        ("what's in 'my notes.txt'", [read("my notes.txt")]),
        ("cat /etc/passwd", [read("/etc/passwd")]),
        ("read a file", [read()]),
        ("read it", []),
        ("[Ada · 1+1]\nhello", []),
    ],
)
def test_messages_are_understood(message: str, tasks: list[Task]):
    assert list(tasks_in(message)) == tasks


async def streamed(client: ChatCompletionClient, text: str) -> AsyncIterator[str | CreateResult]:
    async for item in client.create_stream([UserMessage(content=text, source="user")]):
        yield item


async def test_the_demo_model_streams_words_and_counts_them():
    client = DemoChatCompletionClient(pace=0)
    *words, result = [item async for item in streamed(client, "hello")]
    assert isinstance(result, CreateResult)
    assert len(words) > 20
    assert "".join(map(str, words)) == result.content
    assert result.usage.completion_tokens == client.total_usage().completion_tokens > 20
    assert client.model == "demo"


async def test_the_demo_model_works_without_tools_and_refuses_json():
    client = DemoChatCompletionClient(pace=0)
    messages = [
        SystemMessage(content="Answer everything."),
        UserMessage(content="what is 2+2?", source="user"),
    ]
    assert (await client.create(messages)).content == "I have no calculator here."
    with pytest.raises(ValueError, match="JSON"):
        await client.create(messages, json_output=True)


async def test_in_another_team_the_demo_model_promises_nothing_of_the_demo_team():
    client = DemoChatCompletionClient(pace=0)
    greeting = str((await client.create([UserMessage(content="hello", source="user")])).content)
    unknown = str((await client.create([UserMessage(content="Why?", source="user")])).content)
    for answer in (greeting, unknown):
        assert "demo model" in answer
        assert "OPENAI_API_KEY" in answer
        assert "Try" not in answer
    assert "three" not in greeting


async def test_the_team_can_be_written_down(folder: Path):
    dumped = talk(folder).team.dump_component().model_dump(mode="json")
    agents = dumped["config"]["participants"]
    assert tuple(agent["config"]["name"] for agent in agents) == DEMO_AGENTS
    client = agents[0]["config"]["model_client"]
    loaded = DemoChatCompletionClient.load_component(client)
    assert isinstance(loaded, DemoChatCompletionClient)


def test_only_reading_a_file_needs_an_approval():
    for tool in ("calculator", "clock", "ask_human"):
        rule = demo_rule(tool)
        assert rule is not None
        assert (rule.action, rule.idempotent, rule.read_only) == ("allow", True, True)
    reading = demo_rule("read_file")
    assert reading is not None
    assert (reading.action, reading.idempotent, reading.read_only) == ("ask", True, True)
    assert demo_rule("rm") is None


async def test_a_question_is_a_choice_where_it_has_options():
    with pytest.raises(ChoiceRequired) as choice:
        await ask_human("Tea or coffee?", ["tea", "coffee"])
    assert choice.value.kind == "choice"
    assert choice.value.options == ("tea", "coffee")
    with pytest.raises(ChoiceRequired) as open_question:
        await ask_human("What would you like?")
    assert open_question.value.kind == "text"
    assert open_question.value.prompt == "What would you like?"
