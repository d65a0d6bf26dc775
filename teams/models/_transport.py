"""Ways to a provider: bodies go out, events come in."""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from teams.models._endpoint import ModelEndpoint
from teams.models._exchange import Deadline, closing_response, parse_json
from teams.models._types import Wire

if TYPE_CHECKING:
    import httpx

END = object()
"""The event that nothing follows."""


class Framing(Protocol):
    """Turns the pieces of a stream into its events."""

    def __call__(self, piece: Any) -> Iterable[object]:
        """The events that a piece completes; perhaps none."""
        ...

    def end(self) -> Iterable[object]:
        """The events that the stream's end completes."""
        ...


class Transport(Protocol):
    """Sends bodies, and closes what it opened."""

    @property
    def framing(self) -> Callable[[], Framing]:
        """Makes the reader of a stream's pieces."""
        ...

    async def whole(self, body: Wire) -> object:
        """A whole answer, as JSON data."""
        ...

    def stream(
        self, body: Wire, deadline: Deadline
    ) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """The pieces of an answer; leaving closes the connection."""
        ...

    async def close(self) -> None:
        """Release the connections."""
        ...


class _Lines:
    """Lines of bytes, which end at a line feed alone.

    Those of httpx also end at U+2028 and its like, which stand as they are in texts of JSON.
    """

    def __init__(self) -> None:
        self._rest = b""

    def _split(self, piece: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return lines


class EventLines(_Lines):
    """Server-sent events of JSON, or one JSON text instead."""

    def __init__(self) -> None:
        super().__init__()
        self._whole: list[bytes] | None = None
        self._begun = False

    def __call__(self, piece: bytes) -> Iterable[object]:
        if not self._begun and (begins := piece.lstrip().removeprefix(BOM_UTF8)):
            self._begun = True
            piece = begins
            self._whole = [] if begins.startswith(b"{") else None
        if self._whole is not None:
            self._whole.append(piece)
            return ()
        return self._events(self._split(piece))

    def end(self) -> Iterator[object]:
        if self._whole is not None:
            yield parse_json(b"".join(self._whole))
            yield END
        else:
            with suppress(ValueError):  # of a line that was cut off
                yield from self._events([self._rest])

    def _events(self, lines: Iterable[bytes]) -> Iterator[object]:
        for line in lines:
            if line.startswith(b"data:"):  # others are comments that keep the connection alive
                data = line[5:].strip()
                if data == b"[DONE]":
                    yield END
                    return
                if data:
                    yield parse_json(data)


class JsonLines(_Lines):
    """A JSON text on each line."""

    def __call__(self, piece: bytes) -> Iterator[object]:
        return (parse_json(line) for line in self._split(piece) if line.strip())

    def end(self) -> Iterator[object]:
        return (parse_json(line) for line in [self._rest] if line.strip())


Arguments: TypeAlias = Callable[[Wire], Wire]


class SdkTransport:
    """One `resource` of a client of the `openai` or `anthropic` package.

    Instead of the client, `late` makes it once it is needed, in a worker: to import an SDK takes
    up to a second. `arguments` makes those of the resource's `create` from a body.
    """

    def __init__(
        self,
        client: object,
        resource: str,
        arguments: Arguments,
        framing: Callable[[], Framing] = EventLines,
        *,
        late: Callable[[], object] | None = None,
    ) -> None:
        self._client: Any = client
        self._late = late
        self._lock = RLock()
        self._path = resource
        self._resource: Any = None
        self._arguments = arguments
        self._framing = framing

    @property
    def framing(self) -> Callable[[], Framing]:
        return self._framing

    @property
    def client(self) -> Any:
        """The SDK's client; importing its package may take long."""
        with self._lock:
            if self._client is None and self._late:
                self._client = self._late()
            return self._client

    async def _ready(self) -> Any:
        if self._resource is None:
            await asyncio.to_thread(self._reach)
        return self._resource

    def _reach(self) -> None:
        with self._lock:
            self._resource = self._resource or attrgetter(self._path)(self.client)

    async def whole(self, body: Wire) -> object:
        create = (await self._ready()).with_raw_response.create
        response = await create(**self._arguments(body))
        return parse_json(response.http_response.content)

    @asynccontextmanager
    async def stream(self, body: Wire, deadline: Deadline) -> AsyncGenerator[AsyncIterator[bytes]]:
        # Bytes instead of the SDK's stream, which builds a model of each chunk at ten times the
        # price and hides the comments of a server that is busy.
        streaming = (await self._ready()).with_streaming_response
        manager = streaming.create(**self._arguments(body))
        async with deadline.limit():
            response = await manager.__aenter__()
        async with closing_response(response.http_response, response.iter_bytes()) as pieces:
            yield pieces

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTransport:
    """A path at an HTTP client's address."""

    http: httpx.AsyncClient
    path: str
    endpoint: ModelEndpoint
    framing: Callable[[], Framing]

    async def whole(self, body: Wire) -> object:
        return await self.post(self.path, body)

    async def post(self, path: str, body: Wire) -> object:
        """The answer of a path, as JSON data."""
        response = await self.http.post(path, json=body)
        if response.is_error:
            raise self.endpoint.refused_response(response)
        return parse_json(response.content)

    @asynccontextmanager
    async def stream(self, body: Wire, deadline: Deadline) -> AsyncGenerator[AsyncIterator[bytes]]:
        request = self.http.build_request("POST", self.path, json=body)
        async with deadline.limit():
            response = await self.http.send(request, stream=True)
            if response.is_error:
                await response.aread()
                raise self.endpoint.refused_response(response)
        async with closing_response(response, response.aiter_bytes()) as pieces:
            yield pieces

    async def close(self) -> None:
        await self.http.aclose()
