"""Clients of OpenAI's chat completions API; making one imports `openai`."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports
from teams.models.openai._base import BaseOpenAIChatCompletionClient
from teams.models.openai._client import AzureOpenAIChatCompletionClient, OpenAIChatCompletionClient
from teams.models.openai._config import (
    AzureOpenAIClientConfiguration,
    AzureOpenAIClientConfigurationConfigModel,
    BaseOpenAIClientConfiguration,
    BaseOpenAIClientConfigurationConfigModel,
    CreateArguments,
    CreateArgumentsConfigModel,
    OpenAIClientConfiguration,
    OpenAIClientConfigurationConfigModel,
)

if TYPE_CHECKING:
    from teams.models.openai._user_agent import AZURE_OPENAI_USER_AGENT

__all__ = [
    "AZURE_OPENAI_USER_AGENT",
    "AzureOpenAIChatCompletionClient",
    "AzureOpenAIClientConfiguration",
    "AzureOpenAIClientConfigurationConfigModel",
    "BaseOpenAIChatCompletionClient",
    "BaseOpenAIClientConfiguration",
    "BaseOpenAIClientConfigurationConfigModel",
    "CreateArguments",
    "CreateArgumentsConfigModel",
    "OpenAIChatCompletionClient",
    "OpenAIClientConfiguration",
    "OpenAIClientConfigurationConfigModel",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__, {"teams.models.openai._user_agent": ("AZURE_OPENAI_USER_AGENT",)}
    )
