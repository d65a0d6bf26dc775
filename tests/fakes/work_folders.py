"""Threads with work folders, and the folders as several machines have them."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg

from gateway.access.authority import Access
from gateway.base.paths import make_private
from gateway.config.routes import Route
from gateway.content.attachments import MISSING
from gateway.conversation import Attachment, Author, ConversationKey, InboundMessage
from gateway.inbound.policy import usual_rules
from gateway.store.decisions import NewThread
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.records import Checkpoint
from gateway.store.rulebook import JudgedMessage
from gateway.store.turn_records import ClaimedTurn, Lease, TurnUpdate
from gateway.store.units import claims, inbox
from gateway.store.work.contents import WorkLimits

EVERYBODY = Access(
    routes=[Route.model_validate({"adapter": "x", "channels": ["*"], "users": ["members"]})]
)
SAFE_POINT = TurnUpdate(checkpoints=(Checkpoint(kind="snapshot", data=b"x"),))
Tree = dict[str, tuple[str, int, bytes]]


async def begun(store: PostgresStore, thread: str, *files: Attachment) -> Lease:
    """A turn of a new thread, running."""
    key = ConversationKey(platform="x", channel="c", root=thread)
    message = InboundMessage(
        key=key,
        author=Author(id=thread, name="Ann"),
        text="go",
        dedupe=(key.dedupe("create", thread),),
        attachments=files,
    )
    judged = JudgedMessage(
        message=message,
        rulebook=usual_rules(message, EVERYBODY, now=0.0),
        new=NewThread(id=thread, team="demo", definition=""),
        kind="message",
    )
    await store.run(inbox.accept, judged)
    return await claimed(store, thread)


async def claimed(store: PostgresStore, thread: str) -> Lease:
    work = await store.run(claims.begin, thread, "boot", words=MISSING)
    assert isinstance(work, ClaimedTurn)
    return work.lease


@asynccontextmanager
async def opened(
    url: str, folder: Path, thread: str = "t", **limits: float
) -> AsyncGenerator[tuple[PostgresStore, Lease, Path]]:
    """The store, a turn of a thread, and that thread's folder."""
    kept = WorkLimits(**limits)  # pyright: ignore[reportArgumentType]
    store = PostgresStore(Database(url=url, work=kept), folder)
    async with store.own():
        lease = await begun(store, thread)
        work = await store.work_folder(thread)
        work.mkdir(parents=True)
        yield store, lease, work


async def elsewhere(url: str, folder: Path, thread: str = "t") -> Path:
    """The thread's folder as another node gets it."""
    make_private(folder)
    return await PostgresStore(Database(url=url), folder).work_folder(thread)


def tree(folder: Path) -> Tree:
    """All entries below a folder: kind, permissions, contents."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder))
        if stat.S_ISLNK(mode):
            found[name] = ("link", 0, os.fsencode(path.readlink()))
        elif stat.S_ISDIR(mode):
            found[name] = ("folder", stat.S_IMODE(mode), b"")
        elif stat.S_ISREG(mode):
            found[name] = ("file", stat.S_IMODE(mode), path.read_bytes())
    return found


def rows(url: str, query: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


async def store_on(url: str, folder: Path, name: str, text: str, thread: str = "t") -> None:
    """Let another node's turn write a file."""
    store = PostgresStore(Database(url=url), folder)
    async with store.own():
        lease = await claimed_again(store, thread)
        (await store.work_folder(thread) / name).write_text(text)
        await store.record(lease, SAFE_POINT)


async def claimed_again(store: PostgresStore, thread: str) -> Lease:
    """The lease of a turn that another node has left."""
    await store.write(
        lambda connection: connection.execute(
            "UPDATE turns SET status = 'paused' WHERE thread = :thread", {"thread": thread}
        )
    )
    return await claimed(store, thread)
