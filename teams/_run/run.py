"""One run: its hooks, stream and duration, and the agents' path.

The hooks (the gate of tool calls, and the humans) are carried by one context variable for the
length of a run, so that nested teams, tools that run agents, workbenches and code execution inherit
them, and nothing has to be threaded through constructors.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from contextvars import ContextVar, Token
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from pydantic import BaseModel

from teams._base.cancellation import CancellableStream, CancellationToken
from teams._base.telemetry import is_event_log_on
from teams._base.tool_call import AGENT_PATH, ToolCall
from teams._contract.team import TaskResult, TeamError
from teams._messages.base import BaseChatMessage
from teams._run.merge import is_being_cancelled
from teams._tools.result_size import LARGEST_RESULT, fit_result
from teams._tools.workbench import ToolResult, Workbench
from teams.models._client import MODEL_WATCH, ModelWatch
from teams.models._instructions import INSTRUCTIONS, Instructions
from teams.models._types import LLMMessage

T = TypeVar("T")


class ApprovalRequest(BaseModel, defer_build=True):
    """Code that waits for approval, with the conversation before it."""

    code: str
    context: list[LLMMessage]


class ApprovalResponse(BaseModel, defer_build=True):
    """The decision on the code; a refusal's reason is for the agent."""

    approved: bool
    reason: str


SyncApprovalFunc = Callable[[ApprovalRequest], ApprovalResponse]
AsyncApprovalFunc = Callable[[ApprovalRequest], Awaitable[ApprovalResponse]]
ApprovalFuncType = SyncApprovalFunc | AsyncApprovalFunc

NextCall = Callable[[ToolCall], Awaitable[ToolResult]]
ToolInterceptor = Callable[[ToolCall, NextCall], Awaitable[ToolResult]]
AskHuman = Callable[[str, CancellationToken | None], Awaitable[str]]
ElicitHuman = Callable[[ToolCall, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
SeeTools = Callable[[Sequence[ToolCall]], Awaitable[None]]
ApproveCode = Callable[[ApprovalRequest], Awaitable[ApprovalResponse]]
SteeringSource: TypeAlias = Callable[[], Awaitable[Sequence[BaseChatMessage]]]
"""Messages to add before the next participants have their turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """The hooks that a run inherits from its caller."""

    intercept: ToolInterceptor | None = None
    ask: AskHuman | None = None
    approve_code: ApproveCode | None = None
    model: ModelWatch | None = None
    between: SteeringSource | None = None
    elicit: ElicitHuman | None = None
    largest_result: int | None = None
    listed: SeeTools | None = None
    workbench: Workbench | None = None
    instructions: Instructions | None = None


_NO_HOOKS = RunHooks()
_HOOKS: ContextVar[RunHooks] = ContextVar("teams_run_hooks", default=_NO_HOOKS)


def current_hooks() -> RunHooks:
    """The hooks of the run this code is part of."""
    return _HOOKS.get()


async def run_call(call: ToolCall, proceed: NextCall) -> ToolResult:
    """Run a call through the interceptor; the result fits a model."""
    hooks = current_hooks()
    result = await (hooks.intercept(call, proceed) if hooks.intercept else proceed(call))
    return fit_result(result, largest_result())


def largest_result() -> int:
    """Most bytes of a result's text for a model in this run."""
    return current_hooks().largest_result or LARGEST_RESULT


class _HookScope:
    """A context in which hooks hold.

    A generator in place of the class would cost a short run twice as much.
    """

    __slots__ = ("_given", "_instructions_token", "_token", "_watch_token")

    def __init__(self, given: RunHooks) -> None:
        self._given = given
        self._token: Token[RunHooks] | None = None
        self._watch_token: Token[ModelWatch | None] | None = None
        self._instructions_token: Token[Instructions | None] | None = None

    def __enter__(self) -> None:
        given, outer = self._given, _HOOKS.get()
        if outer is not _NO_HOOKS:
            hooks = {each.name: getattr(given, each.name) for each in fields(given)}
            given = replace(
                outer, **{name: hook for name, hook in hooks.items() if hook is not None}
            )
        self._token = _HOOKS.set(given)
        if given.model is not None:
            self._watch_token = MODEL_WATCH.set(given.model)
        if given.instructions is not None:
            self._instructions_token = INSTRUCTIONS.set(given.instructions)

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _HOOKS.reset(self._token)
        if self._watch_token is not None:
            MODEL_WATCH.reset(self._watch_token)
        if self._instructions_token is not None:
            INSTRUCTIONS.reset(self._instructions_token)


def run_hooks(  # noqa: PLR0913 (each by its name)
    *,
    intercept: ToolInterceptor | None = None,
    ask: AskHuman | None = None,
    approve_code: ApproveCode | None = None,
    model: ModelWatch | None = None,
    between: SteeringSource | None = None,
    elicit: ElicitHuman | None = None,
    largest_result: int | None = None,
    listed: SeeTools | None = None,
    workbench: Workbench | None = None,
    instructions: Instructions | None = None,
) -> AbstractContextManager[None]:
    """Set the hooks for everything run inside.

    Tool calls pass through `intercept`; humans are asked through `ask` / `approve_code`.
    `intercept(call, next)` returns the call's ToolResult: that of `await next(call)`, or its own.
    All calls of a batch are judged before any of them starts: `next` waits until each sibling
    called it, returned, or raised. It may raise `InputRequired`. `ask(prompt, cancellation_token)`
    serves every UserProxyAgent without an input function of its own
    (`UserProxyAgent.InputRequestContext.request_id()` tells the request's id), `approve_code` every
    CodeExecutorAgent without an approval function. `model` sees every request to a model. What is
    not given is inherited. `between` is asked by the outermost team, whenever it goes on to another
    turn of its participants, for messages to be added first. `elicit(call, params)` asks a person
    for a tool server, in the midst of a call: with the protocol's question, for its answer.
    `largest_result` is how many bytes of a result's text a model is given, 100,000 by default.
    `listed` is shown the servers' tools before a model is told of them, as calls without arguments.
    `workbench` has tools for each assistant whose model can call them, besides its own.
    `instructions` stand before the messages of each request to a model, and in no state.
    """
    return _HookScope(
        RunHooks(
            intercept=intercept,
            ask=ask,
            approve_code=approve_code,
            model=model,
            between=between,
            elicit=elicit,
            largest_result=largest_result,
            listed=listed,
            workbench=workbench,
            instructions=instructions,
        )
    )


class RunStream(CancellableStream[T]):
    """The stream that a run hands out."""

    insists: ClassVar[bool] = True
    last_item: ClassVar[type | None] = TaskResult


class RunScope:
    """The duration of a run: errors, except cancellation from outside, become TeamErrors.

    `rest` is called at its end, with True if it failed.
    """

    __slots__ = ("_rest", "_token")

    def __init__(self, token: CancellationToken, rest: Callable[[bool], None]) -> None:
        self._token = token
        self._rest = rest

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        failed = isinstance(error, Exception)
        if isinstance(error, asyncio.CancelledError):  # else it is a participant's own doing
            failed = not (self._token.is_cancelled() or is_being_cancelled())
        self._rest(failed)
        if error is not None and failed and not isinstance(error, TeamError):
            raise TeamError(_account(error)) from error


def _account(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error))
    return f"{type(error).__name__}: {error}\n{lines}"


async def run_in_path(name: str, answer: Awaitable[T]) -> T:
    """A model's answer, with `name` on the path of who asks."""
    reset = AGENT_PATH.set((*AGENT_PATH.get(), name))
    try:
        return await answer
    finally:
        AGENT_PATH.reset(reset)


def stream_answer_in_path(name: str, answer: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """A model's streamed answer, under `name` in the path of logged events."""
    return stream_in_path(name, answer) if is_event_log_on() else answer


async def stream_in_path(name: str, stream: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The stream, with `name` on the path of calls during each pull."""
    async with aclosing(stream):
        while True:
            reset = AGENT_PATH.set((*AGENT_PATH.get(), name))
            try:
                item = await anext(stream)
            except StopAsyncIteration:
                return
            finally:
                AGENT_PATH.reset(reset)
            yield item
