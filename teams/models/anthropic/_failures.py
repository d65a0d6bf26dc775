"""Anthropic's and Amazon's own names for errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from teams.models._endpoint import TOO_LONG, Kind, SdkEndpoint
from teams.models._errors import (
    BadCredentials,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    OutOfQuota,
    RateLimited,
)
from teams.models._settings import long_secrets, shown_address

NO_KEY = "not-needed"
"""Key for servers that need none."""

_BUSY: Kind = (RateLimited, "The model's rate limit is reached")
_FAILED: Kind = (ModelUnavailable, "The provider failed")
_SLOW: Kind = (ModelTimeout, "The model did not answer in time")
_CODES: Mapping[str, Kind] = {
    "authentication_error": (BadCredentials, "The provider did not accept the key"),
    "permission_error": (BadCredentials, "The provider did not accept the key"),
    "billing_error": (OutOfQuota, "The account has nothing left"),
    "rate_limit_error": _BUSY,
    "request_too_large": TOO_LONG,
    "timeout_error": _SLOW,
    "api_error": _FAILED,
    "overloaded_error": (ModelUnavailable, "The provider is overloaded"),
    "throttlingException": _BUSY,
    "modelTimeoutException": _SLOW,
    "internalServerException": _FAILED,
    "modelStreamErrorException": _FAILED,
    "serviceUnavailableException": _FAILED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockEndpoint(SdkEndpoint):
    """An endpoint on AWS, for which requests are signed."""

    signer_error: type[Exception] = field(repr=False)

    def sdk_errors(self) -> tuple[type[Exception], ...]:
        return (*SdkEndpoint.sdk_errors(self), self.signer_error, RuntimeError)

    def sdk_failure(self, error: Exception) -> ModelError | None:
        # The signer has no class of its own for missing credentials.
        if isinstance(error, self.signer_error) or "AWS credentials" in str(error):
            return self.failure(BadCredentials, f"The request could not be signed: {error}")
        return SdkEndpoint.sdk_failure(self, error)


def anthropic_endpoint(client: Any, model: str) -> SdkEndpoint:
    """The endpoint that an SDK client asks for the model."""
    address, password = shown_address(str(client.base_url))
    names = ("api_key", "aws_access_key", "aws_secret_key", "aws_session_token")
    secrets = {password, *(getattr(client, name, None) for name in names)}
    common: dict[str, Any] = {
        "model": model,
        "endpoint": address,
        "secrets": long_secrets(secrets - {NO_KEY}),
        "codes": _CODES,
        "sdk": "anthropic",
        "sdk_error": "AnthropicError",
        "code_field": "type",
    }
    if not hasattr(client, "aws_region"):
        return SdkEndpoint(**common, key_variable="ANTHROPIC_API_KEY")
    signer = import_module("botocore.exceptions")  # the client stands on it; it has no types
    return BedrockEndpoint(
        **common,
        key_variable="AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
        signer_error=signer.BotoCoreError,
    )
