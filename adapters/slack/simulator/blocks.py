"""Checks of blocks, text and metadata, and the texts in blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.state import Json

MOST_BLOCKS = 50
MOST_FIELDS = 10
MOST_OPTIONS = 100
LONGEST_ID = 255
LONGEST_BLOCKS = 13_000
LONGEST_MARKDOWN = 12_000
LARGEST_METADATA = 8_000

TYPES = frozenset(
    {
        "actions",
        "alert",
        "call",
        "card",
        "carousel",
        "container",
        "context",
        "context_actions",
        "data_table",
        "data_visualization",
        "divider",
        "file",
        "header",
        "image",
        "input",
        "markdown",
        "plan",
        "rich_text",
        "section",
        "table",
        "task_card",
        "video",
    }
)

INTERACTIVE = frozenset(
    {
        "button",
        "checkboxes",
        "feedback_buttons",
        "icon_button",
        "multi_static_select",
        "overflow",
        "plain_text_input",
        "radio_buttons",
        "static_select",
        "users_select",
    }
)


def check_markdown(text: str) -> str:
    """The text, if it is not too long."""
    if len(text) > LONGEST_MARKDOWN:
        raise ApiError("msg_too_long")
    return text


def check_metadata(metadata: object) -> None:
    """Refuse metadata that is malformed or too large; {} removes it."""
    if not isinstance(metadata, dict):
        raise ApiError("invalid_metadata_format")
    if metadata and not (
        isinstance(metadata.get("event_type"), str)
        and isinstance(metadata.get("event_payload"), dict)
    ):
        raise ApiError("invalid_metadata_schema")
    if len(json.dumps(metadata)) > LARGEST_METADATA:
        raise ApiError("metadata_too_large")


def check_blocks(blocks: Sequence[Json], *, most: int = MOST_BLOCKS) -> None:
    """Refuse blocks that Slack would refuse, naming the places."""
    if len(blocks) > most:
        raise ApiError("msg_blocks_too_many")
    wrong = [f"{what} [json-pointer:/blocks{path}]" for path, what in _find_mistakes(blocks)]
    if wrong:
        messages = [f"[ERROR] {each}" for each in wrong]
        raise ApiError("invalid_blocks", errors=wrong, response_metadata={"messages": messages})
    if sum(len(text) for block in blocks for text in texts(block)) > LONGEST_BLOCKS:
        raise ApiError("msg_blocks_too_long")


def stored_blocks(blocks: Sequence[Json]) -> list[Json]:
    """Blocks as Slack stores them, with ids and flags filled in.

    Those of Markdown keep no id of the app's
    (https://docs.slack.dev/reference/block-kit/blocks/markdown-block).
    """
    kept: list[Json] = [_fill_defaults(block, f"b{number}") for number, block in enumerate(blocks)]
    for number, block in enumerate(kept):
        if block.get("type") == "markdown" or "block_id" not in block:
            block["block_id"] = f"b{number}"
    return kept


def _fill_defaults(value: Any, place: str) -> Any:
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_fill_defaults(each, f"{place}-{number}") for number, each in enumerate(items)]
    if not isinstance(value, dict):
        return value
    fields = cast("Json", value)
    filled = {name: _fill_defaults(each, f"{place}-{name}") for name, each in fields.items()}
    match fields.get("type"):
        case "plain_text":
            filled.setdefault("emoji", True)
        case "mrkdwn":
            filled.setdefault("verbatim", False)
        case str(kind) if kind in INTERACTIVE:
            filled.setdefault("action_id", place)
        case _:
            pass
    return filled


def texts(value: object) -> Iterator[str]:
    """Every text that a block shows, at any depth."""
    if isinstance(value, dict):
        for key, each in cast("Mapping[str, object]", value).items():
            if isinstance(each, str):
                if key in ("text", "title", "fallback", "alt_text"):
                    yield each
            else:
                yield from texts(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from texts(each)


def _find_mistakes(blocks: Sequence[Json]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for number, block in enumerate(blocks):
        path = f"/{number}"
        kind = block.get("type")
        if kind not in TYPES:
            yield f"{path}/type", f"unsupported type: {kind}"
            continue
        identity = block.get("block_id")
        if isinstance(identity, str):
            if len(identity) > LONGEST_ID:
                yield f"{path}/block_id", "must be less than 256 characters"
            if identity in seen:
                yield f"{path}/block_id", f"block_id already exists: {identity}"
            seen.add(identity)
        if (check := _CHECKS.get(str(kind))) is not None:
            yield from check(block, path)
        for place, element in _interactive_elements(block, path):
            yield from _check_element(element, place)


def _check_text(path: str, text: object, most: int) -> Iterator[tuple[str, str]]:
    """Report a missing or too long text object or string."""
    value = cast("Json", text).get("text") if isinstance(text, dict) else text
    if not isinstance(value, str) or not value:
        yield path, "must be a non-empty text"
    elif len(value) > most:
        yield path, f"must be less than {most + 1} characters"


def _section(block: Json, path: str) -> Iterator[tuple[str, str]]:
    if "text" not in block and "fields" not in block:
        yield path, "must have text or fields"
    if "text" in block:
        yield from _check_text(f"{path}/text", block["text"], 3000)
    fields = cast("list[object]", block.get("fields", []))
    if len(fields) > MOST_FIELDS:
        yield f"{path}/fields", "must have at most 10 items"
    for number, each in enumerate(fields):
        yield from _check_text(f"{path}/fields/{number}", each, 2000)


def _header(block: Json, path: str) -> Iterator[tuple[str, str]]:
    yield from _check_text(f"{path}/text", block.get("text"), 150)
    if cast("Json", block.get("text") or {}).get("type") != "plain_text":
        yield f"{path}/text/type", "must be plain_text"


def _context(block: Json, path: str) -> Iterator[tuple[str, str]]:
    yield from _check_count(block.get("elements"), f"{path}/elements", 10)


def _actions(block: Json, path: str) -> Iterator[tuple[str, str]]:
    # Multi-select menus among them (ActionsBlockElement of @slack/types, block-kit/blocks.ts).
    yield from _check_count(block.get("elements"), f"{path}/elements", 25)


def _context_actions(block: Json, path: str) -> Iterator[tuple[str, str]]:
    yield from _check_count(block.get("elements"), f"{path}/elements", 5)


def _markdown(block: Json, path: str) -> Iterator[tuple[str, str]]:
    yield from _check_text(f"{path}/text", block.get("text"), LONGEST_MARKDOWN)


def _task_card(block: Json, path: str) -> Iterator[tuple[str, str]]:
    yield from _check_text(f"{path}/title", block.get("title"), 3000)
    if block.get("status") not in (None, "pending", "in_progress", "complete", "error"):
        yield f"{path}/status", "unknown status"


def _input(block: Json, path: str) -> Iterator[tuple[str, str]]:
    yield from _check_text(f"{path}/label", block.get("label"), 2000)
    if not isinstance(block.get("element"), dict):
        yield f"{path}/element", "missing"


def _check_count(items: object, path: str, most: int) -> Iterator[tuple[str, str]]:
    count = len(cast("list[object]", items)) if isinstance(items, list) else 0
    if count == 0:
        yield path, "no fewer than 1 items"
    elif count > most:
        yield path, f"no more than {most} items"


_CHECKS: dict[str, Callable[[Json, str], Iterator[tuple[str, str]]]] = {
    "actions": _actions,
    "context": _context,
    "context_actions": _context_actions,
    "header": _header,
    "input": _input,
    "markdown": _markdown,
    "section": _section,
    "task_card": _task_card,
}


def _interactive_elements(block: Json, path: str) -> Iterator[tuple[str, Json]]:
    """The interactive elements of a block, with where they are."""
    if block["type"] in ("actions", "context_actions"):
        for number, each in enumerate(cast("list[Json]", block.get("elements") or [])):
            yield f"{path}/elements/{number}", each
    for name in ("accessory", "element"):
        if isinstance(each := block.get(name), dict):
            yield f"{path}/{name}", cast("Json", each)


def _check_element(element: Json, path: str) -> Iterator[tuple[str, str]]:
    """Report mistakes in a button, a menu or a field."""
    limits: list[tuple[str, Any, int]] = [("action_id", element.get("action_id"), LONGEST_ID)]
    if element.get("type") == "button":
        yield from _check_text(f"{path}/text", element.get("text"), 75)
        limits.append(("value", element.get("value"), 2000))
        limits.append(("url", element.get("url"), 3000))
    options = cast("list[Json]", element.get("options") or [])
    if len(options) > MOST_OPTIONS:
        yield f"{path}/options", "no more than 100 items"
    for number, option in enumerate(options):
        yield from _check_text(f"{path}/options/{number}/text", option.get("text"), 75)
        limits.append((f"options/{number}/value", option.get("value"), 150))
    for name, value, most in limits:
        if isinstance(value, str) and len(value) > most:
            yield f"{path}/{name}", f"must be less than {most + 1} characters"
