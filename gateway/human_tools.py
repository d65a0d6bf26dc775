"""Tools with which an agent asks the person it works for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from teams.base import InputRequired, current_tool_call
from teams.tools import ToolTraits, set_traits


class ChoiceRequired(InputRequired):
    """A question with suggested answers."""

    def __init__(
        self, prompt: str, *, options: Sequence[str], several: bool, request_id: str | None
    ) -> None:
        kind = "choices" if several else "choice"
        super().__init__(prompt, request_id=request_id, kind=kind if options else "text")
        self.options = tuple(options)


MOST_CHOICES = 25
"""Options of which several may be chosen: what the menu of every platform takes."""

ASKS_PEOPLE = ToolTraits(read_only=True, idempotent=True, own_output=True, asks=True)
"""A question changes nothing, and its answer comes from a person."""


async def ask_human(
    question: Annotated[str, "One short question."],
    options: Annotated[
        list[str] | None, "Answers to choose from, if there are likely ones."
    ] = None,
    several: Annotated[bool, "True if more than one option may be chosen."] = False,
) -> str:
    """Ask the person something only they know, and wait for the answer."""
    # The tool never has the answer itself: the gateway gives it as the result of this very call.
    # Without a gateway the run stays suspended.
    call, options = current_tool_call(), options or []
    if several and len(options) > MOST_CHOICES:
        raise ValueError(f"Several can be chosen from at most {MOST_CHOICES} options.")
    key = call.key if call else None
    raise ChoiceRequired(question, options=options, several=several, request_id=key)


set_traits(ask_human, ASKS_PEOPLE)
