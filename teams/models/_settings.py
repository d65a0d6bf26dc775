"""Settings that the clients of several providers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import SecretStr

from teams._base.bounded.gate import Bounds
from teams.models._types import ModelCapabilities, ModelFamily, ModelInfo, validate_model_info

TimeoutT = TypeVar("TimeoutT")

DEADLINE_SECONDS = 900.0
"""The longest a whole answer may take, retries included."""
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 300.0
"""The longest wait for the next byte: reasoning models may be silent for minutes."""

_SHORTEST_SECRET = 6


def given_secret(value: SecretStr | None) -> str | None:
    """The secret; None for the asterisks of a dumped component."""
    text = value.get_secret_value() if value else ""
    return text if text.strip("*") else None


def long_secrets(secrets: Iterable[str | None]) -> tuple[str, ...]:
    """Those that are long enough to be searched for in texts."""
    return tuple(text for text in secrets if text and len(text) >= _SHORTEST_SECRET)


def shown_address(url: str) -> tuple[str, str | None]:
    """The URL without credentials or query, and the password that it held."""
    address = urlsplit(url)
    host = address.netloc.rpartition("@")[2]
    return f"{address.scheme}://{host}{address.path}".rstrip("/"), address.password


def http_timeout(timeout: Callable[..., TimeoutT], seconds: float | None) -> TimeoutT:
    """The time for connecting, and for the first and each further byte.

    `timeout`: the class of that name in the HTTP library that the client stands on.
    """
    silence = SILENCE_SECONDS if seconds is None else seconds
    return timeout(silence, connect=min(CONNECT_SECONDS, silence))


def whole_deadline(seconds: float | None) -> float:
    """The time for a whole answer, for a client with that `timeout`."""
    return max(DEADLINE_SECONDS, seconds or 0.0)


def answer_bounds(seconds: float | None) -> Bounds:
    """Bounds of an answer, for a client with that `timeout`."""
    longest = whole_deadline(seconds)
    return Bounds(seconds=longest, stream_seconds=longest)


def choose_model_info(
    model: str,
    info: ModelInfo | None,
    capabilities: ModelCapabilities | None,
    known: ModelInfo | None,
) -> ModelInfo:
    """The abilities given, or else those known by the name.

    Raises ValueError if there are none.
    """
    if info is not None:
        validate_model_info(info)
        return info
    if capabilities is not None:
        return ModelInfo(**capabilities, family=ModelFamily.UNKNOWN, structured_output=False)
    if known is None:
        raise ValueError(
            f"model_info is required for the model {model!r}, which is not known by its name: "
            "ModelInfo(vision=..., function_calling=..., json_output=..., structured_output=..., "
            "family='unknown')."
        )
    return known
