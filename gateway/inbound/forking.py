"""Forks of threads: the folder first, then all rows at once."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress

from gateway.access.authority import Denial, Verdict
from gateway.conversation import ConversationKey, InboundMessage, order_key
from gateway.errors import GatewayError, NotFound
from gateway.inbound.replies import FULL_OF_FORKS, HOW_FORK, NOTHING_SAID
from gateway.store.decisions import ForkPlan, NewThread
from gateway.store.ids import next_id
from gateway.store.protocols import SessionStore
from gateway.store.records import Thread
from gateway.store.units import forks, inbox, rows, threads
from gateway.values import Origin

LOG = logging.getLogger("gateway")
LONGEST = 6
"""Digits of a number of turns."""


async def fork_thread(store: SessionStore, thread: str, back: int, before: int = 0) -> Thread:
    """The fork of a thread; see `Client`.

    A kill in between leaves a folder without a thread, which the next start removes. Raises
    NotFound.
    """
    n, new = await store.run(forks.fork_point, thread, back, before), next_id()
    if n == 0:
        return await _begin_anew(store, thread, new)
    async with unless_begun(store, new):
        folder = await store.fork_folder(thread, n, new)
        return await store.run(forks.fork, thread, n, new, folder=folder)


@asynccontextmanager
async def unless_begun(store: SessionStore, *new: str) -> AsyncGenerator[None]:
    """Drop the folders of forks that have not begun at its end.

    Where that can't be known, the next start removes them.
    """
    try:
        yield
    except Exception:
        await _drop_unbegun(store, new)
        raise
    await _drop_unbegun(store, new)


async def _drop_unbegun(store: SessionStore, new: Iterable[str]) -> None:
    for each in new:
        try:
            await store.run(threads.thread, each)
        except NotFound:
            await store.drop_folder(each)
        except GatewayError as error:
            LOG.warning("the folder of a fork may be left: %s", error)


async def plan_fork(
    store: SessionStore, message: InboundMessage, words: str, new: str, verdict: Verdict
) -> ForkPlan | str:
    """The plan for a fork, or why there is none.

    It begins where the message stands that the command points at, or so many turns back. Its folder
    is there: drop it if nothing comes of the fork.
    """
    paired = isinstance(verdict, Denial)
    may = verdict.once_paired if isinstance(verdict, Denial) else verdict
    limits, person = may.limits if may else None, message.author.id
    allowed = may and await store.run(forks.may_begin, person, limits, paired=paired)
    if not allowed:
        return HOW_FORK if allowed is None else FULL_OF_FORKS
    if words and not (words.isascii() and words.isdigit() and len(words) < LONGEST):
        return HOW_FORK
    found = await store.run(threads.thread_at, message.key)
    thread = message.thread or (found.id if found else "")
    if not thread or await store.run(inbox.accepted_keys, message.dedupe):
        return NOTHING_SAID  # one that was taken gets the reply of then
    named = ""
    with suppress(ValueError):
        named = message.reply_to if not words and order_key(message.reply_to) else ""
    try:
        n = await store.run(forks.fork_point, thread, int(words or 0), message=named)
    except NotFound as error:
        return str(error)
    return ForkPlan(thread=thread, n=n, folder=await store.fork_folder(thread, n, new))


async def _begin_anew(store: SessionStore, thread: str, new: str) -> Thread:
    """An empty thread of the same team, as before the first turn."""
    found = await store.run(threads.thread, thread)
    made = NewThread(
        id=new,
        team=found.team,
        definition=found.definition,
        participants=found.participants,
        mode=found.mode,
        origin=Origin(path=found.config, digest=found.config_digest),
    )
    return await store.run(rows.create_thread, made, key=ConversationKey.local(new))
