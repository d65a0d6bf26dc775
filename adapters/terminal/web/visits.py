"""The address that a browser asked for, and whether it is ours.

A page of another site must reach nothing here: neither by a name of its own that leads to this
machine, nor with the cookie of a browser that is in.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import TypeAlias

from aiohttp import web

from gateway.base.http_port import HOST, is_own_host

Network: TypeAlias = IPv4Network | IPv6Network
SHORTEST, LONGEST = 2, 500
"""Bounds of a terminal's columns and rows."""
USUAL_SIZE = 80, 24

_NUMBER = re.compile(r"[0-9]{1,4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Visit:
    """The address as the browser has it."""

    scheme: str
    host: str

    @property
    def origin(self) -> str:
        """The header Origin of our own pages there."""
        return f"{self.scheme}://{self.host}".lower()


def visit_of(
    request: web.BaseRequest, names: Collection[str], proxies: Collection[Network]
) -> Visit | None:
    """The visit, or None for an address that is not ours.

    Of a request that comes from a proxy, its headers say the address.
    """
    hosts = request.headers.getall("Host", [])
    if len(hosts) != 1 or not HOST.fullmatch(hosts[0]):
        return None
    if not _is_within(request.remote, proxies):
        return Visit("http", hosts[0]) if is_own_host(hosts[0], names) else None
    schemes = request.headers.getall("X-Forwarded-Proto", ["http"])
    said = request.headers.getall("X-Forwarded-Host", [])
    if schemes not in (["http"], ["https"]) or len(said) > 1:
        return None
    if said:
        return Visit(schemes[0], said[0]) if HOST.fullmatch(said[0]) else None
    return Visit(schemes[0], hosts[0]) if is_own_host(hosts[0], names) else None


def _is_within(address: str | None, networks: Collection[Network]) -> bool:
    try:
        found = ip_address((address or "").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None) or found
    return any(mapped in network for network in networks)


def is_foreign(request: web.BaseRequest, visit: Visit, *, must_say: bool) -> bool:
    """True for a request that a page of another site makes."""
    origins = request.headers.getall("Origin", [])
    if not origins:
        return must_say
    return [each.lower() for each in origins] != [visit.origin]


def asked_size(request: web.BaseRequest) -> tuple[int, int]:
    """Columns and rows for a chat, whatever the request says."""
    said = [request.query.get(name, "") for name in ("width", "height")]
    return bounded_size(*(int(each) if _NUMBER.fullmatch(each) else None for each in said))


def bounded_size(width: object, height: object) -> tuple[int, int]:
    """Numbers of columns and rows that a terminal may have."""
    sizes = zip((width, height), USUAL_SIZE, strict=True)
    columns, rows = (_bounded(each if type(each) is int else usual) for each, usual in sizes)
    return columns, rows


def _bounded(size: int) -> int:
    return max(SHORTEST, min(LONGEST, size))
