"""The settings of the Claude clients: constructor arguments and component JSON."""

from __future__ import annotations

from typing import Any, Literal, Required

from pydantic import BaseModel, ConfigDict, SecretStr
from typing_extensions import TypedDict

from teams.models._settings import given_secret
from teams.models._types import ModelCapabilities, ModelInfo


class ThinkingConfig(TypedDict, total=False):
    """The model's thinking before it answers.

    "adaptive" for current models; "enabled", with at least 1024 `budget_tokens`, for those up to
    Claude 4.5.
    """

    type: Required[Literal["enabled", "disabled", "adaptive"]]
    budget_tokens: int
    display: Literal["summarized", "omitted"]


class BedrockInfo(TypedDict, total=False):
    """An account of AWS.

    The keys count if all three are there; otherwise AWS's own chain of credentials is asked.
    """

    aws_access_key: str | SecretStr | None
    aws_secret_key: str | SecretStr | None
    aws_session_token: str | SecretStr | None
    aws_region: str | None


class CreateArguments(TypedDict, total=False):
    """The settings of every request, named as in Anthropic's API."""

    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop_sequences: list[str] | None
    metadata: dict[str, str] | None
    thinking: ThinkingConfig | None
    response_format: Any
    tools: Any
    tool_choice: Any


class AnthropicClientConfiguration(CreateArguments, total=False):
    """The settings of AnthropicChatCompletionClient."""

    model: Required[str]
    api_key: str | SecretStr | None
    base_url: str | None
    timeout: float | None
    max_retries: int | None
    default_headers: dict[str, str] | None
    model_capabilities: ModelCapabilities | None
    model_info: ModelInfo | None
    prompt_caching: bool


class AnthropicBedrockClientConfiguration(AnthropicClientConfiguration, total=False):
    """The settings of AnthropicBedrockChatCompletionClient."""

    bedrock_info: Required[BedrockInfo]


class CreateArgumentsConfigModel(BaseModel, defer_build=True):
    """The settings of every request, named as in Anthropic's API."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    max_tokens: int | None = None
    """Longest answer; by default 4096, and 16384 for models from Claude 4.6 on."""
    temperature: float | None = None
    """Sent unless it is 1, which is the API's default: new models take no other."""
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    metadata: dict[str, str] | None = None
    thinking: ThinkingConfig | None = None
    response_format: Any = None
    """Without effect, as in AutoGen: use `json_output` of `create`."""
    tools: Any = None
    """Without effect, as in AutoGen: use `tools` of `create`."""
    tool_choice: Any = None
    """Without effect, as in AutoGen: use `tool_choice` of `create`."""


class AnthropicClientConfigurationConfigModel(CreateArgumentsConfigModel):
    """The settings of AnthropicChatCompletionClient; keys are dumped as asterisks."""

    model: str
    """Name of the model, as the provider calls it."""
    api_key: SecretStr | None = None
    """The key; without one ANTHROPIC_API_KEY is used."""
    base_url: str | None = None
    timeout: float | None = None
    """Seconds to connect, and to wait for the first and each further byte of an answer."""
    max_retries: int | None = None
    """Number of retries of a request without an answer, or with a passing error."""
    default_headers: dict[str, str] | None = None
    """Further HTTP headers of each request."""
    model_capabilities: ModelCapabilities | None = None
    model_info: ModelInfo | None = None
    """The model's abilities; needed for models that are no Claude by their name."""
    prompt_caching: bool = True
    """Ask the provider to keep the beginning of a request for the next one, which is cheaper."""

    @property
    def given_key(self) -> str | None:
        """The key; None for the asterisks of a dumped component."""
        return given_secret(self.api_key)


class BedrockAccount(BaseModel, defer_build=True):
    """BedrockInfo, its keys dumped as asterisks."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    aws_access_key: SecretStr | None = None
    aws_secret_key: SecretStr | None = None
    aws_session_token: SecretStr | None = None
    aws_region: str | None = None

    def credentials(self) -> dict[str, str]:
        """The keys by their names; none unless all three are there."""
        names = ("aws_access_key", "aws_secret_key", "aws_session_token")
        given = {name: given_secret(getattr(self, name)) for name in names}
        return {name: text for name, text in given.items() if text} if all(given.values()) else {}


class AnthropicBedrockClientConfigurationConfigModel(AnthropicClientConfigurationConfigModel):
    """The settings of AnthropicBedrockChatCompletionClient."""

    bedrock_info: BedrockAccount
