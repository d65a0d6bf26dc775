"""`[models.NAME]`: the language models and the ways to reach them."""

from __future__ import annotations

import os
from typing import Any, Self

from pydantic import Field, SecretStr, model_validator

from gateway.config.providers import PROVIDERS
from teams.kinds import Section, setting_error


class ModelInfoConfig(Section):
    """Abilities of a model that Parley does not know by name."""

    vision: bool = False
    """True if it takes images."""

    function_calling: bool = True
    """True if it calls tools, as agents with tools or hand-offs need."""

    json_output: bool = True
    """True if it can answer with JSON."""

    structured_output: bool = False
    """True if it can answer by a JSON schema."""

    family: str = "unknown"
    """Family of the model, such as "gpt-4o" or "claude-3.5-sonnet"."""

    multiple_system_messages: bool | None = None
    """True if it takes system messages between other messages."""


class RetryConfig(Section):
    """Further attempts at requests with a passing error.

    They are made before the first piece of an answer, instead of those of the client itself
    (max_retries), and before another model is asked (fallback).
    """

    attempts: int = Field(default=3, ge=1)
    """Times that a request is sent at most."""

    max_wait: float = Field(default=20, ge=0)
    """Most seconds between two of them.

    A provider that asks for a longer pause is not waited for: the model counts as not available.
    """


class ModelConfig(Section):
    """A model client.

    All threads share it, and it is closed when Parley ends.
    """

    provider: str = "openai"
    """Kind of client.

    "openai": OpenAI, or a server that speaks its API (then set base_url). "anthropic": Claude.
    "bedrock": Claude on AWS (options.bedrock_info, or AWS's own variables). "ollama": a server of
    Ollama. "azure": OpenAI's models on Azure (base_url is the resource's address; api_version, and
    azure_deployment if it is not called like the model, stand in options). "azure_ai": other models
    on Azure. "demo": the built-in demo model, which follows fixed rules and needs no key. "auto":
    "openai" where a key or a base_url is given or in the environment (OPENAI_API_KEY,
    OPENAI_BASE_URL), "demo" otherwise. Anything else is the import path of a client class,
    "package.module:Class".
    """

    model: str = ""
    """Name of the model at the provider.

    With "auto", PARLEY_MODEL or OPENAI_MODEL comes first.
    """

    base_url: str | None = None
    """Address of the API, such as "http://localhost:8000/v1".

    The key is sent there alone.
    """

    api_key: SecretStr | None = None
    """Key of the API.

    A variable or a file is safer: api_key_env = "NAME", api_key_file = "path".
    """

    timeout: float | None = Field(default=None, gt=0)
    """Seconds after which a request fails."""

    max_retries: int | None = Field(default=None, ge=0)
    """Times that a request with a temporary failure is sent again."""

    retry: RetryConfig | None = None
    """Rules for sending a request again, for any kind of client."""

    fallback: list[str] = Field(default_factory=list)
    """Models that answer while this one is not available, in their order.

    After a rate limit, an outage, a refused key or an empty account the next one is asked, and this
    one rests for a while. What a model refuses is not asked of another one.
    """

    model_info: ModelInfoConfig | None = None
    """Abilities of the model, if Parley does not know its name."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of the client: temperature, max_tokens, parallel_tool_calls, ..."""

    @model_validator(mode="after")
    def _check_one_way_to_retry(self) -> Self:
        if self.retry is not None and self.max_retries is not None:
            said = f"found {self.max_retries} beside retry, expected one of the two"
            raise setting_error("max_retries", said, given=("retry",))
        return self


def resolve(model: ModelConfig) -> ModelConfig:
    """The settings as they are meant in this environment: without "auto"."""
    if model.provider != "auto":
        return model
    reached = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    if not (model.api_key or model.base_url or any(map(os.environ.get, reached))):
        return model.model_copy(update={"provider": "demo", "model": ""})
    name = os.environ.get("PARLEY_MODEL") or os.environ.get("OPENAI_MODEL") or model.model
    return model.model_copy(update={"provider": "openai", "model": name})


def model_address(model: ModelConfig) -> str:
    """The address of the model's server, or "" for the provider's own."""
    provider = PROVIDERS.get(model.provider)
    if provider is None:
        return model.base_url or ""
    variable = provider.address_variable
    named = (os.environ.get(variable) if variable else "") or provider.usual_address
    address = model.base_url or named
    return address if "://" in address or not address else f"http://{address}"
