"""OpenAI's own names for errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from teams.models._endpoint import TOO_LONG, Kind, SdkEndpoint
from teams.models._errors import ModelRefused, OutOfQuota, UnknownModel
from teams.models._houses import key_variable
from teams.models._settings import long_secrets, shown_address

if TYPE_CHECKING:
    from openai import AsyncAzureOpenAI, AsyncOpenAI

AZURE = "AsyncAzureOpenAI"
NO_KEY = "not-needed"
"""Key for servers that need none."""

_CODES: Mapping[str, Kind] = {
    "insufficient_quota": (OutOfQuota, "The account has nothing left"),
    "model_not_found": (UnknownModel, "There is no such model"),
    "content_filter": (ModelRefused, "The provider's content filter refused"),
    "content_policy_violation": (ModelRefused, "The provider's content filter refused"),
    "context_length_exceeded": TOO_LONG,
}


def openai_endpoint(client: AsyncOpenAI | AsyncAzureOpenAI, model: str) -> SdkEndpoint:
    """The endpoint that an SDK client asks for the model."""
    token = getattr(client, "_azure_ad_token", None)
    endpoint = endpoint_at(str(client.base_url), model, {client.api_key, token})
    azure = is_sdk_client(client, AZURE)
    return replace(endpoint, key_variable="AZURE_OPENAI_API_KEY") if azure else endpoint


def is_sdk_client(client: object, name: str = "AsyncOpenAI") -> bool:
    """True for a client of this class; the SDK is not imported."""
    return any(each.__name__ == name for each in type(client).__mro__)


def endpoint_at(url: str, model: str, secrets: set[str | None]) -> SdkEndpoint:
    """The endpoint at an address, without the SDK.

    Raises ValueError for a wrong port.
    """
    try:
        _ = urlsplit(url).port
    except ValueError:
        raise ValueError("base_url: its port is no number up to 65535") from None
    address, password = shown_address(url)
    return SdkEndpoint(
        model=model,
        endpoint=address,
        key_variable=key_variable(model),
        secrets=long_secrets({*secrets, password} - {NO_KEY}),
        codes=_CODES,
        sdk="openai",
        sdk_error="OpenAIError",
    )
