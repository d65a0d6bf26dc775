"""Models of each provider as tables of config.toml."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import SecretStr
from typing_extensions import override

from teams._base.kind_model import ModelInfoConfig, ModelKind
from teams._base.kinds import Kind, Want, if_set, wants_at
from teams._base.meanings import Given, Variable
from teams.models._houses import key_variable

SDK = (
    "openai.resources.chat.chat",
    "openai.resources.chat.completions.completions",
    "openai.resources.chat.completions.messages",
    "httpcore2",  # below openai 3
)
HTTP = ("httpx", "httpcore")
CLAUDE = ("anthropic.resources.messages",)
_OPENAI, _AZURE = "teams.models.openai", "teams.models.azure"
_CLAUDE, _OLLAMA = "teams.models.anthropic", "teams.models.ollama"


@dataclass(frozen=True, slots=True)
class AzureKey:
    """A key as Azure's client takes it, without their SDK."""

    key: str = field(repr=False)


def bearer(key: str) -> dict[str, str]:
    """The headers with a key."""
    return {"Authorization": f"Bearer {key}"}


class OpenAIModelKind(ModelKind):
    """OpenAI, or a server that speaks its API.

    A server of others has its address in base_url.
    """

    kind: ClassVar = Kind("model", "openai", f"{_OPENAI}:OpenAIChatCompletionClient", sdk=SDK)
    repeats = True
    is_spoken = True
    catalog: ClassVar = {}
    """The catalog has Gemini and Claude, too, by their names."""

    base_url: Annotated[str | None, Variable("OPENAI_BASE_URL")] = None
    api_key: Annotated[SecretStr | None, Variable("OPENAI_API_KEY")] = None

    @property
    @override
    def key_variable(self) -> str:
        return key_variable(self.model)

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        return wants_openai(config.address, config.key_variable, given=config.given_key)


class AzureModelKind(ModelKind):
    """OpenAI's models on Azure.

    Its base_url is the resource's address; api_version, and azure_deployment if it is not called
    like the model, stand in options.
    """

    kind: ClassVar = Kind("model", "azure", f"{_OPENAI}:AzureOpenAIChatCompletionClient", sdk=SDK)
    repeats = True
    example = "https://NAME.openai.azure.com"
    catalog: ClassVar = {"provider_id": "azure"}

    base_url: Annotated[str | None, Given("azure_endpoint")] = None
    api_key: Annotated[SecretStr | None, Variable("AZURE_OPENAI_API_KEY")] = None

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        token, provider = config.given_token, config.azure_ad_token_provider
        needed = if_set if token or provider else str
        return wants_at(
            config.azure_endpoint,
            if_set("OPENAI_CUSTOM_HEADERS"),
            "" if config.given_key else needed("AZURE_OPENAI_API_KEY"),
            "" if token else if_set("AZURE_OPENAI_AD_TOKEN"),
            "AZURE_CLIENT_SECRET" if provider else "",  # the operator's, wherever it is from
        )


class AzureAIModelKind(ModelKind):
    """Other models on Azure; base_url is the resource's address."""

    kind: ClassVar = Kind("model", "azure_ai", f"{_AZURE}:AzureAIChatCompletionClient", sdk=SDK)
    repeats = True
    needs_key = True
    usual: ClassVar = {"model_info": ModelInfoConfig().info()}
    example = "https://NAME.services.ai.azure.com/models"
    catalog: ClassVar = {"provider_id": "azure"}

    base_url: Annotated[str | None, Given("endpoint")] = None
    api_key: Annotated[SecretStr | None, Given("credential", AzureKey)] = None


class ClaudeModelKind(ModelKind):
    """Claude, or a server that speaks its API."""

    kind: ClassVar = Kind(
        "model", "anthropic", f"{_CLAUDE}:AnthropicChatCompletionClient", sdk=CLAUDE
    )
    repeats = True
    is_spoken = True
    catalog: ClassVar = {"provider_id": "anthropic"}

    base_url: Annotated[str | None, Variable("ANTHROPIC_BASE_URL")] = None
    api_key: Annotated[SecretStr | None, Variable("ANTHROPIC_API_KEY")] = None

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        address = (
            config.base_url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        )
        key = "" if config.given_key else "ANTHROPIC_API_KEY"
        return wants_at(address, key, if_set("ANTHROPIC_CUSTOM_HEADERS"))


class BedrockModelKind(ModelKind):
    """Claude on AWS, with an account in options.bedrock_info or AWS's own variables."""

    kind: ClassVar = Kind(
        "model", "bedrock", f"{_CLAUDE}:AnthropicBedrockChatCompletionClient", sdk=CLAUDE
    )
    repeats = True
    usual: ClassVar = {"bedrock_info": {}}
    keyless = "AWS"
    catalog: ClassVar = {"provider_id": "aws"}

    api_key: Annotated[SecretStr | None, Given(None), Variable("AWS_ACCESS_KEY_ID")] = None

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        account, setting = config.bedrock_info, os.environ.get
        region = account.aws_region or setting("AWS_REGION") or setting("AWS_DEFAULT_REGION")
        own = f"https://bedrock-runtime.{region}.amazonaws.com"
        address = config.base_url or setting("ANTHROPIC_BEDROCK_BASE_URL") or own
        variables = [if_set("ANTHROPIC_CUSTOM_HEADERS")]
        if not account.credentials():
            variables += ["AWS_ACCESS_KEY_ID", if_set("AWS_BEARER_TOKEN_BEDROCK")]
        return wants_at(address, *variables)


class OllamaModelKind(ModelKind):
    """A server of Ollama."""

    kind: ClassVar = Kind("model", "ollama", f"{_OLLAMA}:OllamaChatCompletionClient", sdk=HTTP)
    usual_address = "http://localhost:11434"
    keyless = "none"

    base_url: Annotated[str | None, Given("host"), Variable("OLLAMA_HOST")] = None
    api_key: Annotated[SecretStr | None, Given("headers", bearer), Variable("OLLAMA_API_KEY")] = (
        None
    )

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        own = "authorization" in map(str.lower, config.headers or {})
        return wants_at(config.address, "" if own else if_set("OLLAMA_API_KEY"))


def wants_openai(
    address: str | None, key: str = "OPENAI_API_KEY", *, given: object = None
) -> Iterator[Want]:
    """A server of OpenAI's kind, and the variable with its key."""
    address = address or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    return wants_at(address, "" if given else key, if_set("OPENAI_CUSTOM_HEADERS"))
