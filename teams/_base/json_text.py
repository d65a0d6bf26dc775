"""Finding the JSON in what a model wrote."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any, cast

from teams._base.fences import fenced_blocks
from teams._base.whole_text import whole_texts

_DECODER = json.JSONDecoder()
_WASTE = 16
"""Characters that may be read in vain for each of the text; with more of that, it is no JSON."""
_DEEP = 5_000
"""Characters that a too deep nesting counts as."""
_AHEAD = 1_000
"""Characters that are read before the text is cut: an error counts its lines from the beginning."""


def extract_json_from_str(content: str) -> list[dict[str, Any]]:
    """The JSON objects in a text, in order.

    Those in fenced blocks (of JSON or of no language), where there are any, else all that stand in
    the text, whatever is around them. Raises ValueError where there is none.
    """
    blocks = [body for language, body in fenced_blocks(content) if language.lower() in ("", "json")]
    found = [each for block in blocks for each in _objects(block)] or list(_objects(content))
    if not found:
        raise ValueError("There is no JSON object in the text.")
    return found


def _objects(text: str) -> Generator[dict[str, Any]]:
    position, waste = text.find("{"), _WASTE * (len(text) + _DEEP)
    while position >= 0 and waste > 0:
        if position > _AHEAD:
            text, position = text[position:], 0
        try:
            value, end = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            waste -= error.pos - position + 1
            end = position + 1
        except RecursionError:
            waste -= _DEEP
            end = position + 1
        else:
            yield whole_texts(cast("dict[str, Any]", value))
        position = text.find("{", end)
