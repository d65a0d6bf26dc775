"""The edge to models: answers are made honest before they are read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import cast

from teams.models._types import CreateResult, RequestUsage

MOST_TOKENS = 1 << 40
"""The largest count that is believed."""


def incoming(answer: CreateResult) -> CreateResult:
    """The answer with what can be believed; itself, if it all can."""
    read, written = answer.usage.prompt_tokens, answer.usage.completion_tokens
    usage = RequestUsage(token_count(read), token_count(written))
    if (usage.prompt_tokens, usage.completion_tokens) == (read, written):
        return answer
    return answer.model_copy(update={"usage": usage})


async def incoming_pieces(
    stream: AsyncGenerator[str | CreateResult, None],
) -> AsyncGenerator[str | CreateResult, None]:
    """The pieces of an answer, and it with what can be believed."""
    async with aclosing(stream):
        async for piece in stream:
            yield incoming(piece) if isinstance(piece, CreateResult) else piece


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
