"""Finding the JSON in what a model wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from typing import Any, cast

_FENCE = re.compile(
    r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE
)
_DECODER = json.JSONDecoder()


def extract_json_from_str(content: str) -> list[dict[str, Any]]:
    """The JSON objects in a text, in order.

    Those in fenced blocks (of JSON or of no language), where there are any, else all that stand in
    the text, whatever is around them. Raises ValueError where there is none.
    """
    blocks = [
        body for language, body in _FENCE.findall(content) if language.lower() in ("", "json")
    ]
    found = [each for block in blocks for each in _objects(block)] or list(_objects(content))
    if not found:
        raise ValueError("There is no JSON object in the text.")
    return found


def _objects(text: str) -> Generator[dict[str, Any]]:
    position = text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            end = position + 1
        else:
            yield cast("dict[str, Any]", value)
        position = text.find("{", end)
