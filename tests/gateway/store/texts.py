"""Threads with texts to search for."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from gateway.app.stores import AnyStore
from gateway.conversation import ConversationKey
from gateway.events import MessageFinished, dump_event
from gateway.store.connection import Connection
from gateway.store.decisions import NewThread
from gateway.store.units import rows, search_index, threads
from tests.fakes.new_store import new_store

SAID = {
    "t1": ("Deploy to production", "It failed at 12:30, with ÄRGER and 100% load.", "Rolled back."),
    "t2": ("", "What does gateway/store.py download?", "See https://example.com/a-b?id=7f3a9c."),
    "t3": ("東京", "数据库迁移失败了", "Straße gesperrt"),
    "t4": (
        "Lunch",
        "Pizza 🍕 or \u0939\u093f\u0928\u094d\u0926\u0940?",
        "Failed: nobody is hungry.",
    ),
}
INBOX = (
    "INSERT INTO inbox (conversation, thread, kind, outcome, author, author_name, text,"
    " received_at) VALUES ('', :thread, 'answer', 'answer', 'x:ann', 'Ann', :text, 0)"
)
EVENT = (
    "INSERT INTO events (thread, seq, turn, kind, body)"
    " VALUES (:thread, :seq, '', 'message_finished', :body)"
)


def say(connection: Connection, thread: str, text: str) -> None:
    connection.execute(INBOX, {"thread": thread, "text": text})


def answer(connection: Connection, thread: str, seq: int, text: str) -> None:
    event = MessageFinished(thread=thread, seq=seq, agent="a", message=f"m{seq}", text=text)
    connection.execute(EVENT, {"thread": thread, "seq": seq, "body": dump_event(event)})
    connection.execute(
        "UPDATE threads SET last_seq = :seq WHERE id = :thread", {"thread": thread, "seq": seq}
    )


async def make(store: AnyStore, thread: str, title: str, asked: str, answered: str) -> None:
    key = ConversationKey(platform="x", workspace="W", root=thread)
    await store.run(
        rows.create_thread, NewThread(id=thread, team="demo", definition="d"), key=key, title=title
    )
    await store.write(lambda connection: say(connection, thread, asked))
    await store.write(lambda connection: answer(connection, thread, 1, answered))


async def filled(folder: Path) -> AnyStore:
    """A store with all of them."""
    store = new_store(folder, clock=count(1).__next__)
    async with store.own():
        for thread, said in SAID.items():
            await make(store, thread, *said)
    return store


async def index(store: AnyStore) -> None:
    while await store.run(search_index.index_words):
        pass


async def found(store: AnyStore, words: str, **more) -> str:
    return " ".join(thread.id for thread in await store.run(threads.threads, search=words, **more))
