"""Agents: the participants of teams."""

from __future__ import annotations

from teams.agents._approval import ApprovalFuncType, ApprovalRequest, ApprovalResponse
from teams.agents._assistant import AssistantAgent
from teams.agents._base import BaseChatAgent
from teams.agents._code_executor import CodeExecutorAgent
from teams.agents._message_filter import (
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
)
from teams.agents._society_of_mind import SocietyOfMindAgent
from teams.agents._user_proxy import UserProxyAgent

__all__ = [
    "ApprovalFuncType",
    "ApprovalRequest",
    "ApprovalResponse",
    "AssistantAgent",
    "BaseChatAgent",
    "CodeExecutorAgent",
    "MessageFilterAgent",
    "MessageFilterConfig",
    "PerSourceFilter",
    "SocietyOfMindAgent",
    "UserProxyAgent",
]
