"""Requests that stay on their server, and reach public addresses alone."""

from __future__ import annotations

import asyncio
import socket
from contextlib import aclosing
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from teams._base.addresses import NAT64, is_public

if TYPE_CHECKING:
    import httpx

MAX_REDIRECTS = 5


def is_named(host: str) -> bool:
    """True for a host that is an address, or localhost."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return True


def has_proxy(scheme: str, host: str) -> bool:
    """True if a proxy asks the host, and finds its address."""
    from urllib.request import getproxies, proxy_bypass  # for a quick start

    proxies = getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not proxy_bypass(host)


async def public_addresses(host: str, port: int) -> list[str]:
    """The addresses of the host. Raises ValueError for a private one."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConnectionError(f"There is no address of {host}: {error}") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    nat64 = await NAT64.prefixes() if any(":" in each for each in addresses) else ()
    if not all(is_public(each, nat64) for each in addresses):
        raise ValueError(f"{host} leads to an address of a private network, which is refused.")
    return addresses


def public_transport(verify: Any) -> httpx.AsyncBaseTransport:
    """A transport that connects to the addresses that it has checked."""
    return _transport_class()(verify=verify)


@cache
def _transport_class() -> type[httpx.AsyncHTTPTransport]:
    import httpx  # for a quick start

    class PublicTransport(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            url, host = request.url, request.url.raw_host.decode("ascii")
            port = url.port or (443 if url.scheme == "https" else 80)
            addresses = await public_addresses(host, port)
            request.extensions = {**request.extensions, "sni_hostname": host}
            try:
                for address in addresses[:-1]:
                    request.url = url.copy_with(host=address)
                    try:
                        return await super().handle_async_request(request)
                    except httpx.ConnectError:
                        continue
                request.url = url.copy_with(host=addresses[-1])
                return await super().handle_async_request(request)
            finally:
                request.url = url  # redirects start at the name

    return PublicTransport


async def exchange(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    """The whole answer, after redirects on the same server.

    Raises ValueError for a redirect to another one, and for what breaks the client's bounds.
    """
    import httpx  # for a quick start

    address = _shown(request.url)
    for _ in range(MAX_REDIRECTS + 1):
        try:
            response = await client.send(request, stream=True)
            async with aclosing(response):
                if (following := response.next_request) is None:
                    await response.aread()
                    return response
        except httpx.DecodingError as error:
            raise ValueError(str(error)) from error
        if _server(following.url) != _server(request.url):
            raise ValueError(f"{address} redirects to another server, which is not followed.")
        request = following
    raise ValueError(f"{address} redirects more than {MAX_REDIRECTS} times.")


def _shown(url: httpx.URL) -> str:
    """Scheme, host and port."""
    return str(url.copy_with(raw_path=b"/", fragment=None)).removesuffix("/")


def _server(url: httpx.URL) -> tuple[str, bytes, int | None]:
    return url.scheme, url.raw_host, url.port
