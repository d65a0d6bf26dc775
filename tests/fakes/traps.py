"""Places where a run stands still, and ways of cancelling it there."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.core import CancellationToken
from teams.messages import TextMessage
from teams.tools import BaseStreamTool, FunctionTool
from tests.fakes.scripted_model import ScriptedModel, calls


@dataclass
class Trap:
    """A place where a run stands still, once."""

    entered: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    ended: list[str] = field(default_factory=list)

    async def stand(self) -> None:
        if self.entered.is_set():
            return
        self.entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.append("cancelled")

    async def stand_firm(self) -> None:
        """Ignores its cancellation, until the test opens the trap."""
        if self.entered.is_set():
            return
        self.entered.set()
        while not self.opened.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.opened.wait()
        self.ended.append("opened")
        self.over.set()


class Nothing(BaseModel):
    pass


class Talk(BaseStreamTool[Nothing, TextMessage, Nothing]):
    """Says something, stands in the trap, ends."""

    def __init__(self, trap: Trap) -> None:
        super().__init__(Nothing, Nothing, "talk", "")
        self._trap = trap

    async def run(self, args: Nothing, cancellation_token: CancellationToken) -> Nothing:
        return args

    async def run_stream(
        self, args: Nothing, cancellation_token: CancellationToken
    ) -> AsyncGenerator[TextMessage | Nothing, None]:
        yield TextMessage(content="begun", source="tool")
        await self._trap.stand()
        yield args


def worker(tool: Any, **options: Any) -> AssistantAgent:
    wanted = calls(("fine", {}), (tool.name if hasattr(tool, "name") else tool.__name__, {}))

    async def fine() -> str:
        return "fine"

    tools = [FunctionTool(fine, ""), tool if hasattr(tool, "name") else FunctionTool(tool, "")]
    return AssistantAgent("worker", ScriptedModel(wanted, "next"), tools=tools, **options)


async def cancel_by_token(team: RoundRobinGroupChat, trap: Trap) -> None:
    token = CancellationToken()

    async def cancel() -> None:
        await trap.entered.wait()
        token.cancel()

    async with asyncio.TaskGroup() as group:
        group.create_task(cancel())
        with pytest.raises(asyncio.CancelledError):
            await team.run(task="hi", cancellation_token=token)


async def cancel_by_thread(team: RoundRobinGroupChat, trap: Trap) -> None:
    token = CancellationToken()

    async def cancel() -> None:
        await trap.entered.wait()
        threading.Thread(target=token.cancel).start()

    async with asyncio.TaskGroup() as group:
        group.create_task(cancel())
        with pytest.raises(asyncio.CancelledError):
            await team.run(task="hi", cancellation_token=token)


async def cancel_by_timeout(team: RoundRobinGroupChat, trap: Trap) -> None:
    async def run() -> None:
        async with asyncio.timeout(10) as limit, asyncio.TaskGroup() as group:
            group.create_task(expire(limit))
            await team.run(task="hi", cancellation_token=CancellationToken())

    async def expire(limit: asyncio.Timeout) -> None:
        await trap.entered.wait()
        limit.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        await run()


async def cancel_by_task(team: RoundRobinGroupChat, trap: Trap) -> None:
    task = asyncio.get_running_loop().create_task(team.run(task="hi"))
    await trap.entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


CANCELS = [cancel_by_token, cancel_by_thread, cancel_by_timeout, cancel_by_task]
