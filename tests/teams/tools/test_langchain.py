"""LangChain's tools, by LangChain's own classes."""

from __future__ import annotations

import asyncio
import threading
from datetime import date
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.tools import (
    BaseTool,
    InjectedToolArg,
    StructuredTool,
    Tool,
    ToolException,
    tool,
)
from pydantic import BaseModel, ConfigDict, Field

from teams.agents import AssistantAgent
from teams.core import CancellationToken
from teams.messages import ToolCallExecutionEvent
from teams.tools.langchain import LangChainToolAdapter
from tests.fakes.scripted_model import ScriptedModel, calls


class Handle:
    """Nothing that JSON can hold."""


class Search(BaseModel):
    query: str = Field(description="Words to look for.")
    limit: int = 3


class Shelf(BaseTool):
    """A class with both roads."""

    name: str = "shelf"
    description: str = "Find a shelf."
    args_schema: Any = Search

    def _run(
        self, query: str, limit: int = 3, run_manager: CallbackManagerForToolRun | None = None
    ) -> str:
        return f"sync {query}"

    async def _arun(
        self, query: str, limit: int = 3, run_manager: AsyncCallbackManagerForToolRun | None = None
    ) -> str:
        assert run_manager is not None  # LangChain's own
        return f"async {query} {limit}"


class Plain(BaseTool):
    """A class with a signature alone."""

    name: str = "plain"
    description: str = "Say where it runs."

    def _run(self, word: str, run_manager: CallbackManagerForToolRun | None = None) -> str:
        thread = threading.current_thread()
        return f"{word} {thread.name} {thread.daemon}"


class SyncAlone(Plain):
    """A class as older libraries have it."""

    async def _arun(self, word: str) -> str:
        raise NotImplementedError("sync alone")


async def call(langchain_tool: Any, **arguments: Any) -> Any:
    return await LangChainToolAdapter(langchain_tool).run_json(arguments, CancellationToken())


def parameters(langchain_tool: Any) -> dict[str, Any]:
    schema = LangChainToolAdapter(langchain_tool).schema
    assert "parameters" in schema
    return schema["parameters"]["properties"]


async def test_an_agent_calls_a_tool_of_langchain():
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    model = ScriptedModel(calls(("add", {"a": 1, "b": 2})))
    agent = AssistantAgent("clerk", model, tools=[LangChainToolAdapter(add)])
    result = await agent.run(task="Add.")
    (event,) = [each for each in result.messages if isinstance(each, ToolCallExecutionEvent)]
    assert event.content[0].content == "3"
    assert LangChainToolAdapter(add).description == "Add two numbers."


async def test_the_coroutine_is_awaited_where_there_is_one():
    assert await call(Shelf(), query="Momo", limit=1) == "async Momo 1"
    assert await call(Shelf(), query="Momo") == "async Momo 3"


async def test_a_sync_tool_runs_in_a_thread_that_does_not_keep_the_process():
    assert await call(Plain(), word="here") == "here tool plain True"


async def test_a_class_that_refuses_to_be_awaited_runs_in_a_thread():
    assert await call(SyncAlone(), word="here") == "here tool plain True"


def test_the_model_is_not_offered_what_langchain_fills():
    assert list(parameters(Plain())) == ["word"]
    assert parameters(Shelf())["query"]["description"] == "Words to look for."
    assert list(parameters(Shelf())) == ["query", "limit"]


async def test_an_old_tool_of_one_text_takes_its_first_parameter():
    def lookup(word: str, depth: int = 1) -> str:
        return f"{word} {depth}"

    old = Tool("lookup", lookup, "Look up.")
    assert list(parameters(old)) == ["word"]
    assert await call(old, word="Momo") == "Momo 1"


async def test_a_parameter_that_json_cannot_hold_keeps_its_default():
    class Config(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        word: str
        handle: Handle = Field(default_factory=Handle)

    def use(word: str, handle: Handle | None = None) -> str:
        return f"{word} {type(handle).__name__}"

    with_default = StructuredTool.from_function(use, description="Use.", args_schema=Config)
    assert list(parameters(with_default)) == ["word"]
    assert await call(with_default, word="a") in ("a Handle", "a NoneType")


def test_a_required_parameter_that_no_model_can_fill_is_refused():
    @tool
    def use(word: str, user: Annotated[str, InjectedToolArg]) -> str:
        """Use."""
        return word + user

    with pytest.raises(ValueError, match="Tool 'use': no model can fill the parameter 'user'"):
        LangChainToolAdapter(use)


async def test_a_json_schema_is_taken_as_it_is():
    async def find(**given: Any) -> Any:
        return given

    schema = {
        "type": "object",
        "properties": {"since": {"type": "string", "format": "date"}, "class": {"type": "string"}},
        "required": ["since"],
    }
    found = StructuredTool(
        name="find", description="Find.", args_schema=schema, coroutine=find, func=None
    )
    assert await call(found, since="2026-01-02", **{"class": "a"}) == {
        "since": "2026-01-02",
        "class": "a",
    }


async def test_typed_arguments_arrive_typed():
    @tool
    async def year(day: date) -> int:
        """The year."""
        return day.year

    assert await call(year, day="2026-01-02") == 2026


async def test_of_content_and_artifact_the_content_is_the_result():
    @tool(response_format="content_and_artifact")
    def picture() -> tuple[list[dict[str, str]], bytes]:
        """A picture."""
        return [{"type": "text", "text": "ä"}], b"raw"

    adapter = LangChainToolAdapter(picture)
    value = await adapter.run_json({}, CancellationToken())
    assert adapter.return_value_as_string(value) == '[{"type": "text", "text": "ä"}]'
    assert adapter.return_value_as_string("text") == "text"


async def test_errors_pass_through_unless_the_tool_handles_them():
    @tool
    def fails() -> str:
        """Fail."""
        raise ToolException("no such book")

    with pytest.raises(ToolException, match="no such book"):
        await call(fails)
    fails.handle_tool_error = True
    assert await call(fails) == "no such book"


async def test_cancelling_ends_the_coroutine():
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def forever() -> str:
        """Wait."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    token = CancellationToken()
    running = asyncio.ensure_future(LangChainToolAdapter(forever).run_json({}, token))
    await begun.wait()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


async def test_cancelling_leaves_a_thread_behind():
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    @tool
    def blocks() -> str:
        """Block."""
        begun.set()
        release.wait()
        ended.set()
        return ""

    token = CancellationToken()
    running = asyncio.ensure_future(LangChainToolAdapter(blocks).run_json({}, token))
    await asyncio.to_thread(begun.wait)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not ended.is_set()
    release.set()
    await asyncio.to_thread(ended.wait)


def test_what_is_no_tool_is_refused():
    wrong: Any = print
    with pytest.raises(AttributeError, match="is no tool of LangChain"):
        LangChainToolAdapter(wrong)
