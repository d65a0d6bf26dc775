"""The edge to models: answers are made honest before they are read."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import islice
from typing import TypeVar, cast
from uuid import uuid4

from teams._base.tool_call import LARGEST_ARGUMENTS, MOST_VALUES, FunctionCall, is_too_large
from teams._base.whole_text import whole_text, whole_texts
from teams.models._structured import bare_json
from teams.models._types import CreateResult, HostedResult, RequestUsage

T = TypeVar("T")

MOST_TOKENS = 1 << 40
"""The largest count that is believed."""


MOST_CALLS = 64
"""Calls of one answer that are made."""


def incoming(answer: CreateResult, *, structured: object = None) -> CreateResult:
    """The answer with what can be believed; itself, if it all can.

    Of a `structured` one, the JSON is taken out of what is around it.
    """
    if not isinstance(answer, CreateResult):  # pyright: ignore[reportUnnecessaryIsInstance]
        return answer  # of a client of somebody's own, for who asks to judge
    usage = RequestUsage(
        token_count(answer.usage.prompt_tokens), token_count(answer.usage.completion_tokens)
    )
    content = answer.content
    given: dict[str, object] = {
        "usage": usage,
        "content": _text(content, structured) if isinstance(content, str) else _calls(content),
        "thought": answer.thought and whole_text(answer.thought),
    }
    if isinstance(answer, HostedResult):
        given |= {"used": whole_texts(answer.used), "citations": whole_texts(answer.citations)}
    changed = {name: value for name, value in given.items() if value != getattr(answer, name)}
    if not changed:
        return answer
    honest = answer.model_copy(update=changed)
    if answer.refused:
        honest.mark_refused()
    if isinstance(content, list) and len(content) > MOST_CALLS:
        honest.leave_out(len(content) - MOST_CALLS)
    return honest


def _text(text: str, structured: object) -> str:
    return whole_text(bare_json(text) if structured and text else text)


def _calls(calls: Sequence[FunctionCall]) -> list[FunctionCall]:
    made = [_call(call) for call in calls[:MOST_CALLS]]
    if len(ids := {call.id for call in made}) == len(made) and "" not in ids:
        return made
    taken = {""}
    for place, call in enumerate(made):
        if call.id in taken:
            made[place] = call = replace(call, id=f"call_{uuid4().hex}")
        taken.add(call.id)
    return made


def _call(call: FunctionCall) -> FunctionCall:
    call = whole_texts(call)
    fitting = incoming_arguments(call.arguments)
    return call if fitting is call.arguments else replace(call, arguments=fitting)


def incoming_arguments(arguments: T) -> T | str:
    """The arguments of a call, unless they are too large."""
    if not isinstance(arguments, str) or not is_too_large(arguments):
        return arguments
    size = f"{len(arguments.encode()):,} bytes, of at most {LARGEST_ARGUMENTS:,}"
    return _left_out(size)


def _left_out(size: str) -> str:
    """A text in their place: no object, so no tool takes it."""
    return json.dumps(f"Left out: arguments of {size}.")


async def incoming_pieces(
    stream: AsyncGenerator[str | CreateResult, None], *, structured: object = None
) -> AsyncGenerator[str | CreateResult, None]:
    """The pieces of an answer, and it with what can be believed."""
    half = ""
    async with aclosing(stream):
        async for piece in stream:
            match piece:
                case CreateResult():
                    if half:
                        yield whole_text(half)
                    half = ""
                    yield incoming(piece, structured=structured)
                case str() if half or not piece.isascii():
                    text = half + piece
                    half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
                    if text := text.removesuffix(half):
                        yield whole_text(text)
                case _:  # of a client of somebody's own, for who asks to judge
                    yield piece


def arguments_text(arguments: object) -> str:
    """The arguments of a call that came as data, as JSON text."""
    if _has_more_values(arguments, MOST_VALUES):
        return _left_out(f"more than {MOST_VALUES:,} values")
    return json.dumps(arguments, ensure_ascii=False)


def _has_more_values(value: object, most: int) -> bool:
    inside, met = [value], 0
    while inside and met <= most:
        members = _members(inside.pop())
        met += len(members)
        inside += islice(members, most)
    return met > most


def _members(value: object) -> Collection[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def reported_usage(usage: object, prompt: Iterable[str], completion: str) -> RequestUsage:
    """The usage that a provider reports under these names of its fields."""
    fields = cast("Mapping[str, object]", usage if isinstance(usage, Mapping) else {})
    read = sum(token_count(fields.get(name)) for name in prompt)
    return RequestUsage(token_count(read), token_count(fields.get(completion)))


def token_count(claim: object) -> int:
    """The count, from 0 to 2^40; 0 for anything else."""
    if isinstance(claim, float) and claim.is_integer():
        claim = int(claim)
    return claim if type(claim) is int and 0 <= claim <= MOST_TOKENS else 0
