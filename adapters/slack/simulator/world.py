"""The world: the app, its workspaces and tokens, and their events."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from adapters.slack.simulator.clock import Clock
from adapters.slack.simulator.deliveries import Deliveries, Delivery, DeliveryKind
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.rate_limits import EventQuota, RateLimits
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.state import (
    SLACKBOT,
    Channel,
    Json,
    Message,
    User,
    View,
    Workspace,
)

HOME = "T0HOME"
LOOKS_AGAIN = 0.05
"""Real seconds after which a condition is looked at again, though nothing has changed."""
MESSAGE_EVENTS = {
    "channel": "message.channels",
    "group": "message.groups",
    "im": "message.im",
    "mpim": "message.mpim",
}


@dataclass(kw_only=True)
class Grant:
    """An installation's token; `enterprise` alone covers a whole organisation."""

    token: str = field(repr=False)
    workspace: str = ""
    enterprise: str = ""
    scopes: frozenset[str] = frozenset()
    kind: str = "bot"
    refresh: str = field(default="", repr=False)
    expires: float | None = None
    revoked: bool = False
    uninstalled: bool = False


@dataclass(kw_only=True)
class Trigger:
    """A short-lived trigger that lets an app open one modal."""

    user: str
    workspace: str
    at: float
    used: bool = False


@dataclass(kw_only=True)
class ResponseUrl:
    """An answer URL of an interaction: five answers in half an hour."""

    workspace: str
    channel: str
    user: str
    at: float
    message: str = ""
    thread_ts: str = ""
    uses: int = 0


class World:
    """The state behind the Web API, and the events to the app."""

    def __init__(self, app: AppSettings, clock: Clock, *, rates: bool) -> None:
        self.app = app
        self.clock = clock
        self.rates = RateLimits(clock, enforced=rates)
        self.base = ""
        """The URL that the simulator is reached at."""
        self.workspaces: dict[str, Workspace] = {}
        self.grants: dict[str, Grant] = {}
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.codes: dict[str, Json] = {}
        self.ticket: Callable[[], str] | None = None
        """Makes the tickets of Socket Mode."""
        self.strict_threads = True
        """True if a reply must name an existing thread's root."""
        self.stream_life = 306.0
        """Seconds after which a stream ends by itself."""
        self.deliveries = Deliveries(clock, self.changed)
        self.quota = EventQuota(clock)
        self.apps = [self]
        """This app and those beside it in the same workspaces."""
        self._numbers = itertools.count(1)
        self._last_ts = [0]
        self._change = asyncio.Event()

    def join(self, other: World) -> None:
        """Be an app in the workspaces of another one."""
        self.workspaces, self.apps = other.workspaces, other.apps
        self._numbers, self._last_ts = other._numbers, other._last_ts
        self.apps.append(self)

    def changed(self) -> None:
        """Wake whoever waits for something to become true."""
        for each in self.apps:
            each._change.set()
            each._change = asyncio.Event()

    async def change(self) -> None:
        """Wait until something changes."""
        await self._change.wait()

    async def until(self, condition: Callable[[], object], within: float | None = 30.0) -> None:
        """Wait until a condition holds. Raises TimeoutError after `within` real seconds.

        It may speak of what is not in this world, which tells of no change.
        """
        async with asyncio.timeout(within):
            while not condition():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.change(), LOOKS_AGAIN)

    def new_id(self, prefix: str) -> str:
        """An id that was not there before."""
        return f"{prefix}0{next(self._numbers):07d}"

    def new_ts(self) -> str:
        """A message's mark: the time, later than every one before."""
        last = self._last_ts[0] = max(int(self.clock.time() * 1_000_000), self._last_ts[0] + 1)
        return f"{last // 1_000_000}.{last % 1_000_000:06d}"

    def bot(self, workspace: str) -> User:
        """The app's bot in a workspace."""
        users = self.workspaces[workspace].users.values()
        return next(each for each in users if each.app_id == self.app.id)

    def user(self, identity: str) -> User:
        """A user of any workspace. Raises ApiError `user_not_found`."""
        if identity == SLACKBOT.id:
            return SLACKBOT
        for workspace in self.workspaces.values():
            if identity in workspace.users:
                return workspace.users[identity]
        raise ApiError("user_not_found")

    def channel(self, workspace: str, identity: str) -> Channel:
        """A channel that a workspace has or shares. Raises ApiError `channel_not_found`."""
        for each in self.workspaces.values():
            found = each.channels.get(identity)
            if found is not None and (each.id == workspace or workspace in found.shared):
                return found
        raise ApiError("channel_not_found")

    def direct(self, workspace: str, user: str) -> Channel:
        """The app's direct messages with somebody. Raises ApiError `user_not_found`."""
        members = {self.user(user).id, self.bot(workspace).id}
        home = self.workspaces[workspace]
        for channel in home.channels.values():
            if channel.kind == "im" and channel.members == members:
                return channel
        channel = Channel(id=self.new_id("D"), name="", team=workspace, kind="im", members=members)
        home.channels[channel.id] = channel
        return channel

    def view(self, identity: str) -> View | None:
        """A view of any workspace."""
        for workspace in self.workspaces.values():
            if identity in workspace.views:
                return workspace.views[identity]
        return None

    def trigger(self, user: str, workspace: str) -> str:
        """A new trigger id for what a person just did."""
        identity = f"{next(self._numbers)}.100.{uuid.uuid4().hex}"
        self.triggers[identity] = Trigger(user=user, workspace=workspace, at=self.clock.time())
        return identity

    def response_url(self, kind: str, reply: ResponseUrl) -> str:
        """A new URL to answer an interaction at."""
        path = f"/response/{kind}/{reply.workspace}/{uuid.uuid4().hex}"
        self.response_urls[path] = reply
        return f"{self.base}{path}"

    def emit(
        self, workspace: str, event: Json, *, about: Channel | None = None, more: Json | None = None
    ) -> Delivery | None:
        """Send an event to the app if it is subscribed and allowed.

        `about` is the channel that it happens in: the bot must be a member of it. `more` stands in
        the payload instead of what is there for a workspace's own events.
        """
        name = str(event["type"])
        if name == "message" and about is not None:
            name = MESSAGE_EVENTS[about.kind]
        if name not in self.app.events or not self.installed(workspace):
            return None
        bot = self.bot(workspace)
        if about is not None and bot.id not in about.members:
            return None
        if not self.quota.admits(workspace):
            if minute := self.quota.unreported_minute(workspace):
                self.deliver("events_api", self._left_out(workspace, minute))
            return None
        payload = self._callback(workspace, event, bot, about) | (more or {})
        return self.deliver("events_api", payload)

    def publish(self, workspace: str, event: Json, about: Channel) -> None:
        """Send an event of a channel to all apps in it."""
        for each in self.apps:
            each.emit(workspace, event, about=about)

    def _left_out(self, workspace: str, minute: int) -> Json:
        return {
            "token": "simulated-verification-token",
            "type": "app_rate_limited",
            "team_id": workspace,
            "minute_rate_limited": minute,
            "api_app_id": self.app.id,
        }

    def deliver(
        self,
        kind: DeliveryKind,
        payload: Json,
        on_ack: Callable[[Delivery], None] | None = None,
    ) -> Delivery:
        """Send something to the app."""
        return self.deliveries.send(kind, payload, str(uuid.uuid4()), on_ack)

    def installed(self, workspace: str) -> bool:
        """True if the app is installed there with a usable token."""
        enterprise = self.workspaces[workspace].enterprise
        return any(
            not (grant.uninstalled or grant.revoked)
            and grant.kind == "bot"
            and (grant.workspace == workspace or (enterprise and grant.enterprise == enterprise))
            for grant in self.grants.values()
        )

    def changed_message(self, channel: Channel, message: Message, before: Json) -> None:
        """Tell of a message that was changed."""
        now = self.new_ts()
        event: Json = {
            "type": "message",
            "subtype": "message_changed",
            "message": message.json(),
            "previous_message": before,
            "channel": channel.id,
            "hidden": True,
            "ts": now,
            "event_ts": now,
            "channel_type": channel.kind,
        }
        self._publish(channel, event)

    def delete(self, channel: Channel, message: Message) -> None:
        """Delete a message and publish it.

        A root with replies leaves a tombstone, which goes with the last of them.
        """
        if message.root == message.ts and channel.thread(message.ts)[1:]:
            before = message.json()
            message.entomb()
            self.changed_message(channel, message, before)
            return
        message.hidden = True
        root = channel.messages.get(message.root)
        if root is not None and root.tombstone and not channel.thread(root.ts)[1:]:
            root.hidden = True
        self._deleted(channel, message)

    def _deleted(self, channel: Channel, message: Message) -> None:
        now = self.new_ts()
        event: Json = {
            "type": "message",
            "subtype": "message_deleted",
            "deleted_ts": message.ts,
            "previous_message": message.json(),
            "channel": channel.id,
            "hidden": True,
            "ts": now,
            "event_ts": now,
            "channel_type": channel.kind,
        }
        self._publish(channel, event)

    def new_message(self, channel: Channel, message: Message) -> None:
        """Publish a new message; the app's own come back as echoes."""
        event = message.json() | {
            "channel": channel.id,
            "event_ts": message.ts,
            "channel_type": channel.kind,
        }
        root = channel.messages.get(message.thread_ts)
        if root is not None and root is not message:
            event["parent_user_id"] = root.user
            if message.subtype == "thread_broadcast":
                event["root"] = channel.read(root)
        author_team = self.user(message.user).team if message.user else message.team
        if author_team != channel.team or channel.shared:
            event |= {"user_team": author_team, "source_team": author_team}
        self._publish(channel, event)

    def _publish(self, channel: Channel, event: Json) -> None:
        """Publish a channel's event through the first workspace with the app."""
        for workspace in (channel.team, *sorted(channel.shared)):
            if self.installed(workspace):
                self.publish(workspace, event, channel)
                break
        self.changed()

    def _callback(self, workspace: str, event: Json, bot: User, about: Channel | None) -> Json:
        home = self.workspaces[workspace]
        org_wide = not any(
            grant.workspace == workspace and not grant.uninstalled for grant in self.grants.values()
        )
        authorization = {
            "enterprise_id": home.enterprise or None,
            "team_id": None if org_wide else workspace,
            "user_id": bot.id,
            "is_bot": True,
            "is_enterprise_install": org_wide,
        }
        return {
            "token": "simulated-verification-token",
            "team_id": workspace,
            "context_team_id": workspace,
            "context_enterprise_id": home.enterprise or None,
            "api_app_id": self.app.id,
            "event": event,
            "type": "event_callback",
            "event_id": self.new_id("Ev"),
            "event_time": int(self.clock.time()),
            "authorizations": [authorization],
            "is_ext_shared_channel": bool(about and about.shared),
            "event_context": "4-simulated",
        }
