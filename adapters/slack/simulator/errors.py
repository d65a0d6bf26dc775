"""Refusals of the Web API."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """An `ok: false` answer; `body` holds its further fields."""

    def __init__(self, code: str, **body: Any) -> None:
        super().__init__(code)
        self.code = code
        self.body = body


def invalid_arguments(*messages: str) -> ApiError:
    """The refusal of arguments, with what is wrong about them."""
    details = [f"[ERROR] {message}" for message in messages]
    return ApiError("invalid_arguments", response_metadata={"messages": details})
