"""A chat app: its script runs anew for each message.

The session keeps the agent, and each run of the script has an event loop of its own, in a thread.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from teams.agents import AssistantAgent
from teams.messages import ModelClientStreamingChunkEvent
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import conversations

Session = dict[str, Any]


def weather(city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


def script(session: Session, url: str, message: str, show: Callable[[str], None]) -> None:
    """The app: shows what was said, then streams the answer."""
    if "agent" not in session:
        model = OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-app", base_url=url)
        session["agent"] = AssistantAgent(
            "helper", model, tools=[weather], reflect_on_tool_use=True, model_client_stream=True
        )
        session["model"] = model
        session["shown"] = []
    for line in session["shown"]:
        show(line)
    answer = asyncio.run(stream_answer(session["agent"], message, show))
    session["shown"] += [f"user: {message}", f"helper: {answer}"]


async def stream_answer(agent: AssistantAgent, message: str, show: Callable[[str], None]) -> str:
    pieces: list[str] = []
    async for item in agent.run_stream(task=message):
        if isinstance(item, ModelClientStreamingChunkEvent):
            pieces.append(item.content)
            show("".join(pieces))
    return "".join(pieces)


async def test_the_agent_of_a_session_answers_in_each_run_of_the_script(openai_server):
    openai_server.script(
        Reply(calls=[Call(name="weather", arguments={"city": "Bergen"})]),
        Reply(text="Take an umbrella.", chunks=3),
        Reply(text="Bergen.", chunks=1),
    )
    session: Session = {}
    runs: list[list[str]] = []
    for message in ("Bergen?", "Which city was it?"):
        runs.append([])
        await asyncio.to_thread(script, session, openai_server.url, message, runs[-1].append)

    assert runs[0][-1] == "Take an umbrella."
    assert len(runs[0]) == 3
    assert runs[1] == ["user: Bergen?", "helper: Take an umbrella.", "Bergen."]
    assert conversations(openai_server)[-1][-2:] == [
        "assistant: Take an umbrella.",
        "user[user]: Which city was it?",
    ]
    await session["model"].close()
