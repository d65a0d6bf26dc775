"""The parts of a request, checked: host, path, headers and query."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from ipaddress import IPv6Address
from typing import Any, cast
from urllib.parse import quote

_PLACE = re.compile(r"\{([^{}/]+)\}")
_HOST = re.compile(r"[^\s/?#@\\:\[\]%*]+")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding"})


def checked_host(host: str) -> str:
    """The host as it stands in an address."""
    if ":" in host and "%" not in host:  # a zone may hold any characters
        return f"[{IPv6Address(host.removeprefix('[').removesuffix(']'))}]"
    if not _HOST.fullmatch(host):
        raise ValueError(f"host: found {host!r}, expected a host alone, such as api.example.com")
    return host


def checked_path(path: str) -> str:
    """The path, beginning with a slash."""
    if not path.isprintable() or "#" in path:
        raise ValueError(f"path: found {path!r}, expected a path such as /books/{{id}}")
    return path if path.startswith("/") else f"/{path}"


def checked_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    """The headers as texts; a value is never in an error."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise ValueError(f"headers: {name!r} can't be set")
        if not _HEADER_VALUE.fullmatch(str(value)):
            raise ValueError(f"headers: the value of {name!r} has characters that can't be sent")
    return {name: str(value).strip() for name, value in headers.items()}


def filled_path(path: str, arguments: Mapping[str, Any]) -> tuple[str, set[str]]:
    """The path with the arguments that it names, and their names.

    No value leaves its segment.
    """
    names = set(_PLACE.findall(path))
    for name in sorted(names):
        if arguments.get(name) in (None, ""):
            raise ValueError(f"The path needs a value for {name!r}.")
    whole, mark, query = path.partition("?")
    segments = [_with_values(each, arguments) for each in whole.split("/")]
    return "/".join(segments) + mark + _with_values(query, arguments), names


def _with_values(text: str, arguments: Mapping[str, Any]) -> str:
    filled = _PLACE.sub(lambda found: quote(_as_text(arguments[found[1]]), safe=""), text)
    if filled in (".", "..") and filled != text:
        raise ValueError(f"{filled!r} can't be a part of the path.")
    return filled


def query_of(arguments: Mapping[str, Any]) -> dict[str, list[str]]:
    """Each argument with its values; None is not sent."""
    return {
        name: [_as_text(each) for each in _values(value)]
        for name, value in arguments.items()
        if value is not None
    }


def _values(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
