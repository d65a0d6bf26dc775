"""The page on logging: structured events through Python's own logging."""

import json
import logging
from collections.abc import Iterator

import pytest

from teams import EVENT_LOGGER_NAME, TRACE_LOGGER_NAME, MagenticOneGroupChat, RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.logging import LLMCallEvent, ToolCallEvent
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import calls_tools, conversations, goes_on_alike, watch
from tests.guide.test_magentic_one import ledger


class Kept(logging.Handler):
    """Keeps what was logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def events(self) -> list[dict]:
        return [json.loads(record.getMessage()) for record in self.records]


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> Iterator[Kept]:
    logger, handler = logging.getLogger(request.param), Kept()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


def double(number: int) -> int:
    """Double a number."""
    return number * 2


def calculators(model) -> RoundRobinGroupChat:
    agent = AssistantAgent("calculator", model, tools=[double], system_message="You calculate.")
    return RoundRobinGroupChat([agent], max_turns=1)


@pytest.mark.parametrize("kept", [EVENT_LOGGER_NAME], indirect=True)
async def test_model_calls_tool_calls_and_messages_are_events(openai_server, model, kept):
    call = Call(name="double", arguments={"number": 21})
    openai_server.script(Reply(calls=[call], usage=(30, 7)))
    team = calculators(model)

    run = await watch(team.run_stream(task="Twice 21?"))

    assert run.trace == [("TextMessage", "user"), *calls_tools("calculator")]
    assert [event["type"] for event in kept.events] == [
        "Message",
        "LLMCall",
        "ToolCall",
        "Message",
        "Message",
        "Message",
    ]
    asked, used = (record.msg for record in kept.records[1:3])
    assert isinstance(asked, LLMCallEvent)
    assert (asked.prompt_tokens, asked.completion_tokens) == (30, 7)
    assert isinstance(used, ToolCallEvent)
    assert kept.events[1]["messages"] == openai_server.requests[0].messages
    assert kept.events[2]["agent_id"] == "calculator"
    assert kept.events[2]["tool_name"] == "double"
    assert kept.events[2]["arguments"] == {"number": 21}
    assert kept.events[2]["result"] == "42"
    assert kept.events[-1]["message"]["content"] == "42"

    again = await goes_on_alike(
        team, calculators, openai_server, Reply(text="You're welcome."), task="Thanks."
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "calculator")]
    assert conversations(openai_server)[-1][-1] == "user[user]: Thanks."


@pytest.mark.parametrize("kept", [TRACE_LOGGER_NAME], indirect=True)
async def test_the_trace_logger_tells_how_an_orchestrator_judges(openai_server, model, kept):
    openai_server.script(
        *(Reply(text=text) for text in ("Facts.", "Plan.")),
        ledger("helper", done=True),
        Reply(text="Nothing to do."),
    )
    helper = AssistantAgent("helper", model, description="Helps.", system_message="You help.")
    run = await watch(MagenticOneGroupChat([helper], model_client=model).run_stream(task="Hm."))
    assert run.answer == "Nothing to do."
    assert [record.levelname for record in kept.records] == ["DEBUG"]
    assert "The proof holds." in kept.records[0].getMessage()
