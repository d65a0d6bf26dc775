"""Sources of knowledge: files below a folder, and pages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fnmatch import fnmatchcase
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from teams._base import documents, web
from teams._base.bounded.clients import http_client, tls
from teams._base.bounded.gate import Bounds
from teams._base.key_files import is_key_file
from teams._base.safe_files import FileFacts, read_file, walk_files

MOST_ENTRIES = 100_000
"""Files and folders that are looked at."""
MOST_FILES = 10_000
PAGE_SECONDS = 20.0

LEFT_OUT = "it is left out: by its name, it holds a key or credentials"
NO_TEXT = "it is neither UTF-8 text nor a document that can be read"
NEEDS_EXTRA = "it needs the extra documents: pip install 'parley-gateway[documents]'"
RETRIED = documents.PASSING | {NEEDS_EXTRA}
"""Reasons that may not hold another time."""

_VERSIONS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
"""Headers with a page's version, and those that ask for another one."""


class Loaded(NamedTuple):
    """Contents of a source, with the mark of its version."""

    stamp: str
    data: bytes
    media_type: str = ""


def files_below(folder: Path, patterns: Sequence[str]) -> dict[str, FileFacts]:
    """The files that a pattern matches, by their names. Raises OSError."""
    wanted = [pattern.replace("**/", "*") for pattern in patterns]  # a * stands for slashes, too
    found: dict[str, FileFacts] = {}
    for file in walk_files(folder, most=MOST_ENTRIES, skip=lambda name: name.startswith(".")):
        if len(found) < MOST_FILES and any(fnmatchcase(file.path, each) for each in wanted):
            name = (c if c.isprintable() else f"\\u{ord(c):04x}" for c in file.path)
            found["".join(name)] = file
    return found


def stamp_of(file: FileFacts) -> str:
    """The mark of a file's version."""
    return f"{file.size}:{file.changed}"


def load_file(folder: Path, file: FileFacts, longest: int) -> Loaded:
    """The file's contents. Raises OSError and ValueError."""
    if is_key_file(file.path):
        raise ValueError(LEFT_OUT)
    if file.size > longest:
        raise ValueError(f"it has more than {longest:,} bytes")
    return Loaded(stamp_of(file), read_file(folder, file.path, longest=longest))


async def text_of(name: str, data: bytes, media_type: str = "") -> str:
    """The text of a file or page. Raises DocumentError with the reason."""
    if kind := documents.document_kind(name, media_type, data):
        if not documents.can_read_documents(kind):
            raise documents.DocumentError(NEEDS_EXTRA)
        return await documents.read_document(kind, data)
    return await asyncio.to_thread(_decoded, data)


def _decoded(data: bytes) -> str:
    if b"\0" in data:
        raise documents.DocumentError(NO_TEXT)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise documents.DocumentError(NO_TEXT) from error


async def fetch_page(address: str, stamp: str, *, longest: int, private: bool) -> Loaded | None:
    """The page, None if its version is that of the stamp.

    Raises FileNotFoundError for a page that is gone, and other OSErrors and ValueErrors.
    """
    httpx = await asyncio.to_thread(__import__, "httpx")
    certificates = await asyncio.to_thread(tls, "httpx")
    bounds = Bounds(body=longest, stream=longest)
    header, _, version = stamp.partition(":")
    try:
        url = httpx.URL(address)
        if url.scheme not in ("http", "https") or not url.host or url.userinfo:
            raise ValueError("expected an address of http or https, without a name or password")
        transport = None
        if not (private or web.has_proxy(url.scheme, url.host)):
            transport = web.public_transport(certificates)
        async with (
            asyncio.timeout(PAGE_SECONDS),
            http_client(httpx.AsyncClient, bounds, timeout=None, transport=transport) as client,
        ):
            headers = {_VERSIONS[header]: version} if version else {}
            request = client.build_request("GET", url, headers=headers)
            response = await web.exchange(client, request)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ConnectionError(f"{type(error).__name__}: {error}") from error
    if response.status_code == HTTPStatus.NOT_MODIFIED:
        return None
    if response.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        raise FileNotFoundError("the server has no such page")
    if not response.is_success:
        raise ConnectionError(f"the server answered {response.status_code}")
    found = ((each, response.headers.get(each)) for each in _VERSIONS)
    stamp = next((f"{each}:{version}" for each, version in found if version), "")
    return Loaded(stamp, response.content, response.headers.get("content-type", ""))
