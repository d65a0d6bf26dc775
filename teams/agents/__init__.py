"""Agents: the participants of teams."""

from __future__ import annotations

from teams.agents._approval import ApprovalFuncType, ApprovalRequest, ApprovalResponse
from teams.agents._assistant import AssistantAgent
from teams.agents._base import BaseChatAgent
from teams.agents._user_proxy import UserProxyAgent

__all__ = [
    "ApprovalFuncType",
    "ApprovalRequest",
    "ApprovalResponse",
    "AssistantAgent",
    "BaseChatAgent",
    "UserProxyAgent",
]
