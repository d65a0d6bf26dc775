"""Agents: the participants of teams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams._run.run import ApprovalFuncType, ApprovalRequest, ApprovalResponse
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

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams._run.run": ("ApprovalFuncType", "ApprovalRequest", "ApprovalResponse"),
            "teams.agents._assistant": ("AssistantAgent",),
            "teams.agents._base": ("BaseChatAgent",),
            "teams.agents._code_executor": ("CodeExecutorAgent",),
            "teams.agents._message_filter": (
                "MessageFilterAgent",
                "MessageFilterConfig",
                "PerSourceFilter",
            ),
            "teams.agents._society_of_mind": ("SocietyOfMindAgent",),
            "teams.agents._user_proxy": ("UserProxyAgent",),
        },
    )
