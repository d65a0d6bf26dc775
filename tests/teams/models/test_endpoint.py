"""Failures of a model's endpoint, told alike for every provider."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from teams.models import (
    BadAnswer,
    BadCredentials,
    BadRequest,
    ContextOverflow,
    ModelDisconnected,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    OutOfQuota,
    RateLimited,
    UnknownModel,
)
from teams.models._endpoint import (
    ModelEndpoint,
    SdkEndpoint,
    error_message,
    error_object,
    http_errors,
    retry_seconds,
)

KEY = "sk-secret-key"
ENDPOINT = ModelEndpoint(
    model="m",
    endpoint="https://here",
    key_variable="KEY",
    secrets=(KEY,),
    codes={"no_money": (OutOfQuota, "The account is empty")},
    advice={OutOfQuota: "Pay for {model}."},
)


def raised(error: Exception, endpoint: ModelEndpoint = ENDPOINT) -> ModelError:
    with pytest.raises(ModelError) as caught, endpoint.errors():
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (httpx.ReadTimeout("slow"), ModelTimeout, "did not answer in time"),
        (httpx.ConnectError("refused"), ModelUnreachable, "No connection to the model: refused"),
        (OSError("no network"), ModelUnreachable, "No connection to the model: no network"),
        (httpx.ReadError("reset"), ModelDisconnected, "The connection to the model broke: reset"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "x"), BadAnswer, "not what the API promises"),
        (httpx.InvalidURL("no address"), BadRequest, "could not be made: no address"),
        (RateLimited("Wait."), RateLimited, "Wait (model 'm' at https://here)."),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_a_call_raises_leaves_as_an_error_of_the_model(
    error: Exception, kind: type[ModelError], said: str
):
    told = raised(error)
    assert type(told) is kind
    assert said in str(told)
    assert (told.model, told.endpoint) == ("m", "https://here")


def test_a_fault_of_the_program_leaves_as_it_is():
    with pytest.raises(KeyError), ENDPOINT.errors():
        raise KeyError("x")


def test_an_error_that_repeats_the_key_is_not_chained():
    told = raised(OSError(f"no way with {KEY}"))
    assert KEY not in str(told)
    assert told.__cause__ is None
    assert raised(OSError("no way")).__cause__ is not None


def test_a_failure_says_where_it_was_and_what_to_do():
    told = ENDPOINT.failure(RateLimited, f"Too  many of\n{KEY}.", retry_after=2.0)
    assert str(told) == "Too many of *** (model 'm' at https://here). Try again in 2 s."
    assert str(ENDPOINT.failure(OutOfQuota, "Empty")).endswith("Pay for m.")
    assert "(KEY)" in str(ENDPOINT.failure(BadCredentials, "No"))


@pytest.mark.parametrize(
    ("status", "message", "code", "kind"),
    [
        (401, "who?", None, BadCredentials),
        (400, "anything", "no_money", OutOfQuota),
        (400, "prompt is too long", None, ContextOverflow),
        (404, "no such model", None, UnknownModel),
        (404, "no such page", None, BadRequest),
        (500, "oops", None, ModelUnavailable),
        (None, "oops", None, ModelUnavailable),
    ],
)
def test_a_refusal_is_of_the_kind_that_its_words_tell(
    status: int | None, message: str, code: str | None, kind: type[ModelError]
):
    told = ENDPOINT.refusal(status, message, code)
    assert type(told) is kind
    assert (told.status, told.code) == (status, code)
    assert message in str(told)


def test_a_refused_response_has_the_server_s_words_and_wait():
    headers = {"retry-after": "3"}
    body = {"error": {"message": "slow down"}}
    told = ENDPOINT.refused_response(httpx.Response(429, json=body, headers=headers))
    assert isinstance(told, RateLimited)
    assert (told.retry_after, "slow down" in str(told)) == (3.0, True)
    page = ENDPOINT.refused_response(httpx.Response(502, text="<html>"))
    assert "status 502" in str(page)


def test_an_error_within_a_stream_may_repeat_the_status():
    told = ENDPOINT.stream_error({"message": "slow down", "code": 429})
    assert isinstance(told, RateLimited)
    assert "oops" in str(ENDPOINT.stream_error("oops"))


def test_an_endpoint_without_an_sdk_knows_no_errors_of_one():
    assert ENDPOINT.sdk_errors() == ()
    assert ENDPOINT.sdk_failure(OSError()) is None


class SdkError(Exception):
    def __init__(self, **facts: Any) -> None:
        vars(self).update(facts)


def sdk(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A package of a provider, imported."""
    names = ("APIStatusError", "APITimeoutError", "APIConnectionError")
    kinds = {name: type(name, (SdkError,), {}) for name in names}
    bad = type("APIResponseValidationError", (SdkError,), {})
    package = SimpleNamespace(Error=SdkError, APIResponseValidationError=bad, **kinds)
    monkeypatch.setitem(sys.modules, "some_sdk", package)
    return package


SDK = SdkEndpoint(
    model="m",
    endpoint="https://here",
    key_variable="KEY",
    secrets=(),
    sdk="some_sdk",
    sdk_error="Error",
)


def test_errors_of_an_sdk_are_translated(monkeypatch: pytest.MonkeyPatch):
    assert SDK.sdk_errors() == ()
    package = sdk(monkeypatch)
    assert SDK.sdk_errors() == (SdkError,)
    assert type(raised(package.APITimeoutError(), SDK)) is ModelTimeout
    assert type(raised(package.APIConnectionError(), SDK)) is ModelUnreachable
    assert type(raised(package.APIResponseValidationError(), SDK)) is BadAnswer
    assert SDK.sdk_failure(OSError()) is None
    refused = package.APIStatusError(
        body={"error": {"message": "slow down", "code": "slow"}},
        status_code=429,
        request_id="r-1",
        response=httpx.Response(429, headers={"retry-after-ms": "500"}),
    )
    told = raised(refused, SDK)
    assert isinstance(told, RateLimited)
    assert (told.request_id, told.retry_after, told.code) == ("r-1", 0.5, "slow")


def test_errors_of_a_loaded_http_library_are_found_by_name():
    assert httpx.ReadTimeout in http_errors("ReadTimeout")
    assert http_errors() == ()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "a"}}, "a"),
        ({"message": "b"}, "b"),
        ({"error": "c"}, "c"),
        ({"error": 1}, ""),
        ([], ""),
    ],
    ids=str,
)
def test_the_message_of_a_body_is_found(body: Any, message: str):
    assert error_message(body) == message


def test_the_error_of_a_body_is_found():
    assert error_object({"error": {"code": 1}}) == {"code": 1}
    assert error_object({"code": 1}) == {"code": 1}
    assert error_object("x") == {}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after-ms": "250"}, 0.25), ({"retry-after": "2"}, 2.0), ({"retry-after": "x"}, None)],
    ids=str,
)
def test_the_wait_that_is_asked_for_is_read(headers: dict[str, str], seconds: float | None):
    assert retry_seconds(headers) == seconds
    assert retry_seconds({}) is None
