"""How a run meets its surroundings: the gate every tool call passes, and the humans an agent may
ask.

Both are carried by one context variable for the length of a run, so that nested teams, tools that
run agents, workbenches and code execution inherit them, and nothing has to be threaded through
constructors.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from teams._base.cancellation import CancellationToken
    from teams._contract.approval import ApprovalRequest, ApprovalResponse
    from teams._messages.base import BaseChatMessage
    from teams._model_watch import ModelWatch
    from teams.tools._workbench import ToolResult

InputKind = Literal["text", "choice", "approval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInput:
    """One question a suspended run waits for.

    `request_id` is stable: a run that is resumed before the answer is there asks under the same id
    again. `agent` is the path to the asking agent, outermost participant first.
    """

    request_id: str
    agent: tuple[str, ...]
    kind: InputKind
    prompt: str
    call_id: str | None = None


class InputRequired(Exception):
    """Raised by an input, approval, tool or interception function whose answer is not here yet.

    The run suspends instead of failing: its `TaskResult.pending` names the questions,
    `save_state()` is complete, and running again with `task=None` asks the same questions under the
    same ids.
    """

    def __init__(
        self,
        prompt: str = "",
        *,
        request_id: str | None = None,
        kind: InputKind = "text",
        requests: Sequence[PendingInput] = (),
    ) -> None:
        super().__init__(prompt or "; ".join(request.prompt for request in requests))
        self.prompt = prompt
        self.request_id = request_id
        self.kind: InputKind = kind
        self.requests = tuple(requests)

    def pending(
        self, *, agent: tuple[str, ...], request_id: str, call_id: str | None = None
    ) -> list[PendingInput]:
        """The questions as the asking agent reports them; `request_id` serves where the raiser
        named none.
        """
        if self.requests:
            return list(self.requests)
        return [
            PendingInput(
                request_id=self.request_id or request_id,
                agent=agent,
                kind=self.kind,
                prompt=self.prompt,
                call_id=call_id,
            )
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call a model asked for, as the interception point sees it.

    `key` is unique for ever and stable when a run is resumed (model call ids are not): use it for
    journals. `arguments` is the JSON text as the model wrote it, possibly malformed. `agent` is the
    path of the caller, outermost first. `handoff` marks a hand-off, which changes who speaks and
    does nothing else. `idempotent` and `read_only` are what the tool promises (`ToolTraits`). The
    agent has no tool of that name unless it is `known`: the call then does nothing but say so.
    """

    key: str
    id: str
    name: str
    arguments: str
    agent: tuple[str, ...]
    handoff: bool = False
    idempotent: bool = False
    read_only: bool = False
    known: bool = True

    def parsed_arguments(self) -> Mapping[str, Any] | None:
        """The arguments as an object, or None where the model wrote something else."""
        try:
            parsed = json.loads(self.arguments or "{}")
        except json.JSONDecodeError:
            return None
        return parsed if isinstance(parsed, dict) else None  # pyright: ignore[reportUnknownVariableType]


NextCall = Callable[[ToolCall], Awaitable["ToolResult"]]
ToolInterceptor = Callable[[ToolCall, NextCall], Awaitable["ToolResult"]]
AskHuman = Callable[[str, "CancellationToken | None"], Awaitable[str]]
ApproveCode = Callable[["ApprovalRequest"], Awaitable["ApprovalResponse"]]


Between: TypeAlias = "Callable[[], Awaitable[Sequence[BaseChatMessage]]]"
"""What else is to be said before the next participants have their turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """What a run inherits from whoever started it."""

    intercept: ToolInterceptor | None = None
    ask: AskHuman | None = None
    approve_code: ApproveCode | None = None
    model: ModelWatch | None = None
    between: Between | None = None


_NO_HOOKS = RunHooks()
_HOOKS: ContextVar[RunHooks] = ContextVar("teams_run_hooks", default=_NO_HOOKS)
CURRENT_CALL: ContextVar[ToolCall | None] = ContextVar("teams_tool_call", default=None)
AGENT_PATH: ContextVar[tuple[str, ...]] = ContextVar("teams_agent_path", default=())


def current_hooks() -> RunHooks:
    """The hooks of the run this code is part of."""
    return _HOOKS.get()


def current_tool_call() -> ToolCall | None:
    """The call being executed, for a tool that wants to know its own; None outside of one."""
    return CURRENT_CALL.get()


class _Within:
    """A context in which hooks hold. A class: a generator would cost a short run twice as much."""

    __slots__ = ("_given", "_token")

    def __init__(self, given: RunHooks) -> None:
        self._given = given
        self._token: Token[RunHooks] | None = None

    def __enter__(self) -> None:
        given, outer = self._given, _HOOKS.get()
        if outer is not _NO_HOOKS:
            hooks = {each.name: getattr(given, each.name) for each in fields(given)}
            given = replace(
                outer, **{name: hook for name, hook in hooks.items() if hook is not None}
            )
        self._token = _HOOKS.set(given)

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _HOOKS.reset(self._token)


def run_hooks(
    *,
    intercept: ToolInterceptor | None = None,
    ask: AskHuman | None = None,
    approve_code: ApproveCode | None = None,
    model: ModelWatch | None = None,
    between: Between | None = None,
) -> AbstractContextManager[None]:
    """Everything run inside passes its tool calls through `intercept` and asks humans through `ask`
    / `approve_code`.

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
