"""Modals as Slack's views, and the place that each is about."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, cast

ModalKind: TypeAlias = Literal["note", "text"]

BLOCK = "answer"
INPUT = "g:input:0"
CALLBACK = "g:answer"
TITLE = {"note": "Deny with a note", "text": "Your answer"}
LONGEST = 3000
"""Characters that an input takes: Slack's own limit."""
PROMPT = 2900
"""Characters of a question that a modal shows; a section takes 3,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalPlace:
    """The request of a modal, and the card that opened it."""

    kind: ModalKind
    request: str
    channel: str
    message: str
    thread: str

    def dump(self) -> str:
        """As a view's private_metadata."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> ModalPlace:
        """The inverse of `dump`. Raises ValueError for anything else."""
        data: Any = json.loads(text)
        names = set(cls.__dataclass_fields__)
        if not isinstance(data, dict) or set(cast("dict[str, Any]", data)) != names:
            raise ValueError("no place of a modal")
        values = {name: str(value) for name, value in cast("dict[str, Any]", data).items()}
        if values["kind"] not in ("note", "text"):
            raise ValueError("no kind of a modal")
        return cls(**cast("Any", values))


def loading(kind: ModalKind) -> dict[str, Any]:
    """The view shown at once: Slack waits only 3 seconds."""
    return _view(kind, [_section("One moment\u2026")])


def asking(place: ModalPlace, prompt: str) -> dict[str, Any]:
    """The modal that takes an answer. `prompt` is escaped for Slack already."""
    label = "Reason" if place.kind == "note" else "Answer"
    field = {
        "type": "input",
        "block_id": BLOCK,
        "label": {"type": "plain_text", "text": label},
        "element": {
            "type": "plain_text_input",
            "action_id": INPUT,
            "multiline": True,
            "max_length": LONGEST,
        },
    }
    view = _view(place.kind, [_section(prompt[:PROMPT]), field] if prompt else [field])
    return {
        **view,
        "callback_id": CALLBACK,
        "private_metadata": place.dump(),
        "submit": {"type": "plain_text", "text": "Deny" if place.kind == "note" else "Send"},
    }


def closed(kind: ModalKind, why: str) -> dict[str, Any]:
    """The view for a request that can't be answered."""
    return _view(kind, [_section(why)])


def errors(text: str) -> dict[str, Any]:
    """The answer that keeps a modal open with an error."""
    return {"response_action": "errors", "errors": {BLOCK: text}}


def _view(kind: ModalKind, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "type": "modal",
        "title": {"type": "plain_text", "text": TITLE[kind]},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": blocks,
    }


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}
