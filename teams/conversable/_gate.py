"""Calls and code of a chat, through the run's hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from teams._base.code import CodeBlock, CodeResult
from teams._base.construct import new_id
from teams._base.tool_call import AGENT_PATH, CURRENT_CALL, InputRequired, PendingInput, ToolCall
from teams._run.run import current_hooks
from teams._tools.base import NO_TRAITS, ToolTraits
from teams._tools.workbench import ToolResult, text_result
from teams.agents._code_run import CodeRun, CodeTurnRecord
from teams.agents._tool_batch import ApprovalBarrier, intercept_call, run_once
from teams.conversable._journal import beside, current_scope, step
from teams.conversable._messages import shown_content
from teams.conversable._mode import ASYNC
from teams.conversable._model_messages import model_messages, spread_tool_responses
from teams.conversable._protocols import Message, Work
from teams.models._types import LLMMessage


class _Place:
    """A call's place in the chat, and if it has begun before."""

    def __init__(self, agent: Any) -> None:
        scope = self._scope = current_scope(ASYNC)
        self.path = (*AGENT_PATH.get(), agent.name)
        self.key = new_id() if scope is None else scope.journal.id + scope.path
        self.begun = scope is not None and scope.path in scope.journal.begun

    def note_begun(self, begun: bool) -> None:
        if self._scope is not None:
            self._scope.journal.note_begun(self._scope.path, begun=begun)

    @contextmanager
    def at(self, call: ToolCall) -> Generator[None]:
        """Let the code inside know the call, and ask for it."""
        before = CURRENT_CALL.set(call), AGENT_PATH.set(self.path)
        try:
            yield
        except InputRequired as required:
            requests = required.pending(agent=self.path, request_id=self.key, call_id=call.id)
            raise InputRequired(requests=requests) from required
        finally:
            CURRENT_CALL.reset(before[0])
            AGENT_PATH.reset(before[1])


async def run_calls(agent: Any, calls: Sequence[Message]) -> list[Message]:
    """Results of the calls of a message, which run concurrently."""
    barrier = ApprovalBarrier(len(calls))
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(settled(beside(ASYNC, partial(_run_call, agent, call, barrier))))
            for call in calls
        ]
    return [outcome[1] for outcome in all_done([task.result() for task in tasks])]


async def _run_call(agent: Any, call: Message, barrier: ApprovalBarrier) -> Any:
    function: Message = call.get("function") or {}
    name = function.get("name", "")
    judged = False

    async def outcome() -> Any:
        nonlocal judged
        judged, done = True, list[tuple[Any, ToolResult]]()
        place, tool = _Place(agent), agent.function_map.get(name)
        traits: ToolTraits = getattr(tool, "traits", NO_TRAITS)
        asked = ToolCall(
            key=place.key,
            id=call.get("id") or place.key,
            name=name,
            arguments=function.get("arguments") or "",
            agent=place.path,
            idempotent=traits.idempotent,
            read_only=traits.read_only,
            own_output=traits.own_output,
            asks=traits.asks,
            server=traits.server,
            known=agent.can_execute_function(name),
            begun=place.begun,
            schema=getattr(tool, "schema", None),
        )

        async def run(allowed: ToolCall) -> ToolResult:
            given = {**function, "name": allowed.name, "arguments": allowed.arguments}
            ok, result = await agent.a_execute_function(given)
            text = shown_content(result.get("content"))
            done.append(((ok, result), text_result(allowed.name, text, is_error=not ok)))
            return done[0][1]

        async def execute(allowed: ToolCall) -> ToolResult:
            return await run_once(allowed, partial(run, allowed), place.note_begun)

        with place.at(asked):
            result = await intercept_call(asked, barrier, execute)
        if done and result is done[0][1]:
            return done[0][0]
        refused = {"name": name, "role": "function", "content": result.to_text()}
        return not result.is_error, refused

    try:
        return await step(ASYNC, f"result of {name!r}, called by {agent.name}", [agent], outcome)
    finally:
        if not judged:
            barrier.decide()


async def run_code(
    agent: Any,
    blocks: Sequence[Any],
    messages: Sequence[Message],
    work: Callable[[Sequence[Any]], Awaitable[tuple[int, str]]],
) -> tuple[int, str]:
    """Exit code and output of a message's code, if it may run."""
    place = _Place(agent)
    written = [CodeBlock(each.code, each.language) for each in blocks]

    async def execute(allowed: list[CodeBlock]) -> CodeResult:
        exit_code, output = await work(blocks if allowed == written else allowed)
        return CodeResult(exit_code=exit_code, output=output)

    async def context() -> list[LLMMessage]:
        return model_messages(spread_tool_responses(messages), images=False)

    turn = CodeTurnRecord(key=place.key, begun=place.begun)
    run = CodeRun(turn, written, place.path, execute, context, journal=place.note_begun)
    with place.at(run.call):
        result = await run.result()
    return result.exit_code, result.output


def check_ungated(agent: Any) -> None:
    """RuntimeError in a run whose gate a sync chat can't wait for."""
    hooks = current_hooks()
    if hooks.intercept is not None or hooks.approve_code is not None:
        raise RuntimeError(
            f"Agent {agent.name!r} can't call tools or run code in a sync chat inside of a run: "
            "use a_initiate_chat."
        )


async def settled(work: Work[Any]) -> Any:
    """The outcome of some work, or its error."""
    try:
        return await work
    except Exception as error:
        return error


def all_done(outcomes: list[Any]) -> list[Any]:
    """The outcomes.

    Raises their first error, or one InputRequired with all questions.
    """
    errors = [each for each in outcomes if isinstance(each, Exception)]
    for error in errors:
        if not isinstance(error, InputRequired):
            raise error
    asked: list[PendingInput] = [
        request
        for error in errors
        if isinstance(error, InputRequired)
        for request in error.requests
    ]
    if asked:
        raise InputRequired(requests=list(dict.fromkeys(asked)))
    if errors:
        raise errors[0]
    return outcomes
