"""Providers of models: their clients, and the way these are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider that `[models.NAME]` may name.

    `client` is the import path of its client's class; `address` and `key` are the arguments that
    take base_url and api_key, "" where there is none. The variables are what the client reads where
    nothing is given, `usual_address` what it uses then. `catalog`: the provider's id in
    genai-prices.
    """

    client: str
    address: str = "base_url"
    address_variable: str = ""
    usual_address: str = ""
    needs_address: str = ""
    """An example, if it can't be called without an address."""
    key: str = "api_key"
    key_variable: str = ""
    retries: bool = True
    """True if the client itself sends failed requests again (max_retries)."""
    usual: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments that the client needs, and that the table may leave out."""
    catalog: str = ""


SERVER_MODEL: Mapping[str, Any] = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": "unknown",
    "structured_output": False,
}
"""Abilities of a model whose name says nothing: what servers can do nowadays."""

PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        client="teams.models.openai:OpenAIChatCompletionClient",
        address_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
    ),
    "azure": Provider(
        client="teams.models.openai:AzureOpenAIChatCompletionClient",
        address="azure_endpoint",
        needs_address="https://NAME.openai.azure.com",
        key_variable="AZURE_OPENAI_API_KEY",
        catalog="azure",
    ),
    "azure_ai": Provider(
        client="teams.models.azure:AzureAIChatCompletionClient",
        address="endpoint",
        needs_address="https://NAME.services.ai.azure.com/models",
        key="credential",
        usual={"model_info": SERVER_MODEL},
        catalog="azure",
    ),
    "anthropic": Provider(
        client="teams.models.anthropic:AnthropicChatCompletionClient",
        address_variable="ANTHROPIC_BASE_URL",
        key_variable="ANTHROPIC_API_KEY",
        catalog="anthropic",
    ),
    "bedrock": Provider(
        client="teams.models.anthropic:AnthropicBedrockChatCompletionClient",
        key="",
        key_variable="AWS_ACCESS_KEY_ID",
        usual={"bedrock_info": {}},
        catalog="aws",
    ),
    "ollama": Provider(
        client="teams.models.ollama:OllamaChatCompletionClient",
        address="host",
        address_variable="OLLAMA_HOST",
        usual_address="http://localhost:11434",
        key="headers",
        key_variable="OLLAMA_API_KEY",
        retries=False,
    ),
}
"""By their names. An import path stands for a provider, too: see `ModelConfig.provider`."""

OF_MODEL_NAMES: Mapping[str, str] = {
    "gemini-": "GEMINI_API_KEY",
    "claude-": "ANTHROPIC_API_KEY",
    "Llama-": "LLAMA_API_KEY",
}
"""Beginnings of models' names that lead the client of "openai" elsewhere, with their keys."""


def key_variable(provider: str, model: str) -> str:
    """The variable with the key for a model, or ""."""
    if provider == "openai":
        for beginning, variable in OF_MODEL_NAMES.items():
            if model.startswith(beginning):
                return variable
    return PROVIDERS[provider].key_variable if provider in PROVIDERS else ""
