"""Messages under agents' own names, through a channel's webhook.

Discord knows no nonce of what a webhook writes, so a message is never sent again before it was
looked up. Where the bot may not manage webhooks, and in direct messages, it writes itself.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from adapters.discord.bounded_cache import BoundedCache
from adapters.discord.connection.message_body import Message
from adapters.discord.connection.rest import ApiError, Rest, Upload
from adapters.discord.conversations.threads import MessageTarget
from adapters.discord.read_message import read_message
from adapters.tolerated import tolerated
from gateway.conversation import ConversationKey
from gateway.pacing.limits import Caller, Rank
from gateway.render.sanitize import label
from gateway.surface import Place, PlatformUnreachable

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
        self._known = BoundedCache[Hook](1_000)
        self._refused = BoundedCache[float](1_000)
        """Channels that take no webhook, and until when that is believed."""
        self._sent = BoundedCache[tuple[str, str, tuple[str, ...]]](1_000)

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
        hook: Hook,
        place: Place,
        target: MessageTarget,
        part: str,
        agent: str,
        message: Message,
    ) -> str:
        """Write as an agent; the id.

        Raises PlatformUnreachable where no webhook can: the bot is to.
        """
        name = user_name(agent)
        self._sent.put(part, (name, message.content, tuple(file.name for file in message.files)))
        body = {**message.body(), "username": name}
        del body["components"]
        posted = await self._write(hook, place, target, body, message.files)
        if posted is None and (replacement := await self.find_hook(place.key)) is not None:
            hook = replacement
            posted = await self._write(hook, place, target, body, message.files)
        if posted is None:
            self._refused.put(place.key.channel, monotonic() + GONE_SECONDS)
            raise PlatformUnreachable("The webhook is gone.")
        return f"{hook.id}/{posted['id']}"

    async def _write(
        self,
        hook: Hook,
        place: Place,
        target: MessageTarget,
        body: dict[str, Any],
        files: Sequence[Upload],
    ) -> Mapping[str, Any] | None:
        """The posted message; None if the webhook is gone."""
        query = {"wait": "true", **_thread(target)}
        try:
            return await self._rest.call(
                "POST",
                hook.path,
                json=body,
                query=query,
                files=files,
                rank=Rank.POST,
                caller=Caller.at(place),
            )
        except ApiError as error:
            if error.code != UNKNOWN_WEBHOOK:
                raise
            self._known.forget(place.key.channel)
            return None

    async def edit(
        self,
        place: Place,
        target: MessageTarget,
        message: str,
        body: dict[str, Any],
        rank: Rank,
    ) -> bool:
        """Edit a message; False, with a notice, if its webhook is gone."""
        hook, _, number = message.partition("/")
        current = await self.find_hook(place.key)
        if current is not None and current.id == hook:
            kept = {name: value for name, value in body.items() if name != "components"}
            path = f"{current.path}/messages/{number}"
            try:
                await self._rest.call(
                    "PATCH",
                    path,
                    json=kept,
                    query=_thread(target),
                    rank=rank,
                    caller=Caller.at(place),
                )
            except ApiError as error:
                if error.code != UNKNOWN_WEBHOOK:
                    raise
                self._known.forget(place.key.channel)
            else:
                return True
        await self._post_cut_off(target, number)
        return False

    async def remove(self, key: ConversationKey, target: MessageTarget, message: str) -> None:
        """Remove a message. One whose webhook is gone stays as it is."""
        hook, _, number = message.partition("/")
        current = await self.find_hook(key)
        if current is None or current.id != hook:
            return
        path = f"{current.path}/messages/{number}"
        try:
            await self._rest.call("DELETE", path, query=_thread(target), rank=Rank.URGENT)
        except ApiError as error:
            if error.code != UNKNOWN_WEBHOOK:
                raise
            self._known.forget(key.channel)

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
