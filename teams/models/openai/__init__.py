"""Clients of OpenAI's chat completions API; making one imports `openai`."""

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

__all__ = [
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
