"""A process that takes messages until its power is cut:

`python power_cut_child.py FOLDER SURVIVORS SEED WRITES LEVEL`. Each message it has acknowledged is
a line of its standard output.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import sys
from pathlib import Path
from typing import Any

from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import inbox
from tests.chaos.power_cut import Disk
from tests.chaos.sqlite_layer import watched
from tests.fakes.decided import decided

SENDERS = 12


def weaken(level: str) -> None:
    """Let the store sync as seldom as `level` says."""

    class Weaker(sqlite3.Connection):
        def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:
            return super().execute(
                sql.replace("synchronous = FULL", f"synchronous = {level}"), *more
            )

    connect = sqlite3.connect

    def weaker(*arguments: Any, **options: Any) -> sqlite3.Connection:
        return connect(*arguments, **{"factory": Weaker} | options)

    sqlite3.connect = weaker  # type: ignore[assignment]


async def send(store: SqliteStore, sender: int, chance: random.Random) -> None:
    """Write one message after the other; tell of each that was taken."""
    number = 0
    while True:
        number += 1
        name = f"{sender}-{number}"
        key = ConversationKey(platform="chat", channel="C", root=str(chance.randrange(20)))
        message = InboundMessage(
            key=key,
            author=Author(id=f"chat:{sender}"),
            text=name + " " + "x" * chance.randrange(3000),
            message_id=name,
            dedupe=(key.dedupe("create", name),),
        )
        await store.run(inbox.accept, decided(message, thread=f"{sender:06}{number:06}"))
        os.write(1, f"{name}\n".encode())


async def main(folder: Path, survivors: Path, seed: int, writes: int) -> None:
    async with SqliteStore(folder).own():
        pass  # made, and whole on disk
    store = SqliteStore(folder)
    chance = random.Random(seed)
    with watched(Disk(folder, survivors, seed=seed, writes=writes)):
        async with store.own(), asyncio.TaskGroup() as group:
            for sender in range(SENDERS):
                group.create_task(send(store, sender, chance))


if __name__ == "__main__":
    if sys.argv[5] != "FULL":
        weaken(sys.argv[5])
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
