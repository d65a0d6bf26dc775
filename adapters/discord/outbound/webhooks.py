"""Messages under agents' own names, through a channel's webhook.

Discord knows no nonce of what a webhook writes, so a message is never sent again before it was
looked up. Where the bot may not manage webhooks, and in direct messages, it writes itself.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from adapters.bounded_cache import BoundedCache
from adapters.discord.connection.message_body import Message
from adapters.discord.connection.rest import ApiError, Rest
from adapters.discord.conversations.threads import MessageTarget
from adapters.discord.read_message import read_message
from adapters.tolerated import tolerated
from gateway.conversation import ConversationKey
from gateway.pacing.limits import Caller, Rank
from gateway.render.sanitize import label
from gateway.surface import MessageGone, Place, PlatformUnreachable

LOG = logging.getLogger("adapters.discord")

NAME = "Parley"
LONGEST_NAME = 80
REFUSED_SECONDS: Mapping[int, float] = {
    10003: 3600.0,  # unknown channel
    30007: 3600.0,  # it has the most webhooks that one may have
    50001: 3600.0,  # missing access
    50013: 3600.0,  # missing permissions
    50024: 3600.0,  # its type takes none
}
"""Refusals that are their channel's, by the code of docs.discord.com ("JSON error codes"), and the
seconds until it is asked again. Any other one is that of its call.
"""
GONE_SECONDS = 60.0
"""The same where webhooks disappear as soon as they are made."""
CUT_OFF = "-# The message above can't be edited any more. Its full text follows."

LOST = "The webhook that wrote it is gone."

UNKNOWN_WEBHOOK = 10015
MADE_BY_APPLICATION = 1

_RESERVED = re.compile(r"(?i)(d)(iscord)|(c)(lyde)")


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook of ours."""

    id: str
    token: str

    @property
    def path(self) -> str:
        """Where it is called."""
        return f"/webhooks/{self.id}/{self.token}"


class Webhooks:
    """The webhooks of channels, one in each, made where there is none.

    The ids of messages that they write are `HOOK/MESSAGE`.
    """

    def __init__(self, rest: Rest, application: str) -> None:
        self._rest = rest
        self._application = application
        self._known = BoundedCache[str, Hook](1_000)
        self._refused = BoundedCache[str, float](1_000)
        """Channels that take no webhook, and until when that is believed."""
        self._sent = BoundedCache[str, tuple[str, str, tuple[str, ...]]](1_000)

    async def find_hook(self, key: ConversationKey) -> Hook | None:
        """The webhook for a conversation, None where there can be none."""
        if not key.workspace:
            return None
        if hook := self._known.get(key.channel):
            return hook
        if monotonic() < (self._refused.get(key.channel) or 0.0):
            return None
        try:
            hook = await self._find(key.channel)
        except ApiError as error:
            LOG.info("no webhook in channel %s: %s", key.channel, error)
            if seconds := REFUSED_SECONDS.get(error.code):
                self._refused.put(key.channel, monotonic() + seconds)
            return None
        self._known.put(key.channel, hook)
        return hook

    async def post(
        self,
        place: Place,
        target: MessageTarget,
        part: str,
        agent: str,
        message: Message,
        avatar: str,
    ) -> str:
        """Write as an agent with a picture, if any; the id.

        Raises PlatformUnreachable where no webhook can: the bot is to.
        """
        name, channel = user_name(agent), place.key.channel
        self._sent.put(part, (name, message.content, tuple(file.name for file in message.files)))
        body = {**message.body(), "username": name}
        if avatar:
            body["avatar_url"] = avatar
        for _ in range(2):  # one that is gone is replaced
            if (hook := await self.find_hook(place.key)) is None:
                break
            with self._noticing_loss(channel):
                posted: Mapping[str, Any] = await self._rest.call(
                    "POST",
                    hook.path,
                    json=body,
                    query={"wait": "true", **_thread(target)},
                    files=message.files,
                    rank=Rank.POST,
                    caller=Caller.at(place),
                )
                return f"{hook.id}/{posted['id']}"
        self._refused.put(channel, monotonic() + GONE_SECONDS)
        raise PlatformUnreachable("The webhook is gone.")

    @contextmanager
    def _noticing_loss(self, channel: str) -> Generator[None]:
        """Forget a channel's webhook if a call says that it is gone."""
        try:
            yield
        except ApiError as error:
            if error.code != UNKNOWN_WEBHOOK:
                raise
            self._known.forget(channel)

    async def edit(
        self, place: Place, target: MessageTarget, message: str, body: dict[str, Any], rank: Rank
    ) -> None:
        """Edit a message; raise MessageGone, with a notice, without its webhook."""
        if path := await self._path(place.key, message):
            with self._noticing_loss(place.key.channel):
                query, caller = _thread(target), Caller.at(place)
                await self._rest.call(
                    "PATCH", path, json=body, query=query, rank=rank, caller=caller
                )
                return
        await self._post_cut_off(target, message.partition("/")[2])
        raise MessageGone(LOST)

    async def remove(self, key: ConversationKey, target: MessageTarget, message: str) -> None:
        """Remove a message. One whose webhook is gone stays as it is."""
        if path := await self._path(key, message):
            with self._noticing_loss(key.channel):
                await self._rest.call("DELETE", path, query=_thread(target), rank=Rank.URGENT)

    async def _path(self, key: ConversationKey, message: str) -> str:
        """Where a message is changed, "" if its webhook is gone."""
        hook, _, number = message.partition("/")
        current = await self.find_hook(key)
        return f"{current.path}/messages/{number}" if current and current.id == hook else ""

    async def _post_cut_off(self, target: MessageTarget, number: str) -> None:
        """Post a notice that an older message lacks the agent's final text."""
        body = Message(content=CUT_OFF).body(nonce=f"c{number}")
        with tolerated(LOG, "post a notice below a cut-off message"):
            await self._rest.call("POST", f"/channels/{target.channel}/messages", json=body)

    def is_part(self, message: Mapping[str, Any], part: str) -> bool | None:
        """True if the message is that part; None if unknown."""
        if message.get("application_id") != self._application or "webhook_id" not in message:
            return False
        sent = self._sent.get(part)
        if sent is None:
            return None
        name, content, files = sent
        shown = read_message(message)
        same = (shown.who.name, shown.text) == (name, content.strip())
        return same and [_plain(file.name) for file in shown.files] == [*map(_plain, files)]

    async def _find(self, channel: str) -> Hook:
        for each in await self._rest.call("GET", f"/channels/{channel}/webhooks"):
            ours = each.get("application_id") == self._application
            if ours and each.get("type") == MADE_BY_APPLICATION and each.get("token"):
                return Hook(str(each["id"]), str(each["token"]))
        made = await self._rest.call("POST", f"/channels/{channel}/webhooks", json={"name": NAME})
        return Hook(str(made["id"]), str(made["token"]))


def user_name(agent: str) -> str:
    """The agent's name, with the words that Discord reserves broken up."""
    name = label(agent, LONGEST_NAME) or "agent"
    return _RESERVED.sub(lambda found: ".".join(filter(None, found.groups())), name)[:LONGEST_NAME]


def _thread(target: MessageTarget) -> dict[str, str]:
    return {"thread_id": target.channel} if target.thread else {}


def _plain(name: str) -> str:
    """A file's name as Discord shows it: without spaces."""
    return name.replace(" ", "_")
