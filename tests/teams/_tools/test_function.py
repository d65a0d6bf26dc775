"""Python functions as tools."""

import asyncio
import contextvars
import functools
import logging
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import pytest

from teams._tools.function import set_traits
from teams.core import CancellationToken
from teams.tools import FunctionTool, ToolTraits


async def get_weather(city: str, units: str = "imperial") -> str:
    """The weather in a city."""
    return f"{city}: 73 {units}"


def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    return dict(FunctionTool(function, "A tool.").schema.get("parameters", {}))


def shown_parameters(tool: FunctionTool) -> list[str]:
    return list(tool.schema.get("parameters", {}).get("properties", {}))


async def test_arguments_bound_by_a_partial_are_not_shown_to_the_model():
    def connect(key: str, host: str, port: int) -> str:
        """Connect to a host."""
        return f"{key}@{host}:{port}"

    tool = FunctionTool(functools.partial(connect, "secret", port=80))
    assert (tool.name, tool.description) == ("connect", "Connect to a host.")
    assert shown_parameters(tool) == ["host"]
    assert await tool.run_json({"host": "h"}, CancellationToken()) == "secret@h:80"


async def test_callable_objects_are_tools():
    class Adder:
        """Adds."""

        async def __call__(self, a: int, b: int) -> int:
            return a + b

    tool = FunctionTool(Adder(), "Adds.")
    assert tool.name == "Adder"
    assert await tool.run_json({"a": 1, "b": 2}, CancellationToken()) == 3


async def test_a_plain_function_runs_in_a_thread_with_the_context_of_the_caller():
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("seen")

    def where() -> tuple[str, bool]:
        return variable.get(), threading.current_thread() is threading.main_thread()

    tool = FunctionTool(where)
    assert await tool.run_json({}, CancellationToken()) == ("seen", False)


async def test_what_a_plain_function_raises_reaches_the_caller():
    def fail(kind: str) -> None:
        raise {"key": KeyError, "stop": StopIteration}[kind]("reason")

    tool = FunctionTool(fail)
    with pytest.raises(KeyError, match="reason"):
        await tool.run_json({"kind": "key"}, CancellationToken())
    with pytest.raises(RuntimeError, match="StopIteration"):
        await tool.run_json({"kind": "stop"}, CancellationToken())


async def test_a_function_may_take_the_cancellation_token():
    async def wait(cancellation_token: CancellationToken, seconds: int) -> bool:
        return cancellation_token.is_cancelled()

    tool = FunctionTool(wait)
    assert shown_parameters(tool) == ["seconds"]
    token = CancellationToken()
    assert await tool.run_json({"seconds": 1}, token) is False


async def test_cancelling_the_token_ends_an_async_function():
    token, ended = CancellationToken(), asyncio.Event()

    async def wait() -> None:
        asyncio.get_running_loop().call_soon(token.cancel)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(asyncio.CancelledError):
        await FunctionTool(wait).run_json({}, token)
    assert ended.is_set()


@pytest.mark.parametrize("outcome", ["result", "error"])
async def test_a_cancelled_caller_leaves_a_plain_function_behind(
    outcome: str, caplog: pytest.LogCaptureFixture
):
    token, release = CancellationToken(), threading.Event()
    logged = asyncio.Event()
    loop = asyncio.get_running_loop()

    def block() -> str:
        loop.call_soon_threadsafe(token.cancel)
        release.wait()
        if outcome == "error":
            raise ValueError("late")
        return "late"

    class Notice(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.set()

    notice = Notice()
    logging.getLogger("teams").addHandler(notice)
    try:
        with pytest.raises(asyncio.CancelledError):
            await FunctionTool(block).run_json({}, token)
        assert not logged.is_set()
        release.set()
        await logged.wait()
    finally:
        logging.getLogger("teams").removeHandler(notice)
    assert "tool block ended after its run was cancelled" in caplog.text


def test_a_cancelled_plain_function_does_not_hold_the_process():
    program = textwrap.dedent(
        """
        import asyncio, threading
        from teams.core import CancellationToken
        from teams.tools import FunctionTool

        async def main():
            token, loop = CancellationToken(), asyncio.get_running_loop()

            def block() -> None:
                loop.call_soon_threadsafe(token.cancel)
                threading.Event().wait()

            try:
                await FunctionTool(block).run_json({}, token)
            except asyncio.CancelledError:
                print("cancelled", flush=True)

        asyncio.run(main())
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=8, check=True
    )
    assert (ended.stdout, ended.stderr) == ("cancelled\n", "")


def test_a_function_that_ends_after_its_loop_only_leaves_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
):
    release, threads = threading.Event(), []
    token = CancellationToken()

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def block() -> None:
            threads.append(threading.current_thread())
            loop.call_soon_threadsafe(token.cancel)
            release.wait()

        with pytest.raises(asyncio.CancelledError):
            await FunctionTool(block).run_json({}, token)

    asyncio.run(main())
    release.set()
    threads[0].join()
    assert "tool block ended after its run did" in caplog.text


def test_traits_are_promises_of_the_tool_and_none_by_default():
    assert FunctionTool(get_weather).traits == ToolTraits()
    assert FunctionTool(get_weather, traits=ToolTraits(read_only=True)).traits.read_only


def test_a_function_can_carry_the_traits_of_its_tools():
    def look(place: str) -> str:
        return place

    set_traits(look, ToolTraits(read_only=True))
    assert FunctionTool(look).traits.read_only
    assert not FunctionTool(look, traits=ToolTraits(idempotent=True)).traits.read_only
