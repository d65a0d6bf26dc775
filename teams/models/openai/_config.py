"""The settings of the OpenAI clients: constructor arguments and component JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, SecretStr
from typing_extensions import TypedDict

from teams._components.component import ComponentModel
from teams.models._houses import key_variable, provider_of
from teams.models._settings import given_secret
from teams.models._types import ModelCapabilities, ModelInfo

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class ResponseFormat(TypedDict):
    """A fixed response format; for a schema use `json_output` of `create`."""

    type: Literal["text", "json_object"]


class StreamOptions(TypedDict, total=False):
    """The content of a stream besides the answer."""

    include_usage: bool


class CreateArguments(TypedDict, total=False):
    """The settings of every request, named as in OpenAI's API."""

    frequency_penalty: float | None
    logit_bias: dict[str, int] | None
    max_tokens: int | None
    max_completion_tokens: int | None
    n: int | None
    presence_penalty: float | None
    response_format: ResponseFormat | None
    seed: int | None
    stop: str | list[str] | None
    temperature: float | None
    top_p: float | None
    user: str | None
    stream_options: StreamOptions | None
    parallel_tool_calls: bool | None
    reasoning_effort: ReasoningEffort | None
    logprobs: bool | None
    top_logprobs: int | None
    metadata: dict[str, str] | None
    service_tier: str | None
    extra_body: dict[str, Any] | None


class BaseOpenAIClientConfiguration(CreateArguments, total=False):
    """The settings of both kinds of client."""

    model: str
    api_key: str | SecretStr | None
    timeout: float | None
    max_retries: int | None
    model_capabilities: ModelCapabilities | None
    model_info: ModelInfo | None
    add_name_prefixes: bool | None
    include_name_in_message: bool
    reasoning_marks: tuple[str, str] | None
    default_headers: dict[str, str] | None


class OpenAIClientConfiguration(BaseOpenAIClientConfiguration, total=False):
    """The settings of OpenAIChatCompletionClient."""

    organization: str | None
    base_url: str | None


class AzureOpenAIClientConfiguration(BaseOpenAIClientConfiguration, total=False):
    """The settings of AzureOpenAIChatCompletionClient."""

    azure_endpoint: str
    azure_deployment: str | None
    api_version: str
    azure_ad_token: str | SecretStr | None
    azure_ad_token_provider: Callable[[], str | Awaitable[str]] | ComponentModel | None


class CreateArgumentsConfigModel(BaseModel, defer_build=True):
    """The settings of every request, named as in OpenAI's API."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    frequency_penalty: float | None = None
    logit_bias: dict[str, int] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    presence_penalty: float | None = None
    response_format: ResponseFormat | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    temperature: float | None = None
    top_p: float | None = None
    user: str | None = None
    stream_options: StreamOptions | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: ReasoningEffort | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    extra_body: dict[str, Any] | None = None


class BaseOpenAIClientConfigurationConfigModel(CreateArgumentsConfigModel):
    """The settings of both kinds of client; keys are dumped as asterisks."""

    model: str
    """Name of the model, as the provider calls it."""
    api_key: SecretStr | None = None
    """The key; without one the provider's environment variable is used."""
    timeout: float | None = None
    """Seconds to connect, and to wait for the first and each further byte of an answer."""
    max_retries: int | None = None
    """Number of retries of a request without an answer, or with a passing error."""
    model_capabilities: ModelCapabilities | None = None
    model_info: ModelInfo | None = None
    """The model's abilities; needed for models the client does not know."""
    add_name_prefixes: bool | None = None
    """Begin each user message with "NAME said:", for models that ignore the name field."""
    include_name_in_message: bool | None = True
    """Send the name field of user messages; some providers refuse it."""
    reasoning_marks: tuple[str, str] | None = None
    """Texts around the model's reasoning; the first is empty if its template opens it."""
    default_headers: dict[str, str] | None = None
    """Further HTTP headers of each request."""

    @property
    def given_key(self) -> str | None:
        """The key; None for the asterisks of a dumped component."""
        return given_secret(self.api_key)


class OpenAIClientConfigurationConfigModel(BaseOpenAIClientConfigurationConfigModel):
    """The settings of OpenAIChatCompletionClient."""

    organization: str | None = None
    base_url: str | None = None
    """Where an OpenAI-compatible API is."""

    @property
    def address(self) -> str | None:
        """The `base_url`, or that of the model's provider; None for OpenAI's own."""
        provider = provider_of(self.model)
        return self.base_url or (provider and provider.base_url)

    @property
    def key_variable(self) -> str:
        """The environment variable that is read where no key is given."""
        return key_variable(self.model)


class AzureOpenAIClientConfigurationConfigModel(BaseOpenAIClientConfigurationConfigModel):
    """The settings of AzureOpenAIChatCompletionClient."""

    azure_endpoint: str
    azure_deployment: str | None = None
    api_version: str
    azure_ad_token: SecretStr | None = None
    azure_ad_token_provider: ComponentModel | None = None

    @property
    def given_token(self) -> str | None:
        """The token; None for the asterisks of a dumped component."""
        return given_secret(self.azure_ad_token)
