"""Two-agent chats in AG2's words: agents that talk with each other, with people, tools and code."""

from teams.conversable._agent import ConversableAgent
from teams.conversable._chats import ChatResult
from teams.conversable._errors import (
    InvalidCarryOverType,
    InvalidCarryOverTypeError,
    SenderRequired,
    SenderRequiredError,
)
from teams.conversable._presets import AssistantAgent, UserProxyAgent
from teams.conversable._printing import IOConsole, IOStream
from teams.conversable._protocols import Agent, LLMAgent
from teams.conversable._queues import a_initiate_chats, initiate_chats
from teams.conversable._tools import register_function
from teams.conversable._usage import gather_usage_summary

__all__ = [
    "Agent",
    "AssistantAgent",
    "ChatResult",
    "ConversableAgent",
    "IOConsole",
    "IOStream",
    "InvalidCarryOverType",
    "InvalidCarryOverTypeError",
    "LLMAgent",
    "SenderRequired",
    "SenderRequiredError",
    "UserProxyAgent",
    "a_initiate_chats",
    "gather_usage_summary",
    "initiate_chats",
    "register_function",
]
