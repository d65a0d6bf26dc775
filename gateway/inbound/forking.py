"""Forks of threads: the folder first, then all rows at once."""

from __future__ import annotations

from contextlib import suppress

from gateway.conversation import ConversationKey, InboundMessage, order_key
from gateway.errors import NotFound
from gateway.inbound.replies import HOW_FORK, NOTHING_SAID
from gateway.store.decisions import ForkPlan, NewThread
from gateway.store.ids import next_id
from gateway.store.protocols import SessionStore
from gateway.store.records import Thread
from gateway.store.units import forks, inbox, rows, threads
from gateway.values import Origin

LONGEST = 6
"""Digits of a number of turns."""


async def fork_thread(store: SessionStore, thread: str, back: int, before: int = 0) -> Thread:
    """The fork of a thread; see `Client`.

    A crash in between leaves a folder without a thread, which the next start removes. Raises
    NotFound.
    """
    n, new = await store.run(forks.fork_point, thread, back, before), next_id()
    if n == 0:
        return await _begin_anew(store, thread, new)
    folder = await store.fork_folder(thread, n, new)
    return await store.run(forks.fork, thread, n, new, folder=folder)


async def plan_fork(
    store: SessionStore, message: InboundMessage, words: str, new: str
) -> ForkPlan | str:
    """The plan for a fork, or why there is none.

    It begins where the message stands that the command points at, or so many turns back. Its folder
    is there, which the next start removes if nothing comes of it.
    """
    if words and not (words.isascii() and words.isdigit() and len(words) < LONGEST):
        return HOW_FORK
    found = await store.run(threads.thread_at, message.key)
    thread = message.thread or (found.id if found else "")
    if not thread or await store.run(inbox.accepted_keys, message.dedupe):
        return NOTHING_SAID  # one that was taken gets the reply of then
    mark = ""
    with suppress(ValueError):
        mark = "" if words else order_key(message.reply_to)
    try:
        n = await store.run(forks.fork_point, thread, int(words or 0), mark=mark)
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
