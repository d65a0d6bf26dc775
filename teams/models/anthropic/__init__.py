"""Clients of Claude models; making one imports `anthropic`."""

from teams.models.anthropic._base import BaseAnthropicChatCompletionClient
from teams.models.anthropic._client import (
    AnthropicBedrockChatCompletionClient,
    AnthropicChatCompletionClient,
)
from teams.models.anthropic._config import (
    AnthropicBedrockClientConfiguration,
    AnthropicBedrockClientConfigurationConfigModel,
    AnthropicClientConfiguration,
    AnthropicClientConfigurationConfigModel,
    BedrockInfo,
    CreateArguments,
    CreateArgumentsConfigModel,
    ThinkingConfig,
)

__all__ = [
    "AnthropicBedrockChatCompletionClient",
    "AnthropicBedrockClientConfiguration",
    "AnthropicBedrockClientConfigurationConfigModel",
    "AnthropicChatCompletionClient",
    "AnthropicClientConfiguration",
    "AnthropicClientConfigurationConfigModel",
    "BaseAnthropicChatCompletionClient",
    "BedrockInfo",
    "CreateArguments",
    "CreateArgumentsConfigModel",
    "ThinkingConfig",
]
