"""Answers of services that keep the conversation and run tools of their own."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from teams.models._types import CreateResult, FunctionExecutionResult


class HostedResult(CreateResult, defer_build=True):
    """An answer, with its id at the service."""

    response_id: str
    """The id to go on from."""

    used: list[FunctionExecutionResult] = Field(default_factory=list[FunctionExecutionResult])
    """Tools that the service has run for it."""

    images: list[str] = Field(default_factory=list[str])
    """Images that it has made, in base64."""

    citations: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """Places that the text names as its sources."""
