"""Tools as functions of a real kernel.

Run by `make extras`, in an environment of requirements/extras/semantic-kernel.txt.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("semantic_kernel", reason="Semantic Kernel has an environment of its own")

from pydantic import BaseModel
from semantic_kernel import Kernel
from semantic_kernel.exceptions import KernelInvokeException
from semantic_kernel.functions import KernelFunction, KernelPlugin

from teams.core import CancellationToken
from teams.tools import BaseTool, FunctionTool
from teams.tools.semantic_kernel import KernelFunctionFromTool, KernelFunctionFromToolSchema


class Place(BaseModel):
    city: str
    zone: str = "UTC"


def book(service: str, place: Place, kernel: str = "x") -> dict[str, str]:
    """Book something."""
    return {"service": service, "city": place.city, "zone": place.zone, "kernel": kernel}


async def test_a_kernel_runs_a_tool_with_all_its_arguments():
    kernel = Kernel()
    function = KernelFunctionFromTool(FunctionTool(book, "Book a table."), plugin_name="mine")
    assert isinstance(function, KernelFunction)
    assert (function.fully_qualified_name, function.description) == ("mine-book", "Book a table.")
    kernel.add_plugin(KernelPlugin(name="mine", functions=[function]))
    # `service` and `kernel` are names that Semantic Kernel gives another meaning.
    result = await kernel.invoke(
        function_name="book", plugin_name="mine", service="dinner", place={"city": "Oslo"}
    )
    assert result is not None
    assert result.value == {"service": "dinner", "city": "Oslo", "zone": "UTC", "kernel": "x"}


def test_the_model_is_told_the_tool_s_own_schema():
    function = KernelFunctionFromTool(FunctionTool(book, "Book."))
    about = {each.name: each for each in function.parameters}
    assert [about[name].is_required for name in ("service", "place", "kernel")] == [
        True,
        True,
        False,
    ]
    schema: Any = about["place"].schema_data
    assert schema["properties"]["city"]["type"] == "string"  # a definition, in place
    assert about["kernel"].default_value == "x"


async def test_invalid_arguments_are_an_error():
    kernel = Kernel()
    function = KernelFunctionFromTool(FunctionTool(book, "Book."))
    with pytest.raises(Exception, match="service"):
        await function.invoke(kernel, place={"city": "Oslo"})


async def test_a_described_tool_is_not_run():
    function = KernelFunctionFromToolSchema({"name": "look", "description": "Look."}, "mine")
    assert function.fully_qualified_name == "mine-look"
    with pytest.raises((KernelInvokeException, NotImplementedError), match="only described"):
        await function.invoke(Kernel())


class Slow(BaseTool[Place, Any]):
    def __init__(self) -> None:
        super().__init__(Place, object, "slow", "Wait.")
        self.begun = asyncio.Event()
        self.token: CancellationToken | None = None

    async def run(self, args: Place, cancellation_token: CancellationToken) -> Any:
        self.token = cancellation_token
        self.begun.set()
        await asyncio.Event().wait()


async def test_a_cancelled_invocation_cancels_the_tool():
    tool = Slow()
    invoking = asyncio.ensure_future(KernelFunctionFromTool(tool).invoke(Kernel(), city="Oslo"))
    await tool.begun.wait()
    invoking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await invoking
    assert tool.token is not None
    assert tool.token.is_cancelled()
