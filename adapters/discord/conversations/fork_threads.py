"""Threads of forks that begin apart: private ones and posts.

Such a thread is made before the fork's first message, and kept under the fork's key. If the process
ended before it was kept, it is found again by its title: it is the bot's own, and no conversation
is known there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from weakref import WeakValueDictionary

from adapters.discord.config import Threads
from adapters.discord.connection.rest import TITLE_BLOCKED, ApiError, Rest
from adapters.discord.connection.values import parse_channel, snowflake
from adapters.discord.conversations.known_roots import FORK, MAKING, THREAD, KnownRoots
from gateway.adapter import AdapterHost
from gateway.client import ThreadInfo
from gateway.conversation import ConversationKey
from gateway.render.sanitize import label
from gateway.surface import CallRejected

PRIVATE = 12
"""Discord's type of private threads."""
TITLE = 60
"""Characters of a thread's title."""
UNTITLED = "Conversation"
ORIGIN_GONE = "Its thread was deleted, so it is not known who may read a copy."
POST = "-# A copy of a post goes on here."
CLOCKS = 60.0
"""Seconds by which Discord's clock may be behind ours."""

Make = Callable[[ConversationKey, str], Awaitable[str]]
"""Makes a private thread with a title in the key's channel; its id."""


class ForkThreads:
    """Finds or makes the thread in which a fork begins."""

    def __init__(
        self, rest: Rest, host: AdapterHost, threads: Threads, roots: KnownRoots, make: Make
    ) -> None:
        self._rest = rest
        self._host = host
        self._threads = threads
        self._roots = roots
        self._make_private = make
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def thread(self, key: ConversationKey, asker: str) -> str:
        """The fork's own thread; "" if its channel has its first message.

        Nobody but `asker` is let into a private one. Raises the errors of calls.
        """
        posts = parse_channel(await self._rest.call("GET", f"/channels/{key.channel}")).has_posts
        private = not posts and (self._threads == "private" or await self._is_of_private(key))
        if not (posts or private):
            return ""
        found = await self._host.conversations.thread_at(key)
        if found is None:
            raise CallRejected("The fork is not there any more.", gone=True)
        async with self._locks.setdefault(key.channel, asyncio.Lock()):
            thread = await self._own(key, found, private=private)
        if private and asker:
            await self._rest.call("PUT", f"/channels/{thread}/thread-members/{asker}")
        return thread

    async def _own(self, key: ConversationKey, fork: ThreadInfo, *, private: bool) -> str:
        """The fork's thread: kept, made by an earlier run, or new."""
        await self._roots.look_up(FORK, key)
        kept = self._roots.place(FORK, key)
        if kept not in ("", MAKING):
            return kept
        if not kept:
            await self._roots.keep(FORK, key, MAKING)
        thread = await self._made_before(key, fork) if kept else ""
        thread = thread or await self._make(key, label(fork.title, TITLE), private=private)
        await self._roots.keep(FORK, key, thread)
        return thread

    async def _is_of_private(self, key: ConversationKey) -> bool:
        """True if it is the fork of a private thread.

        Raises CallRejected where nobody knows.
        """
        origin = replace(key, root=key.forked)
        await self._roots.look_up(THREAD, origin)
        if self._roots.place(THREAD, origin):
            return True
        if not origin.root.isdecimal():  # begun with a command, and no private thread
            return False
        found = await self._read(f"/channels/{origin.root}")
        if found is not None:
            return found["type"] == PRIVATE
        # A public thread has the number of its first message, which stands in the channel.
        if await self._read(f"/channels/{key.channel}/messages/{origin.root}") is None:
            raise CallRejected(ORIGIN_GONE, gone=True)
        return False

    async def _read(self, path: str) -> Mapping[str, Any] | None:
        try:
            return await self._rest.call("GET", path)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _made_before(self, key: ConversationKey, fork: ThreadInfo) -> str:
        """The thread that an earlier run has made for it, or ""."""
        me = (await self._rest.call("GET", "/users/@me"))["id"]
        active = await self._rest.call("GET", f"/guilds/{key.workspace}/threads/active")
        since = snowflake(fork.updated_at - CLOCKS)
        titles = {label(fork.title, TITLE) or UNTITLED, UNTITLED}
        for each in active["threads"]:
            own = (each.get("parent_id"), each.get("owner_id")) == (key.channel, me)
            if own and each["name"] in titles and int(each["id"]) > since:
                there = replace(key, root=str(each["id"]))
                known = await self._roots.look_up_root(there.root)
                if not known and await self._host.conversations.thread_at(there) is None:
                    return there.root
        return ""

    async def _make(self, key: ConversationKey, title: str, *, private: bool) -> str:
        try:
            if private:
                return await self._make_private(key, title)
            post: Mapping[str, Any] = await self._rest.call(
                "POST",
                f"/channels/{key.channel}/threads",
                json={"name": title or UNTITLED, "message": {"content": POST}},
            )
        except ApiError as error:
            if error.code == TITLE_BLOCKED and title:
                return await self._make(key, "", private=private)
            raise
        return str(post["id"])
