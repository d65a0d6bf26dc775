"""The place of a conversation: a direct channel, a thread, or replies.

A conversation that begins in a channel is known by the message that began it. A thread that is
opened on a message has the message's id, so most need nothing to be remembered; private threads
have ids of their own, which are kept.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from adapters.bounded_cache import BoundedCache
from adapters.discord.config import Threads
from adapters.discord.connection.message_body import Message
from adapters.discord.connection.rest import (
    THREAD_EXISTS,
    TITLE_BLOCKED,
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    ApiError,
    Rest,
)
from adapters.discord.connection.values import THREADS
from adapters.discord.conversations.command_threads import CommandThreads, is_command_thread
from adapters.discord.conversations.fork_threads import PRIVATE, TITLE, UNTITLED, ForkThreads
from adapters.discord.conversations.known_roots import MESSAGE, THREAD, KnownRoots
from adapters.discord.conversations.locked_threads import LockedThreads
from adapters.discord.read_message import read_message
from adapters.tolerated import tolerated
from gateway.adapter import AdapterHost
from gateway.conversation import ConversationKey
from gateway.render.sanitize import label
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.discord")

ARCHIVE_MINUTES = 4320
LONGEST_NAME = 100
POINTER = "-# The conversation goes on in <#{thread}>, which only its members see."
DIRECT = "direct:"
"""First word of the marks of direct channels."""
UNKNOWN_SECONDS = 10.0
"""Seconds for which a thread stays unknown: another node may just have opened it."""

_MENTION = re.compile(r"<@[!&]?\d+>")

SetMessage: TypeAlias = Callable[[str], Awaitable[None]]
"""Is told the message on which a conversation hangs."""


@dataclass(frozen=True, slots=True)
class MessageTarget:
    """A channel to write to, and the message to reply to there."""

    channel: str
    reply_to: str = ""
    thread: bool = False
    name: str = ""
    """That of a thread that we have opened."""


@dataclass(frozen=True, slots=True)
class ThreadOpening:
    """The title for a new thread, and its owner's id."""

    title: str
    asker: str


class MessageTargets:
    """Finds the target of a conversation; opens its thread if needed.

    `hears_all`: all events of Discord come to this node.
    """

    def __init__(
        self,
        rest: Rest,
        threads: Threads,
        host: AdapterHost,
        hears_all: Callable[[], bool] = lambda: True,
    ) -> None:
        self._rest = rest
        self._threads = threads
        self._host = host
        self._roots = KnownRoots(host.marks, rest.account)
        self.root_of = self._roots.root_of
        self._commands = CommandThreads(rest, host, self._roots)
        self._forks = ForkThreads(rest, host, threads, self._roots, self._make_private)
        self.locked = LockedThreads(rest, hears_all)
        """Threads in which nothing is to be written."""
        self._known = BoundedCache[str, MessageTarget](10_000)
        self._unknown = BoundedCache[str, bool](10_000)
        """Threads of which the store knew nothing."""
        self.direct: dict[str, str] = {}
        """Direct channels in which somebody has written, with the thread that they have last."""
        self._openings = BoundedCache[str, ThreadOpening](1_000)
        self._unkept = BoundedCache[str, str](1_000)
        """Private threads that were made, and not kept yet, by their roots."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def load(self) -> None:
        """Remember the private threads and direct channels of earlier runs."""
        for name, value in (await self._host.marks.read(self._rest.account)).items():
            self._roots.load(name, value)
            if name.startswith(DIRECT):
                self.direct[name.removeprefix(DIRECT)] = value

    async def look_up_root(self, thread: str) -> None:
        """Know the conversation in a thread that another node may have opened.

        Raises GatewayError.
        """
        if self._unknown.get(thread, UNKNOWN_SECONDS) or self.root_of(thread) != thread:
            return
        if not await self._roots.look_up_root(thread):
            self._unknown.put(thread, True)

    def add_direct(self, channel: str) -> None:
        """Somebody writes in a direct channel: Discord lists none of them."""
        self.direct.setdefault(channel, "")

    async def keep_direct(self, key: ConversationKey, thread: str) -> None:
        """Record the thread in which a direct message was taken."""
        if self.direct.get(key.channel) != thread:
            await self._host.marks.keep(
                self._rest.account, f"{DIRECT}{key.channel}", thread, of=key
            )
            self.direct[key.channel] = thread

    def key(self, guild: str, channel: str, root: str = "") -> ConversationKey:
        """The conversation in a channel that hangs on a message."""
        return ConversationKey(
            platform=self._rest.account, workspace=guild, channel=channel, root=root
        )

    def key_of_thread(self, guild: str, parent: str, thread: str) -> ConversationKey:
        """The key of the conversation that stands in a thread."""
        return self.key(guild, parent, self.root_of(thread))

    def set_opening(self, key: ConversationKey, title: str, asker: str) -> None:
        """A conversation may begin with a message of this author's."""
        self._openings.put(key.root, ThreadOpening(label(title, TITLE), asker))

    @asynccontextmanager
    async def pending_message(self, key: ConversationKey) -> AsyncGenerator[SetMessage]:
        """Hide a command's conversation until its root message is known.

        Yields the function that sets the message.
        """
        async with self._lock(key):
            yield lambda message: self._commands.set_message(key, message)

    def set_target(self, key: ConversationKey, target: MessageTarget) -> None:
        """A conversation is known to stand there."""
        self._known.put(key.root, target)

    def forget(self, key: ConversationKey) -> None:
        """Forget a target that no longer exists."""
        self._known.forget(key.root)

    async def find(self, key: ConversationKey, *, asker: str = "") -> MessageTarget:
        """The target of a conversation; a new private thread includes `asker`.

        Raises the errors of calls, CallRejected where nothing can be.
        """
        if not key.workspace or not key.root:
            return MessageTarget(key.channel)
        async with self._lock(key):
            target = self._known.get(key.root)
            if target is None:
                for kind in (THREAD, MESSAGE) if is_command_thread(key) else (THREAD,):
                    await self._roots.look_up(kind, key)
                self.set_target(key, target := await self._find(key, asker))
            return target

    def _lock(self, key: ConversationKey) -> asyncio.Lock:
        return self._locks.setdefault(key.root, asyncio.Lock())

    async def begin_fork(self, key: ConversationKey, root: str, asker: str) -> None:
        """Open the thread of a fork. Raises the errors of calls."""
        self.set_opening(begun := replace(key, root=root), await self.title(key), asker)
        await self.find(begun, asker=asker)

    async def _find(self, key: ConversationKey, asker: str) -> MessageTarget:
        if key.forked:
            thread = await self._forks.thread(key, asker)
            return MessageTarget(thread or key.channel, thread=bool(thread))
        if private := self._roots.place(THREAD, key):
            return MessageTarget(private, thread=True)
        opening = self._openings.get(key.root)
        root = await self._root(key)
        if opening is None and root and (target := await self._existing(root)) is not None:
            return target
        if self._threads == "none":
            return MessageTarget(key.channel, reply_to=root)
        if opening is None:  # an earlier run has seen its beginning
            opening = ThreadOpening(await self.title(key), asker)
        return await self._open_new(key, root, opening)

    async def _root(self, key: ConversationKey) -> str:
        """The conversation's root message; "" if it begins in a private thread."""
        if not is_command_thread(key):
            return key.root
        if self._threads == "private":
            return self._roots.place(MESSAGE, key)
        return await self._commands.message(key)

    async def _open_new(
        self, key: ConversationKey, root: str, opening: ThreadOpening
    ) -> MessageTarget:
        try:
            if self._threads == "private":
                return await self._open_private(key, opening)
            return await self._open(key, root, opening.title)
        except ApiError as error:
            if error.code == THREAD_EXISTS:
                return MessageTarget(root, thread=True)
            if error.code == TITLE_BLOCKED and opening.title:
                return await self._open_new(key, root, replace(opening, title=""))
            if error.code == UNKNOWN_CHANNEL:
                raise
            if error.code == UNKNOWN_MESSAGE:  # maybe the number of a private thread
                raise CallRejected(str(error), gone=True, obstacle="absent") from error
            LOG.info("no thread in channel %s, replies instead: %s", key.channel, error)
            return MessageTarget(key.channel, reply_to=root)

    async def _existing(self, root: str) -> MessageTarget | None:
        try:
            channel = await self._rest.call("GET", f"/channels/{root}")
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        self.locked.learn(channel)
        return MessageTarget(root, thread=True) if channel.get("type") in THREADS else None

    async def title(self, key: ConversationKey) -> str:
        """The title for a thread whose beginning an earlier run has seen."""
        if is_command_thread(key) or key.forked:
            return label(await self._commands.title(key), TITLE)
        path = f"/channels/{key.channel}/messages/{key.root}"
        try:
            message: Mapping[str, Any] = await self._rest.call("GET", path)
        except CallRejected:
            return ""
        return label(_MENTION.sub("", read_message(message).text), TITLE)

    async def _open(self, key: ConversationKey, root: str, title: str) -> MessageTarget:
        thread = await self._rest.call(
            "POST",
            f"/channels/{key.channel}/messages/{root}/threads",
            json={"name": title or UNTITLED, "auto_archive_duration": ARCHIVE_MINUTES},
        )
        self.locked.learn(thread)
        return MessageTarget(root, thread=True, name=title)

    async def _open_private(self, key: ConversationKey, opening: ThreadOpening) -> MessageTarget:
        channel = self._unkept.get(key.root) or await self._make_private(key, opening.title)
        self._unkept.put(key.root, channel)  # where the store takes nothing, it is tried again
        await self._roots.keep(THREAD, key, channel)
        self._unkept.forget(key.root)
        if opening.asker:
            await self._rest.call("PUT", f"/channels/{channel}/thread-members/{opening.asker}")
        if not is_command_thread(key):  # the command's answer points there
            await self._point_to(channel, key)
        return MessageTarget(channel, thread=True)

    async def _make_private(self, key: ConversationKey, title: str) -> str:
        thread: Mapping[str, Any] = await self._rest.call(
            "POST",
            f"/channels/{key.channel}/threads",
            json={
                "name": title or UNTITLED,
                "type": PRIVATE,
                "auto_archive_duration": ARCHIVE_MINUTES,
                "invitable": True,
            },
        )
        self.locked.learn(thread)
        return str(thread["id"])

    async def _point_to(self, thread: str, key: ConversationKey) -> None:
        """Lead from the message that began the conversation to its thread."""
        body = Message(content=POINTER.format(thread=thread)).body(
            nonce=f"p{key.root}", below=key.root
        )
        with tolerated(LOG, f"point to a private thread in channel {key.channel}"):
            await self._rest.call("POST", f"/channels/{key.channel}/messages", json=body)
