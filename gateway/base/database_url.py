"""Addresses of PostgreSQL databases, and their parts that may be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

EXPECTED = (
    # No example with a password: where errors are shown, it would be taken out.
    'expected "postgresql://HOST:PORT/NAME", with USER:PASSWORD@ before HOST; inside the password, '
    "write @ as %40, / as %2F and % as %25"
)
PORT = "5432"

_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^@/?#:,\[\]\s]*)(?::\d+)?"
_URL = re.compile(
    rf"postgres(?:ql)?://(?:[^@/\s]*@)?(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"/(?P<name>[^@/?#\s]+)(?:\?(?P<query>[^@\s]*))?"
)


@dataclass(frozen=True, slots=True)
class DatabasePlace:
    """Server and name of a database, which may be shown."""

    host: str
    """One or several, a folder of sockets, or "" for the usual one on this machine."""
    port: str
    name: str

    def __str__(self) -> str:
        if not self.host:
            return f"{self.name} on this machine"
        folder = self.host.startswith("/")
        return f"{self.name} at {self.host}" + ("" if folder else f":{self.port}")


def database_place(url: str) -> DatabasePlace:
    """The place of a database.

    Raises ValueError, which says nothing of the address.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise ValueError(EXPECTED)
    options = dict(parse_qsl(found["query"] or ""))
    if any("password" in name for name in options):
        raise ValueError("found a password behind the ?, where it can't be hidden; " + EXPECTED)
    hosts = [_parted(each) for each in found["hosts"].split(",")]
    return DatabasePlace(
        host=options.get("host") or ",".join(unquote(host) for host, _ in hosts),
        port=options.get("port") or ",".join(port or PORT for _, port in hosts),
        name=unquote(found["name"]),
    )


def _parted(host: str) -> tuple[str, str]:
    """A host and its port, which may be ""."""
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and not port.endswith("]") else (host, "")
