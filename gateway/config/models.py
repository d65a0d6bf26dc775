"""`[models.NAME]`: the language models and the ways to reach them."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SecretStr

from gateway.config.table import Section


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


class ModelConfig(Section):
    """A model client.

    All threads share it, and it is closed when Parley ends.
    """

    provider: str = "openai"
    """Kind of client.

    "openai": OpenAI, or a server that speaks its API (then set base_url). "demo": the built-in demo
    model, which follows fixed rules and needs no key. "auto": "openai" where a key or a base_url is
    given or in the environment (OPENAI_API_KEY, OPENAI_BASE_URL), "demo" otherwise. Anything else
    is the import path of a client class, "package.module:Class".
    """

    model: str = ""
    """Name of the model at the provider.

    With "auto", PARLEY_MODEL or OPENAI_MODEL comes first.
    """

    base_url: str | None = None
    """Address of the API, such as "http://localhost:11434/v1"."""

    api_key: SecretStr | None = None
    """Key of the API.

    A variable or a file is safer: api_key_env = "NAME", api_key_file = "path".
    """

    timeout: float | None = Field(default=None, gt=0)
    """Seconds after which a request fails."""

    max_retries: int | None = Field(default=None, ge=0)
    """Times that a request with a temporary failure is sent again."""

    model_info: ModelInfoConfig | None = None
    """Abilities of the model, if Parley does not know its name."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of the client: temperature, max_tokens, parallel_tool_calls, ..."""
