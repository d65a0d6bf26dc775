"""What people do with commands, buttons and forms, handed to the gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from adapters.discord.config import Threads
from adapters.discord.connection.values import Event, Me
from adapters.discord.conversations.channels import conversation
from adapters.discord.conversations.command_threads import root_of_command
from adapters.discord.custom_ids import Action
from adapters.discord.inbound.catch_up import CatchUp, Gap
from adapters.discord.inbound.interaction_replies import Replies, Shown, modal
from adapters.discord.inbound.messages import Hearing, Knowledge
from adapters.discord.inbound.parse_interactions import (
    Clicked,
    Filled,
    Interaction,
    Pointed,
    Typed,
    as_typed,
)
from adapters.discord.inbound.parse_messages import Foreign
from gateway.adapter import AdapterHost
from gateway.client import Answer, Receipt
from gateway.conversation import (
    Author,
    Click,
    ConversationKey,
    EventKind,
    InboundMessage,
    Quote,
    order_key,
)
from gateway.errors import NotFound
from gateway.render.outbound import markdown

UNKNOWN = "This belongs to a question that is not known any more."
NOT_TAKEN = "This was not taken."
LOOK = "What do you say to this message?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doings:
    """What somebody did with a command, on its way to the gateway."""

    key: ConversationKey
    text: str
    event: EventKind
    foreign: Foreign | None = None


class Acting:
    """Hands what people do to the gateway."""

    def __init__(
        self,
        host: AdapterHost,
        knowledge: Knowledge,
        hearing: Hearing,
        catch_up: CatchUp,
        *,
        ask: str,
        threads: Threads,
    ) -> None:
        self._host = host
        self._known = knowledge
        self._hearing = hearing
        self._catch_up = catch_up
        self._replies = Replies(knowledge.rest)
        self._ask = ask
        self._threads = threads

    async def act(self, interaction: Interaction, me: Me) -> None:
        """Take what somebody did. Raises GatewayError."""
        match interaction:
            case Typed(event=event, name=name, options=options) if name == self._ask:
                await self._begin(event, options.get("text", ""), None)
            case Typed(event=event, name=name, options=options):
                text = as_typed(name, options)
                kind = "stop" if text == "/stop" else "command"
                await self._replies.tell(event, self._command(event, text, kind))
            case Pointed(event=event, foreign=foreign):
                await self._begin(event, LOOK, foreign)
            case Clicked():
                await self._click(interaction, me)
            case Filled():
                await self._fill(interaction)
            case _:
                assert_never(interaction)

    async def _begin(self, event: Event, text: str, foreign: Foreign | None) -> None:
        """A question to the team; the command's answer is what its conversation hangs on."""
        key, in_thread = await self._where(event, root_of_command(event.id))
        doing = Doings(
            key=key,
            text=text,
            event="command" if foreign is None else "shortcut",
            foreign=foreign,
        )
        hidden = await self._is_refused(event, key)
        work = self._asked(event, doing)
        if not event.guild or in_thread:
            await self._replies.show(event, work, hidden=hidden)
            return
        title = text if foreign is None else foreign.text
        self._known.spots.begins(key, title, event.sender.id)
        hidden = hidden or self._threads == "private"
        async with self._known.spots.hanging(key) as hang:
            if message := await self._replies.show(event, work, hidden=hidden):
                await hang(message)

    async def _is_refused(self, event: Event, key: ConversationKey) -> bool:
        """Whether its person may not write there, where others would see the answer."""
        if not event.guild:
            return False
        author = await self._known.people.author(event.sender, event.guild)  # the event tells
        return not await self._host.may(InboundMessage(key=key, author=author))

    async def _asked(self, event: Event, doing: Doings) -> Shown:
        """Take a question; what is shown about it."""
        author = await self._known.people.author(event.sender, event.guild)
        receipt = await self._accept(event, author, doing)
        if receipt.reply or receipt.outcome == "refused":
            return Shown(text=receipt.reply or NOT_TAKEN, alone=True)
        about = doing.text if doing.foreign is None else f"{doing.text}\n{doing.foreign.text}"
        quoted = "\n> ".join(markdown(about).splitlines())
        return Shown(text=f"<@{event.sender.id}> asked:\n> {quoted}")

    async def _command(self, event: Event, text: str, kind: EventKind, root: str = "") -> str:
        """Take a command; what its person is told."""
        key, _ = await self._where(event, root)
        author = await self._known.people.author(event.sender, event.guild)
        receipt = await self._accept(event, author, Doings(key=key, text=text, event=kind))
        return receipt.reply or (NOT_TAKEN if receipt.outcome == "refused" else "Taken.")

    async def _accept(self, event: Event, author: Author, doing: Doings) -> Receipt:
        key = doing.key
        quotes: tuple[Quote, ...] = ()
        if doing.foreign is not None:
            quotes = (await self._hearing.quote(doing.foreign, key, event.guild),)
        message = InboundMessage(
            key=key,
            author=author,
            event=doing.event,
            direct=not event.guild,
            text=doing.text,
            dedupe=(key.dedupe("create", event.id),),
            message_id=event.id,
            order_key=order_key(event.id),
            quotes=quotes,
        )
        if not event.guild:
            self._known.spots.hears_direct(key.channel)
        return await self._hearing.accept(message)

    async def _click(self, clicked: Clicked, me: Me) -> None:
        event, action = clicked.event, clicked.action
        root = clicked.chain or clicked.message
        if action is None:
            await self._replies.say(event, UNKNOWN)
            return
        match action.kind:
            case "note":
                await self._replies.form(event, modal(action, "Deny", "Why, for the team"))
            case "text":
                await self._replies.form(event, modal(action, "Answer", "Your answer"))
            case "missed":
                answering = self._answer_missed(clicked, action.what, me)
                await self._replies.tell(event, answering)
            case "command":
                await self._replies.tell(event, self._command(event, action.what, "click", root))
            case _:
                settling = self._settle_by_click(event, action, root)
                await self._replies.tell(event, settling, update=True)

    async def _fill(self, filled: Filled) -> None:
        event, action = filled.event, filled.action
        if action is None or action.kind not in ("note", "text"):
            await self._replies.say(event, UNKNOWN)
            return
        kind = "deny" if action.kind == "note" else "text"
        answer = Answer(kind=kind, text=filled.text.strip())
        root = filled.chain or filled.message
        settling = self._settle(event, action.what, answer, root, "modal")
        await self._replies.tell(event, settling, update=bool(filled.message))

    async def _settle_by_click(self, event: Event, action: Action, root: str) -> str:
        answer = await self._answer(action)
        if answer is None:
            return UNKNOWN
        return await self._settle(event, action.what, answer, root, "click")

    async def _answer(self, action: Action) -> Answer | None:
        """What a click answers; None for an option of a request that is not known."""
        match action.kind:
            case "approve":
                return Answer(kind="approve")
            case "always":
                return Answer(kind="approve_always")
            case "deny":
                return Answer(kind="deny")
            case _:
                try:
                    request = await self._host.request(action.what)
                except NotFound:
                    return None
                number, options = action.number or 0, request.card.options
                known = number < len(options)
                return Answer(kind="text", text=options[number]) if known else None

    async def _settle(
        self, event: Event, request: str, answer: Answer, root: str, kind: EventKind
    ) -> str:
        """Hand in an answer; what its person is told, "" if the card says it."""
        key, _ = await self._where(event, root)
        author = await self._known.people.author(event.sender, event.guild)
        receipt = await self._host.accept(
            InboundMessage(
                key=key,
                author=author,
                event=kind,
                direct=not event.guild,
                dedupe=(key.dedupe("click", event.id),),
                click=Click(request=request, answer=answer),
            )
        )
        if receipt.outcome == "answer":
            return receipt.reply
        return receipt.reply or NOT_TAKEN

    async def _answer_missed(self, clicked: Clicked, first: str, me: Me) -> str:
        event = clicked.event
        author = await self._known.people.author(event.sender, event.guild)
        gap = Gap(event.channel, event.guild, first, clicked.message)
        return await self._catch_up.answer(gap, author, me)

    async def _where(self, event: Event, root: str) -> tuple[ConversationKey, bool]:
        known = self._known
        return await conversation(known.channels, known.spots, event.channel, event.guild, root)
