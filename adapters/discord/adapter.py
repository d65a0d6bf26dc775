"""The bot: its connection, its events, and the gateway's surface."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from adapters.awaited_files import AwaitedFiles
from adapters.dead_ends import DeadEnds
from adapters.discord.config import PLATFORM, required_permissions
from adapters.discord.connection.cache import Cache
from adapters.discord.connection.connection import Connection, make_client, make_intents
from adapters.discord.connection.event_queue import EventQueue, Handle
from adapters.discord.connection.identify_gate import IdentifyGate
from adapters.discord.connection.rate_limits import SPACING, Buckets
from adapters.discord.connection.rest import Rest
from adapters.discord.connection.shard_session import ConnectionState
from adapters.discord.connection.shards import Shards
from adapters.discord.connection.values import (
    BotIdentity,
    Channel,
    Payload,
    parse_channel,
)
from adapters.discord.conversations.threads import MessageTargets
from adapters.discord.inbound.archived_threads import ArchivedThreads
from adapters.discord.inbound.author_lookup import AuthorLookup
from adapters.discord.inbound.catch_up import CatchUp
from adapters.discord.inbound.contents import InboundContext
from adapters.discord.inbound.files import Files
from adapters.discord.inbound.interactions import InteractionHandler
from adapters.discord.inbound.message_handler import MessageHandler
from adapters.discord.inbound.missed_edits import MissedEdits
from adapters.discord.inbound.missed_messages import DiscordHistory
from adapters.discord.inbound.parse_interactions import parse_interaction
from adapters.discord.inbound.parse_messages import (
    ParsedMessage,
    ignored_reason,
    parse_deletion,
    parse_message,
)
from adapters.discord.outbound.avatars import Avatars
from adapters.discord.outbound.commands import command_payloads, sync_commands
from adapters.discord.outbound.direct_messages import DirectMessages
from adapters.discord.outbound.surface import LIMITS, DiscordSurface
from adapters.discord.outbound.webhooks import Webhooks
from adapters.tolerated import tolerated
from gateway.adapter import AuthError
from gateway.base.outside_time import OutsideClock
from gateway.errors import GatewayError
from gateway.pacing.pacer import Pacer
from gateway.surface import CallRejected, PlatformUnreachable, RateLimited

if TYPE_CHECKING:
    from adapters.discord.config import Config
    from gateway.adapter import AdapterHost

LOG = logging.getLogger("adapters.discord")

UNKNOWN_SERVER = (
    "the bot was added to the server {guild}, which no route names: it is silent there. "
    "Add the server to a route, remove the bot from it, or set leave_unknown_servers = true."
)
LEFT_SERVER = "the bot left the server {guild}, which no route names."

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0


class DiscordAdapter:
    """The connection to Discord."""

    def __init__(self, config: Config, *, clock: Callable[[], float] | None = None) -> None:
        self._config = config
        self._clock = clock

    @property
    def name(self) -> str:
        """Its name in [adapters]."""
        return self._config.account

    async def run(self, host: AdapterHost) -> None:
        """Connect, and hand in what arrives, until cancelled. Raises AuthError."""
        config, clock = self._config, OutsideClock()

        def told(at: float) -> None:
            clock.note(at)
            host.health.compare_time(self.name, at)

        buckets = Buckets(Pacer(host.shared_rate, spacing=SPACING), account=self.name)
        speaking = host.leases.check_speaking
        async with Rest(
            config.token,
            config.api_url,
            buckets,
            told=told,
            check_speaking=speaking,
            account=self.name,
        ) as rest:
            me, config = await _sign_in(rest, config)
            host.policy.introduce((me.user, me.application))
            # Times are compared with those in Discord's ids: its clock counts.
            bot = _Bot(config, host, rest, me, config.shards or 1, self._clock or clock)
            try:
                await bot.run()
            except BaseExceptionGroup as errors:
                refused = next(_refusals(errors), None)
                if refused is None:
                    raise
                raise refused from errors


async def _sign_in(rest: Rest, config: Config) -> tuple[BotIdentity, Config]:
    """The bot's identity, and where and how often to connect. Raises AuthError."""
    wait = FIRST_WAIT
    while True:
        try:
            user = await rest.call("GET", "/users/@me")
            application = await rest.call("GET", "/oauth2/applications/@me")
            gateway = await rest.call("GET", "/gateway/bot")
            found = {
                "gateway_url": config.gateway_url or str(gateway["url"]),
                "shards": config.shards or int(gateway["shards"]),
            }
            me = BotIdentity(user=str(user["id"]), application=str(application["id"]))
            return me, config.model_copy(update=found)
        except (PlatformUnreachable, RateLimited, CallRejected) as error:
            LOG.warning("could not ask Discord for the bot's identity: %s", error)
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
        self._count = shards
        self._servers_unknown = True
        """It was not looked yet at servers of which an earlier session told."""
        self._gate = IdentifyGate(host, rest)
        self._cache = Cache(lambda: self._shards, rest, me)
        rest.explain = lambda channel: self._cache.refusal(channel, required_permissions(config))
        self._targets = MessageTargets(rest, config.threads, host, lambda: self._shards.hears_all)
        files = Files(rest, config.api_url, lambda: host.limits.largest_file)
        self._fetching = AwaitedFiles(
            host.files, config.account, files.fetch_awaited, self._start_task
        )
        direct = DirectMessages(rest)
        dead_ends = DeadEnds(host.health, PLATFORM, direct)
        context = InboundContext(
            rest=rest,
            direct=direct,
            dead_ends=dead_ends,
            targets=self._targets,
            cache=self._cache,
            people=AuthorLookup(
                rest, self._cache.guilds, lambda: host.policy.workspaces(config.account)
            ),
            fetching=self._fetching,
            clock=clock,
            offer=self.on_failure,
        )
        self._handler = MessageHandler(host, context)
        archives = ArchivedThreads(rest)
        history = DiscordHistory(
            host,
            context,
            self._handler,
            archives,
            lambda channel: self._events.lock(channel),
        )
        self._backfill = history.backfill
        self._catch_up = CatchUp(self._backfill, archives, clock)
        self._missed_edits = MissedEdits(rest, host, self._cache, self._backfill, self._handler)
        self._interactions = InteractionHandler(
            host,
            context,
            self._handler,
            history,
            ask=config.ask,
            threads=config.threads,
        )
        self.handlers: Mapping[str, Handle] = {
            "MESSAGE_CREATE": self._on_message,
            "MESSAGE_UPDATE": self._on_edit,
            "MESSAGE_DELETE": self._on_deletion,
            "MESSAGE_DELETE_BULK": self._on_deletion,
            "INTERACTION_CREATE": self._on_interaction,
            "THREAD_UPDATE": self._on_thread,
        }
        webhooks = Webhooks(rest, me.application) if config.webhooks else None
        self._surface = DiscordSurface(
            rest,
            self._targets,
            me.user,
            lambda: host.policy.live_links,
            webhooks,
            limits=replace(LIMITS, messages=config.answer_messages, whole=config.answer_characters),
            dead_ends=dead_ends,
            clock=clock,
        )
        self._marks = self._surface.show_progress() if config.show_progress else None
        self._surface.thumbs = config.thumbs
        self._surface.avatars = Avatars(rest, me.application)

    async def run(self) -> None:
        await self._targets.load()
        async with (
            self._surface,
            self._host.delivering(self._surface),
            asyncio.TaskGroup() as group,
        ):
            self._group = group
            self._events = EventQueue(self, group, self._count, self._clock)
            bot = f"{self._me.user} {make_intents(self._config).value}"
            self._shards = Shards(
                self._host,
                self,
                self._events,
                self._backfill,
                self._count,
                bot=bot,
                now=self._clock,
            )
            group.create_task(self._shards.run(), name="connects shards to Discord")
            if self._marks is not None:
                group.create_task(self._marks.run(), name="changes reactions")

    def make_connection(self, shard: int) -> Connection:
        make = partial(make_client, self._config, self._count)
        token = self._config.token.get_secret_value()
        return Connection(make, token, self, self._gate.wait, shard=shard)

    async def take_over(self) -> None:
        """Know what the earlier holder of a shard has known. Raises GatewayError."""
        self._targets.locked.forget()
        await self._targets.load()
        await self._catch_up.load()
        self._servers_unknown = True

    async def serve_shard(self, shard: int) -> None:
        """Do the other work of a shard's holder.

        The first shard's holder does what one node alone may do.
        """
        self._start_task(self._fetching.look(), "looks for files of an earlier run")
        if shard == 0:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._sync_commands(), name="tells Discord of the commands")
                group.create_task(self._upload_faces(), name="uploads pictures of agents")
                group.create_task(self._catch_up.run(), name="works off what was missed")
                group.create_task(self._gate.watch(), name="looks for others' sessions")

    def _start_task(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Begin what nobody waits for, and own it until its end."""
        logged = _log_errors(work)
        try:
            task = self._group.create_task(logged, name=name)
        except RuntimeError:  # the adapter ends
            logged.close()
            work.close()
        else:
            task.add_done_callback(lambda _: work.close())  # it may be cancelled before it begins

    def on_frame(self, shard: int, text: str) -> None:
        self._host.health.heartbeat(self._config.account)
        self._events.on_frame(shard, text)

    def on_state(self, shard: int, state: ConnectionState) -> None:
        self._shards.note_connection(shard, is_open=state != "lost")
        if state == "lost":
            self._events.on_lost(shard)
        if state != "resumed":
            return
        self._events.on_resumed(shard)
        self._catch_up.begin()
        if shard == 0 and self._servers_unknown and not self._shards.tells_all:
            self._servers_unknown = False
            self._start_task(self._look_at_servers(), "looks for servers that no route names")

    async def _sync_commands(self) -> None:
        wanted = command_payloads(self._config.ask, self._host.commands())
        wait = FIRST_WAIT
        while True:
            try:
                await sync_commands(self._rest, self._me.application, wanted)
            except AuthError:
                raise
            except CallRejected as error:
                LOG.error("Discord refused the commands: %s", error)  # noqa: TRY400 (the text says it all)
                return
            except GatewayError as error:
                LOG.warning("could not register the commands: %s", error)
            else:
                return
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    async def _upload_faces(self) -> None:
        """Give Discord the pictures of files before a message needs one."""
        avatars = self._surface.avatars
        for face in self._host.policy.faces:
            if avatars is not None and face.picture:
                await avatars.mark(face)

    async def _on_message(self, payload: Payload) -> None:
        if payload.get("author", {}).get("id") == self._me.user and (nonce := payload.get("nonce")):
            self._surface.note_nonce(str(nonce), str(payload["id"]))
        if parsed := await self._parsed(payload):
            await self._handler.handle(parsed)

    async def _parsed(self, payload: Payload) -> ParsedMessage | None:
        """The message, if somebody wrote it; what is ignored is counted."""
        guild = str(payload.get("guild_id") or "")
        mentions_roles = payload.get("mention_roles")
        me = await self._cache.me_known(guild) if mentions_roles else self._cache.me_in(guild)
        if (reason := ignored_reason(payload, me)) is not None:
            self._host.health.count_ignored(reason)
        return parse_message(payload, me)

    def on_malformed(self) -> None:
        self._host.health.count_ignored("malformed")

    async def on_failure(self, channel: str, since: float) -> None:
        await self._catch_up.note_lost(channel, since)

    async def _on_edit(self, payload: Payload) -> None:
        # A preview that appears below a message, or a pin, is no edit of its author's.
        if payload.get("edited_timestamp") is None or "author" not in payload:
            self._host.health.count_ignored("no change")
            return
        if parsed := await self._parsed(payload):
            await self._handler.handle_edit(parsed)

    async def _on_deletion(self, payload: Payload) -> None:
        await self._handler.handle_deletion(parse_deletion(payload))

    async def _on_interaction(self, payload: Payload) -> None:
        channel = payload.get("channel")
        if channel:
            guild = str(payload.get("guild_id") or "")
            self._cache.learn_channel(parse_channel(channel, guild))
        done = parse_interaction(payload)
        if done is None:
            self._host.health.count_ignored("unknown kind")
            return
        await self._interactions.handle(done)

    async def on_ready(self, since: float) -> None:
        self._targets.locked.forget()
        since = self._past(since)
        direct = [(Channel(id=channel, type=1), "") for channel in sorted(self._targets.direct)]
        await self._catch_up.note(direct, since)
        await self._missed_edits.read("", since)

    async def on_guild(self, payload: Payload, since: float) -> None:
        guild = str(payload["id"])
        for thread in payload.get("threads", ()):
            self._targets.locked.learn(thread)
        channels = [
            (parse_channel(each, guild), str(each.get("last_message_id") or ""))
            for each in (*payload.get("channels", ()), *payload.get("threads", ()))
        ]
        if not self._host.policy.serves(
            self._config.account, guild, [channel.id for channel, _ in channels]
        ):
            await self._meet_unknown(guild)
            return
        since = self._past(since)
        readable = [each for each in channels if self._cache.may_read(each[0].id)]
        await self._catch_up.note(readable, since, guild)
        await self._missed_edits.read(guild, since)

    async def _look_at_servers(self) -> None:
        """Meet servers of which an earlier session told."""
        for guild in await self._cache.guilds():
            if not self._host.policy.serves(self._config.account, guild, ()):
                channels = await self._rest.call("GET", f"/guilds/{guild}/channels")
                if not self._host.policy.serves(
                    self._config.account, guild, [str(each["id"]) for each in channels]
                ):
                    await self._meet_unknown(guild)

    def _past(self, heard: float) -> float:
        """The time until which all was heard, in the past."""
        now = self._clock()
        # In the future: the clock was ahead when it was noted.
        return heard if heard <= now else now - self._host.limits.missed.offer

    async def _meet_unknown(self, guild: str) -> None:
        """Announce a server that no route names; leave it if so set."""
        told = UNKNOWN_SERVER
        if self._config.leave_unknown_servers:
            with tolerated(LOG, f"leave the server {guild}"):
                await self._rest.call("DELETE", f"/users/@me/guilds/{guild}")
                told = LEFT_SERVER
        self._host.health.remark(self._config.account, told.format(guild=guild))
        LOG.warning(told.format(guild=guild))

    async def _on_thread(self, payload: Payload) -> None:
        """Keep a waiting thread awake; read one that has woken up."""
        self._targets.locked.learn(payload)
        metadata = payload.get("thread_metadata") or {}
        channel = parse_channel(payload)
        if not metadata.get("archived"):
            await self._catch_up.note_awake(channel)
        if not metadata.get("archived") or metadata.get("locked"):
            return
        self._cache.learn_channel(channel)
        await self._targets.look_up_root(channel.id)
        key = self._targets.key_of_thread(channel.guild, channel.parent, channel.id)
        found = await self._host.conversations.thread_at(key)
        if found is not None and found.state == "waiting":
            await self._rest.call("PATCH", f"/channels/{channel.id}", json={"archived": False})


async def _log_errors(work: Coroutine[Any, Any, None]) -> None:
    """Run a task to its end and log its errors."""
    try:
        await work
    except GatewayError as error:
        LOG.warning("%s", error)
    except Exception:
        LOG.exception("a task has failed")
