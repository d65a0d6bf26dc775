"""The settings of the Ollama client: constructor arguments and component JSON."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, field_serializer
from typing_extensions import TypedDict

from teams.models._types import ModelCapabilities, ModelInfo

PORT = 11434

_NOT_OPTIONS = frozenset({"format", "keep_alive", "options", "think"})
_SECRET_HEADERS = ("authorization", "cookie", "key", "secret", "token")


class CreateArgumentsConfigModel(BaseModel, defer_build=True):
    """The settings of every request; most are Ollama's `options`."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repeat_penalty: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    mirostat: int | None = None
    mirostat_eta: float | None = None
    mirostat_tau: float | None = None
    seed: int | None = None
    num_ctx: int | None = None
    num_predict: int | None = None
    num_gpu: int | None = None
    stop: str | list[str] | None = None
    tfs_z: float | None = None
    typical_p: float | None = None
    options: dict[str, Any] | None = None
    """Further options of Ollama's, by their names; those above win."""
    format: Literal["json"] | dict[str, Any] | None = None
    """Form of every answer: any JSON, or a JSON schema."""
    keep_alive: str | float | None = None
    """Time that the model stays loaded after a request, such as "5m"."""
    think: bool | Literal["low", "medium", "high"] | None = None
    """Whether a model that can do so thinks first."""

    def own_options(self) -> dict[str, Any]:
        """The options that are given as settings of their own."""
        names = CreateArgumentsConfigModel.model_fields.keys() - _NOT_OPTIONS
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def all_options(self) -> dict[str, Any]:
        """The options as Ollama is sent them."""
        options = {**(self.options or {}), **self.own_options()}
        if isinstance(options.get("stop"), str):
            options["stop"] = [options["stop"]]
        return options

    def wire(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """These settings as part of a request, over the defaults."""
        names = ("format", "keep_alive", "think")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        options = {**defaults.get("options", {}), **self.all_options()}
        return {**defaults, **given, **({"options": options} if options else {})}


class BaseOllamaClientConfigurationConfigModel(CreateArgumentsConfigModel):
    """The settings of OllamaChatCompletionClient; headers with secrets are dumped as asterisks."""

    model: str
    """Name of the model, such as "qwen3:8b"."""
    host: str | None = None
    """Ollama's address; without one, that of OLLAMA_HOST."""
    follow_redirects: bool = True
    timeout: float | None = None
    """Seconds to connect, and to wait for the first and each further byte of an answer."""
    headers: dict[str, str] | None = None
    """Further HTTP headers of each request."""
    model_capabilities: ModelCapabilities | None = None
    model_info: ModelInfo | None = None
    """The model's abilities; without them, those that are known or that Ollama tells."""

    @field_serializer("headers")
    def _dump_headers(self, headers: dict[str, str] | None) -> dict[str, str] | None:
        return headers and {
            name: "**********" if is_secret(name) else value for name, value in headers.items()
        }

    @property
    def address(self) -> str:
        """The URL of the server."""
        return server_address(self.host or os.environ.get("OLLAMA_HOST", ""))

    def given_headers(self) -> dict[str, str]:
        """The headers without the asterisks of a dumped component, and the key's."""
        given = {name: value for name, value in (self.headers or {}).items() if value.strip("*")}
        key = os.environ.get("OLLAMA_API_KEY")
        if key and "authorization" not in map(str.lower, given):
            given["Authorization"] = f"Bearer {key}"
        return given


class OllamaClientConfiguration(TypedDict, total=False):
    """See BaseOllamaClientConfigurationConfigModel."""

    model: str
    host: str | None
    follow_redirects: bool
    timeout: float | None
    headers: dict[str, str] | None
    model_capabilities: ModelCapabilities | None
    model_info: ModelInfo | None
    response_format: type[BaseModel] | None
    format: Literal["json"] | dict[str, Any] | None
    keep_alive: str | float | None
    think: bool | Literal["low", "medium", "high"] | None
    options: dict[str, Any] | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    repeat_penalty: float | None
    frequency_penalty: float | None
    presence_penalty: float | None
    mirostat: int | None
    mirostat_eta: float | None
    mirostat_tau: float | None
    seed: int | None
    num_ctx: int | None
    num_predict: int | None
    num_gpu: int | None
    stop: str | list[str] | None
    tfs_z: float | None
    typical_p: float | None


def is_secret(header: str) -> bool:
    """True for headers that hold a secret, by their names."""
    return any(word in header.lower() for word in _SECRET_HEADERS)


def server_address(host: str) -> str:
    """The URL for one of OLLAMA_HOST's forms; ValueError for what is none.

    "", "host", ":port", "host:port", "[::1]:port" and URLs, whose own port is 80 or 443. An address
    to listen on, such as 0.0.0.0, stands for this machine.
    """
    scheme, mark, rest = host.strip().rpartition("://")
    scheme = scheme.lower() or "http"
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port or ({"http": 80, "https": 443}[scheme] if mark else PORT)
    except (KeyError, ValueError):
        raise ValueError(
            f"host: found {host!r}, expected Ollama's address, such as http://localhost:{PORT}"
        ) from None
    name = parts.hostname or "127.0.0.1"
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        shown = name
    else:
        if address.is_unspecified:
            address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")  # noqa: PLR2004
        shown = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004
    login = parts.netloc.rpartition("@")[0]
    return f"{scheme}://{login}{'@' if login else ''}{shown}:{port}{parts.path.rstrip('/')}"
