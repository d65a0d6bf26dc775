"""The settings of the Ollama client: constructor arguments and component JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, field_serializer, model_validator
from typing_extensions import TypedDict

from teams.models._types import ModelCapabilities, ModelInfo, Wire

PORT = 11434

_LOGIN = re.compile(r"(?<![^/])[^/@]*@")
_LISTENING = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
_SECRET_HEADERS = ("authorization", "cookie", "key", "secret", "token")


class Options(TypedDict, total=False):
    """Those of Ollama's options that are settings of their own, too."""

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


_OPTIONS = frozenset(Options.__annotations__)


class CreateArgumentsConfigModel(BaseModel, defer_build=True):
    """The settings of every request; those of `Options` are gathered."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    options: Wire | None = None
    """Options of Ollama's, by their names."""
    format: Literal["json"] | Wire | None = None
    """Form of every answer: any JSON, or a JSON schema."""
    keep_alive: str | float | None = None
    """Time that the model stays loaded after a request, such as "5m"."""
    think: bool | Literal["low", "medium", "high"] | None = None
    """Thinking first, for models that can: yes, no, or how hard."""

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, given: Wire) -> dict[str, Any]:
        if not isinstance(of_caller := given.get("options") or {}, dict):
            return given  # which is refused
        rest = {name: value for name, value in given.items() if name not in _OPTIONS}
        options: Wire = {**of_caller}
        options |= {
            name: given[name] for name in _OPTIONS & given.keys() if given[name] is not None
        }
        if isinstance(options.get("stop"), str):
            options["stop"] = [options["stop"]]  # Ollama takes nothing else
        return {**rest, "options": options or None}

    def wire(self, defaults: Mapping[str, Any]) -> Wire:
        """These settings as part of a request, over the defaults."""
        names = CreateArgumentsConfigModel.model_fields
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.options:
            given["options"] = {**defaults.get("options", {}), **self.options}
        return {**defaults, **given}


class BaseOllamaClientConfigurationConfigModel(CreateArgumentsConfigModel):
    """The settings of OllamaChatCompletionClient; secrets are not dumped."""

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
    reasoning_marks: tuple[str, str] | None = None
    """Texts around the model's reasoning; the first is empty if its template opens it."""

    @field_serializer("host")
    def _dump_host(self, host: str | None) -> str | None:
        return host and _LOGIN.sub("", host)

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


class OllamaClientConfiguration(Options, total=False):
    """See BaseOllamaClientConfigurationConfigModel."""

    model: str
    host: str | None
    follow_redirects: bool
    timeout: float | None
    headers: dict[str, str] | None
    model_capabilities: ModelCapabilities | None
    model_info: ModelInfo | None
    reasoning_marks: tuple[str, str] | None
    response_format: type[BaseModel] | None
    format: Literal["json"] | Wire | None
    keep_alive: str | float | None
    think: bool | Literal["low", "medium", "high"] | None
    options: Wire | None


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
    login, at, _ = parts.netloc.rpartition("@")
    name = _LISTENING.get(parts.hostname or "", parts.hostname or "")
    name = f"[{name}]" if ":" in name else name
    return f"{scheme}://{login}{at}{name}:{port}{parts.path.rstrip('/')}"
