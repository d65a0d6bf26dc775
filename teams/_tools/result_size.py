"""The size of tool results: the rest is cut, with a sentence."""

from __future__ import annotations

from teams._base.whole_text import whole_text
from teams._tools.workbench import TextResultContent, ToolResult, text_result

LARGEST_RESULT = 100_000
"""Bytes of a result's text that a model is given, unless the run's hooks say otherwise."""

_CUT = "(Cut here: the result has {size:,} bytes of text, too much for a model.{more})"


def text_bytes(result: ToolResult) -> int:
    """Count the bytes of a result's text."""
    return sum(map(len, _texts(result).values()))


def _texts(result: ToolResult) -> dict[int, bytes]:
    """The texts of a result, each whole, by their places."""
    return {
        place: whole_text(part.content).encode()
        for place, part in enumerate(result.result)
        if isinstance(part, TextResultContent)
    }


def fit_result(result: ToolResult, most: int, more: str = "") -> ToolResult:
    """The result with whole text of at most `most` bytes.

    That is itself, if it is such. `more` is said where it is cut.
    """
    parts, texts, said = list(result.result), _texts(result), ""
    if (size := sum(map(len, texts.values()))) > most:
        said = _CUT.format(size=size, more=more)
        most -= len(said.encode())
    for place, data in texts.items():
        text = TextResultContent(content=data[: max(0, most)].decode(errors="ignore"))
        most -= len(data)
        parts[place] = text
    if said:
        parts.append(TextResultContent(content=said))
    return result if parts == result.result else result.model_copy(update={"result": parts})


def fit_text(text: str, most: int) -> str:
    """The text of a result, whole, and of at most `most` bytes."""
    if len(text) <= most // 4:  # however long its characters are
        return whole_text(text)
    return fit_result(text_result("", text), most).to_text()
