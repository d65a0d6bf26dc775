"""The bot: its connection, its events, and the gateway's surface."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from adapters.discord.connection.cache import Cache
from adapters.discord.connection.connection import Connection, make_client
from adapters.discord.connection.event_queue import EventQueue
from adapters.discord.connection.rest import Rest
from adapters.discord.connection.values import BotIdentity, Channel, Payload, parse_channel
from adapters.discord.conversations.channels import Channels
from adapters.discord.conversations.threads import Spots
from adapters.discord.inbound.author_lookup import AuthorLookup
from adapters.discord.inbound.catch_up import CatchUp
from adapters.discord.inbound.files import FileReader
from adapters.discord.inbound.interactions import InteractionHandler
from adapters.discord.inbound.messages import InboundContext, MessageHandler
from adapters.discord.inbound.missed_edits import MissedEdits
from adapters.discord.inbound.parse_interactions import parse_interaction
from adapters.discord.inbound.parse_messages import parse_deletion, parse_message
from adapters.discord.outbound.commands import command_payloads, sync_commands
from adapters.discord.outbound.surface import DiscordSurface
from adapters.discord.outbound.webhooks import Webhooks
from adapters.discord.state import PLATFORM
from gateway.adapter import AuthError
from gateway.delivery.service import delivering
from gateway.errors import GatewayError
from gateway.surface import CallRejected, PlatformUnreachable, RateLimited

if TYPE_CHECKING:
    from adapters.discord.config import Config
    from gateway.adapter import AdapterHost

LOG = logging.getLogger("adapters.discord")

SEEN = "seen"
"""Name of the mark that says until when everything was heard."""
NOTE_SECONDS = 15.0
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0


class DiscordAdapter:
    """The connection to Discord."""

    def __init__(self, config: Config, *, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._clock = clock

    @property
    def name(self) -> str:
        """Its name in [adapters]."""
        return PLATFORM

    async def run(self, host: AdapterHost) -> None:
        """Connect, and hand in what arrives, until cancelled. Raises AuthError."""
        config = self._config
        async with Rest(config.token, config.api_url) as rest:
            me, shards = await _sign_in(rest, config)
            bot = _Bot(config, host, rest, me, shards, self._clock)
            try:
                await bot.run()
            except BaseExceptionGroup as errors:
                refused = next(_refusals(errors), None)
                if refused is None:
                    raise
                raise refused from errors


async def _sign_in(rest: Rest, config: Config) -> tuple[BotIdentity, int]:
    """The bot's identity, and the number of connections it needs. Raises AuthError."""
    wait = FIRST_WAIT
    while True:
        try:
            user = await rest.call("GET", "/users/@me")
            application = await rest.call("GET", "/oauth2/applications/@me")
            shards = config.shards or (await rest.call("GET", "/gateway/bot"))["shards"]
            return BotIdentity(user=str(user["id"]), application=str(application["id"])), int(
                shards
            )
        except (PlatformUnreachable, RateLimited, CallRejected) as error:
            LOG.warning("Discord can't be asked who the bot is: %s", error)
        await asyncio.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT)


def _refusals(errors: BaseExceptionGroup[BaseException]) -> Iterator[AuthError]:
    for error in errors.exceptions:
        if isinstance(error, AuthError):
            yield error
        elif isinstance(error, BaseExceptionGroup):
            yield from _refusals(error)


class _Bot:
    """One run of the adapter: listens to its connection, handles its events."""

    def __init__(
        self,
        config: Config,
        host: AdapterHost,
        rest: Rest,
        me: BotIdentity,
        shards: int,
        clock: Callable[[], float],
    ) -> None:
        self._clock = clock
        self._config = config
        self._host = host
        self._rest = rest
        self._me = me
        self._shards = shards
        self._connection = Connection(
            lambda listener: make_client(config, shards, listener),
            config.token.get_secret_value(),
            self,
            shards=shards,
        )
        self._cache = Cache(self._connection)
        self._spots = Spots(rest, config.threads, host)
        self._channels = Channels(rest, self._cache.channel)
        knowledge = InboundContext(
            rest=rest,
            spots=self._spots,
            channels=self._channels,
            people=AuthorLookup(rest, self._cache.guilds),
            files=FileReader(rest, config.api_url, lambda: host.largest_file),
            roles=self._cache.role,
        )
        self._handler = MessageHandler(host, knowledge)
        self._catch_up = CatchUp(rest, self._handler, clock)
        self._missed_edits = MissedEdits(rest, host, self._handler)
        self._interactions = InteractionHandler(
            host,
            knowledge,
            self._handler,
            self._catch_up,
            ask=config.ask,
            threads=config.threads,
        )
        webhooks = Webhooks(rest, me.application) if config.webhooks else None
        self._surface = DiscordSurface(
            rest, self._spots, me.user, lambda: host.live_links, webhooks, clock=clock
        )

    async def run(self) -> None:
        await self._spots.load()
        heard_at = await self._heard_at()
        async with (
            self._surface,
            delivering(self._host, self._surface),
            asyncio.TaskGroup() as group,
        ):
            self._events = EventQueue(self, group, heard_at, self._clock)
            group.create_task(self._note_seen(), name="notes until when all was heard")
            group.create_task(self._sync_commands(), name="tells Discord of the commands")
            group.create_task(self._connection.run(), name="keeps the connection to Discord")

    def on_frame(self, text: str) -> None:
        self._host.heartbeat(PLATFORM)
        self._events.on_frame(text)

    def on_lost(self, shard: int) -> None:
        self._events.on_lost(shard)

    def on_resumed(self, shard: int) -> None:
        self._events.on_resumed(shard)

    async def _heard_at(self) -> Sequence[float]:
        """The time until which each shard heard everything, from the store."""
        noted = (await self._host.marks(PLATFORM)).get(SEEN)
        if noted is None:  # before the very first run there is nothing that could have been missed
            return [self._clock()] * self._shards
        found: float | list[float] = json.loads(noted)  # a number, as earlier versions wrote it
        seen = found if isinstance(found, list) else [found]
        return seen if len(seen) == self._shards else [min(seen)] * self._shards

    async def _note_seen(self) -> None:
        noted: tuple[float, ...] = ()
        while True:
            until = self._events.done_until
            if new := until != noted:
                try:
                    await self._host.mark(PLATFORM, SEEN, json.dumps(until))
                except GatewayError as error:
                    LOG.warning("until when all was heard is not noted: %s", error)
            await asyncio.sleep(NOTE_SECONDS if new else FIRST_WAIT)
            noted = until

    async def _sync_commands(self) -> None:
        wanted = command_payloads(self._config.ask, self._host.commands())
        wait = FIRST_WAIT
        while True:
            try:
                await sync_commands(self._rest, self._host, self._me.application, wanted)
            except AuthError:
                raise
            except CallRejected as error:
                LOG.error("Discord does not take the commands: %s", error)  # noqa: TRY400 (the text says it all)
                return
            except GatewayError as error:
                LOG.warning("Discord was not told of the commands: %s", error)
            else:
                return
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    async def on_message(self, payload: Payload) -> None:
        if payload.get("author", {}).get("id") == self._me.user:
            if nonce := payload.get("nonce"):
                self._surface.note_nonce(str(nonce), str(payload["id"]))
            return
        me = self._me_in(payload)
        said = parse_message(payload, me)
        if said is not None:
            await self._handler.handle(said, me)

    async def on_edit(self, payload: Payload) -> None:
        # A preview that appears below a message, or a pin, is no edit of its author's.
        if payload.get("edited_timestamp") is None or "author" not in payload:
            return
        me = self._me_in(payload)
        said = parse_message(payload, me)
        if said is not None:
            await self._handler.handle_edit(said, me)

    async def on_deletion(self, payload: Payload) -> None:
        await self._handler.handle_deletion(parse_deletion(payload))

    async def on_interaction(self, payload: Payload) -> None:
        channel = payload.get("channel")
        if channel:
            self._channels.learn(parse_channel(channel, str(payload.get("guild_id") or "")))
        done = parse_interaction(payload)
        if done is not None:
            await self._interactions.handle(done, self._me_in(payload))

    async def on_ready(self, since: float) -> None:
        direct = [(Channel(id=channel, type=1), "") for channel in sorted(self._spots.direct)]
        await self._catch_up.read(direct, since, self._me)
        await self._missed_edits.read("", since, self._me)

    async def on_guild(self, payload: Payload, since: float) -> None:
        if payload.get("unavailable"):
            return
        guild = str(payload["id"])
        channels = [
            (parse_channel(each, guild), str(each.get("last_message_id") or ""))
            for each in (*payload.get("channels", ()), *payload.get("threads", ()))
        ]
        heard = [(channel, last) for channel, last in channels if last]
        me = self._me_in({"guild_id": guild})
        await self._catch_up.read(heard, since, me)
        await self._missed_edits.read(guild, since, me)

    async def on_thread(self, payload: Payload) -> None:
        """A thread that waits for somebody's answer does not fall asleep."""
        metadata = payload.get("thread_metadata") or {}
        if not metadata.get("archived") or metadata.get("locked"):
            return
        channel = parse_channel(payload)
        self._channels.learn(channel)
        key = self._spots.key_of_thread(channel.guild, channel.parent, channel.id)
        found = await self._host.thread_at(key)
        if found is not None and found.state == "waiting":
            await self._rest.call("PATCH", f"/channels/{channel.id}", json={"archived": False})

    def _me_in(self, payload: Payload) -> BotIdentity:
        return self._cache.me_in(self._me, str(payload.get("guild_id") or ""))
