"""Replies to one person alone: command output and refusals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence

import aiohttp

from adapters.dead_ends import DeadEnds
from adapters.slack.action_ids import SECTION, command_menu, section
from adapters.slack.config import Config
from adapters.slack.connection.payload import gateway_text
from adapters.slack.connection.web_api import Calls
from adapters.slack.inbound.parsed import Draft
from gateway.base.describe import describe
from gateway.errors import GatewayError
from gateway.surface import CallRejected, RateLimited

LOG = logging.getLogger("adapters.slack")

SECONDS = 10.0


class Replies:
    """Sends replies, best effort.

    `commands` are those that people type here with a `!`.
    """

    def __init__(
        self, calls: Calls, config: Config, commands: Collection[str], dead_ends: DeadEnds
    ) -> None:
        self._calls = calls
        self._config = config
        self.to_mrkdwn = gateway_text(commands)
        self._dead_ends = dead_ends

    async def send(self, draft: Draft, text: str, choices: Sequence[tuple[str, str]] = ()) -> None:
        """Send a draft's author alone a text, with commands to choose.

        If nothing can be written there, they are told so directly, if they may use the bot.
        """
        try:
            try:
                await self._send_once(draft, text, choices)
            except RateLimited as error:
                await asyncio.sleep(error.retry_after)
                await self._send_once(draft, text, choices)
        except (GatewayError, aiohttp.ClientError, TimeoutError, OSError) as error:
            LOG.warning("a private answer was not sent: %s", describe(error))
            message = draft.message
            if isinstance(error, CallRejected) and error.obstacle and message.may_write:
                await self._dead_ends.tell(message.key, message.author.id, error.obstacle)

    async def _send_once(self, draft: Draft, text: str, choices: Sequence[tuple[str, str]]) -> None:
        if draft.response_url and self._config.is_at_slack(draft.response_url, "hooks"):
            await self._respond(draft.response_url, text)
        else:
            await self.post(draft, text, choices)

    async def _respond(self, url: str, text: str) -> None:
        answer = {
            "response_type": "ephemeral",
            "replace_original": False,
            "text": self.to_mrkdwn(text),
        }
        self._calls.clients.check_speaking()
        async with (
            asyncio.timeout(SECONDS),
            self._calls.clients.session.post(url, json=answer, allow_redirects=False) as response,
        ):
            if not response.ok:
                LOG.warning("a private answer was not accepted (HTTP %s)", response.status)

    async def post(self, draft: Draft, text: str, choices: Sequence[tuple[str, str]] = ()) -> None:
        """Post a text where the draft was written. Raises GatewayError."""
        key = draft.message.key
        root, said = key.root or None, self.to_mrkdwn(text)
        menu = command_menu(choices)
        blocks = [section(said[:SECTION]), *menu] if menu else None
        if draft.message.direct or draft.at_home:
            await self._calls.write(
                key.workspace,
                "chat.postMessage",
                channel=draft.user if draft.at_home else key.channel,
                thread_ts=None if draft.at_home else root,
                text=said,
                blocks=blocks,
                unfurl_links=False,
                unfurl_media=False,
            )
            return
        # Somebody who uses a shortcut looks at the channel, where no thread may be open yet.
        threaded = draft.in_thread and draft.message.event != "shortcut"
        await self._calls.write(
            key.workspace,
            "chat.postEphemeral",
            channel=key.channel,
            user=draft.user,
            thread_ts=root if threaded else None,
            text=said,
            blocks=blocks if threaded else None,  # a choice would not say for which thread it is
        )
