"""Runs of the service, which go on where they stood."""

import asyncio
import json
from typing import Any

import pytest
from azure.ai.agents.models import CodeInterpreterToolDefinition

from teams.base import TaskResult
from teams.core import CancellationToken
from teams.messages import ToolCallExecutionEvent
from teams.models import BadAnswer, ModelError, ModelTimeout, ModelUnavailable
from tests.fakes.azure_agents import FakeAzureAgents
from tests.teams.agents.azure.served_runs import add, make, project

ADDING = {"calls": [("c1", "add", '{"a": 1, "b": 2}')]}


async def test_a_function_runs_here_and_its_result_goes_to_the_same_run() -> None:
    service = FakeAzureAgents(ADDING, {"text": "Three."})
    async with service, project(service) as client:
        result = await make(client, add, CodeInterpreterToolDefinition()).run(task="1 + 2?")
    assert result.messages[-1].to_text() == "Three."
    assert any(isinstance(item, ToolCallExecutionEvent) for item in result.messages)
    assert service.outputs == [[{"tool_call_id": "c1", "output": "3"}]]
    [run] = service.runs
    assert [tool["type"] for tool in run["tools"]] == ["code_interpreter", "function"]


@pytest.mark.parametrize(
    ("outcome", "error", "text"),
    [
        (
            {"status": "failed", "last_error": {"code": "server_error", "message": "Broke."}},
            ModelUnavailable,
            "Broke.",
        ),
        ({"status": "expired"}, ModelTimeout, "expired"),
        ({"status": "cancelled"}, ModelUnavailable, "cancelled"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max"}}, BadAnswer, "max"),
        ({"status": "requires_action"}, BadAnswer, "requires_action"),
        ({"status": "dreaming"}, BadAnswer, "dreaming"),
    ],
    ids=lambda value: value["status"] if isinstance(value, dict) else "",
)
async def test_every_other_end_of_a_run_is_an_error(
    outcome: dict[str, Any], error: type[ModelError], text: str
) -> None:
    service = FakeAzureAgents(outcome)
    async with service, project(service) as client:
        with pytest.raises(error, match=text):
            await make(client).run(task="Hi")


async def test_a_cancelled_turn_ends_its_run_and_the_next_one_works() -> None:
    service = FakeAzureAgents({"hold": True})
    async with service, project(service) as client:
        agent, token = make(client), CancellationToken()
        running = asyncio.create_task(agent.run(task="Hi", cancellation_token=token))  # noqa: TID251
        await service.begun.wait()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        [runs] = service.threads.values()
        assert runs[0]["status"] == "cancelling"
        service.outcomes = type(service.outcomes)([{"text": "Hello."}])
        assert (await agent.run(task="Again")).messages[-1].to_text() == "Hello."


async def test_an_interrupted_turn_takes_the_run_that_it_has_started() -> None:
    service = FakeAzureAgents({"text": "First."}, {"hold": True})
    async with service, project(service) as client:
        agent = make(client)
        await agent.run(task="Hi")
        state = json.loads(json.dumps(await agent.save_state()))
        running = asyncio.create_task(agent.run(task="More"))  # noqa: TID251
        service.begun.clear()
        await service.begun.wait()
        again = make(client)
        await again.load_state(state)
        service.outcomes = type(service.outcomes)([{"text": "Second."}])
        result = await again.run(task="More")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert result.messages[-1].to_text() == "Second."
    assert len(service.runs) == 2
    assert len(service.threads) == 1


async def test_results_that_an_interrupted_turn_has_sent_are_not_sent_again() -> None:
    service, state = FakeAzureAgents(ADDING, {"text": "Three."}), {}
    async with service, project(service) as client:
        agent = make(client, add)
        async for item in agent.run_stream(task="1 + 2?"):
            if isinstance(item, ToolCallExecutionEvent):
                state = json.loads(json.dumps(await agent.save_state()))
        again = make(client, add)
        await again.load_state(state)
        assert (await again.run()).messages[-1].to_text() == "Three."
    assert (len(service.runs), len(service.outputs)) == (1, 1)


async def test_results_that_come_too_late_are_told_to_a_new_run() -> None:
    service = FakeAzureAgents(ADDING, {"text": "Three."})
    async with service, project(service) as client:
        agent = make(client, add)
        item: object = None
        async for item in agent.run_stream(task="1 + 2?"):
            if isinstance(item, ToolCallExecutionEvent):
                [runs] = service.threads.values()
                runs[0]["status"] = "expired"
    assert isinstance(item, TaskResult)
    assert item.messages[-1].to_text() == "Three."
    told = service.runs[1]["additional_messages"][0]["content"][0]["text"]
    assert told == "Result of add: 3"
