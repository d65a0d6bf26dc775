"""Chats of two agents, under AG2's names."""

from teams.conversable._cache import AbstractCache, Cache
from teams.conversable._model_config import config_list_from_json, filter_config
from teams.conversable._usage import gather_usage_summary
from teams.conversable._wrapper import ModelClient, OpenAIWrapper

__all__ = [
    "AbstractCache",
    "Cache",
    "ModelClient",
    "OpenAIWrapper",
    "config_list_from_json",
    "filter_config",
    "gather_usage_summary",
]
