"""Asking for approval before code is executed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pydantic import BaseModel

from teams.models._types import LLMMessage


class ApprovalRequest(BaseModel, defer_build=True):
    """The code that wants to run, and the conversation that led to it."""

    code: str
    context: list[LLMMessage]


class ApprovalResponse(BaseModel, defer_build=True):
    """The decision; the agent that asked is told the reason of a refusal."""

    approved: bool
    reason: str


SyncApprovalFunc = Callable[[ApprovalRequest], ApprovalResponse]
AsyncApprovalFunc = Callable[[ApprovalRequest], Awaitable[ApprovalResponse]]
ApprovalFuncType = SyncApprovalFunc | AsyncApprovalFunc
