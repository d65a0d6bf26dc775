"""Calls and code of a chat, through the run's hooks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from teams._base.construct import new_id
from teams._base.tool_call import AGENT_PATH, CURRENT_CALL, InputRequired, PendingInput, ToolCall
from teams._run.merge import is_being_cancelled, while_left
from teams._run.run import ApprovalRequest, current_hooks
from teams._tools.base import NO_TRAITS, ToolTraits
from teams._tools.workbench import ToolResult, text_result
from teams.agents._tool_batch import ApprovalBarrier, intercept_call
from teams.code_executors._base import EXECUTE_CODE
from teams.conversable._journal import beside, current_scope, step
from teams.conversable._messages import shown_content
from teams.conversable._mode import ASYNC
from teams.conversable._protocols import Message, Work
from teams.models._conversation import OUTCOME_UNKNOWN
from teams.models._types import UserMessage


@dataclass(slots=True, eq=False)
class _Gated:
    """One call on its way through the gate."""

    agent: Any
    name: str
    arguments: str
    call_id: str
    known: bool
    barrier: ApprovalBarrier
    run: Callable[[ToolCall], Awaitable[tuple[Any, ToolResult]]]
    """Does it; also returns what the chat gets of it."""
    traits: ToolTraits = NO_TRAITS
    schema: Mapping[str, object] | None = None

    async def outcome(self) -> tuple[Any, ToolResult]:
        """Result for the gate; before it the chat's own, if let pass."""
        scope, path = current_scope(ASYNC), (*AGENT_PATH.get(), self.agent.name)
        key = new_id() if scope is None else scope.journal.id + scope.path
        begun = scope is not None and scope.path in scope.journal.begun
        call = ToolCall(
            key=key,
            id=self.call_id or key,
            name=self.name,
            arguments=self.arguments,
            agent=path,
            idempotent=self.traits.idempotent,
            read_only=self.traits.read_only,
            own_output=self.traits.own_output,
            asks=self.traits.asks,
            server=self.traits.server,
            known=self.known,
            begun=begun,
            schema=self.schema,
        )
        done: list[tuple[Any, ToolResult]] = []

        async def execute(allowed: ToolCall) -> ToolResult:
            if begun and not allowed.idempotent:
                return text_result(call.name, OUTCOME_UNKNOWN, is_error=True)
            await while_left()
            if scope is not None:
                scope.journal.note_begun(scope.path, begun=True)
            try:
                done.append(await self.run(allowed))
            except Exception:
                if scope is not None and not is_being_cancelled():
                    scope.journal.note_begun(scope.path, begun=False)
                raise
            return done[0][1]

        before = CURRENT_CALL.set(call), AGENT_PATH.set(path)
        try:
            result = await intercept_call(call, self.barrier, execute)
        except InputRequired as required:
            requests = required.pending(agent=path, request_id=key, call_id=call.id)
            raise InputRequired(requests=requests) from required
        finally:
            CURRENT_CALL.reset(before[0])
            AGENT_PATH.reset(before[1])
        as_is = bool(done) and result is done[0][1]
        return (done[0][0] if as_is else None), result


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
    judged = False

    async def run(allowed: ToolCall) -> tuple[Any, ToolResult]:
        asked = {**function, "name": allowed.name, "arguments": allowed.arguments}
        ok, result = await agent.a_execute_function(asked)
        text = shown_content(result.get("content"))
        return (ok, result), text_result(allowed.name, text, is_error=not ok)

    async def outcome() -> Any:
        nonlocal judged
        judged, name = True, function.get("name", "")
        arguments, known = function.get("arguments") or "", agent.can_execute_function(name)
        tool = agent.function_map.get(name)
        traits, schema = getattr(tool, "traits", NO_TRAITS), getattr(tool, "schema", None)
        call_id = call.get("id") or ""
        gated = _Gated(agent, name, arguments, call_id, known, barrier, run, traits, schema)
        given, result = await gated.outcome()
        refused = {"name": name, "role": "function", "content": result.to_text()}
        return given or (not result.is_error, refused)

    try:
        what = f"result of {function.get('name')!r}, called by {agent.name}"
        return await step(ASYNC, what, [agent], outcome)
    finally:
        if not judged:
            barrier.decide()


async def run_code(
    agent: Any,
    blocks: Sequence[Any],
    messages: Sequence[Message],
    work: Callable[[], Awaitable[tuple[int, str]]],
) -> tuple[int, str]:
    """Exit code and output of a message's code, if it may run."""

    async def run(allowed: ToolCall) -> tuple[Any, ToolResult]:
        if (reason := await _refusal(blocks, messages)) is not None:
            return (1, reason), text_result(EXECUTE_CODE, reason, is_error=True)
        exit_code, output = await work()
        return (exit_code, output), text_result(EXECUTE_CODE, output, is_error=exit_code != 0)

    written = [{"language": each.language, "code": each.code} for each in blocks]
    arguments = json.dumps({"code_blocks": written})
    gated = _Gated(agent, EXECUTE_CODE, arguments, "", True, ApprovalBarrier(1), run)
    given, result = await gated.outcome()
    return given or (int(result.is_error), result.to_text())


async def _refusal(blocks: Sequence[Any], messages: Sequence[Message]) -> str | None:
    approve = current_hooks().approve_code
    if approve is None:
        return None
    context = [
        UserMessage(content=shown_content(each.get("content")), source=each.get("name") or "user")
        for each in messages
    ]
    for block in blocks:
        answer = await approve(ApprovalRequest(code=block.code, context=[*context]))
        if not answer.approved:
            reason = f" The reason: {answer.reason}" if answer.reason else ""
            return f"The execution of this code was not approved.{reason}"
    return None


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
