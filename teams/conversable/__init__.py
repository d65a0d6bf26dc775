"""Two-agent chats in AG2's words."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
from teams.conversable._agent import ConversableAgent
from teams.conversable._cache import AbstractCache, Cache
from teams.conversable._chat_client import ChatCompletionModel
from teams.conversable._chats import ChatResult
from teams.conversable._errors import (
    InvalidCarryOverType,
    InvalidCarryOverTypeError,
    SenderRequired,
    SenderRequiredError,
)
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
    "AssistantAgent",
    "Cache",
    "ChatCompletionModel",
    "ChatResult",
    "ChatTaskResult",
    "ConversableAgent",
    "ConversableChat",
    "ConversableQueue",
    "IOConsole",
    "IOStream",
    "InvalidCarryOverType",
    "InvalidCarryOverTypeError",
    "LLMAgent",
    "ModelClient",
    "OpenAIWrapper",
    "SenderRequired",
    "SenderRequiredError",
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
