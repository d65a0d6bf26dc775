"""Checks of what a client makes of failures and of cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from teams._base.cancellation import CancellationToken
from teams.models._client import ChatCompletionClient
from teams.models._errors import (
    BadAnswer,
    BadCredentials,
    BadRequest,
    ContextOverflow,
    ModelDisconnected,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    RateLimited,
    UnknownModel,
)
from teams.models._types import UserMessage
from teams.testing._script import Answer, Refuse, Say, Stop
from teams.testing._subject import Check, Subject, expect, stream

_QUESTION = UserMessage(content="What is up?", source="user")
_SHORT = 0.2
"""Seconds after which a stalled answer is given up."""

_Ask: TypeAlias = Callable[[ChatCompletionClient, CancellationToken | None], Awaitable[Any]]


async def _whole(client: ChatCompletionClient, token: CancellationToken | None) -> Any:
    return await client.create([_QUESTION], cancellation_token=token)


async def _streamed(client: ChatCompletionClient, token: CancellationToken | None) -> Any:
    return await stream(client, _QUESTION, cancellation_token=token)


async def refused_key_is_bad_credentials(subject: Subject) -> None:
    await _fails(subject, Refuse(status=401), BadCredentials)


async def unknown_model_is_told(subject: Subject) -> None:
    await _fails(subject, Refuse(status=404, kind="model"), UnknownModel)


async def bad_request_is_told(subject: Subject) -> None:
    error = await _fails(subject, Refuse(status=400), BadRequest)
    expect("it is too long", isinstance(error, ContextOverflow), False)


async def too_long_request_is_context_overflow(subject: Subject) -> None:
    await _fails(subject, Refuse(status=400, kind="context"), ContextOverflow)


async def rate_limit_says_how_long(subject: Subject) -> None:
    error = await _fails(subject, Refuse(status=429, retry_after=7), RateLimited)
    expect("retry_after", error.retry_after, 7.0)


async def failed_server_is_unavailable(subject: Subject) -> None:
    for status in (500, 503):
        error = await _fails(subject, Refuse(status=status), ModelUnavailable)
        expect("transient", error.transient, True)


async def cut_answer_is_disconnected(subject: Subject) -> None:
    await _fails(subject, Stop(how="cut", text="One, two"), ModelDisconnected, asks=(_streamed,))


async def garbage_is_a_bad_answer(subject: Subject) -> None:
    await _fails(subject, Stop(how="garbage"), BadAnswer)


async def error_within_a_stream_is_raised(subject: Subject) -> None:
    stopped = Stop(how="error", text="One, two")
    error = await _fails(subject, stopped, ModelError, asks=(_streamed,))
    expect("transient", error.transient, True)


async def stalled_answer_times_out(subject: Subject) -> None:
    await _fails(subject, Stop(how="stall"), ModelTimeout, silence=_SHORT)


async def stalled_stream_times_out(subject: Subject) -> None:
    stalled = Stop(how="stall", text="One, two")
    await _fails(subject, stalled, ModelTimeout, asks=(_streamed,), silence=_SHORT)


async def cancelling_ends_the_request(subject: Subject) -> None:
    client = subject.client()
    stalls = ((_whole, ""), (_streamed, ""), (_streamed, "One, two"))
    for ask, text in stalls:
        subject.server.script(Stop(how="stall", text=text))
        token = CancellationToken()
        asking = asyncio.ensure_future(_is_cancelled(ask(client, token)))
        await subject.server.began()
        token.cancel()
        expect("CancelledError is raised", await asking, True)
        await subject.server.idle()
    subject.server.script(Say(text="Again."))
    expect("next answer", (await client.create([_QUESTION])).content, "Again.")


async def cancelled_token_asks_nothing(subject: Subject) -> None:
    client, token = subject.client(), CancellationToken()
    token.cancel()
    subject.server.script(Say(text="ok"), Say(text="ok"))  # for a client that asks all the same
    for ask in (_whole, _streamed):
        expect("CancelledError is raised", await _is_cancelled(ask(client, token)), True)


async def _is_cancelled(asking: Awaitable[Any]) -> bool:
    try:
        await asking
    except asyncio.CancelledError:
        return True
    return False


async def _fails(
    subject: Subject,
    answer: Answer,
    wanted: type[ModelError],
    *,
    asks: tuple[_Ask, ...] = (_whole, _streamed),
    silence: float = 10.0,
) -> ModelError:
    """The error of the answer, asked for in each way."""
    client = subject.client(timeout=silence)
    errors: list[ModelError] = []
    for ask in asks:
        subject.server.script(answer)
        try:
            answered = await ask(client, None)
        except ModelError as error:
            errors.append(error)
        else:
            raise AssertionError(f"{answer!r} was answered with {answered!r}")
        expect(f"kind of {errors[-1]!r}", isinstance(errors[-1], wanted), True)
        expect("the key is in the error", subject.secret in str(errors[-1]), False)
        expect("the error says where", bool(errors[-1].endpoint and errors[-1].model), True)
        await subject.server.idle()
    return errors[-1]


FAILURES: tuple[Check, ...] = (
    refused_key_is_bad_credentials,
    unknown_model_is_told,
    bad_request_is_told,
    too_long_request_is_context_overflow,
    rate_limit_says_how_long,
    failed_server_is_unavailable,
    cut_answer_is_disconnected,
    garbage_is_a_bad_answer,
    error_within_a_stream_is_raised,
    stalled_answer_times_out,
    stalled_stream_times_out,
    cancelling_ends_the_request,
    cancelled_token_asks_nothing,
)
