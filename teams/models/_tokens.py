"""Count the tokens of a request locally.

With tiktoken installed and its table already on this machine the text is counted exactly. Otherwise
it is estimated from its UTF-8 length: four bytes a token, which is close for English and code and
rather too much for other scripts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from teams.models._types import Wire

MESSAGE_TOKENS = 3
"""Tokens of each message's frame."""
IMAGE_TOKENS = 765
"""An image of medium size in high detail."""
BYTES_PER_TOKEN = 4

_TABLES = "https://openaipublic.blob.core.windows.net/encodings"


def request_tokens(messages: Sequence[Wire], tools: Sequence[Wire], *, encoding: str) -> int:
    """About how many tokens wire messages and tool schemas take."""
    tokens = MESSAGE_TOKENS * (len(messages) + 1)
    if not messages and not tools:
        return tokens  # asked for the size of a context: nothing is loaded for that
    count = text_counter(encoding)
    tokens += sum(_value_tokens(value, count) for message in messages for value in message.values())
    return tokens + sum(count(json.dumps(tool)) for tool in tools)


@cache
def text_counter(encoding: str) -> Callable[[str], int]:
    """A token counter for texts; exact if tiktoken has the encoding locally."""
    try:
        import tiktoken  # optional, and slow to import
    except ModuleNotFoundError:
        return _estimate
    if not _table_is_here(encoding):
        return _estimate
    try:
        table = tiktoken.get_encoding(encoding)
    except OSError:  # damaged, and there is no network to get it again
        return _estimate
    return lambda text: len(table.encode(text, disallowed_special=()))


def _estimate(text: str) -> int:
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def _table_is_here(encoding: str) -> bool:
    """True if tiktoken would find the table without the network."""
    import tempfile  # loads compressors; few have tiktoken

    folder = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    path = Path(folder) if folder else Path(tempfile.gettempdir()) / "data-gym-cache"
    url = f"{_TABLES}/{encoding}.tiktoken"
    return (path / hashlib.sha1(url.encode()).hexdigest()).is_file()  # the name tiktoken gives it


def _value_tokens(value: Any, count: Callable[[str], int]) -> int:
    match value:
        case str():
            return count(value)
        case {"type": "image_url" | "image"}:
            return IMAGE_TOKENS
        case dict():
            values = cast("Wire", value).values()
            return sum(_value_tokens(inner, count) for inner in values)
        case list():
            return sum(_value_tokens(inner, count) for inner in cast("list[Any]", value))
        case _:
            return 0
