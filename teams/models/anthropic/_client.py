"""The clients for Anthropic's API and for Amazon Bedrock, made from settings."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack, cast

from teams._base.bounded.clients import http_client
from teams._base.extras import needs_extra
from teams._components.component import Component
from teams.models._errors import BadCredentials
from teams.models._settings import answer_bounds, http_timeout, whole_deadline
from teams.models.anthropic._base import BaseAnthropicChatCompletionClient
from teams.models.anthropic._config import (
    AnthropicBedrockClientConfiguration,
    AnthropicBedrockClientConfigurationConfigModel,
    AnthropicClientConfiguration,
    AnthropicClientConfigurationConfigModel,
)
from teams.models.anthropic._failures import NO_KEY

if TYPE_CHECKING:
    from types import ModuleType

ANTHROPIC_URL = "https://api.anthropic.com"
_BEDROCK_VERSION = "bedrock-2023-05-31"
_SENT = ("model", "max_tokens", "top_p", "top_k", "stop_sequences", "metadata", "thinking")


class AnthropicChatCompletionClient(
    BaseAnthropicChatCompletionClient, Component[AnthropicClientConfigurationConfigModel]
):
    """Asks a Claude model of Anthropic.

    Takes the fields of AnthropicClientConfiguration as keywords, `model` at least. The key comes
    from `api_key` or ANTHROPIC_API_KEY, the address from `base_url` or ANTHROPIC_BASE_URL; with an
    address given, no key is needed. `timeout` and `max_retries` are as for
    OpenAIChatCompletionClient.

    Raises ValueError for settings that are unknown, malformed or missing, and BadCredentials where
    there is no key.
    """

    component_config_schema = AnthropicClientConfigurationConfigModel

    def __init__(self, **settings: Unpack[AnthropicClientConfiguration]) -> None:
        sdk = _load_sdk("anthropic")
        config = AnthropicClientConfigurationConfigModel(**cast("Any", settings))
        addressed = config.base_url or os.environ.get("ANTHROPIC_BASE_URL")
        key = config.given_key or os.environ.get("ANTHROPIC_API_KEY")
        if not key and not addressed:
            raise BadCredentials(
                f"There is no API key for the model {config.model!r}: set ANTHROPIC_API_KEY, or "
                "give api_key (or, for a server that needs none, base_url).",
                model=config.model,
                endpoint=ANTHROPIC_URL,
            )
        client = sdk.AsyncAnthropic(
            api_key=key or NO_KEY, base_url=config.base_url, **_connection(sdk, config)
        )
        super().__init__(client, **_arguments(config))
        self._config = config

    def _to_config(self) -> AnthropicClientConfigurationConfigModel:
        return self._config.model_copy()


class AnthropicBedrockChatCompletionClient(
    BaseAnthropicChatCompletionClient, Component[AnthropicBedrockClientConfigurationConfigModel]
):
    """Asks a Claude model on Amazon Bedrock.

    Takes the fields of AnthropicBedrockClientConfiguration as keywords: `model` and `bedrock_info`
    at least. Without all three keys in `bedrock_info` AWS's own chain is asked: environment,
    profile, role. The region comes from there, too, unless it is given. The rest is as for
    AnthropicChatCompletionClient.
    """

    component_config_schema = AnthropicBedrockClientConfigurationConfigModel

    def __init__(self, **settings: Unpack[AnthropicBedrockClientConfiguration]) -> None:
        sdk = _load_sdk("bedrock")
        config = AnthropicBedrockClientConfigurationConfigModel(**cast("Any", settings))
        client = sdk.AsyncAnthropicBedrock(
            **config.bedrock_info.credentials(),
            aws_region=config.bedrock_info.aws_region,
            base_url=config.base_url,
            **_connection(sdk, config),
        )
        arguments = _arguments(config)
        # The SDK's own value is for the newest models alone.
        arguments["create_args"]["anthropic_version"] = _BEDROCK_VERSION
        super().__init__(client, **arguments, bedrock=True)
        self._config = config

    def _to_config(self) -> AnthropicBedrockClientConfigurationConfigModel:
        return self._config.model_copy()


def _load_sdk(extra: str) -> ModuleType:
    """Import the SDK, which takes longer than all of `teams`."""
    with needs_extra("Claude models need", extra):
        import anthropic

        if extra == "bedrock":
            import_module("botocore.eventstream")
    return anthropic


def _connection(sdk: Any, config: AnthropicClientConfigurationConfigModel) -> dict[str, Any]:
    """The SDK client's arguments from the settings; its own defaults otherwise."""
    retries = config.max_retries
    return {
        "timeout": http_timeout(sdk.Timeout, config.timeout),
        "max_retries": sdk.DEFAULT_MAX_RETRIES if retries is None else retries,
        "default_headers": config.default_headers,
        "http_client": http_client(sdk.DefaultAsyncHttpxClient, answer_bounds(config.timeout)),
    }


def _arguments(config: AnthropicClientConfigurationConfigModel) -> dict[str, Any]:
    """The base class's arguments from the settings."""
    sent = {name: getattr(config, name) for name in _SENT}
    if config.temperature != 1:
        sent["temperature"] = config.temperature
    return {
        "create_args": sent,
        "model_capabilities": config.model_capabilities,
        "model_info": config.model_info,
        "prompt_caching": config.prompt_caching,
        "deadline": whole_deadline(config.timeout),
    }
