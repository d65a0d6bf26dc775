"""Commands, buttons and forms of people, handed to the gateway."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from adapters.discord.config import Threads
from adapters.discord.connection.message_body import CONTENT, clip, neutral
from adapters.discord.connection.values import InteractionEvent, Payload, sent_at
from adapters.discord.conversations.command_threads import root_of_command
from adapters.discord.conversations.threads import POINTER
from adapters.discord.inbound.contents import InboundContext
from adapters.discord.inbound.interaction_replies import InteractionReplies, Reply
from adapters.discord.inbound.message_handler import MessageHandler
from adapters.discord.inbound.missed_messages import DiscordHistory
from adapters.discord.inbound.parse_interactions import Acted, MessageCommand, Typing
from adapters.discord.inbound.parse_messages import (
    ParsedMessage,
    PointedMessage,
    parse_any_message,
)
from adapters.tolerated import tolerated
from gateway.adapter import AdapterHost
from gateway.client import Receipt
from gateway.conversation import (
    Author,
    AwaitedFile,
    ConversationKey,
    EventKind,
    InboundMessage,
    order_key,
)
from gateway.interactions import (
    AnswerNow,
    Command,
    Form,
    FormOpening,
    Rating,
    RequestAnswer,
)
from gateway.render.sanitize import label
from gateway.visible import VisibleContent, headline

LOG = logging.getLogger("adapters.discord")

UNKNOWN = "This question no longer exists."
GONE = "That message no longer exists."
NOT_ACCEPTED = "This was not accepted."
STOPPING = "The team is stopping."
NOTED = "Thank you, noted."
NOT_RATED = "You may not rate this."
NAME = 80
"""Characters of a file's name."""
DEFAULT_QUESTION = "What do you think of this message?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to the team, perhaps about a message."""

    text: str
    about: ParsedMessage | None = None
    shown: str = ""
    """The first words of that message, as the channel sees it."""
    files: tuple[AwaitedFile, ...] = ()

    @property
    def title(self) -> str:
        """The title for its conversation."""
        return self.shown or self.text


class InteractionHandler:
    """Hands what people do to the gateway."""

    def __init__(
        self,
        host: AdapterHost,
        context: InboundContext,
        handler: MessageHandler,
        history: DiscordHistory,
        *,
        ask: str,
        threads: Threads,
    ) -> None:
        self._host = host
        self._context = context
        self._handler = handler
        self._history = history
        self._replies = InteractionReplies(context.rest)
        self._ask = ask
        self._threads = threads

    async def handle(self, interaction: Acted | MessageCommand | Typing) -> None:
        """Hand in an interaction. Raises GatewayError."""
        match interaction:
            case Acted():
                await self._act(interaction)
            case Typing(event=event, text=text):
                with tolerated(LOG, "suggest teams"):
                    await self._replies.suggest(event, await self._teams(event, text))
            case MessageCommand(event=event, target=target):
                about = parse_any_message(target, self._context.cache.me_in(event.guild))
                shown = headline(map(self._handler.contents.read, _all_of(about)))
                question = Question(text=DEFAULT_QUESTION, about=about, shown=shown)
                await self._begin_conversation(event, question)

    async def _teams(self, event: InteractionEvent, typed: str) -> list[str]:
        """The teams that a person may choose, with these letters."""
        key, _ = await self._context.find_conversation(event.channel, event.guild, "")
        author = await self._context.people.author(event.sender, event.guild)
        offers = self._host.policy.offers(key, author, direct=not event.guild)
        return [name for name in offers.teams if typed.strip().casefold() in name.casefold()]

    async def _begin_conversation(self, event: InteractionEvent, question: Question) -> None:
        """Hand in a question; its conversation hangs on the command's answer."""
        root = root_of_command(event.id)
        key, in_thread = await self._context.find_conversation(event.channel, event.guild, root)
        hidden = await self._is_refused(event, key)
        work = self._submit_question(event, key, question)
        if not event.guild or in_thread:
            await self._replies.reply(event, work, hidden=hidden)
            return
        self._context.targets.set_opening(key, question.title, event.sender.id)
        hidden = hidden or self._threads == "private"
        async with self._context.targets.pending_message(key) as set_message:
            reply, message = await self._replies.reply(event, work, hidden=hidden)
            if message:
                await set_message(message)
        if self._threads == "private" and not reply.alone:
            await self._link_thread(event, key, reply.text)

    async def _link_thread(self, event: InteractionEvent, key: ConversationKey, text: str) -> None:
        """Open the private thread now, and lead its person there."""
        with tolerated(LOG, f"link the thread of interaction {event.id}"):
            target = await self._context.targets.find(key, asker=event.sender.id)
            if target.thread:
                pointer = POINTER.format(thread=target.channel)
                await self._replies.edit_reply(event, f"{clip(text, CONTENT - 100)}\n{pointer}")

    async def _is_refused(self, event: InteractionEvent, key: ConversationKey) -> bool:
        """True if its person may not write where others see the answer."""
        if not event.guild:
            return False
        return not await self._handler.contents.may_write(event.sender, key, event.guild)

    async def _submit_question(
        self, event: InteractionEvent, key: ConversationKey, question: Question
    ) -> Reply:
        """Hand in a question; the reply to it."""
        question = await self._with_reference(question)
        author = await self._context.people.author(event.sender, event.guild)
        kind = "command" if question.about is None else "shortcut"
        receipt = await self._accept(event, key, author, question, kind)
        if receipt.reply or receipt.outcome == "refused":
            return Reply(text=receipt.reply or NOT_ACCEPTED)
        names = ", ".join(label(each.name, NAME) for each in question.files)
        lines = (question.text, question.shown, names and f"(with {names})")
        about = "\n".join(filter(None, lines))
        quoted = "\n> ".join(neutral(about).splitlines())
        return Reply(text=f"<@{event.sender.id}> asked:\n> {quoted}", alone=False)

    async def _with_reference(self, question: Question) -> Question:
        """The question, with the readable message that its own one replies to."""
        about = question.about
        if about is None or not about.left_out:
            return question
        path = f"/channels/{about.channel}/messages/{about.id}"
        with tolerated(LOG, "read the message that a command is about"):
            found: Payload = await self._context.rest.call("GET", path)
            about = parse_any_message({**found, "guild_id": about.guild}, about.me)
        return replace(question, about=about)

    async def _submit_command(self, acted: Acted, text: str) -> Reply:
        """Hand in a command; the reply to it."""
        event = acted.event
        kind: EventKind = "stop" if text == "/stop" else "command"
        key, _ = await self._context.find_conversation(event.channel, event.guild, acted.root)
        author = await self._context.people.author(event.sender, event.guild)
        receipt = await self._accept(
            event, key, author, Question(text=text), kind, reply_to=acted.message
        )
        done = STOPPING if text == "/stop" else "Done."
        done = NOT_ACCEPTED if receipt.outcome == "refused" else done
        return Reply(text=receipt.reply or done)

    async def _accept(
        self,
        event: InteractionEvent,
        key: ConversationKey,
        author: Author,
        question: Question,
        kind: EventKind,
        *,
        reply_to: str = "",
    ) -> Receipt:
        message = InboundMessage(
            key=key,
            author=author,
            event=kind,
            direct=not event.guild,
            text=question.text,
            dedupe=(key.dedupe("create", event.id),),
            message_id=event.id,
            reply_to=reply_to,
            order_key=order_key(event.id),
            title=question.shown,
            at=sent_at(event.id),
        )
        if question.about is not None or question.files:
            content = VisibleContent(text=question.text, files=question.files)
            own = PointedMessage(content=content)
            pointed = _all_of(question.about) if question.about is not None else ()
            found = await self._handler.contents.add_pointed(message, own, pointed, event.guild)
            message = await self._handler.judge(found)
        if not event.guild:
            self._context.targets.add_direct(key.channel)
        return await self._handler.accept(message)

    async def _act(self, acted: Acted) -> None:
        event, replies = acted.event, self._replies
        match acted.does:
            case None:
                await replies.reply_now(event, UNKNOWN)
            case Rating() as rating if (opening := rating.opening) is not None:
                await replies.show_form(event, self._rate(acted, rating, opening))
            case Rating() as rating:
                await replies.reply(event, self._rate(acted, rating))
            case Form() as form if (rating := form.rating) is not None:
                await replies.reply(event, self._rate(acted, rating))
            case Command(text=text) if self._asks(text) and not acted.message:
                question = Question(text=text.partition(" ")[2], files=acted.files)
                await self._begin_conversation(event, question)
            case Command(text=text):
                await replies.reply(event, self._submit_command(acted, text))
            case FormOpening() as opening:
                await replies.show_form(event, self._open_form(acted, opening))
            case AnswerNow(first=first):
                await replies.reply(event, self._answer_missed(acted, first), update=True)
            case answer:
                update = bool(acted.message)
                await replies.reply(event, self._settle(acted, answer), update=update)

    def _asks(self, text: str) -> bool:
        return text.partition(" ")[0] == f"/{self._ask}"

    async def _open_form(self, acted: Acted, opening: FormOpening) -> Reply:
        form = await self._host.open_form(await self._message(acted, "click"), opening)
        return Reply(text=form) if isinstance(form, str) else Reply(form=form)

    async def _rate(
        self, acted: Acted, rating: Rating, opening: FormOpening | None = None
    ) -> Reply:
        """Keep a rating; the form for its reason, or thanks."""
        message = await self._host.judge(await self._message(acted, "click"))
        conversations = self._host.conversations
        thread = await conversations.thread_at(message.key)
        if thread is None or not message.may_write:
            return Reply(text=NOT_RATED)
        await conversations.rate(
            thread.id, rating.part, message.author.id, good=rating.good, reason=rating.reason
        )
        if opening is None:
            return Reply(text=NOTED)
        form = await self._host.open_form(message, opening)
        return Reply(text=form) if isinstance(form, str) else Reply(form=form)

    async def _settle(self, acted: Acted, answer: RequestAnswer) -> Reply:
        """Hand in an answer; the reply, empty if the card shows it."""
        kind = "modal" if isinstance(answer, Form) else "click"
        message = replace(await self._message(acted, kind), click=answer)
        receipt = await self._host.accept(message)
        done = "" if receipt.outcome == "answer" else NOT_ACCEPTED
        return Reply(text=receipt.reply or done)

    async def _message(self, acted: Acted, kind: EventKind) -> InboundMessage:
        """Message of somebody who acts, without its contents."""
        event = acted.event
        key, _ = await self._context.find_conversation(event.channel, event.guild, acted.root)
        return InboundMessage(
            key=key,
            author=await self._context.people.author(event.sender, event.guild),
            event=kind,
            direct=not event.guild,
            dedupe=(key.dedupe("click", event.id),),
            at=sent_at(event.id),
        )

    async def _answer_missed(self, acted: Acted, first: str) -> Reply:
        """Answer what a button offers; the reply, empty if it says it."""
        event = acted.event
        card = await self._history.card(event.channel, event.guild, first, acted.message)
        if card is None or card.key is None:
            return Reply(text=GONE)
        author = await self._context.people.author(event.sender, event.guild)
        direct, at = not event.guild, sent_at(event.id)
        message = InboundMessage(key=card.key, author=author, direct=direct, at=at)
        return Reply(text=await self._history.backfill.answer(card, message))


def _all_of(about: ParsedMessage) -> tuple[PointedMessage, ...]:
    """A message that somebody points at, with what it points at itself."""
    return (about.as_pointed("quote"), *about.pointed)
