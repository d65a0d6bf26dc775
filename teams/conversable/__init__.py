"""Chats of two agents and of groups in AG2's words."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
from teams.conversable._agent import ConversableAgent
from teams.conversable._cache import AbstractCache, Cache
from teams.conversable._chat_client import ChatCompletionModel
from teams.conversable._chats import ChatResult
from teams.conversable._errors import (
    AgentNameConflict,
    AgentNameConflictError,
    InvalidCarryOverType,
    InvalidCarryOverTypeError,
    NoEligibleSpeaker,
    NoEligibleSpeakerError,
    SenderRequired,
    SenderRequiredError,
    UndefinedNextAgent,
    UndefinedNextAgentError,
)
from teams.conversable._group_chat import GroupChat
from teams.conversable._group_manager import GroupChatManager
from teams.conversable._llm_config import LLMConfig
from teams.conversable._model_config import config_list_from_json, filter_config
from teams.conversable._presets import AssistantAgent, UserProxyAgent
from teams.conversable._printing import IOConsole, IOStream
from teams.conversable._protocols import Agent, LLMAgent
from teams.conversable._queues import a_initiate_chats, initiate_chats
from teams.conversable._teams import ChatTaskResult, ConversableChat, ConversableQueue
from teams.conversable._tools import register_function
from teams.conversable._usage import gather_usage_summary
from teams.conversable._wrapper import ModelClient, OpenAIWrapper

__all__ = [
    "AbstractCache",
    "Agent",
    "AgentNameConflict",
    "AgentNameConflictError",
    "AssistantAgent",
    "Cache",
    "ChatCompletionModel",
    "ChatResult",
    "ChatTaskResult",
    "ConversableAgent",
    "ConversableChat",
    "ConversableQueue",
    "GroupChat",
    "GroupChatManager",
    "IOConsole",
    "IOStream",
    "InvalidCarryOverType",
    "InvalidCarryOverTypeError",
    "LLMAgent",
    "LLMConfig",
    "ModelClient",
    "NoEligibleSpeaker",
    "NoEligibleSpeakerError",
    "OpenAIWrapper",
    "SenderRequired",
    "SenderRequiredError",
    "UndefinedNextAgent",
    "UndefinedNextAgentError",
    "UserProxyAgent",
    "a_initiate_chats",
    "config_list_from_json",
    "filter_config",
    "gather_usage_summary",
    "initiate_chats",
    "register_function",
]

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
