"""Public addresses, judged by the IPv4 address that they carry."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

ASKING_SECONDS, AGAIN_SECONDS = 5.0, 60.0
"""The longest wait for a network's prefixes, and the time until they are asked for again."""

_UNICAST = IPv6Network("2000::/3")
"""All that IANA has given out; what is not public of it stands in RFC 6890's registry."""
_DOCUMENTATION = IPv6Network("3fff::/20")
_TEREDO = IPv6Network("2001::/32")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_LAST_32_BITS = [
    IPv6Network("::/96"),  # IPv4-compatible
    IPv6Network("::ffff:0:0/96"),  # IPv4-mapped
    IPv6Network("::ffff:0:0:0/96"),  # IPv4-translated
    IPv6Network("64:ff9b::/96"),  # NAT64, the well-known prefix
]
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
"""A network takes its prefixes from it, of any length (RFC 8215)."""
_ISATAP = (0x00005EFE, 0x02005EFE)
"""An address of a site's own network, with the IPv4 address of one of its machines (RFC 5214)."""

_WHOLE = 96
_LENGTHS = (32, 40, 48, 56, 64, _WHOLE)
"""Those of NAT64 prefixes: the IPv4 address follows, without bits 64 to 71 (RFC 6052, 2.2)."""
_NAT64_NAME = "ipv4only.arpa"
_NAT64_ADDRESSES = {IPv4Address("192.0.0.170"), IPv4Address("192.0.0.171")}


def is_public(address: str, nat64: Collection[IPv6Network] = ()) -> bool:
    """True for an address that anybody can reach.

    In an address with one of the prefixes `nat64`, or of another form that carries an IPv4 address,
    that one counts.
    """
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv4Address):
        return _is_public_ipv4(found)
    carried = list(_carried(found, nat64))
    if not all(map(_is_public_ipv4, carried)):
        return False
    return bool(carried and not _is_isatap(found)) or (
        found in _UNICAST and found not in _DOCUMENTATION and found.is_global
    )


def _is_public_ipv4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast


def _carried(address: IPv6Address, nat64: Collection[IPv6Network]) -> Iterator[IPv4Address]:
    """The IPv4 addresses that packets to this address may end at."""
    bits = int(address)
    if _is_isatap(address):
        yield IPv4Address(bits & 0xFFFFFFFF)
    known = [prefix for prefix in nat64 if address in prefix]
    if known:
        yield from (_embedded(address, prefix.prefixlen) for prefix in known)
    elif any(address in prefix for prefix in _LAST_32_BITS):
        yield IPv4Address(bits & 0xFFFFFFFF)
    elif address in _SIX_TO_FOUR:
        yield IPv4Address(bits >> 80 & 0xFFFFFFFF)
    elif address in _TEREDO:
        yield from (IPv4Address(bits >> 64 & 0xFFFFFFFF), IPv4Address(~bits & 0xFFFFFFFF))
    elif address in _LOCAL_NAT64:
        # Of the lengths that are possible, those with zeros where the address would begin are not
        # the network's.
        read = [_embedded(address, length) for length in _LENGTHS[2:]]
        yield from [each for each in read if int(each) >> 24] or read


def _is_isatap(address: IPv6Address) -> bool:
    return int(address) >> 32 & 0xFFFFFFFF in _ISATAP


def _embedded(address: IPv6Address, length: int) -> IPv4Address:
    """The IPv4 address after a NAT64 prefix."""
    if length == _WHOLE:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    data = address.packed
    rest = data[length // 8 : 8] + data[9:]
    return IPv4Address(rest[:4])


class Nat64:
    """The NAT64 prefixes of this machine's network.

    They are asked for once: ipv4only.arpa has no IPv6 address but those that a network makes up
    with its prefixes (RFC 7050). Without an answer, they are asked for again after a minute.
    """

    def __init__(self) -> None:
        self._known: tuple[IPv6Network, ...] = ()
        self._ask_at = float("-inf")

    async def prefixes(self) -> tuple[IPv6Network, ...]:
        """The prefixes, none if nobody answers."""
        if time.monotonic() < self._ask_at:
            return self._known
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                found = await loop.getaddrinfo(_NAT64_NAME, None, family=socket.AF_INET6)
        except OSError as error:  # also TimeoutError
            if not isinstance(error, socket.gaierror) or error.errno == socket.EAI_AGAIN:
                self._ask_at = time.monotonic() + AGAIN_SECONDS
                return ()
            found = []
        self._ask_at = float("inf")
        addresses = {IPv6Address(str(entry[4][0]).partition("%")[0]) for entry in found}
        self._known = tuple(dict.fromkeys(_prefixes_in(addresses)))
        return self._known


def _prefixes_in(addresses: Collection[IPv6Address]) -> Iterator[IPv6Network]:
    for address in addresses:
        for length in _LENGTHS:
            if _embedded(address, length) in _NAT64_ADDRESSES:
                yield IPv6Network((address, length), strict=False)


NAT64 = Nat64()
"""Those of this process."""
