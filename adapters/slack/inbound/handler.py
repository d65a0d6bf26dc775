"""What was parsed, handed to the gateway: whether it is meant for the team, and what is told to
whom afterwards.

Slack is told that something has arrived once this has returned. If it raises, Slack delivers it
again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Protocol

from adapters.slack.config import Config
from adapters.slack.connection.web_api import Calls
from adapters.slack.inbound.catch_up import CatchUp
from adapters.slack.inbound.deliveries import KeyedLocks
from adapters.slack.inbound.dialogs import Dialogs
from adapters.slack.inbound.enrich import Drafts
from adapters.slack.inbound.files import Fetching
from adapters.slack.inbound.parse_events import marked
from adapters.slack.inbound.parsed import (
    Chosen,
    Draft,
    HomeOpened,
    Ignored,
    Inbound,
    LeftOut,
    Rated,
    Reacted,
    Retitled,
    SlashCommand,
    Submitted,
    Uninstalled,
    WantsMissed,
    WantsModal,
)
from adapters.slack.inbound.replies import Replies
from adapters.slack.inbound.slash import NOT_HERE, SlashCommands
from gateway.adapter import AdapterHost
from gateway.client import Answer, Receipt
from gateway.conversation import Click, InboundMessage
from gateway.errors import GatewayError, NotFound
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.slack")

ACCEPT_SECONDS = 2.7
"""Slack waits 3 seconds for the word that something has arrived."""

NO_REQUEST = "There is no such request."
REACTED = "What do you say to the message that I have marked with :{emoji}:?"
REFUSED = "You may not do this here."
PASSED_ON = "I have handed the message to the team; the answer comes in its thread."
NOTED = "Thank you, noted."


_IN_ORDER = frozenset({"message", "file", "edit", "delete"})


class Service(Protocol):
    """What runs while the app is connected."""

    def afterwards(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Begin what need not be done before Slack is told that something has arrived, and own it
        until its end.
        """
        ...

    async def uninstalled(self, team: str, why: str) -> None:
        """Forget a workspace that has thrown the bot out. Raises AuthError where nothing is left to
        serve.
        """
        ...

    async def left_out(self, team: str, since: float) -> None:
        """Look later for what Slack does not deliver for a minute from then on."""
        ...


class Intake:
    """Hands what was parsed to the gateway."""

    def __init__(
        self,
        host: AdapterHost,
        calls: Calls,
        config: Config,
        drafts: Drafts,
        catch_up: CatchUp,
        fetching: Fetching,
        service: Service,
    ) -> None:
        self._host = host
        self._calls = calls
        self._config = config
        self._drafts = drafts
        self._catch_up = catch_up
        self._fetching = fetching
        self._service = service
        self._afterwards = service.afterwards
        self._replies = Replies(calls, config, drafts.commands, lambda: host.live_links)
        self._dialogs = Dialogs(host, calls, drafts)
        self._slash = SlashCommands(host, calls, drafts, config.command)
        self._locks = KeyedLocks()

    async def take(self, found: Inbound) -> dict[str, Any] | None:
        """Hand it in. What Slack is to be answered, None for a bare acknowledgement.

        Raises GatewayError or TimeoutError if it was not taken.
        """
        async with asyncio.timeout(ACCEPT_SECONDS):
            return await self._take(found)

    async def _take(self, found: Inbound) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = None
        match found:
            case Ignored(reason):
                self._host.count_ignored(reason)
            case Draft() if found.message.event == "shortcut":
                await self._passed_on(found)
            case Draft():
                await self._said(found)
            case WantsModal(draft=draft):
                self._afterwards(self._open(found), "slack modal")
            case Submitted(draft=draft):
                answer = await self._dialogs.submitted(draft)
            case SlashCommand(draft=draft, text=text):
                reply = await self._slash.take(draft, text)
                answer = self._privately(reply)
            case Uninstalled(team=team, why=why):
                await self._service.uninstalled(team, why)
            case LeftOut(team=team, since=since):
                await self._service.left_out(team, since)
            case HomeOpened():
                self._afterwards(self._prompts(found), "slack prompts")
            case _:
                await self._acted(found)
        return answer

    async def _acted(self, found: Chosen | Reacted | Rated | WantsMissed | Retitled) -> None:
        match found:
            case Chosen():
                await self._chosen(found)
            case Reacted():
                await self._reacted(found)
            case Rated():
                await self._rated(found)
            case Retitled():
                await self._retitled(found)
            case WantsMissed(draft=draft, after=after):
                message = await self._drafts.by_author(draft)
                if await self._host.may(message):
                    self._afterwards(self._answer_missed(draft, after), "slack missed")
                else:
                    self._tell(draft, REFUSED)

    # --- messages, clicks, commands in threads ---

    async def _said(self, draft: Draft) -> None:
        draft = await self._drafts.as_new(draft)
        if not await self._drafts.is_meant(draft):
            self._host.count_ignored("not addressed")
        elif draft.message.event in _IN_ORDER:
            async with self._locks.hold(str(draft.key)):
                await self._once(draft)
        else:
            await self._once(draft)

    async def _passed_on(self, draft: Draft) -> None:
        """Say first that the message was passed on: where that can't be said, no answer could be
        given either.
        """
        message = await self._host.judge(await self._drafts.by_author(draft))
        draft = replace(draft, message=message)
        if message.may_write:
            try:
                await self._replies.post(draft, PASSED_ON)
            except CallRejected as error:
                LOG.info("a message was not passed on: %s", error)
                self._tell(draft, NOT_HERE)
                return
        await self._said(draft)

    async def _once(self, draft: Draft) -> None:
        """Hand it in, unless it was taken already: then only its new keys are noted."""
        if await self._host.known_keys(draft.message.dedupe):
            await self._host.accept(draft.message)
        else:
            await self._hand_in(draft, await self._drafts.message(draft))

    async def _hand_in(self, draft: Draft, message: InboundMessage) -> Receipt:
        receipt = await self._host.accept(message)
        if message.awaited:
            self._afterwards(self._fetching.look(), "slack awaited")
        self._tell(replace(draft, message=message), receipt.reply)
        return receipt

    def _tell(self, draft: Draft, text: str) -> None:
        if text and draft.user and not draft.bot:
            self._afterwards(self._replies.send(draft, text), "slack reply")

    async def _chosen(self, chosen: Chosen) -> None:
        text = await self._option(chosen)
        if text is None:
            self._tell(chosen.draft, NO_REQUEST)
            return
        click = Click(request=chosen.request, answer=Answer(kind="text", text=text))
        await self._said(replace(chosen.draft, message=replace(chosen.draft.message, click=click)))

    async def _option(self, chosen: Chosen) -> str | None:
        try:
            request = await self._host.request(chosen.request)
        except NotFound:
            return None
        options = request.card.options
        return options[chosen.number] if chosen.number < len(options) else None

    # --- modals, reactions, feedback, titles, prompts ---

    async def _open(self, wanted: WantsModal) -> None:
        if (reply := await self._dialogs.open(wanted)) and wanted.draft.user:
            await self._replies.send(wanted.draft, reply)

    async def _answer_missed(self, draft: Draft, after: str) -> None:
        if reply := await self._catch_up.answer(draft, after):
            await self._replies.send(draft, reply)

    def _privately(self, text: str) -> dict[str, Any] | None:
        """As the answer to a slash command."""
        if not text:
            return None
        return {"response_type": "ephemeral", "text": self._replies.shown(text)}

    async def _reacted(self, reacted: Reacted) -> None:
        draft, said = reacted.draft, reacted.draft.message
        if not self._host.addressed(
            said.key, said.author, direct=said.direct, mentioned=True, in_thread=True
        ):
            self._host.count_ignored("not addressed")
            return
        if await self._host.known_keys(said.dedupe):
            return
        message = await self._drafts.by_author(draft)
        message = await self._host.judge(replace(message, text=REACTED.format(emoji=reacted.emoji)))
        if message.may_write:
            message = await self._with_marked(message)
        await self._hand_in(draft, message)

    async def _with_marked(self, message: InboundMessage) -> InboundMessage:
        """With the message that was reacted to, and in its thread. Raises GatewayError."""
        key = message.key
        answer = await self._calls.read(
            key.workspace, "reactions.get", channel=key.channel, timestamp=key.root, full=True
        )
        root, foreign = marked(answer)
        quotes = await self._drafts.quotes(key, foreign)
        return replace(message, key=replace(key, root=root or key.root), quotes=quotes)

    async def _rated(self, rated: Rated) -> None:
        draft = rated.draft
        message = await self._drafts.by_author(draft)
        thread = await self._host.thread_at(message.key)
        if thread is None or not await self._host.may(message):
            self._tell(draft, REFUSED)
            return
        await self._host.rate(thread.id, rated.part, message.author.id, good=rated.good)
        self._tell(draft, NOTED)

    async def _retitled(self, retitled: Retitled) -> None:
        message = await self._drafts.by_author(retitled.draft)
        thread = await self._host.thread_at(message.key)
        if thread is None or thread.title == retitled.title:
            return
        if await self._host.may(message):
            await self._host.rename_thread(thread.id, retitled.title)

    async def _prompts(self, home: HomeOpened) -> None:
        if not self._config.suggested_prompts:
            return
        prompts = [{"title": text, "message": text} for text in self._config.suggested_prompts]
        try:
            await self._calls.write(
                home.team,
                "assistant.threads.setSuggestedPrompts",
                channel_id=home.channel,
                prompts=prompts,
            )
        except GatewayError as error:
            LOG.info("no prompts were suggested: %s", error)
