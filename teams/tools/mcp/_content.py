"""Contents of servers as results: texts, images, notes on the rest."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from teams._base.image import Image
from teams._tools.workbench import (
    ImageResultContent,
    ResultContent,
    TextResultContent,
    ToolResult,
)
from teams.tools.mcp._sdk import wire


def result_of(name: str, answer: BaseModel) -> ToolResult:
    """The result of a call.

    Its structured content repeats the rest, and counts where there is none.
    """
    given = wire(answer)
    parts: list[ResultContent] = [_part(each) for each in given.get("content", ())]
    structured = given.get("structuredContent")
    if not parts and structured is not None:
        parts = [_text(json.dumps(structured, ensure_ascii=False))]
    return ToolResult(name=name, result=parts, is_error=bool(given.get("isError")))


def result_of_resource(name: str, answer: BaseModel) -> ToolResult:
    """The result of reading a resource."""
    parts: list[ResultContent] = [_resource(each) for each in wire(answer)["contents"]]
    return ToolResult(name=name, result=parts)


def result_of_prompt(name: str, answer: BaseModel) -> ToolResult:
    """The result of getting a prompt, with the roles of its messages."""
    parts: list[ResultContent] = []
    for each in wire(answer)["messages"]:
        part = _part(each["content"])
        match part:
            case TextResultContent():
                parts.append(_text(f"{each['role']}: {part.content}"))
            case ImageResultContent():
                parts += [_text(f"{each['role']}:"), part]
    return ToolResult(name=name, result=parts)


def list_result(name: str, entries: Sequence[Mapping[str, Any]]) -> ToolResult:
    """The result of a list: a line of JSON for each entry."""
    lines = (json.dumps(dict(_described(each)), ensure_ascii=False) for each in entries)
    return ToolResult(name=name, result=[_text("\n".join(lines) or "There are none.")])


def _described(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in ("name", "uri", "uriTemplate", "title", "description", "mimeType", "arguments"):
        if key in entry:
            yield key, entry[key]


def _text(text: str) -> TextResultContent:
    return TextResultContent(content=text)


def _part(content: Mapping[str, Any]) -> ResultContent:
    match content:
        case {"type": "text", "text": str(text)}:
            return _text(text)
        case {"type": "image", "data": str(data)}:
            return _image(data)
        case {"type": "audio", "data": str(data)}:
            return _text(f"[a sound that can't be played here: {_kind(content, data)}]")
        case {"type": "resource", "resource": {**resource}}:
            return _resource(resource)
        case {"type": "resource_link", "uri": str(uri)}:
            about = [content.get("title") or content.get("name"), uri, content.get("mimeType")]
            said = content.get("description")
            link = f"[link to a resource: {', '.join(str(each) for each in about if each)}]"
            return _text(f"{link} {said}" if said else link)
        case _:
            return _text(json.dumps(content, ensure_ascii=False))


def _resource(resource: Mapping[str, Any]) -> ResultContent:
    match resource:
        case {"text": str(text)}:
            return _text(text)
        case {"blob": str(data)} if str(resource.get("mimeType")).startswith("image/"):
            return _image(data)
        case {"blob": str(data)}:
            about = f"{resource['uri']}, {_kind(resource, data)}"
            return _text(f"[a file that can't be shown: {about}]")
        case _:
            return _text(json.dumps(resource, ensure_ascii=False))


def _image(data: str) -> ResultContent:
    try:
        return ImageResultContent(content=Image.from_base64(data))
    except (ImportError, ValueError) as error:
        return _text(f"[an image that can't be shown: {error}]")


def _kind(content: Mapping[str, Any], data: str) -> str:
    """Media type and size."""
    try:
        size = f"{len(base64.b64decode(data, validate=True)):,} bytes"
    except ValueError:
        size = "damaged"
    return ", ".join(filter(None, (content.get("mimeType"), size)))
