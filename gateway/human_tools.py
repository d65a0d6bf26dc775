"""Tools with which an agent asks the person it works for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from teams.base import InputRequired, current_tool_call
from teams.tools import ToolTraits, set_traits


class ChoiceRequired(InputRequired):
    """A question with suggested answers."""

    def __init__(self, prompt: str, *, options: Sequence[str], request_id: str | None) -> None:
        kind = "choice" if options else "text"
        super().__init__(prompt, request_id=request_id, kind=kind)
        self.options = tuple(options)


ASKS_PEOPLE = ToolTraits(read_only=True, idempotent=True, own_output=True, asks=True)
"""A question changes nothing, and its answer comes from a person."""


async def ask_human(
    question: Annotated[str, "One short question."],
    options: Annotated[
        list[str] | None, "Answers to choose from, if there are likely ones."
    ] = None,
) -> str:
    """Ask the person something only they know, and wait for the answer."""
    # The tool never has the answer itself: the gateway gives it as the result of this very call.
    # Without a gateway the run stays suspended.
    call = current_tool_call()
    raise ChoiceRequired(question, options=options or (), request_id=call.key if call else None)


set_traits(ask_human, ASKS_PEOPLE)
