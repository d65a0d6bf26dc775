"""Clients of `httpx` and `httpx2`: ours, and those of SDKs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from teams._base.bounded.encodings import plain_type
from teams._base.bounded.gate import ASKED, AnswerRefused, Bounds, Gate

if TYPE_CHECKING:
    import ssl
    from types import ModuleType

C = TypeVar("C")


def http_client(kind: type[C], bounds: Bounds | None = None, **settings: Any) -> C:
    """A client of this class: `httpx.AsyncClient`, another library's or an SDK's.

    An answer that breaks the bounds raises the library's DecodingError, or its ReadTimeout.
    """
    library, limits = _library(kind), bounds or Bounds()
    load_http(library.__name__)
    made: Any = kind(**{"verify": tls(library.__name__), **settings})
    if not issubclass(kind, library.AsyncClient):
        made.event_hooks = {"request": [_ask], "response": [_let_in(library, limits, _Body)]}
        return made
    let_in = _let_in(library, limits, _AsyncBody)
    made.event_hooks = {"request": [_awaited(_ask)], "response": [_awaited(let_in)]}
    return made


@cache
def tls(library: str) -> ssl.SSLContext:
    """Certificates, made once: it takes longer than a request."""
    return import_module(library).create_ssl_context()


@cache
def load_http(library: str) -> None:
    """Import what the library's first request would, and read certificates."""
    tls(library)
    core = library.replace("x", "core")
    for module in ("anyio.lowlevel", "anyio._backends._asyncio", f"{core}._backends.anyio"):
        with suppress(ImportError):  # another version may have it elsewhere, or not at all
            import_module(module)


def _library(kind: type) -> ModuleType:
    """The library below an SDK's class."""
    roots = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return import_module(next(root for root in roots if root in ("httpx", "httpx2")))


def _awaited(hook: Callable[[Any], None]) -> Callable[[Any], Awaitable[None]]:
    async def awaited(about: Any) -> None:
        hook(about)

    return awaited


def _ask(request: Any) -> None:
    request.headers["accept-encoding"] = ASKED


def _let_in(
    library: ModuleType, bounds: Bounds, kind: type[_Body | _AsyncBody]
) -> Callable[[Any], None]:
    """A hook that bounds what is still to come of a response."""
    body = _stream_class(library, kind)

    def let_in(response: Any) -> None:
        headers = response.headers
        packing, media_type = headers.pop("content-encoding", ""), headers.get("content-type", "")
        try:
            gate = Gate(bounds, packing, media_type, cut=bounds.cut(response.status_code))
        except AnswerRefused as error:
            raise library.DecodingError(str(error), request=response.request) from error
        if packing:
            headers.pop("content-length", None)
        if media_type:  # the library decodes by it
            headers["content-type"] = plain_type(media_type)
        response.stream = body(library, response.stream, gate, response.request)

    return let_in


@cache
def _stream_class(library: ModuleType, kind: type) -> Callable[..., Any]:
    """The class as the library's own kind of stream."""
    own = library.AsyncByteStream if kind is _AsyncBody else library.SyncByteStream
    return type(kind.__name__, (kind, own), {})


class _Bounded:
    def __init__(self, library: ModuleType, inner: Any, gate: Gate, request: Any) -> None:
        self._library = library
        self._inner = inner
        self._gate = gate
        self._request = request

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except AnswerRefused as error:
            raise self._library.DecodingError(str(error), request=self._request) from error
        except TimeoutError as error:
            said = f"The answer takes more than {self._gate.seconds} s."
            raise self._library.ReadTimeout(said, request=self._request) from error


class _Body(_Bounded):
    """A body for a client in a worker."""

    def __iter__(self) -> Generator[bytes]:
        ends = time.monotonic() + (self._gate.seconds or float("inf"))
        with self._errors(), closing(iter(self._inner)) as chunks:
            for chunk in chunks:
                if time.monotonic() > ends:
                    raise TimeoutError
                yield from self._gate.take(chunk)
                if self._gate.is_over:
                    break
        yield self._gate.rest()

    def close(self) -> None:
        self._inner.close()


class _AsyncBody(_Bounded):
    """A body for a client on a loop."""

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        left, now = self._gate.seconds, asyncio.get_running_loop().time
        chunks = aiter(self._inner)
        try:
            with self._errors():
                while not self._gate.is_over:
                    since = now()
                    async with asyncio.timeout(left):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    if left is not None and (left := left - (now() - since)) <= 0:
                        raise TimeoutError
                    for count, whole in enumerate(self._gate.take(chunk)):
                        if count:
                            await asyncio.sleep(0)  # a little that unpacks to much
                        yield whole
            if rest := self._gate.rest():
                yield rest
        finally:
            await self._inner.aclose()
            # They end by the closed connection; dropped, each generator would need a task.
            with suppress(Exception):
                while True:
                    await anext(chunks)

    async def aclose(self) -> None:
        await self._inner.aclose()
