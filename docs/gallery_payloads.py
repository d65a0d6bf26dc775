"""Calls of the gallery as short JSON with stable ids."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from docs.gallery_scenes import FILLER

LONGEST = 700
"""Characters of a text that are shown."""
WIDTH = 110
"""Characters of a line of JSON."""
MOST = 6
"""Entries of a list that are shown; the last one stands there, too."""

REPEATED = re.compile(rf"({re.escape(FILLER)})(?: {re.escape(FILLER)})+")

LEFT_OUT = {"token", "client_msg_id", "nonce", "allowed_mentions", "metadata"}
"""Fields that are the same, or only ids, in every call."""
PASSING = {"POST /channels/{channel_id}/typing"}
"""Signs of work, which are shown once a scene."""
PATTERNS = (
    ("http://SIMULATOR", re.compile(r"\b(?:http|ws)://127\.0\.0\.1:\d+")),
    ("CALL{}", re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")),
    ("TS{}", re.compile(r"(?<!\d)\d{10}\.\d{6}(?!\d)")),
    ("ID{}", re.compile(r"(?<!\d)\d{17,20}(?!\d)")),
    ("FILE{}", re.compile(r"\bF0\d{7}\b")),
    ("KEY{}", re.compile(r"\b[0-9a-f]{10,64}\b")),
    ("ERROR{}", re.compile(r"(?<=\(id )[0-9a-f]{6}(?=\))")),
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call with its decoded body."""

    name: str
    about: str
    """The message that it is about, "" for none."""
    body: Any


def stable(text: str) -> str:
    """The text with ids, times and addresses replaced."""
    for name, pattern in PATTERNS:
        seen: dict[str, str] = {}
        for found in pattern.findall(text):
            seen.setdefault(found, name.format(len(seen) + 1))
        text = pattern.sub(lambda match, seen=seen: seen[match[0]], text)
    return text


def printed_calls(calls: Iterable[Call]) -> Iterator[str]:
    """The calls as JSON; of changes to one message, the last one."""
    last: dict[tuple[str, str], Call] = {}
    listed = list(calls)
    for call in listed:
        last[call.name, call.about] = call
    typing = [each for each in listed if each.name in PASSING][:1]
    for call in listed:
        final = last[call.name, call.about] is call
        if call in typing if call.name in PASSING else final or not _changes(call):
            yield f"{call.name}\n{_json(call.body)}".rstrip()


def _changes(call: Call) -> bool:
    return call.name.startswith("PATCH") or call.name in ("chat.update", "chat.appendStream")


def _json(body: Any) -> str:
    if body in (None, {}, ""):
        return ""
    return "\n".join(_lines(_shortened(body), ""))


def _lines(value: Any, indent: str) -> Iterator[str]:
    """JSON with whatever fits into a line on one line."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list) or not value:
        yield f"{indent}{short}"
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    entries = _entries(cast("dict[str, Any] | list[Any]", value))
    yield f"{indent}{opening}"
    for number, (key, each) in enumerate(entries, 1):
        inner = list(_lines(each, f"{indent}  "))
        if key is not None:
            inner[0] = f"{indent}  {json.dumps(key)}: {inner[0].lstrip()}"
        inner[-1] += "," if number < len(entries) else ""
        yield from inner
    yield f"{indent}{closing}"


def _entries(value: dict[str, Any] | list[Any]) -> list[tuple[str | None, Any]]:
    return list(value.items()) if isinstance(value, dict) else [(None, each) for each in value]


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return _shortened_text(REPEATED.sub(r"\1 … ", value))
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: _shortened(fields[key]) for key in fields if key not in LEFT_OUT}
    if isinstance(value, list):
        entries = [_shortened(each) for each in cast("list[Any]", value)]
        more = len(entries) - MOST
        return [*entries[: MOST - 1], f"… ({more} more)", entries[-1]] if more > 0 else entries
    return value


def _shortened_text(text: str) -> str:
    more = len(text) - LONGEST
    return f"{text[:LONGEST]}… ({more} more characters)" if more > 0 else text
