"""AzureAIAgent against the service's wire."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import AzureError

from teams.base import run_hooks
from teams.core import CancellationToken, Image
from teams.messages import MultiModalMessage, TextMessage, ToolCallExecutionEvent
from teams.models import ModelError, RequestUsage, SystemMessage, UserMessage
from teams.tools import FunctionTool
from tests.fakes.azure_agents import FakeAzureAgents
from tests.teams.agents.azure.served_runs import add, make, project

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


async def test_what_the_run_tells_reaches_each_run() -> None:
    service = FakeAzureAgents({"text": "Hello"}, {"text": "Fine"})
    rules, quote = SystemMessage(content="Rules."), UserMessage(content="<<<>>>", source="parley")
    async with service, project(service) as client:
        agent = make(client)
        for task in ("Hi", "How are you?"):
            with run_hooks(instructions={"": [rules, quote]}):
                await agent.run(task=task)
    for run in service.runs:
        assert run["instructions"] == "Rules.\n\nBe kind."
        assert str(run["additional_messages"]).count("<<<>>>") == 1


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


async def test_a_refused_request_keeps_type_and_cause() -> None:
    service = FakeAzureAgents()
    async with service, project(service) as client:
        with pytest.raises(ModelError, match="No thread or assistant") as caught:
            await make(client, agent_id="asst_none").run(task="Hi")
    assert isinstance(caught.value.__cause__, AzureError)


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
