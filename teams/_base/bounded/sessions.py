"""Sessions of `aiohttp`: ours, and those of SDKs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import hdrs
from multidict import CIMultiDict, CIMultiDictProxy
from typing_extensions import override

from teams._base.bounded.encodings import plain_type
from teams._base.bounded.gate import ASKED, AnswerRefused, Bounds, Gate

if TYPE_CHECKING:
    from aiohttp.connector import Connection


def http_session(bounds: Bounds | None = None, **settings: Any) -> aiohttp.ClientSession:
    """A session; an answer that breaks a bound raises ClientPayloadError."""
    limits = bounds or Bounds()
    given: dict[str, str] = settings.pop("headers", None) or {}
    timeout = settings.pop("timeout", None) or aiohttp.ClientTimeout(total=limits.seconds)
    return aiohttp.ClientSession(
        headers={**given, "Accept-Encoding": ASKED},
        timeout=timeout,
        auto_decompress=False,
        response_class=_response_class(limits),
        **settings,
    )


async def read_most(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """The body of an answer, or one byte more than `most`."""
    assert isinstance(answer, _Response), "the session is not one of http_session"
    async with aclosing(answer.parts(cut=most + 1)) as parts:
        return b"".join([part async for part in parts])


@cache
def _response_class(bounds: Bounds) -> type[_Response]:
    return type("BoundedResponse", (_Response,), {"bounds": bounds})


class _Response(aiohttp.ClientResponse):
    """An answer that is unpacked here, and decoded as a text alone."""

    bounds: Bounds
    _packing = ""

    @property
    @override
    def headers(self) -> CIMultiDictProxy[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._headers  # of `start`; the base class keeps those that it was asked for first

    @override
    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        await super().start(connection)
        headers = CIMultiDict(self._headers)
        self._packing = ", ".join(headers.popall(hdrs.CONTENT_ENCODING, []))
        if media_type := headers.get(hdrs.CONTENT_TYPE):
            headers[hdrs.CONTENT_TYPE] = plain_type(media_type)
        self._headers = CIMultiDictProxy(headers)
        return self

    @override
    async def read(self) -> bytes:
        if self._body is None:
            cut = self.bounds.cut(self.status)
            try:
                self._body = b"".join([part async for part in self.parts(cut=cut)])
            except BaseException:
                self.close()
                raise
        return await super().read()

    async def parts(self, *, cut: int | None) -> AsyncGenerator[bytes]:
        """The body, unpacked."""
        try:
            media_type = self.headers.get(hdrs.CONTENT_TYPE, "")
            gate = Gate(self.bounds, self._packing, media_type, cut=cut)
            async for data in self.content.iter_any():
                for part in gate.take(data):
                    yield part
                if gate.is_over:
                    break
        except AnswerRefused as error:
            self.close()
            raise aiohttp.ClientPayloadError(str(error)) from error
        yield gate.rest()
