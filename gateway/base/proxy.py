"""The HTTP proxy between this process and the network.

HTTPS_PROXY names it, for plain http HTTP_PROXY if that is given, too; ALL_PROXY stands in for both.
NO_PROXY names the hosts that are reached without it. Each may be in small letters. The config's
proxy replaces the first two in the environment: models' clients and tools look there, too. What
these clients could not read is also replaced there.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment

from gateway.base.redaction import REDACTION, secrets_of_environment

_SCHEMES = {"ws": "http", "wss": "https"}
_PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65_535
UNUSABLE = "http://127.0.0.1:1"
"""Stands for a proxy that can't be used: nobody listens there."""
_VARIABLES = ("https", "http", "all")

EXPECTED = (
    'expected an address such as "http://proxy.example.com:3128", with % codes for special '
    'characters of a user and a password, such as %23 for "#"'
)
"""Text about an address that is none of a proxy; those may have secrets."""

# Stricter than urlsplit, so that httpx and aiohttp read the same host in it.
_ADDRESS = re.compile(
    r"""
    http:// (?: [^\s/?#@\[\]]* @ )?
    (?: [\w-]+ (?:\.[\w-]+)* \.? | \[ (?P<ipv6> [\da-f:.]+ ) \] )
    (?: : (?P<port> \d{1,5} ) )? /?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_IPV6 = re.compile(
    r"(?:all://)?\[(?P<host>[\da-f:.]+)\](?::(?P<port>\d{1,5}))?", re.IGNORECASE | re.ASCII
)
_ENTRY = re.compile(
    r"(?:\w+://)?[\w.*-]+(?:/\d+)?(?::\d{1,5})?|[\da-f:.]+", re.IGNORECASE | re.ASCII
)


def is_proxy(address: str) -> bool:
    """True for an address of an HTTP proxy that all clients understand."""
    if (found := _ADDRESS.fullmatch(address)) is None:
        return False
    try:
        IPv6Address(found["ipv6"] or "::")
    except ValueError:
        return False
    return 0 < int(found["port"] or _PORTS["http"]) <= _LAST_PORT


def replace_wrong_proxies() -> list[str]:
    """Replace addresses of no usable proxy; names of variables that count.

    What would go through one of these then fails, instead of going around it. Where HTTPS_PROXY is
    given, ALL_PROXY does not count.
    """
    found = getproxies_environment()
    every = found["https"] if is_proxy(found.get("https", "")) else UNUSABLE
    counting = {"https", "http"} if found.get("https") else {"http", "all"}
    wrong = {
        (f"{kind}_proxy", found[kind]): kind in counting
        for kind in _VARIABLES
        if found.get(kind) and not (is_proxy(found[kind]) and found[kind] != UNUSABLE)
    }
    named: list[str] = []
    for name, value in list(os.environ.items()):
        counts = wrong.get((name.lower(), value))
        if counts is not None:
            os.environ[name] = UNUSABLE if counts else every
            named += [name] * counts
    return sorted(named)


def is_unreachable(url: str) -> bool:
    """True for an address behind a proxy that can't be used."""
    proxy = Proxies().find(url)
    return proxy is not None and proxy.address == UNUSABLE


def use_proxy(address: str) -> None:
    """Let this process reach everything through this proxy but what NO_PROXY names."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY"):
        os.environ[name] = os.environ[name.lower()] = address
    REDACTION.add(secrets_of_environment())


def reach_directly(places: Iterable[str]) -> None:
    """Let this process reach HOST:PORT without the proxy."""
    found = getproxies_environment().get("no", "")
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(filter(None, (found, *places)))


def tidy_no_proxy() -> None:
    """Let every client read NO_PROXY alike, domains themselves included.

    For models' clients, `.internal` is not `internal`, and `*.internal` is nothing; an IPv6 address
    in brackets, a network of such addresses and a name in another script are errors.
    """
    given = getproxies_environment().get("no", "")
    entries = [found for each in given.split(",") if (found := _readable(each.strip()))]
    plain = (each.removeprefix("*").removeprefix(".") for each in entries)
    missing = [each for each in dict.fromkeys(plain) if each and each not in entries]
    if (tidy := ",".join([*entries, *missing])) != given:
        os.environ["NO_PROXY"] = os.environ["no_proxy"] = tidy


def _readable(entry: str) -> str:
    """An entry of NO_PROXY for every client; "" for no host."""
    if found := _IPV6.fullmatch(entry):
        host, port = found["host"], found["port"]
        return f"all://[{host}]:{port}" if port else host
    return entry if _ENTRY.fullmatch(entry) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A proxy, with the user and the secret password."""

    address: str
    user: str = ""
    password: str = ""

    @property
    def authorization(self) -> str:
        """The header that tells the proxy who asks; a secret."""
        if not self.user:
            return ""
        return f"Basic {b64encode(f'{self.user}:{self.password}'.encode()).decode()}"

    def __repr__(self) -> str:
        """Without what is secret."""
        return f"Proxy({self.address!r})"


class Proxies:
    """The proxies that the environment names when this is made."""

    def __init__(self) -> None:
        found = getproxies_environment()
        every = found.get("https") or found.get("all") or ""
        addresses = {"https": every, "http": found.get("http") or every}
        self._by_scheme = {
            scheme: parse_proxy(address) for scheme, address in addresses.items() if address
        }
        self._direct = [each.strip().lower() for each in found.get("no", "").split(",")]

    def find(self, url: str) -> Proxy | None:
        """The proxy on the way to an address, if any."""
        parts = urlsplit(url)
        scheme = _SCHEMES.get(parts.scheme, parts.scheme)
        proxy = self._by_scheme.get(scheme)
        if proxy is None or self._is_direct(parts.hostname or "", parts.port or _PORTS[scheme]):
            return None
        return proxy

    def _is_direct(self, host: str, port: int) -> bool:
        return any(_covers(entry, host, port) for entry in self._direct if entry)


def parse_proxy(address: str) -> Proxy:
    """The proxy of an address such as http://user:password@host:3128."""
    parts = urlsplit(address)
    place = parts.netloc.rpartition("@")[2]
    return Proxy(
        address=f"{parts.scheme}://{place}",
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


def _covers(entry: str, host: str, port: int) -> bool:
    """True if an entry of NO_PROXY names a host."""
    entry = entry.removeprefix("all://")
    name, _, number = entry.rpartition(":")
    if name and number.isdecimal() and (name.count(":") == 0 or name.endswith("]")):
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").removeprefix(".")
    return not entry or host == entry or host.endswith(f".{entry}")
