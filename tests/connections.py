"""Connections of this process: to this machine alone, and noted.

An audit hook would see them, too, and be called for every `id()`: a fiftieth of a run.
"""

import _socket
import ipaddress
import socket
from collections.abc import Callable
from functools import cache
from typing import Any

Note = Callable[[socket.socket, Any], object]
"""Takes a socket, and the address that it is about to connect to."""

NOTES: list[Note] = []
"""Called before each connection; one that raises prevents it."""


@cache
def watch() -> None:
    """Pass every connection of this process to `NOTES` from now on."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def noted(made: socket.socket, address: Any) -> None:
        _note(made, address)
        connect(made, address)

    def noted_ex(made: socket.socket, address: Any) -> int:
        _note(made, address)
        return connect_ex(made, address)

    socket.socket.connect = noted
    socket.socket.connect_ex = noted_ex


@cache
def refuse_others() -> None:
    """Let this process reach nothing but this machine."""
    resolve = _socket.getaddrinfo

    def resolved(host: Any, *others: Any, **named: Any) -> Any:
        if host is not None:
            _refuse(host.decode() if isinstance(host, bytes) else str(host))
        return resolve(host, *others, **named)

    _socket.getaddrinfo = resolved  # `socket` and asyncio ask it by this name
    NOTES.append(_refuse_address)
    watch()


def _note(made: socket.socket, address: Any) -> None:
    for note in NOTES:
        note(made, address)


def _refuse_address(_: socket.socket, address: Any) -> None:
    if isinstance(address, tuple):
        _refuse(str(address[0]))


def _refuse(host: str) -> None:
    if host not in ("", "localhost") and not _is_local(host):
        raise OSError(f"a test tried to reach {host!r}")


def _is_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
