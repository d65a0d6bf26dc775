"""Run the tool calls of one model answer through the interception point."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from teams._base.cancellation import CancellationToken
from teams._base.telemetry import trace_tool
from teams._base.tool_call import AGENT_PATH, CURRENT_CALL, InputRequired, PendingInput, ToolCall
from teams._contract.turn_record import Item, TurnRecord
from teams._messages.events import ModelClientStreamingChunkEvent
from teams._run.merge import Emit, Job, is_being_cancelled, merge, while_left
from teams._run.run import current_hooks, run_call
from teams._tools.workbench import ToolResult, text_result
from teams.agents._assistant_tools import AgentTools
from teams.models._conversation import OUTCOME_UNKNOWN
from teams.models._types import FunctionExecutionResult


class ApprovalBarrier:
    """Holds a batch's calls until each is judged: approvals come first."""

    def __init__(self, calls: int) -> None:
        self._undecided = calls
        self._open = asyncio.Event()

    def decide(self) -> None:
        self._undecided -= 1
        if self._undecided <= 0:
            self._open.set()

    async def wait(self) -> None:
        await self._open.wait()


@dataclass(slots=True)
class ToolBatch:
    """The open calls of a turn.

    `waiting` is what they wait for once `run` has ended; results are in the turn.
    """

    turn: TurnRecord
    agent: tuple[str, ...]
    tools: AgentTools
    token: CancellationToken
    waiting: list[PendingInput] = field(default_factory=list[PendingInput])
    _over: bool = False
    _ended: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])

    async def run(self) -> AsyncGenerator[Item, None]:
        """Run every call without a result; yield items of streaming tools.

        Items are recorded in the turn until they are taken.
        """
        calls = [self._call(position) for position in range(len(self.turn.calls))]
        left = [call for call in calls if call.key not in self.turn.results]
        if current_hooks().intercept is None:
            left = await self._hand_off(left)
        if not left:
            return
        gate = ApprovalBarrier(len(left))
        self._ended = {call.key: asyncio.Event() for call in left}
        # Cancelled with the run's token, and also when nobody waits for the results any more.
        token = CancellationToken()
        self.token.add_callback(token.cancel)
        jobs = [self._job(call, gate, token) for call in left]
        try:
            async with aclosing(merge(jobs, stopping=token.cancel)) as items:
                async for item in items:
                    if type(item) is not ModelClientStreamingChunkEvent:
                        self.turn.produced.remove(item)
                        self.turn.inner.append(item)
                    yield item
        finally:
            self._over = True
            self.token.remove_callback(token.cancel)

    def _call(self, position: int) -> ToolCall:
        call = self.turn.calls[position]
        return ToolCall(
            key=self.turn.key(position),
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            agent=self.agent,
            handoff=call.name in self.tools.handoffs,
            begun=self.turn.key(position) in self.turn.begun,
        )

    async def _hand_off(self, calls: list[ToolCall]) -> list[ToolCall]:
        """Do the hand-offs, which need no task; return the other calls."""
        for call in calls:
            if call.handoff:
                self._note(call, await trace_tool(call, self.tools.hand_off(call)))
        return [call for call in calls if not call.handoff]

    def _note(self, call: ToolCall, result: ToolResult) -> None:
        noted = FunctionExecutionResult(
            content=result.to_text(),
            name=call.name,
            call_id=call.id,
            is_error=result.is_error,
        )
        self.turn.note_result(call.key, noted)
        if pictures := result.pictures():
            self.turn.pictures[call.key] = pictures

    def _job(self, call: ToolCall, gate: ApprovalBarrier, token: CancellationToken) -> Job[Item]:
        async def job(emit: Emit[Item]) -> None:
            CURRENT_CALL.set(call)
            AGENT_PATH.set(self.agent)
            try:
                result = await self._result(call, gate, token, emit)
                if result is not None and not self._over:
                    self._note(call, result)
                    await self.tools.states.end_call(call.key)
            finally:
                self._ended[call.key].set()

        return job

    async def _result(
        self, call: ToolCall, gate: ApprovalBarrier, token: CancellationToken, emit: Emit[Item]
    ) -> ToolResult | None:
        """The call's result; None if it waits for a human."""

        async def produce(item: Item) -> None:
            if self._over:  # the call was abandoned
                raise asyncio.CancelledError
            if type(item) is not ModelClientStreamingChunkEvent:
                self.turn.produced.append(item)
            await emit(item)

        async def execute(allowed: ToolCall) -> ToolResult:
            traits = self.tools.traits(call.name)
            if traits.serial or traits.sequence:
                await self._earlier_calls(call, traits.sequence)
            run = partial(self.tools.execute, allowed, token, produce)
            if allowed.idempotent or call.handoff:
                return await trace_tool(allowed, run())
            once = run_once(allowed, run, partial(self._note_begun, call.key))
            return await trace_tool(allowed, once)

        try:
            return await intercept_call(await self.tools.resolve(call), gate, execute)
        except InputRequired as required:
            asked = required.pending(agent=self.agent, request_id=call.key, call_id=call.id)
            self.waiting += [request for request in asked if request not in self.waiting]
            return None
        except asyncio.CancelledError:
            if token.is_cancelled() or is_being_cancelled():
                raise
            # The tool's own doing: it ends the call, not the run.
            return text_result(call.name, "Error: the call was cancelled.", is_error=True)

    def _note_begun(self, key: str, begun: bool) -> None:
        if begun:
            self.turn.begun[key] = None
        else:
            self.turn.begun.pop(key, None)

    async def _earlier_calls(self, call: ToolCall, sequence: str) -> None:
        """Wait for earlier calls of the same tool or sequence."""
        for position, other in enumerate(self.turn.calls):
            key = self.turn.key(position)
            if key == call.key:
                return
            same = sequence and self.tools.traits(other.name).sequence == sequence
            if (same or other.name == call.name) and key in self._ended:
                await self._ended[key].wait()


async def run_once(
    call: ToolCall, run: Callable[[], Awaitable[ToolResult]], note_begun: Callable[[bool], None]
) -> ToolResult:
    """The result of a call that, once cut off, never begins again."""
    if call.begun and not call.idempotent:
        return text_result(call.name, OUTCOME_UNKNOWN, is_error=True)
    await while_left()
    note_begun(True)
    try:
        return await run()
    except Exception:
        if not is_being_cancelled():  # it has ended by itself, or asks a human
            note_begun(False)
        raise


async def intercept_call(
    call: ToolCall, gate: ApprovalBarrier, execute: Callable[[ToolCall], Awaitable[ToolResult]]
) -> ToolResult:
    """The call's result through the run's interceptor, if there is one."""
    undecided = True

    def decide() -> None:
        nonlocal undecided
        if undecided:
            undecided = False
            gate.decide()

    async def proceed(allowed: ToolCall) -> ToolResult:
        decide()
        await gate.wait()
        return await execute(allowed)

    try:
        return await run_call(call, proceed)
    finally:
        decide()
