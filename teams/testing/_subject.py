"""The client that is checked, and the server that it asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from teams.models._client import ChatCompletionClient
from teams.models._types import CreateResult, ModelInfo
from teams.testing._script import ModelServer

_ABLE = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    structured_output=True,
    family="unknown",
    multiple_system_messages=True,
)


class NotOffered(Exception):
    """The protocol has no such thing; the text says why."""


class Connect(Protocol):
    """Makes a client of the scripted server, which sends nothing twice.

    `timeout`: seconds that connecting and silence may take. `model_info`: the model's abilities.
    """

    def __call__(self, *, timeout: float, model_info: ModelInfo) -> ChatCompletionClient: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A kind of client, and the server that it asks.

    `secret` is the key that the clients are given: no error may show it. `lacks` are the names of
    checks that are not for it, each with the reason.
    """

    server: ModelServer
    connect: Connect
    secret: str = "conformance-secret-key"
    lacks: Mapping[str, str] = field(default_factory=dict[str, str])
    _made: list[ChatCompletionClient] = field(
        default_factory=list[ChatCompletionClient], init=False, repr=False
    )

    def client(self, *, timeout: float = 10.0, **abilities: bool) -> ChatCompletionClient:
        """A client of a model that can do everything, unless said otherwise."""
        info: Any = {**_ABLE, **abilities}
        made = self.connect(timeout=timeout, model_info=info)
        self._made.append(made)
        return made

    async def aclose(self) -> None:
        """Close the clients that were made."""
        while self._made:
            await self._made.pop().close()


Check: TypeAlias = Callable[[Subject], Awaitable[None]]


async def perform(check: Check, subject: Subject) -> None:
    """Run a check.

    Raises AssertionError for what is wrong, and NotOffered where the subject lacks it.
    """
    if why := subject.lacks.get(getattr(check, "__name__", "")):
        raise NotOffered(why)
    try:
        await check(subject)
    finally:
        await subject.aclose()


def expect(what: str, found: object, wanted: object) -> None:
    """Raise AssertionError with both unless they are equal."""
    if found != wanted:
        raise AssertionError(f"{what}: found {found!r}, expected {wanted!r}")


async def stream(
    client: ChatCompletionClient, *messages: Any, **arguments: Any
) -> tuple[list[str], CreateResult]:
    """The pieces of a streamed answer, and its result."""
    pieces: list[str] = []
    async with aclosing(client.create_stream(messages, **arguments)) as items:
        async for item in items:
            if isinstance(item, CreateResult):
                return pieces, item
            pieces.append(item)
    raise AssertionError(f"the stream has no result after {pieces!r}")


async def both_ways(
    subject: Subject, client: ChatCompletionClient, answer: Any, *messages: Any, **arguments: Any
) -> list[CreateResult]:
    """The results of the same answer, whole and streamed."""
    subject.server.script(answer, answer)
    at_once = await client.create(messages, **arguments)
    _, streamed = await stream(client, *messages, **arguments)
    return [at_once, streamed]
