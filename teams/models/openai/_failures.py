"""Translate errors of the SDK and its connection into our errors."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from teams.models._errors import (
    BadAnswer,
    BadCredentials,
    BadRequest,
    ContextOverflow,
    ModelDisconnected,
    ModelError,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    OutOfQuota,
    RateLimited,
    UnknownModel,
)

_SHOWN = 300
_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum (context|prompt)|too many (input )?tokens"
    r"|(prompt|input|request) is too (long|large)|exceeds? the (context|maximum number of tokens)",
    re.IGNORECASE,
)
_BY_CODE: Mapping[str | None, tuple[type[ModelError], str]] = {
    "insufficient_quota": (OutOfQuota, "The account has nothing left"),
    "model_not_found": (UnknownModel, "There is no such model"),
    "content_filter": (ModelRefused, "The provider's content filter refused"),
    "content_policy_violation": (ModelRefused, "The provider's content filter refused"),
    "context_length_exceeded": (ContextOverflow, "The conversation is too long for the model"),
}
_BY_STATUS: Mapping[int | None, tuple[type[ModelError], str]] = {
    401: (BadCredentials, "The provider did not accept the key"),
    402: (OutOfQuota, "The account has nothing left"),
    403: (BadCredentials, "The provider did not accept the key"),
    429: (RateLimited, "The model's rate limit is reached"),
}
_ADVICE: Mapping[type[ModelError], str] = {
    BadCredentials: "Check the API key ({key_variable}) and what it may do.",
    OutOfQuota: "Check the account's credit and limits.",
    UnknownModel: "Check the model's name and what the key may use.",
    BadRequest: "",
    ContextOverflow: "Shorten the conversation, e.g. with a bounded model context.",
    ModelRefused: "Ask differently.",
    RateLimited: "Try again {later}.",
    ModelTimeout: "Try again, or allow more time with `timeout`.",
    ModelUnreachable: "Check the network and the address (base_url), then try again.",
    ModelDisconnected: "Try again.",
    ModelUnavailable: "Try again {later}.",
    BadAnswer: "Try again; if it stays so, check the address (base_url).",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """Which model, where, and what must never be shown of it."""

    model: str
    endpoint: str
    key_variable: str
    secrets: tuple[str, ...] = field(repr=False)

    @contextmanager
    def errors(self) -> Generator[None]:
        """Whatever a call raises leaves as a ModelError, `from` the original."""
        from openai import OpenAIError  # for start-up: the first client has imported it

        try:
            yield
        except ModelError as error:
            if error.endpoint:
                raise
            raise self.failure(type(error), str(error)) from None
        except (
            OpenAIError,
            *http_errors("HTTPError", "StreamError"),
            OSError,
            ValueError,
        ) as error:
            # An original that repeats the key must not get into a traceback.
            raise self._translate_error(error) from (None if self._is_secret(error) else error)

    def failure(self, kind: type[ModelError], what: str, **facts: Any) -> ModelError:
        """An error of that kind, told in full."""
        retry_after = facts.get("retry_after")
        later = "later" if retry_after is None else f"in {retry_after:g} s"
        advice = _ADVICE[kind].format(key_variable=self.key_variable, later=later)
        told = (
            f"{self._clean(what).rstrip('.')} (model {self.model!r} at {self.endpoint}). {advice}"
        )
        return kind(told.rstrip(), model=self.model, endpoint=self.endpoint, **facts)

    def stream_error(self, error: object) -> ModelError:
        """The error for an error object in a successful stream."""
        fields = cast("Mapping[str, Any]", error if isinstance(error, dict) else {"message": error})
        code: Any = fields.get("code")
        # Some providers repeat the status as the code.
        status = code if isinstance(code, int) else None
        return self._from_body(
            status, str(fields.get("message")), str(code) if code else None, facts={}
        )

    def _translate_error(self, error: Exception) -> ModelError:
        import openai  # as above

        match error:
            case openai.APIStatusError():
                return self._refused(error)
            case _ if isinstance(error, (openai.APITimeoutError, *http_errors("TimeoutException"))):
                return self.failure(ModelTimeout, "The model did not answer in time")
            case (
                openai.APIResponseValidationError() | json.JSONDecodeError() | UnicodeDecodeError()
            ):
                return self.failure(BadAnswer, "The answer is not what the API promises")
            case openai.APIConnectionError() | OSError():
                return self.failure(
                    ModelUnreachable, f"No connection to the model: {_reason(error)}"
                )
            case _ if isinstance(error, http_errors("HTTPError", "StreamError")):
                # The SDK has begun to read the answer.
                return self.failure(
                    ModelDisconnected, f"The connection to the model broke: {_reason(error)}"
                )
            case _:
                return self.failure(
                    BadRequest,
                    f"The request could not be made: {_reason(error)}",
                )

    def _refused(self, error: Any) -> ModelError:
        headers = error.response.headers
        facts = {
            "status": error.status_code,
            "request_id": error.request_id,
            "retry_after": _seconds(headers.get("retry-after-ms"), headers.get("retry-after")),
        }
        return self._from_body(error.status_code, _message(error), error.code, facts)

    def _from_body(
        self, status: int | None, message: str, code: str | None, facts: dict[str, Any]
    ) -> ModelError:
        kind, what = _kind(status, message, code)
        return self.failure(kind, f"{what}: {message}", code=code, **facts)

    def _clean(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        text = " ".join(text.split())
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    def _is_secret(self, error: BaseException | None) -> bool:
        while error is not None:
            if any(secret in str(error) for secret in self.secrets):
                return True
            error = error.__cause__
        return False


def http_errors(*names: str) -> tuple[type[Exception], ...]:
    """The errors of these names in the HTTP libraries of the SDKs.

    openai 2 stands on httpx, openai 3 on httpx2.
    """
    loaded = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    return tuple(getattr(library, name) for library in loaded for name in names)


def _kind(status: int | None, message: str, code: str | None) -> tuple[type[ModelError], str]:
    """The class of an error, and the beginning of its sentence."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if _TOO_LONG.search(message):
        return _BY_CODE["context_length_exceeded"]
    if status == 404:  # noqa: PLR2004
        unknown = UnknownModel if "model" in message.lower() else BadRequest
        return unknown, "The provider does not know this model or address"
    if status is not None and status < 500:  # noqa: PLR2004
        return BadRequest, "The provider refused the request"
    return ModelUnavailable, "The provider failed"


def _reason(error: BaseException) -> str:
    """The text of an error's cause, or else its type."""
    why = error.__cause__ or error
    return str(why) or type(why).__name__


def _message(error: Any) -> str:
    """The server's own sentence, without the SDK's frame around it."""
    body = error.body
    if isinstance(body, dict) and isinstance(cast("Any", body).get("message"), str):
        return cast("Any", body)["message"]
    text = error.response.text.strip()
    # A page for browsers says nothing to people.
    return f"status {error.status_code}" if not text or text.startswith("<") else text


def _seconds(milliseconds: str | None, seconds: str | None) -> float | None:
    try:
        if milliseconds is not None:
            return float(milliseconds) / 1000
        return None if seconds is None else float(seconds)
    except ValueError:
        return None
