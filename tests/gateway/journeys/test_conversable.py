"""A thread as a chat of two agents."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gateway.app.load import load_config
from gateway.client import Answer
from gateway.errors import LeaseLost
from gateway.events import InputRequested, MessageFinished, ToolFinished, ToolStarted
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway, Limits
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ends, of, turn, until

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARTS = '''
import asyncio
from teams.code_executor import CodeExecutor, CodeResult
from teams.core import FunctionCall
from teams.models import CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient

RAN = []
ASKED = []
HELD = asyncio.Event()
INFO = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown",
        "structured_output": True}


class Model(ReplayChatCompletionClient):
    """Answers "call NAME" with a call of that tool."""

    async def create_stream(self, messages, **arguments):
        ASKED.append(str(messages[-1].content))
        async for piece in super().create_stream(messages, **arguments):
            yield piece


def model(answers):
    return Model([_call(text) for text in answers], INFO)


def _call(text):
    if not text.startswith("call "):
        return text
    call = FunctionCall(id=f"c{len(text)}", name=text.removeprefix("call "), arguments="{}")
    usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
    return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)


def weather() -> str:
    "The weather."
    RAN.append("weather")
    return "rain"


async def held() -> str:
    "A tool that takes its time."
    RAN.append("held")
    HELD.set()
    await asyncio.Event().wait()
    return "never"


class Executor(CodeExecutor):
    component_type = "code_executor"

    async def execute_code_blocks(self, code_blocks, cancellation_token):
        RAN.append(code_blocks[0].code)
        return CodeResult(exit_code=0, output="it ran")

    async def start(self): ...
    async def stop(self): ...
    async def restart(self): ...
'''

MODEL = """
[models.m]
provider = "parts:model"
options = { answers = %s }
"""

TWO = """
[teams.t]
type = "conversable"
starter = "joe"
recipient = "cathy"
max_turns = 2
agents.joe = {}
agents.cathy = {}
"""

ALLOWED = """
[policies.tools]
held = "allow"
weather = { action = "allow", output = "trusted" }
"""

ALWAYS = """
[teams.t]
type = "conversable"
recipient = "writer"
agents.writer = {}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts.py").write_text(PARTS)
    return tmp_path


def gateway(folder: Path, text: str, *answers: str, **more: Any) -> Gateway:
    written = MODEL % json.dumps(answers)
    (folder / "config.toml").write_text(dedent(text) + written)
    loaded = load_config(folder / "config.toml")
    teams = TeamFactory(loaded.config, loaded.imports, start_folder=folder)
    return Gateway(new_store(folder / "store"), teams, **more)


def parts() -> Any:
    return sys.modules["parts"]


def said(events: list[Any]) -> list[tuple[str, str]]:
    return [(event.agent, event.text) for event in of(MessageFinished, events)]


async def first_turn(folder: Path, text: str, *answers: str) -> list[Any]:
    async with gateway(folder, text, *answers) as running:
        return await turn(running, (await running.client.create_thread()).id, "go")


async def answered(
    running: Gateway, asked: InputRequested, text: str, kind: Any = "text"
) -> list[Any]:
    after = (await running.client.thread(asked.thread)).last_seq
    await running.client.answer(asked.request, Answer(kind=kind, text=text))
    return await until(running, asked.thread, ends, after)


async def test_two_agents_chat_for_as_many_turns_as_the_team_says(folder):
    events = await first_turn(folder, TWO, "Knock.", "Who?", "Me.")
    assert said(events) == [("cathy", "Knock."), ("joe", "Who?"), ("cathy", "Me.")]
    assert events[-1].outcome == "done"
    assert parts().ASKED == ["go", "Knock.", "Who?"]


async def test_a_later_message_goes_on_with_the_chat(folder):
    async with gateway(folder, TWO.replace("= 2", "= 1"), "One.", "Two.") as running:
        thread = (await running.client.create_thread()).id
        await turn(running, thread, "first")
        events = await turn(running, thread, "second")
    assert said(events) == [("cathy", "Two.")]


async def test_the_person_in_the_thread_is_asked_before_each_of_their_replies(folder):
    async with gateway(folder, ALWAYS, "A poem.") as running:
        thread = (await running.client.create_thread()).id
        events = await turn(running, thread, "Write.")
    [asked] = of(InputRequested, events)
    assert said(events) == [("writer", "A poem.")]
    assert (asked.agent, events[-1].outcome) == ("user", "waiting")

    async with gateway(folder, ALWAYS, "A shorter poem.") as running:  # the model is a new one
        events = await answered(running, asked, "Shorter.")
        assert said(events) == [("writer", "A shorter poem.")]
        assert parts().ASKED == ["Write.", "Shorter."]
        [again] = of(InputRequested, events)
        events = await answered(running, again, "exit")
    assert (said(events), events[-1].outcome) == ([], "done")


async def test_a_person_is_asked_only_at_the_end_with_terminate(folder):
    text = """
    [teams.t]
    type = "conversable"
    recipient = "writer"
    agents.writer = {}
    [teams.t.agents.user]
    preset = "user_proxy"
    human_input_mode = "TERMINATE"
    default_auto_reply = "Go on."
    termination = "DONE"
    """
    async with gateway(folder, text, "One.", "Two. DONE", "Three. DONE") as running:
        events = await turn(running, (await running.client.create_thread()).id, "Write.")
        assert [text for _, text in said(events) if text != "Go on."] == ["One.", "Two. DONE"]
        [asked] = of(InputRequested, events)
        events = await answered(running, asked, "One more.")
        assert ("writer", "Three. DONE") in said(events)
        assert parts().ASKED == ["Write.", "Go on.", "One more."]


async def test_a_person_can_skip_a_reply_which_is_then_made_for_them(folder):
    text = ALWAYS + 'agents.user = { preset = "user_proxy", default_auto_reply = "Go on." }\n'
    async with gateway(folder, text, "One.", "Two.") as running:
        events = await turn(running, (await running.client.create_thread()).id, "Write.")
        [asked] = of(InputRequested, events)
        assert (asked.request_kind, asked.options) == ("choice", ("skip", "exit"))
        assert said(await answered(running, asked, "skip")) == [("writer", "Two.")]
        assert parts().ASKED == ["Write.", "Go on."]


async def test_nobody_is_asked_with_never(folder):
    text = """
    [teams.t]
    type = "conversable"
    recipient = "writer"
    agents.writer = {}
    agents.user = { preset = "user_proxy", human_input_mode = "NEVER", termination = "DONE" }
    """
    events = await first_turn(folder, text, "One.", "DONE")
    assert (of(InputRequested, events), events[-1].outcome) == ([], "done")


TOOL = """
[teams.t]
type = "conversable"
starter = "joe"
recipient = "cathy"
agents.joe = { preset = "user_proxy", max_consecutive_auto_reply = 2, human_input_mode = "NEVER" }
agents.cathy = { tools = ["parts:weather", "parts:held"] }
"""


async def test_a_tool_runs_only_once_an_approver_says_so_also_after_a_restart(folder):
    text = TOOL + '[policies.tools]\nweather = "ask"\n'
    async with gateway(folder, text, "call weather") as running:
        events = await turn(running, (await running.client.create_thread()).id, "go")
    [asked] = of(InputRequested, events)
    assert (asked.request_kind, asked.tool) == ("approval", "weather")
    assert parts().RAN == []

    async with gateway(folder, text, "It rains.", "Yes.") as running:
        events = await answered(running, asked, "", "approve")
    assert parts().RAN == ["weather"]
    assert [event.failed for event in of(ToolFinished, events)] == [False]
    assert ("cathy", "It rains.") in said(events)


async def test_code_is_denied_unless_the_policy_says_otherwise(folder):
    text = """
    [teams.t]
    type = "conversable"
    starter = "runner"
    recipient = "coder"
    max_turns = 2
    agents.coder = {}
    [teams.t.agents.runner]
    preset = "user_proxy"
    human_input_mode = "NEVER"
    code_executor = { path = "parts:Executor" }
    """
    events = await first_turn(folder, text, "```sh\nls\n```", "Done")
    assert [event.failed for event in of(ToolFinished, events)] == [True]
    assert parts().RAN == []

    allowed = dedent(text) + "[policies.tools]\nexecute_code = 'allow'\n"
    async with gateway(folder, allowed, "```sh\nls\n```", "Done") as running:
        events = await turn(running, (await running.client.create_thread()).id, "go")
    assert [event.failed for event in of(ToolFinished, events)] == [False]
    assert parts().RAN == ["ls"]


NESTED = """
[teams.t]
type = "conversable"
recipient = "writer"
max_turns = 1
agents.user = { preset = "user_proxy", human_input_mode = "NEVER" }
agents.critic = {}
agents.writer.nested = [{ trigger = ["user"], chats = [{ recipient = "critic", max_turns = 1 }] }]
"""


async def test_nested_chats_are_seen_as_steps_before_the_reply(folder):
    events = await first_turn(folder, NESTED, "Shorter.")
    assert ("critic", "Shorter.") in said(events)
    assert said(events)[-1] == ("writer", "Shorter.")


QUEUE = """
[teams.t]
type = "conversable"
agents.user = { preset = "user_proxy", human_input_mode = "NEVER" }
agents.a = {}
agents.b = {}
[[teams.t.chats]]
recipient = "a"
max_turns = 1
[[teams.t.chats]]
recipient = "b"
message = "Conclude."
max_turns = 1
"""


async def test_a_chat_of_a_queue_is_told_what_the_earlier_ones_found(folder):
    events = await first_turn(folder, QUEUE, "Facts.", "Conclusion.")
    assert said(events) == [("a", "Facts."), ("b", "Conclusion.")]
    assert parts().ASKED == ["go", "Conclude.\nContext: \nFacts."]


@pytest.mark.chaos
async def test_after_a_kill_no_reply_is_made_twice_and_no_call_is_repeated(folder):
    text = TOOL + ALLOWED
    running = gateway(folder, text, "call weather", "call held", limits=Limits(shutdown=0.0))
    async with running:
        thread = (await running.client.create_thread()).id
        await running.client.send(thread, "go")
        await parts().HELD.wait()

        async def refused(lease, record):
            raise LeaseLost(lease.thread)

        running.store.record = refused  # as a process that was killed: it writes nothing more

    async with gateway(folder, text, "Enough.", "Bye.") as running:
        events = await until(running, thread, ends)
    assert parts().RAN == ["weather", "held"]
    first, second, third = parts().ASKED
    assert first == "go"
    assert "rain" in second
    assert "its effect is unknown" in third
    assert [event.tool for event in of(ToolStarted, events)].count("weather") == 1
    assert said(events) == [("cathy", "Enough.")]
