"""The slash command: begins a thread with its text."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from adapters.slack.connection.payload import escaped, opens_with_mention
from adapters.slack.connection.web_api import WHY, Calls
from adapters.slack.inbound.drafts import Drafts
from adapters.slack.inbound.parsed import Draft
from gateway.adapter import AdapterHost
from gateway.base.describe import describe
from gateway.base.suggest import did_you_mean
from gateway.conversation import InboundMessage
from gateway.errors import UNSTORED, GatewayError
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.slack")

ALONE = frozenset({"help", "usage"})
"""Commands that mean the same wherever they are typed; with more behind them they are questions."""
ANYWHERE = frozenset({"approve", "deny", "memory"})
"""Those that take words, and are about no thread."""

HELP = (
    "Type {command} and your question to start a thread here. Reply in the thread to continue. "
    "Commands in a thread:"
)
UNKNOWN = (
    "There is no command {name!r}, {meant} If it is a question for the team, write more than that."
)
IN_ITS_THREAD = "Write /{name} in the thread that you mean."
NOT_HERE = "I can't write in this channel. Invite me into it, then try again."
NOT_STORED = "I can't accept this because I can't store it right now. Try again in a few minutes."
NOT_NOW = "Slack did not accept this. Try again in a moment."


def not_here(error: CallRejected) -> str:
    """Reply to somebody who has asked where nothing can be written."""
    if error.obstacle is None or error.obstacle == "absent":
        return NOT_HERE
    return f"I can't write here: {WHY[error.obstacle]}"


class Once:
    """Actions for which something is posted before they are taken.

    One that was sent again, by whomever, posts nothing.
    """

    def __init__(self, host: AdapterHost) -> None:
        self._host = host
        self._under_way = set[str]()

    @asynccontextmanager
    async def begins(self, message: InboundMessage) -> AsyncGenerator[bool]:
        """True unless this action was taken already, or is just being taken."""
        key = message.dedupe[0]
        if key in self._under_way:
            self._host.health.count_ignored("already taken")
            yield False
            return
        self._under_way.add(key)
        try:
            if is_known := bool(await self._host.known_keys([key])):
                self._host.health.count_ignored("already taken")
            yield not is_known
        finally:
            self._under_way.discard(key)


class SlashCommands:
    """Answers slash commands."""

    def __init__(
        self, host: AdapterHost, calls: Calls, drafts: Drafts, command: str, once: Once
    ) -> None:
        self._host = host
        self._once = once
        self._help = HELP.format(command=command)
        self._calls = calls
        self._drafts = drafts

    async def answer(self, draft: Draft, text: str) -> str:
        """Answer a slash command, to its author alone.

        Slack delivers no command again, so an error of the store is reported, too. Raises
        GatewayError for other errors.
        """
        try:
            return await self._answer(draft, text)
        except UNSTORED as error:
            LOG.warning("a slash command was not accepted: %s", describe(error))
            return NOT_STORED

    async def _answer(self, draft: Draft, text: str) -> str:
        text = text.lstrip("/!") or "help"
        name, *more = text.split(maxsplit=1)
        name = name.lower()
        message = await self._host.judge(await self._drafts.with_author(draft))
        if name in (ANYWHERE if more else ANYWHERE | ALONE) & self._drafts.commands:
            reply = (await self._host.accept(replace(message, text=f"/{text}"))).reply
            return f"{self._help}\n{reply}" if name == "help" and message.may_write else reply
        if name in self._drafts.commands and not more:
            return IN_ITS_THREAD.format(name=name)
        if not more and (meant := did_you_mean(name, self._drafts.commands)):
            return UNKNOWN.format(name=name, meant=meant)
        message = replace(
            message,
            event="message",
            text=await self._drafts.plain(message.key.workspace, text),
            opens_with_mention=opens_with_mention(text),
        )
        if message.may_write:
            async with self._once.begins(message) as begins:
                return await self._ask(draft.user, message) if begins else ""
        return (await self._host.accept(message)).reply

    async def _ask(self, user: str, message: InboundMessage) -> str:
        """Begin a thread with the question, under its author's name."""
        key = message.key
        await self._host.health.probe()  # else it would stand there, and nobody would answer it
        try:
            posted = await self._calls.write(
                key.workspace,
                "chat.postMessage",
                channel=key.channel,
                text=f"<@{user}> asks:\n>>> {escaped(message.text)}",
                unfurl_links=False,
                unfurl_media=False,
            )
        except CallRejected as error:
            LOG.info("a thread was not begun: %s", error)
            return not_here(error)
        except GatewayError as error:
            LOG.warning("a thread was not begun: %s", error)
            return NOT_NOW
        root = str(posted["ts"])
        begun = replace(message, key=replace(key, root=root), message_id=root)
        return (await self._host.accept(begun)).reply
