"""The ways to reach a server: a command or an address."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field


class StdioServerParams(BaseModel, defer_build=True):
    """A server that is started as a process and uses its pipes.

    It gets a few harmless variables of the environment and those in `env`, nothing else.
    `read_timeout_seconds` bounds each answer.
    """

    type: Literal["StdioServerParams"] = "StdioServerParams"
    command: str
    args: list[str] = []
    env: dict[str, str] | None = None
    cwd: str | Path | None = None
    encoding: str = "utf-8"
    encoding_error_handler: Literal["strict", "ignore", "replace"] = "strict"
    read_timeout_seconds: float = 5.0


class SseServerParams(BaseModel, defer_build=True):
    """A server behind an address of server-sent events. Times are in seconds."""

    type: Literal["SseServerParams"] = "SseServerParams"
    url: str
    headers: dict[str, Any] | None = None
    timeout: float = 5.0
    sse_read_timeout: float = 300.0


class StreamableHttpServerParams(BaseModel, defer_build=True):
    """A server behind an HTTP address.

    Times are in seconds; `terminate_on_close` tells the server when the session ends.
    """

    type: Literal["StreamableHttpServerParams"] = "StreamableHttpServerParams"
    url: str
    headers: dict[str, Any] | None = None
    timeout: float = 30.0
    sse_read_timeout: float = 300.0
    terminate_on_close: bool = True


McpServerParams = Annotated[
    StdioServerParams | SseServerParams | StreamableHttpServerParams, Field(discriminator="type")
]
