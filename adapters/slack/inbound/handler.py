"""Parsed payloads handed to the gateway, and replies to their authors.

Slack is acknowledged once `handle` has returned. If it raises, Slack delivers again.
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
from adapters.slack.inbound.drafts import Drafts
from adapters.slack.inbound.files import AwaitedFiles
from adapters.slack.inbound.parse_events import reacted_message
from adapters.slack.inbound.parsed import (
    AnswerRating,
    DeliveryGap,
    Draft,
    HomeVisit,
    IgnoredPayload,
    Inbound,
    MissedRequest,
    ModalOpening,
    ModalSubmit,
    OptionChoice,
    ReactionTrigger,
    SlashCommand,
    TitleChange,
    Uninstall,
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
REACTED = "Please answer the message that I marked with :{emoji}:."
REFUSED = "You are not allowed to do this here."
PASSED_ON = "I passed the message on to the team. The answer will appear in its thread."
NOTED = "Thank you for your feedback."


_IN_ORDER = frozenset({"message", "file", "edit", "delete"})


class Service(Protocol):
    """The running app."""

    def start_task(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Start a task that outlives a delivery, and own it."""
        ...

    async def forget_workspace(self, team: str, why: str) -> None:
        """Forget a workspace that removed the bot.

        Raises AuthError where no workspace is left to serve.
        """
        ...

    async def note_gap(self, team: str, since: float) -> None:
        """Catch up after the minute for which Slack drops events."""
        ...


class InboundHandler:
    """Hands what was parsed to the gateway."""

    def __init__(
        self,
        host: AdapterHost,
        calls: Calls,
        config: Config,
        drafts: Drafts,
        catch_up: CatchUp,
        fetching: AwaitedFiles,
        service: Service,
    ) -> None:
        self._host = host
        self._calls = calls
        self._config = config
        self._drafts = drafts
        self._catch_up = catch_up
        self._fetching = fetching
        self._service = service
        self._start_task = service.start_task
        self._replies = Replies(calls, config, drafts.commands, lambda: host.live_links)
        self._dialogs = Dialogs(host, calls, drafts)
        self._slash = SlashCommands(host, calls, drafts, config.command)
        self._locks = KeyedLocks()

    async def handle(self, found: Inbound) -> dict[str, Any] | None:
        """Hand it in; Slack's answer, None for a bare acknowledgement.

        Raises GatewayError or TimeoutError if it was not taken.
        """
        async with asyncio.timeout(ACCEPT_SECONDS):
            return await self._handle(found)

    async def _handle(self, found: Inbound) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = None
        match found:
            case IgnoredPayload(reason):
                self._host.count_ignored(reason)
            case Draft() if found.message.event == "shortcut":
                await self._handle_shortcut(found)
            case Draft():
                await self._handle_message(found)
            case ModalOpening(draft=draft):
                self._start_task(self._open(found), "slack modal")
            case ModalSubmit(draft=draft):
                answer = await self._dialogs.submit(draft)
            case SlashCommand(draft=draft, text=text):
                reply = await self._slash.answer(draft, text)
                answer = self._ephemeral(reply)
            case Uninstall(team=team, why=why):
                await self._service.forget_workspace(team, why)
            case DeliveryGap(team=team, since=since):
                await self._service.note_gap(team, since)
            case HomeVisit():
                self._start_task(self._suggest_prompts(found), "slack prompts")
            case _:
                await self._handle_action(found)
        return answer

    async def _handle_action(
        self, found: OptionChoice | ReactionTrigger | AnswerRating | MissedRequest | TitleChange
    ) -> None:
        match found:
            case OptionChoice():
                await self._handle_choice(found)
            case ReactionTrigger():
                await self._handle_reaction(found)
            case AnswerRating():
                await self._handle_rating(found)
            case TitleChange():
                await self._handle_title(found)
            case MissedRequest(draft=draft, after=after):
                message = await self._drafts.with_author(draft)
                if await self._host.may(message):
                    self._start_task(self._answer_missed(draft, after), "slack missed")
                else:
                    self._reply(draft, REFUSED)

    # --- messages, clicks, commands in threads ---

    async def _handle_message(self, draft: Draft) -> None:
        draft = await self._drafts.as_new(draft)
        if not await self._drafts.is_meant(draft):
            self._host.count_ignored("not addressed")
        elif draft.message.event in _IN_ORDER:
            async with self._locks.hold(str(draft.key)):
                await self._accept_once(draft)
        else:
            await self._accept_once(draft)

    async def _handle_shortcut(self, draft: Draft) -> None:
        """Confirm that a message was handed on, then hand it in.

        Where the bot can't say so, it could give no answer either.
        """
        message = await self._host.judge(await self._drafts.with_author(draft))
        draft = replace(draft, message=message)
        if message.may_write:
            try:
                await self._replies.post(draft, PASSED_ON)
            except CallRejected as error:
                LOG.info("a message was not passed on: %s", error)
                self._reply(draft, NOT_HERE)
                return
        await self._handle_message(draft)

    async def _accept_once(self, draft: Draft) -> None:
        """Hand it in; of a known message, only new keys are noted."""
        if await self._host.known_keys(draft.message.dedupe):
            await self._host.accept(draft.message)
        else:
            await self._hand_in(draft, await self._drafts.message(draft))

    async def _hand_in(self, draft: Draft, message: InboundMessage) -> Receipt:
        receipt = await self._host.accept(message)
        if message.awaited:
            self._start_task(self._fetching.look(), "slack awaited")
        self._reply(replace(draft, message=message), receipt.reply)
        return receipt

    def _reply(self, draft: Draft, text: str) -> None:
        if text and draft.user and not draft.bot:
            self._start_task(self._replies.send(draft, text), "slack reply")

    async def _handle_choice(self, chosen: OptionChoice) -> None:
        text = await self._option(chosen)
        if text is None:
            self._reply(chosen.draft, NO_REQUEST)
            return
        click = Click(request=chosen.request, answer=Answer(kind="text", text=text))
        await self._handle_message(
            replace(chosen.draft, message=replace(chosen.draft.message, click=click))
        )

    async def _option(self, chosen: OptionChoice) -> str | None:
        try:
            request = await self._host.request(chosen.request)
        except NotFound:
            return None
        options = request.card.options
        return options[chosen.number] if chosen.number < len(options) else None

    # --- modals, reactions, feedback, titles, prompts ---

    async def _open(self, wanted: ModalOpening) -> None:
        if (reply := await self._dialogs.open(wanted)) and wanted.draft.user:
            await self._replies.send(wanted.draft, reply)

    async def _answer_missed(self, draft: Draft, after: str) -> None:
        if reply := await self._catch_up.answer(draft, after):
            await self._replies.send(draft, reply)

    def _ephemeral(self, text: str) -> dict[str, Any] | None:
        """As the answer to a slash command."""
        if not text:
            return None
        return {"response_type": "ephemeral", "text": self._replies.to_mrkdwn(text)}

    async def _handle_reaction(self, reacted: ReactionTrigger) -> None:
        draft, said = reacted.draft, reacted.draft.message
        if not self._host.addressed(
            said.key, said.author, direct=said.direct, mentioned=True, in_thread=True
        ):
            self._host.count_ignored("not addressed")
            return
        if await self._host.known_keys(said.dedupe):
            return
        message = await self._drafts.with_author(draft)
        message = await self._host.judge(replace(message, text=REACTED.format(emoji=reacted.emoji)))
        if message.may_write:
            message = await self._with_reacted_message(message)
        await self._hand_in(draft, message)

    async def _with_reacted_message(self, message: InboundMessage) -> InboundMessage:
        """Quote the message with the reaction, in its thread.

        Raises GatewayError.
        """
        key = message.key
        answer = await self._calls.read(
            key.workspace, "reactions.get", channel=key.channel, timestamp=key.root, full=True
        )
        root, foreign = reacted_message(answer)
        quotes = await self._drafts.quotes(key, foreign)
        return replace(message, key=replace(key, root=root or key.root), quotes=quotes)

    async def _handle_rating(self, rated: AnswerRating) -> None:
        draft = rated.draft
        message = await self._drafts.with_author(draft)
        thread = await self._host.thread_at(message.key)
        if thread is None or not await self._host.may(message):
            self._reply(draft, REFUSED)
            return
        await self._host.rate(thread.id, rated.part, message.author.id, good=rated.good)
        self._reply(draft, NOTED)

    async def _handle_title(self, retitled: TitleChange) -> None:
        message = await self._drafts.with_author(retitled.draft)
        thread = await self._host.thread_at(message.key)
        if thread is None or thread.title == retitled.title:
            return
        if await self._host.may(message):
            await self._host.rename_thread(thread.id, retitled.title)

    async def _suggest_prompts(self, home: HomeVisit) -> None:
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
