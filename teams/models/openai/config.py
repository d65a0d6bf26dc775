"""The settings of the OpenAI clients, under AutoGen's module name."""

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
    "AzureOpenAIClientConfiguration",
    "AzureOpenAIClientConfigurationConfigModel",
    "BaseOpenAIClientConfiguration",
    "BaseOpenAIClientConfigurationConfigModel",
    "CreateArguments",
    "CreateArgumentsConfigModel",
    "OpenAIClientConfiguration",
    "OpenAIClientConfigurationConfigModel",
]
