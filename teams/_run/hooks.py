"""A run's hooks: the gate of tool calls, and the humans.

Both are carried by one context variable for the length of a run, so that nested teams, tools that
run agents, workbenches and code execution inherit them, and nothing has to be threaded through
constructors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.tool_call import ToolCall
from teams._messages.base import BaseChatMessage
from teams._tools.workbench import ToolResult
from teams.models._client import MODEL_WATCH, ModelWatch
from teams.models._types import LLMMessage


class ApprovalRequest(BaseModel, defer_build=True):
    """Code that waits for approval, with the conversation before it."""

    code: str
    context: list[LLMMessage]


class ApprovalResponse(BaseModel, defer_build=True):
    """The decision on the code.

    The asking agent learns the reason of a refusal.
    """

    approved: bool
    reason: str


SyncApprovalFunc = Callable[[ApprovalRequest], ApprovalResponse]
AsyncApprovalFunc = Callable[[ApprovalRequest], Awaitable[ApprovalResponse]]
ApprovalFuncType = SyncApprovalFunc | AsyncApprovalFunc

NextCall = Callable[[ToolCall], Awaitable[ToolResult]]
ToolInterceptor = Callable[[ToolCall, NextCall], Awaitable[ToolResult]]
AskHuman = Callable[[str, CancellationToken | None], Awaitable[str]]
ApproveCode = Callable[[ApprovalRequest], Awaitable[ApprovalResponse]]
Between: TypeAlias = Callable[[], Awaitable[Sequence[BaseChatMessage]]]
"""Messages to add before the next participants have their turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """The hooks that a run inherits from its caller."""

    intercept: ToolInterceptor | None = None
    ask: AskHuman | None = None
    approve_code: ApproveCode | None = None
    model: ModelWatch | None = None
    between: Between | None = None


_NO_HOOKS = RunHooks()
_HOOKS: ContextVar[RunHooks] = ContextVar("teams_run_hooks", default=_NO_HOOKS)


def current_hooks() -> RunHooks:
    """The hooks of the run this code is part of."""
    return _HOOKS.get()


class _Within:
    """A context in which hooks hold.

    A generator in place of the class would cost a short run twice as much.
    """

    __slots__ = ("_given", "_token", "_watch_token")

    def __init__(self, given: RunHooks) -> None:
        self._given = given
        self._token: Token[RunHooks] | None = None
        self._watch_token: Token[ModelWatch | None] | None = None

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

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _HOOKS.reset(self._token)
        if self._watch_token is not None:
            MODEL_WATCH.reset(self._watch_token)


def run_hooks(
    *,
    intercept: ToolInterceptor | None = None,
    ask: AskHuman | None = None,
    approve_code: ApproveCode | None = None,
    model: ModelWatch | None = None,
    between: Between | None = None,
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
    turn of its participants, for messages to be added first.
    """
    return _Within(
        RunHooks(
            intercept=intercept, ask=ask, approve_code=approve_code, model=model, between=between
        )
    )
