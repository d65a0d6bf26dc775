"""Answers in JSON: taken out of fences, and held against their form."""

from __future__ import annotations

import json

from pydantic import BaseModel, ValidationError

from teams._base.fences import fenced_blocks
from teams._base.json_text import extract_json_from_str
from teams.models._types import AssistantMessage, CreateResult, LLMMessage, UserMessage

_SHOWN_ERRORS = 10


def bare_json(text: str) -> str:
    """The JSON within an answer, or the whole text."""
    if _is_json(text):
        return text
    fenced = [body for _, body in fenced_blocks(text) if _is_json(body)]
    if len(fenced) == 1:
        return fenced[0].strip()
    try:
        found = [] if fenced else extract_json_from_str(text)
    except ValueError:
        found = []
    return json.dumps(found[0], ensure_ascii=False) if len(found) == 1 else text


def second_request(answer: CreateResult, wanted: bool | type[BaseModel] | None) -> list[LLMMessage]:
    """The unfit answer, and why it is unfit; nothing for others.

    No other answer is asked for in place of one that was cut or withheld.
    """
    text = answer.content
    if (
        not wanted
        or not isinstance(text, str)
        or answer.finish_reason in ("length", "content_filter")
    ):
        return []
    if not (why := _fault(bare_json(text), wanted)):
        return []
    told = f"This is not the JSON that was asked for: {why}\nAnswer again, with the JSON alone."
    said = AssistantMessage(content=text, source="assistant")
    return [said, UserMessage(content=told, source="user")]


def _fault(text: str, wanted: bool | type[BaseModel]) -> str:
    if isinstance(wanted, bool):
        return "" if _is_json(text) else "it can't be read as JSON."
    try:
        wanted.model_validate_json(text)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        places = (
            f"{'.'.join(map(str, each['loc'])) or 'the whole'}: {each['msg']}"
            for each in errors[:_SHOWN_ERRORS]
        )
        return "; ".join(places)
    except Exception:  # of the form's own code, for who asked to see
        return ""
    return ""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
