"""Payloads parsed and handed to the gateway, and replies to their authors.

Slack is acknowledged once `handle` has returned. If it raises, Slack delivers again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from adapters.awaited_files import TaskStarter
from adapters.bounded_cache import BoundedCache
from adapters.slack.config import Config
from adapters.slack.connection.payload import Payload, table_at, team_of, text_at, ts_at
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.history import Quoted
from adapters.slack.inbound.message_content import read_message
from adapters.slack.inbound.missed_cards import card_of
from adapters.slack.inbound.missed_pages import Reading
from adapters.slack.inbound.modals import Modals
from adapters.slack.inbound.parse_events import RATE_LIMITED, parse_event
from adapters.slack.inbound.parse_interactions import parse_command, parse_interaction
from adapters.slack.inbound.parsed import (
    AccessGrant,
    Acted,
    DeliveryGap,
    Draft,
    HomeVisit,
    IgnoredPayload,
    Inbound,
    ReactionTrigger,
    TitleChange,
    Uninstallation,
)
from adapters.slack.inbound.place_names import PlaceNames
from adapters.slack.inbound.read_rates import MINUTE
from adapters.slack.inbound.slash import NOT_STORED, Once, SlashCommands, not_here
from adapters.tolerated import tolerated
from gateway.adapter import AuthError
from gateway.client import Receipt
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import UNSTORED, GatewayError
from gateway.history import Backfill, Pauses
from gateway.interactions import AnswerNow, Choice, Click, Command, Form, FormOpening, Rating
from gateway.surface import CallRejected
from gateway.visible import VisibleContent

LOG = logging.getLogger("adapters.slack")

ACCEPT_SECONDS = 2.7
"""Slack waits 3 seconds for the word that something has arrived."""

REACTED = "Please answer the message that I marked with :{emoji}:."
REFUSED = "You are not allowed to do this here."
PASSED_ON = "I passed the message on to the team. The answer will appear in its thread."
NOT_TAKEN = "This did not work just now. Try again in a moment."
NOTED = "Thank you for your feedback."

REMEMBERED = 1_000
"""Mentions that are remembered; of older ones the store knows whether they were accepted."""

_IN_ORDER = frozenset({"message", "file", "edit"})
"""Events that wait for the one before them in their thread.

A deletion does not: the store keeps it for a message that is still on its way.
"""
_WRITTEN = frozenset({"", "file_share", "me_message", "thread_broadcast"})


def parse_payload(body: Payload, config: Config, me: Workspace) -> Inbound:
    """Parse a payload for the bot `me`, whatever its kind."""
    if text_at(body, "type") in ("event_callback", RATE_LIMITED):
        return parse_event(body, me, reactions=config.reactions)
    if text_at(body, "command"):
        return parse_command(body, me, config.command)
    return parse_interaction(body, me)


def place_in(payload: Payload, me: Workspace) -> tuple[ConversationKey, float]:
    """The thread and the time of a message in a payload.

    The place has no channel where the payload holds no message.
    """
    place = me.key(team=team_of(payload))
    event = table_at(payload, "event")
    ts = ts_at(event, "ts")
    if text_at(event, "type") not in ("message", "app_mention") or not ts:
        return place, 0.0
    if event.get("hidden") is True or text_at(event, "subtype") not in _WRITTEN:
        return place, 0.0
    root = ts_at(event, "thread_ts") or ts
    return replace(place, channel=text_at(event, "channel"), root=root), float(ts)


class Mentions:
    """The last mentions that were accepted, so that none is parsed again.

    Slack delivers a mention of the bot twice, as a message and as an app_mention.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._accepted = BoundedCache[str, bool](REMEMBERED)

    @asynccontextmanager
    async def claim(self, message: str) -> AsyncGenerator[bool]:
        """Wait for its other delivery; False for an accepted mention."""
        async with self._locks.setdefault(message, asyncio.Lock()):
            yield not self._accepted.get(message)

    def note(self, message: str) -> None:
        """Note that a mention was accepted."""
        self._accepted.put(message, True)


class InboundHandler:
    """Hands what was parsed to the gateway.

    `start_task` owns a task that outlives a delivery; `retitled` is told the title that somebody
    gave a thread in Slack.
    """

    def __init__(
        self,
        reading: Reading,
        config: Config,
        backfill: Backfill,
        pauses: Pauses,
        start_task: TaskStarter,
        retitled: Callable[[ConversationKey, str], None],
    ) -> None:
        host, calls, drafts = reading.host, reading.rates.calls, reading.drafts
        self._host = host
        self._calls = calls
        self._config = config
        self._drafts = drafts
        self._backfill = backfill
        self._pauses = pauses
        self._fetching = reading.fetching
        self._start_task = start_task
        self._retitled = retitled
        self.visit: Callable[[str, str], None] | None = None
        """Is told who opens their own page; None without such pages."""
        self._replies = reading.replies
        self._modals = Modals(host, calls, drafts)
        self._once = Once(host)
        self._slash = SlashCommands(host, calls, drafts, config.command, self._once)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._mentions = Mentions()
        self._places = PlaceNames(host, calls, start_task)

    async def handle(self, body: Payload, me: Workspace) -> dict[str, Any] | None:
        """Hand a payload in; Slack's answer, None for a bare acknowledgement.

        Raises GatewayError or TimeoutError if it was not accepted.
        """
        place, at = place_in(body, me)
        try:
            return await self._handle_once(body, me, f"{place}/{at}" if at else "")
        except UNSTORED:
            # Of when it was written: this may have been Slack's last try.
            self._pauses.failed(at or None)
            raise
        except TimeoutError:
            # Slack waits no longer; whoever notes it may wait for the store.
            self._start_task(self._note_lost(place, at), "slack lost")
            raise
        except AuthError:
            raise
        except GatewayError:
            await self._note_lost(place, at)
            raise

    async def note_missed(self, body: Payload, me: Workspace) -> None:
        """Note a payload's message, if it has any, as missed."""
        await self._note_lost(*place_in(body, me))

    async def _note_lost(self, place: ConversationKey, at: float) -> None:
        """Note a failed message as missed: Slack may give it up."""
        if not at:
            return
        try:
            await self._pauses.note_lost(place, at)
        except GatewayError as error:
            LOG.warning("a message that failed was not noted: %s", error)
            self._pauses.failed(at)

    async def _handle_once(self, body: Payload, me: Workspace, said: str) -> dict[str, Any] | None:
        if not said:
            return await self._parse_and_handle(body, me, said)
        async with self._mentions.claim(said) as is_new:
            if is_new:
                return await self._parse_and_handle(body, me, said)
            self._host.health.count_ignored("already taken")
            return None

    async def _parse_and_handle(
        self, body: Payload, me: Workspace, said: str
    ) -> dict[str, Any] | None:
        found = parse_payload(body, self._config, me)
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                answer = await self._handle(found)
        except (GatewayError, TimeoutError) as error:
            self._say_failed(found, error)
            raise
        if isinstance(found, Draft) and found.mentioned:
            self._mentions.note(said)
        return answer

    def _say_failed(self, found: Inbound, error: GatewayError | TimeoutError) -> None:
        """Tell whoever clicked or typed a command that it failed.

        Slack itself only marks the button, and delivers neither again.
        """
        draft = found.draft if isinstance(found, Acted) else found
        if isinstance(draft, Draft) and draft.response_url:
            self._reply(draft, NOT_STORED if isinstance(error, UNSTORED) else NOT_TAKEN)

    async def _handle(self, found: Inbound) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = None
        match found:
            case IgnoredPayload(reason):
                self._host.health.count_ignored(reason)
            case Draft() if found.message.event == "shortcut":
                async with self._once.begins(found.message) as begins:
                    if begins:
                        await self._handle_shortcut(found)
            case Draft():
                await self._handle_message(found)
            case Acted():
                answer = await self._act(found)
            case Uninstallation(team=team, why=why):
                await self._calls.clients.forget(team, why)
            case AccessGrant(teams, enterprise):
                for team in teams:
                    with tolerated(LOG, f"serve the workspace {team}"):
                        await self._calls.clients.client_of(team, enterprise=enterprise)
            case DeliveryGap(team=team, since=since):
                LOG.warning("too many events in %s: Slack drops a minute of them", team)
                told = f"too many events in {team}: it drops some"
                self._host.health.remark(self._config.account, told)
                await self._pauses.leave_out(since, since + MINUTE)
            case HomeVisit():
                self._visited(found)
            case ReactionTrigger():
                await self._handle_reaction(found)
            case TitleChange():
                await self._handle_title(found)
        return answer

    async def _act(self, acted: Acted) -> dict[str, Any] | None:
        draft, message = acted.draft, acted.draft.message
        match acted.does:
            case (Click() | Choice()) as answer:
                await self._handle_message(replace(draft, message=replace(message, click=answer)))
            case FormOpening() as opening:
                self._start_task(self._open(draft, opening, acted.trigger), "slack modal")
            case Form() as form if (rating := form.rating) is not None:
                await self._handle_rating(draft, rating)
            case Form() as form:
                return await self._modals.submit(draft, form)
            case Command(text=text) if not message.key.root:
                return self._ephemeral(await self._slash.answer(draft, text))
            case Command(text=text):
                message = replace(message, event="command")
                content = VisibleContent(text=text)
                await self._handle_message(replace(draft, message=message, content=content))
            case Rating() as rating:
                rated = await self._handle_rating(draft, rating)
                if rated and (opening := rating.opening) is not None:
                    self._start_task(self._open(draft, opening, acted.trigger), "slack reason")
            case AnswerNow(first=first):
                self._start_task(self._answer_missed(draft, first), "slack missed")
        return None

    # --- messages, clicks, commands in threads ---

    async def _handle_message(self, draft: Draft) -> None:
        if not await self._drafts.is_meant(await self._drafts.as_new(draft)):
            self._host.health.count_ignored("not addressed")
        elif draft.message.event in _IN_ORDER:
            async with self._locks.setdefault(str(draft.message.key), asyncio.Lock()):
                await self._accept_once(await self._drafts.as_new(draft))  # it may be known by now
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
                self._reply(draft, not_here(error))
                return
        await self._handle_message(draft)

    async def _accept_once(self, draft: Draft) -> None:
        """Hand it in; of a known message, only new keys are noted."""
        if await self._host.known_keys(draft.message.dedupe[:1]):
            await self._host.accept(draft.message)
            return
        late = (
            self._drafts.is_late(draft)
            and await self._host.conversations.thread_at(draft.message.key) is None
        )
        message = await self._drafts.message(draft, hand_in=self._hand_in_missed)
        receipt = await self._hand_in(draft, message)
        if late and receipt.thread:
            self._start_task(self._hand_in_later(draft), "slack later")

    async def _hand_in_missed(self, draft: Draft) -> None:
        """Hand in a message that a later one has overtaken.

        A command is left to its own delivery.
        """
        if await self._drafts.is_meant(draft):
            message = await self._drafts.message(draft)
            if not self._host.is_command(message.text):
                await self._hand_in(draft, message)

    async def _hand_in_later(self, draft: Draft) -> None:
        """Hand in what came before the message that began its thread.

        It was for nobody then.
        """
        for each in await self._drafts.after(draft):
            async with self._locks.setdefault(str(draft.message.key), asyncio.Lock()):
                await self._hand_in_missed(each)

    async def _hand_in(self, draft: Draft, message: InboundMessage) -> Receipt:
        receipt = await self._host.accept(message)
        if receipt.outcome == "offered":
            await self._pauses.note_lost(message.key, message.at)
        if receipt.thread:
            self._places.note(message)
        if message.awaited:
            self._start_task(self._fetching.look(), "slack awaited")
        self._reply(replace(draft, message=message), receipt.reply, receipt.choices)
        return receipt

    def _reply(self, draft: Draft, text: str, choices: Sequence[tuple[str, str]] = ()) -> None:
        if text and draft.user and not draft.bot:
            self._start_task(self._replies.send(draft, text, choices), "slack reply")

    # --- modals, reactions, feedback, titles, prompts ---

    async def _open(self, draft: Draft, opening: FormOpening, trigger: str) -> None:
        if (reply := await self._modals.open(draft, opening, trigger)) and draft.user:
            await self._replies.send(draft, reply)

    async def _answer_missed(self, draft: Draft, after: str) -> None:
        message = await self._drafts.with_author(draft)
        card = card_of(message.key, message.message_id, after)
        if reply := await self._backfill.answer(card, message):
            await self._replies.send(draft, reply)

    def _ephemeral(self, text: str) -> dict[str, Any] | None:
        """As the answer to a slash command."""
        if not text:
            return None
        return {"response_type": "ephemeral", "text": self._replies.to_mrkdwn(text)}

    async def _handle_reaction(self, reacted: ReactionTrigger) -> None:
        draft, said = reacted.draft, reacted.draft.message
        if not self._host.policy.addressed(
            said.key, said.author, direct=said.direct, mentioned=True, in_thread=True
        ):
            self._host.health.count_ignored("not addressed")
            return
        if await self._host.known_keys(said.dedupe):
            self._host.health.count_ignored("already taken")
            return
        message = await self._host.judge(await self._drafts.with_author(draft))
        content = VisibleContent(text=REACTED.format(emoji=reacted.emoji))
        pointed: Sequence[Quoted] = ()
        if message.may_write:
            message, pointed = await self._reacted_message(message)
        await self._hand_in(draft, await self._drafts.complete(message, content, pointed))

    async def _reacted_message(
        self, message: InboundMessage
    ) -> tuple[InboundMessage, Sequence[Quoted]]:
        """The message with the reaction, and its thread. Raises GatewayError."""
        key = message.key
        answer = await self._calls.read(
            key.workspace, "reactions.get", channel=key.channel, timestamp=key.root, full=True
        )
        said = table_at(answer, "message")
        root = ts_at(said, "thread_ts") or key.root
        return replace(message, key=replace(key, root=root)), [("forward", read_message(said))]

    async def _handle_rating(self, draft: Draft, rating: Rating) -> bool:
        """Keep a rating; False for who may not write there."""
        message = await self._drafts.with_author(draft)
        thread = await self._host.conversations.thread_at(message.key)
        if thread is None or not (await self._host.judge(message)).may_write:
            self._reply(draft, REFUSED)
            return False
        await self._host.conversations.rate(
            thread.id, rating.part, message.author.id, good=rating.good, reason=rating.reason
        )
        self._reply(draft, NOTED)
        return True

    async def _handle_title(self, retitled: TitleChange) -> None:
        self._retitled(retitled.draft.message.key, retitled.title)
        message = await self._drafts.with_author(retitled.draft)
        thread = await self._host.conversations.thread_at(message.key)
        if thread is None or thread.title == retitled.title:
            self._host.health.count_ignored("no change")
            return
        if (await self._host.judge(message)).may_write:
            await self._host.conversations.rename_thread(thread.id, retitled.title)

    def _visited(self, home: HomeVisit) -> None:
        if not home.own_page:
            self._start_task(self._suggest_prompts(home), "slack prompts")
        elif self.visit is None:
            self._host.health.count_ignored("unknown kind")
        else:
            self.visit(home.team, home.user)

    async def _suggest_prompts(self, home: HomeVisit) -> None:
        try:
            texts = await self._prompts_for(home) or self._config.suggested_prompts
            if not texts:
                return
            prompts = [{"title": text, "message": text} for text in texts]
            await self._calls.write(
                home.team,
                "assistant.threads.setSuggestedPrompts",
                channel_id=home.channel,
                prompts=prompts,
            )
        except GatewayError as error:
            LOG.info("no prompts were suggested: %s", error)

    async def _prompts_for(self, home: HomeVisit) -> Sequence[str]:
        """The prompts of the person's own route."""
        key = ConversationKey(
            platform=self._config.account, workspace=home.team, channel=home.channel
        )
        message = InboundMessage(key=key, author=Author(id=""), text="", direct=True)
        author = await self._drafts.author(Draft(message=message, user=home.user))
        return self._host.policy.offers(key, author, direct=True).prompts
