"""Clients of OpenAI's chat completions API; making one imports `openai`."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
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

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
