"""`[models.NAME]`: which language models there are, and how they are reached."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SecretStr

from gateway.config.table import Section


class ModelInfoConfig(Section):
    """What a model can do; only needed where Parley does not know the model by its name."""

    vision: bool = False
    """It takes images."""

    function_calling: bool = True
    """It calls tools; agents with tools or hand-offs need it."""

    json_output: bool = True
    """It can be told to answer with JSON."""

    structured_output: bool = False
    """It can be told to answer by a JSON schema."""

    family: str = "unknown"
    """The family whose habits it shares, such as "gpt-4o" or "claude-3.5-sonnet"."""

    multiple_system_messages: bool | None = None
    """It takes system messages that do not stand next to each other."""


class ModelConfig(Section):
    """A model client. It is shared by all threads and closed when Parley ends."""

    provider: str = "openai"
    """How it is reached.

    "openai": OpenAI, or a server that speaks its API (then set base_url). "demo": the built-in demo
    model, which follows fixed rules and needs no key. "auto": "openai" where a key or a base_url is
    given or in the environment (OPENAI_API_KEY, OPENAI_BASE_URL), "demo" otherwise. Anything else
    is the import path of a client class, "package.module:Class".
    """

    model: str = ""
    """The model's name at the provider. With "auto", PARLEY_MODEL or OPENAI_MODEL win over it."""

    base_url: str | None = None
    """Address of the API, such as "http://localhost:11434/v1"."""

    api_key: SecretStr | None = None
    """The key. Better in a variable or a file: api_key_env = "NAME", api_key_file = "path"."""

    timeout: float | None = Field(default=None, gt=0)
    """Seconds after which a request fails."""

    max_retries: int | None = Field(default=None, ge=0)
    """How often a request that failed for the moment is sent again."""

    model_info: ModelInfoConfig | None = None
    """What the model can do, where its name does not tell."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of the client: temperature, max_tokens, parallel_tool_calls, ..."""
