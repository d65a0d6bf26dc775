"""A part of the compact state: lines of JSON behind a checksum.

    {"parley_state":2,"crc32":"..."}      the CRC-32 of all that follows
    {"part":0,"blocks":[...],...}         what the lines are that follow
    ...                                   a line for each block of messages (`block.py`)
    ...                                   a line for each list, and for each value

The checksum tells a damaged part from a whole one where it is loaded. It is no authentication: who
can write a part can write its checksum.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from zlib import crc32

from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

VERSION = 2

_OLDER_READERS = {1: "1482369"}
"""Commits that still read, and save anew, what this release reads no more, by version."""

_NONE: Mapping[str, Sequence[int]] = {}


@dataclass(slots=True)
class Block:
    """Messages, still as bytes."""

    count: int
    line: bytes
    others: Mapping[str, Sequence[int]]
    """By type, the places of what is no plain text."""


Gain = tuple[int | list[int], bytes]
"""New entries of a list: their count and a JSON array.

The count is `[n]` where the list begins anew with `n` of them.
"""


@dataclass(slots=True)
class Part:
    """A part, read as far as its head says."""

    number: int
    blocks: Sequence[Block]
    lists: Mapping[str, Gain]
    values: Mapping[str, bytes]


def to_bytes(value: Any) -> bytes:
    """The value as JSON, in one line."""
    try:
        return to_json(value)
    except (PydanticSerializationError, UnicodeEncodeError):  # a model may write half a character
        return json.dumps(to_jsonable_python(value), separators=(",", ":")).encode()


def from_bytes(data: bytes) -> Any:
    """The inverse of `to_bytes`. Raises ValueError for anything but JSON."""
    try:
        # Only keys come again: what is said and its ids would fill the cache of the whole process.
        return from_json(data, cache_strings="keys")
    except ValueError:
        return json.loads(data)


def write_part(part: Part) -> bytes:
    """The bytes of a part."""
    head: dict[str, Any] = {"part": part.number}
    lines: list[bytes] = []
    if part.blocks:
        head["blocks"] = [block.count for block in part.blocks]
        lines += [block.line for block in part.blocks]
        if others := {n: block.others for n, block in enumerate(part.blocks) if block.others}:
            head["others"] = others
    if part.lists:
        head["lists"] = {path: count for path, (count, _) in part.lists.items()}
        lines += [line for _, line in part.lists.values()]
    if part.values:
        head["values"] = list(part.values)
        lines += part.values.values()
    body = b"\n".join([to_bytes(head), *lines])
    return _first_line(body) + b"\n" + body


def read_part(position: int, data: bytes) -> Part:
    """The part at this position of a chain.

    Raises ValueError for what `write_part` did not write, and for what has changed since then.
    """
    line, _, body = data.partition(b"\n")
    if line == _first_line(body):
        return _of_lines(body.split(b"\n"))
    match version := _version(position, line):
        case int() if (commit := _OLDER_READERS.get(version)) is not None:
            raise ValueError(
                f"Part {position} of the saved state has version {version}; this release reads "
                f"version {VERSION}. Commit {commit} still reads it: load and save it there."
            )
        case 2:
            raise ValueError(
                f"Part {position} of the saved state is damaged: its checksum does not fit."
            )
        case None:
            raise ValueError(f"Part {position} of the saved state is not a part of a team's state.")
        case _:
            raise ValueError(
                f"Part {position} of the saved state has version {version!r}; "
                f"this release reads up to {VERSION}."
            )


def _first_line(body: bytes) -> bytes:
    return b'{"parley_state":%d,"crc32":"%08x"}' % (VERSION, crc32(body))


def _version(position: int, line: bytes) -> Any:
    try:
        found = from_bytes(line)
    except ValueError as error:
        raise ValueError(f"Part {position} of the saved state is not JSON: {error}") from error
    return cast("dict[str, Any]", found).get("parley_state") if isinstance(found, dict) else None


def _of_lines(lines: Sequence[bytes]) -> Part:
    head: dict[str, Any] = from_bytes(lines[0])
    counts, lists, values = (head.get(name, {}) for name in ("blocks", "lists", "values"))
    if len(lines) != 1 + len(counts) + len(lists) + len(values):
        raise ValueError(f"Part {head['part']} of the saved state has {len(lines)} lines.")
    rest = iter(lines[1:])
    blocks = [Block(count, next(rest), _NONE) for count in counts]
    for place, types in head.get("others", {}).items():
        blocks[int(place)].others = types
    # Written in C, for there may be thousands of parts.
    gains = dict(zip(lists, zip(lists.values(), rest, strict=False), strict=False))
    return Part(head["part"], blocks, gains, dict(zip(values, rest, strict=True)))
