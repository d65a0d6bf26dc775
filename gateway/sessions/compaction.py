"""Summaries of a thread, in a turn that a person asks for.

What matters is said in that person's words, which reach the summary: so they are taken only of
those whose words the team has heard, and whose rules hold for its tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from gateway.conversation import Author
from gateway.sessions.turn_settings import TurnSettings
from gateway.sessions.turn_writer import TurnWriter
from teams.base import run_in_path
from teams.core import CancellationToken
from teams.messages import ContextSummaryEvent
from teams.model_context import AutoChatCompletionContext

NOTHING = "There are no messages to summarise yet."
NOBODY = "No agent of this team summarises: each is sent its own part of what was said."
STILL_FAILED = "The turn that failed can still go on."
UNHEARD = (
    "Only people who have written to the team here can say what matters: /compact alone works."
)

Contexts = Sequence[tuple[str, AutoChatCompletionContext]]
"""Contexts that summarise, with the names of their agents."""


async def obstacle_to(
    contexts: Contexts, about: str, asker: Author, log: TurnWriter, terms: TurnSettings
) -> str:
    """Why nothing can be summarised; "" if something can."""
    if not contexts:
        return NOBODY
    if not about or terms.is_operator(asker):
        return ""
    heard = (await log.context()).authors
    known = any((each.id, each.groups) == (asker.id, asker.groups) for each in heard)
    return "" if known else UNHEARD


async def summaries(
    contexts: Contexts, about: str, token: CancellationToken
) -> AsyncGenerator[ContextSummaryEvent, None]:
    """Let each context summarise what it can; the events that say so."""
    for name, context in contexts:
        asked = run_in_path(name, context.compact(about, cancellation_token=token))
        making = asyncio.ensure_future(asked)
        # Not every model heeds the token itself.
        if (made := await token.link_future(making)) is not None:
            yield ContextSummaryEvent.of(made, name)
