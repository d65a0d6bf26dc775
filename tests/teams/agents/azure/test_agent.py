"""AzureAIAgent against the service's wire."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from azure.ai.agents.aio import AgentsClient
from azure.ai.agents.models import CodeInterpreterToolDefinition
from azure.core.exceptions import AzureError
from azure.core.pipeline.policies import SansIOHTTPPolicy

from teams.agents.azure import AzureAIAgent
from teams.base import TaskResult
from teams.core import CancellationToken, Image
from teams.messages import MultiModalMessage, TextMessage, ToolCallExecutionEvent
from teams.models import BadAnswer, ModelError, ModelTimeout, ModelUnavailable, RequestUsage
from teams.tools import FunctionTool
from tests.fakes.azure_agents import FakeAzureAgents

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
NOTE = {
    "type": "url_citation",
    "text": "[1]",
    "url_citation": {"url": "https://example.com/a", "title": "A"},
}
BROKE = {"code": "server_error", "message": "Broke."}
ADDING = {"calls": [("c1", "add", '{"a": 1, "b": 2}')]}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@asynccontextmanager
async def project(service: FakeAzureAgents) -> AsyncGenerator[AgentsClient]:
    unused: Any = object()
    policy: Any = SansIOHTTPPolicy()  # the SDK's own sends tokens over TLS alone
    async with AgentsClient(
        service.url, unused, authentication_policy=policy, retry_total=0
    ) as client:
        yield client


def make(client: AgentsClient, *tools: Any, **settings: Any) -> AzureAIAgent:
    return AzureAIAgent("ada", "Answers.", client, "gpt-4o", "Be kind.", tools, **settings)


async def test_a_run_answers_with_text_usage_and_citations() -> None:
    said = {"text": "Hello [1]", "notes": [NOTE], "used": ["code_interpreter"]}
    service = FakeAzureAgents(said)
    async with service, project(service) as client:
        agent = make(client, "code_interpreter", temperature=0.0)
        result = await agent.run(task="Hi")
    _, told, answer = result.messages
    assert isinstance(told, ToolCallExecutionEvent)
    assert told.metadata == {"hosted": "provider"}
    assert [each.name for each in told.content] == ["code_interpreter"]
    assert isinstance(answer, TextMessage)
    assert answer.content == "Hello [1]"
    assert answer.models_usage == RequestUsage(7, 3)
    assert json.loads(answer.metadata["citations"]) == [NOTE]
    [run] = service.runs
    assert run["instructions"] == "Be kind."
    assert run["temperature"] == 0
    assert run["tools"] == [{"type": "code_interpreter"}]
    assert run["additional_messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    ]


async def test_a_function_runs_here_and_its_result_goes_to_the_same_run() -> None:
    service = FakeAzureAgents(ADDING, {"text": "Three."})
    async with service, project(service) as client:
        result = await make(client, add, CodeInterpreterToolDefinition()).run(task="1 + 2?")
    assert result.messages[-1].to_text() == "Three."
    assert any(isinstance(item, ToolCallExecutionEvent) for item in result.messages)
    assert service.outputs == [[{"tool_call_id": "c1", "output": "3"}]]
    [run] = service.runs
    assert [tool["type"] for tool in run["tools"]] == ["code_interpreter", "function"]


async def test_a_function_may_have_a_name_that_the_service_does_not_take() -> None:
    service = FakeAzureAgents({"calls": [("c1", "add_up", '{"a": 1, "b": 2}')]}, {"text": "Three."})
    async with service, project(service) as client:
        tool = FunctionTool(add, "Adds.", name="add.up")
        result = await make(client, tool).run(task="1 + 2?")
    assert result.messages[-1].to_text() == "Three."
    assert service.outputs == [[{"tool_call_id": "c1", "output": "3"}]]


async def test_images_go_out_and_come_back() -> None:
    image = Image.from_base64(PIXEL)
    service = FakeAzureAgents({"text": "Look:", "image": "f1"})
    async with service, project(service) as client:
        service.files["f1"] = base64.b64decode(PIXEL).hex()
        task = MultiModalMessage(content=["What?", image], source="user")
        result = await make(client).run(task=task)
    answer = result.messages[-1]
    assert isinstance(answer, MultiModalMessage)
    assert answer.content == ["Look:", image]
    [run] = service.runs
    assert run["additional_messages"][0]["content"][1]["image_url"]["url"] == image.data_uri


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


async def test_a_refused_request_keeps_type_and_cause() -> None:
    service = FakeAzureAgents()
    async with service, project(service) as client:
        with pytest.raises(ModelError, match="No thread or assistant") as caught:
            await make(client, agent_id="asst_none").run(task="Hi")
    assert isinstance(caught.value.__cause__, AzureError)


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


async def test_files_serve_both_tools_and_are_deleted(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("a,b")
    token = CancellationToken()
    service = FakeAzureAgents({"text": "Done."})
    async with service, project(service) as client:
        agent = make(client, "code_interpreter", "file_search")
        await agent.on_upload_for_code_interpreter(str(path), token)
        await agent.on_upload_for_file_search([str(path)], token)
        await agent.run(task="Sum up")
        code, found = service.runs[0]["tool_resources"].values()
        assert code["file_ids"][0] in service.files
        assert [*service.stores] == found["vector_store_ids"]
        await agent.delete_uploaded_files(token)
        await agent.delete_vector_store(token)
        await agent.delete_assistant(token)
    assert (service.files, service.stores, service.agents) == ({}, {}, {})


async def test_a_reset_begins_a_new_thread() -> None:
    service = FakeAzureAgents({"text": "One."}, {"text": "Two."})
    async with service, project(service) as client:
        agent = make(client)
        await agent.run(task="Hi")
        await agent.on_reset(CancellationToken())
        await agent.run(task="Hi")
    assert [len(runs) for runs in service.threads.values()] == [1, 1]


def test_what_it_does_not_take() -> None:
    nothing: Any = None
    with pytest.raises(ValueError, match="found 'teleport'"):
        make(nothing, "teleport")
    with pytest.raises(NotImplementedError, match="no component form"):
        make(nothing).dump_component()
