"""Connections of aiohttp, through the proxy wherever there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
from yarl import URL

from gateway.base.proxy import Proxies
from teams.bounded import http_session

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

NOT_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
)
"""Errors of a request that surely did not arrive."""


def platform_session(**settings: Any) -> aiohttp.ClientSession:
    """A session for a platform: through the proxy, with bounds on answers."""
    return http_session(connector=ProxyConnector(), **settings)


class ProxyConnector(aiohttp.TCPConnector):
    """Connects through the proxies of the environment.

    For sessions of ours and of SDKs: whatever they ask for, a socket included, nothing goes around
    the proxy. aiohttp's own `trust_env` leaves sockets out, and sends what is in ~/.netrc.
    """

    def __init__(self, *, limit: int = 100) -> None:
        super().__init__(limit=limit)  # pyright: ignore[reportUnknownMemberType] (aiohttp's)
        self._proxies = Proxies()

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 (aiohttp's own)
    ) -> Connection:
        """A connection for a request."""
        if (proxy := self._proxies.find(str(req.url))) is not None:
            headers = {"Proxy-Authorization": word} if (word := proxy.authorization) else {}
            req.update_proxy(URL(proxy.address), None, headers or None)
            if not req.is_ssl():  # nothing is said to the proxy alone
                req.headers.update(headers)
        return await super().connect(req, traces, timeout)


def failure(error: BaseException) -> str:
    """The reason of a failed request in a word, without addresses."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy refused it with status {error.status}"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return "the proxy can't be reached"
    return type(error).__name__
