"""Failures of a model's endpoint, told alike for every provider."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from teams._base.bounded.gate import AnswerRefused
from teams.models._errors import (
    BadAnswer,
    BadCredentials,
    BadRequest,
    ContentRefused,
    ContextOverflow,
    CutAnswer,
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

Kind: TypeAlias = tuple[type[ModelError], str]
"""The class of an error, and the beginning of its sentence."""

TOO_LONG: Kind = (ContextOverflow, "The conversation is too long for the model")

_SHOWN = 300
_TOO_LONG = re.compile(
    r"context.?(length|window|size|limit)|maximum (context|prompt)|too many (input )?tokens"
    r"|(prompt|input|request) is too (long|large)|exceeds? the (context|maximum number of tokens)",
    re.IGNORECASE,
)
# The sentences of OpenAI, Anthropic, Gemini and vLLM for images, and their paths to a message.
_CONTENT = re.compile(
    r"\b(image|media|document|pdf)s?(_url)?\b.*\b(not|unsupported|invalid|exceed|could|unable|too)"
    r"|\b(not|unsupported|invalid|exceeds?|could|unable|cannot|too)\b.*\b(image|media|document|pdf)s?\b"
    r"|messages?[.\[]\d",
    re.IGNORECASE,
)
# llama.cpp has it with status 500.
_NO_INPUT = re.compile(r"\b(image|audio|video) input is not supported")
_NO_CONTENT = re.compile(
    r"polic|safety|moderat|unknown parameter|extra inputs|thinking|signature|cache_control|api key",
    re.IGNORECASE,
)
_NOTHING_LEFT = re.compile(r"credit balance|usage limits", re.IGNORECASE)
_BY_STATUS: Mapping[int | None, Kind] = {
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
    ContentRefused: "Ask without it.",
    ContextOverflow: "Send less, or use a model with a larger window.",
    ModelRefused: "Ask differently.",
    RateLimited: "Try again {later}.",
    ModelTimeout: "Try again, or allow more time with `timeout`.",
    ModelUnreachable: "Check the network and the address (base_url), then try again.",
    ModelDisconnected: "Try again.",
    ModelUnavailable: "Try again {later}.",
    BadAnswer: "Try again; if it stays so, check the address (base_url).",
    CutAnswer: "Allow longer answers with `max_tokens`.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """Which model, where, and what must never be shown of it.

    `codes` are the provider's own names for errors, which stand in the `code_field` of an error
    object, `advice` what to do where it is not the usual thing. A client over an SDK adds what the
    SDK raises.
    """

    model: str
    endpoint: str
    key_variable: str
    secrets: tuple[str, ...] = field(repr=False)
    codes: Mapping[str, Kind] = field(default_factory=dict[str, Kind], repr=False)
    advice: Mapping[type[ModelError], str] = field(
        default_factory=dict[type[ModelError], str], repr=False
    )
    code_field: str = "code"

    @contextmanager
    def errors(self) -> Generator[None]:
        """Whatever a call raises leaves as a ModelError, `from` the original."""
        try:
            yield
        except ModelError as error:
            if error.endpoint:
                raise
            raise self.failure(type(error), str(error)) from None
        except Exception as error:
            known = (*self.sdk_errors(), *http_errors("HTTPError", "InvalidURL", "StreamError"))
            if not isinstance(error, (*known, OSError, ValueError)):
                raise
            # An original that repeats the key must not get into a traceback.
            if (refused := _refused_answer(error)) is not None:
                raise self.failure(BadAnswer, str(refused)) from error
            raise self._translate_error(error) from (None if self._is_secret(error) else error)

    def sdk_errors(self) -> tuple[type[Exception], ...]:
        """Errors of the provider's SDK besides those of the connection."""
        return ()

    def sdk_failure(self, error: Exception) -> ModelError | None:
        """The error for one of the SDK's own; None for any other."""
        del error
        return None

    def failure(self, kind: type[ModelError], what: str, **facts: Any) -> ModelError:
        """An error of that kind, told in full."""
        retry_after = facts.get("retry_after")
        later = "later" if retry_after is None else f"in {retry_after:g} s"
        advice = self.advice.get(kind, _ADVICE[kind]).format(
            model=self.model, key_variable=self.key_variable, later=later
        )
        told = (
            f"{self._clean(what).rstrip('.')} (model {self.model!r} at {self.endpoint}). {advice}"
        )
        return kind(told.rstrip(), model=self.model, endpoint=self.endpoint, **facts)

    def refusal(
        self, status: int | None, message: str, code: str | None = None, **facts: Any
    ) -> ModelError:
        """The error for the provider's words; `status` is None within a stream."""
        facts = {**facts, "status": status, "code": code}
        kind, what = self._kind(status, message, code)
        return self.failure(kind, f"{what}: {message}", **facts)

    def refused_response(self, response: Any, code: str | None = None) -> ModelError:
        """The error for an `httpx.Response` that has been read."""
        message = error_message(_json(response.text)) or _plain_text(response)
        return self.refusal(
            response.status_code,
            message,
            code,
            retry_after=retry_seconds(response.headers),
        )

    def stream_error(self, error: object) -> ModelError:
        """The error for an error object in a successful stream."""
        fields = cast("Mapping[str, Any]", error if isinstance(error, dict) else {"message": error})
        code: Any = fields.get(self.code_field)
        # Some providers repeat the status as the code.
        status = code if isinstance(code, int) else None
        return self.refusal(status, str(fields.get("message")), str(code) if code else None)

    def _translate_error(self, error: Exception) -> ModelError:
        if (own := self.sdk_failure(error)) is not None:
            return own
        if isinstance(error, http_errors("TimeoutException")):
            return self.failure(ModelTimeout, "The model did not answer in time")
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
            return self.bad_answer()
        if isinstance(error, (OSError, *http_errors("ConnectError"))):
            return self.unreachable(error)
        if isinstance(error, http_errors("HTTPError", "StreamError")):  # the answer has begun
            return self.failure(
                ModelDisconnected, f"The connection to the model broke: {_reason(error)}"
            )
        return self.failure(BadRequest, f"The request could not be made: {_reason(error)}")

    def bad_answer(self) -> ModelError:
        """The error for what is no message of the protocol."""
        return self.failure(BadAnswer, "The answer is not what the API promises")

    def unreachable(self, error: Exception) -> ModelError:
        """The error for a connection that never came about."""
        return self.failure(ModelUnreachable, f"No connection to the model: {_reason(error)}")

    def _kind(self, status: int | None, message: str, code: str | None) -> Kind:
        if code is not None and code in self.codes:
            return self.codes[code]
        if status in _BY_STATUS:
            return _BY_STATUS[status]
        return _kind_by_text(status, message)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkEndpoint(ModelEndpoint):
    """An endpoint asked through `openai` or `anthropic`.

    Their errors have the same names: `sdk` is that package, `sdk_error` its base class of errors.
    """

    sdk: str = field(repr=False)
    sdk_error: str = field(repr=False)

    def sdk_errors(self) -> tuple[type[Exception], ...]:
        loaded = sys.modules.get(self.sdk)  # what is not loaded raises nothing
        return (getattr(loaded, self.sdk_error),) if loaded else ()

    def sdk_failure(self, error: Exception) -> ModelError | None:
        sdk: Any = sys.modules[self.sdk]
        match error:
            case sdk.APIStatusError():
                return self._refused(error)
            case sdk.APITimeoutError():
                return self.failure(ModelTimeout, "The model did not answer in time")
            case sdk.APIResponseValidationError():
                return self.bad_answer()
            case sdk.APIConnectionError():
                return self.unreachable(error)
            case _:
                return None

    def _refused(self, error: Any) -> ModelError:
        body = error_object(error.body)
        return self.refusal(
            error.status_code,
            error_message(body) or _plain_text(error.response),
            body.get(self.code_field),
            request_id=error.request_id,
            retry_after=retry_seconds(error.response.headers),
        )


def _kind_by_text(status: int | None, message: str) -> Kind:
    if _TOO_LONG.search(message):
        return TOO_LONG
    if status == 400 and _NOTHING_LEFT.search(message):  # noqa: PLR2004
        return _BY_STATUS[402]
    if status == 404:  # noqa: PLR2004
        unknown = UnknownModel if "model" in message.lower() else BadRequest
        return unknown, "The provider does not know this model or address"
    spoken_of = _CONTENT.search(message) and not _NO_CONTENT.search(message)
    if (status == 400 and spoken_of) or _NO_INPUT.search(message):  # noqa: PLR2004
        return ContentRefused, "The provider did not take the content of a message"
    if status is not None and status < 500:  # noqa: PLR2004
        return BadRequest, "The provider refused the request"
    return ModelUnavailable, "The provider failed"


def _refused_answer(error: BaseException | None) -> AnswerRefused | None:
    """The refusal of an answer below whatever was made of it."""
    while error is not None and not isinstance(error, AnswerRefused):
        error = error.__cause__
    return error


def http_errors(*names: str) -> tuple[type[Exception], ...]:
    """The errors of these names, of each loaded HTTP library.

    openai 2 stands on httpx, openai 3 and anthropic 2 on httpx2.
    """
    loaded = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    return tuple(getattr(library, name) for library in loaded for name in names)


def error_object(body: object) -> Mapping[str, Any]:
    """The object in an error's body that holds its message."""
    if not isinstance(body, dict):
        return {}
    fields = cast("Mapping[str, Any]", body)
    inner = fields.get("error")
    return cast("Mapping[str, Any]", inner) if isinstance(inner, dict) else fields


def error_message(body: Any) -> str:
    """The server's own sentence, or empty."""
    match body:
        case {"error": {"message": str(text)}} | {"message": str(text)} | {"error": str(text)}:
            return text
        case _:
            return ""


def retry_seconds(headers: Mapping[str, str]) -> float | None:
    """The seconds that the provider asks to wait, if it does."""
    milliseconds, seconds = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds is not None:
            return float(milliseconds) / 1000
        return None if seconds is None else float(seconds)
    except ValueError:
        return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain_text(response: Any) -> str:
    text = response.text.strip()
    # A page for browsers says nothing to people.
    return f"status {response.status_code}" if not text or text.startswith("<") else text


def _reason(error: BaseException) -> str:
    """The text of an error's cause, or else its type."""
    why = error.__cause__ or error
    return str(why) or type(why).__name__
