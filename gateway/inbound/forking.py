"""Forks of threads: the folder first, then all rows at once."""

from __future__ import annotations

from gateway.conversation import ConversationKey
from gateway.store.decisions import NewThread
from gateway.store.ids import next_id
from gateway.store.protocols import SessionStore
from gateway.store.records import Thread
from gateway.store.units import forks, rows, threads
from gateway.values import Origin


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
