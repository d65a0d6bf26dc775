"""What people do with commands, buttons and forms: answered within three seconds, then taken.

Discord is told at once that something was noticed, before anything is looked up or stored; what is
for the person alone is shown to them alone.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, assert_never

from adapters.discord.channels import conversation
from adapters.discord.commands import as_typed
from adapters.discord.config import Threads
from adapters.discord.custom_ids import Action
from adapters.discord.hearing import Hearing, Knowledge
from adapters.discord.inbound import Foreign, Me, parse_message
from adapters.discord.interactions import Clicked, Event, Filled, Interaction, Pointed, Typed
from adapters.discord.payloads import CONTENT, Message, clip, modal
from adapters.discord.rest import Refused
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
from gateway.errors import GatewayError, NotFound
from gateway.gateway import Gateway
from gateway.render.outbound import markdown
from gateway.surface import Unclear, Unreachable

LOG = logging.getLogger("adapters.discord")

MESSAGE, DEFER, DEFER_UPDATE, MODAL = 4, 5, 6, 9
EPHEMERAL = 1 << 6
ALREADY_ANSWERED = 40060

UNKNOWN = "This belongs to a question that is not known any more."
GONE = "That message is not there any more."
TAKEN = "The team answers."
DENIED = "You may not write to this team."
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
        gateway: Gateway,
        knowledge: Knowledge,
        hearing: Hearing,
        *,
        ask: str,
        threads: Threads,
    ) -> None:
        self._gateway = gateway
        self._known = knowledge
        self._hearing = hearing
        self._ask = ask
        self._threads = threads

    async def act(self, interaction: Interaction, me: Me) -> None:
        """Take what somebody did. Raises GatewayError."""
        match interaction:
            case Typed(event=event, name=name, options=options) if name == self._ask:
                await self._begin(event, options.get("text", ""), None)
            case Typed(event=event, name=name, options=options):
                await self._command(event, as_typed(name, options))
            case Pointed(event=event, foreign=foreign):
                await self._begin(event, LOOK, foreign)
            case Clicked():
                await self._click(interaction, me)
            case Filled():
                await self._fill(interaction)
            case _:
                assert_never(interaction)

    async def _begin(self, event: Event, text: str, foreign: Foreign | None) -> None:
        """A question to the team, below the command's own message."""
        key, in_thread = await self._where(event, event.id)
        hidden = self._threads == "private" and bool(event.guild) and not in_thread
        if event.guild and not hidden:
            author = await self._known.people.author(event.sender, event.guild)
            hidden = not self._gateway.allows(InboundMessage(key=key, author=author))
        posted = await self._respond(event, DEFER, hidden=hidden)
        if posted and not hidden:
            key, in_thread = await self._where(event, posted)
        author = await self._known.people.author(event.sender, event.guild)
        if event.guild and not in_thread:
            title = text if foreign is None else foreign.text
            self._known.spots.begins(key, title, event.sender.id)
        doing = Doings(
            key=key,
            text=text,
            event="command" if foreign is None else "shortcut",
            foreign=foreign,
        )
        receipt = await self._accept(event, author, doing)
        await self._show_asked(event, receipt, doing)

    async def _show_asked(self, event: Event, receipt: Receipt, doing: Doings) -> None:
        if receipt.reply or receipt.outcome == "refused":
            await self._original(event, receipt.reply or "\u2026")
            return
        about = doing.text if doing.foreign is None else f"{doing.text}\n{doing.foreign.text}"
        quoted = "\n> ".join(markdown(about).splitlines())
        await self._original(event, f"<@{event.sender.id}> asked:\n> {quoted}")

    async def _command(self, event: Event, text: str) -> None:
        await self._respond(event, DEFER, hidden=True)
        key, _ = await self._where(event, "")
        author = await self._known.people.author(event.sender, event.guild)
        doing = Doings(key=key, text=text, event="stop" if text == "/stop" else "command")
        receipt = await self._accept(event, author, doing)
        await self._original(event, receipt.reply or "Taken.")

    async def _accept(self, event: Event, author: Author, doing: Doings) -> Receipt:
        key = doing.key
        quotes = () if doing.foreign is None else (self._quoted(doing.foreign, key, event),)
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
            await self._known.spots.note_direct(key.channel)
        return await self._gateway.accept(message)

    def _quoted(self, foreign: Foreign, key: ConversationKey, event: Event) -> Quote:
        return self._hearing.quote(foreign, key, event.guild)

    async def _click(self, clicked: Clicked, me: Me) -> None:
        event, action = clicked.event, clicked.action
        if action is None:
            await self._say(event, UNKNOWN)
            return
        match action.kind:
            case "note":
                await self._form(event, modal(action, "Deny", "Why, for the team"))
            case "text":
                await self._form(event, modal(action, "Answer", "Your answer"))
            case "missed":
                await self._respond(event, DEFER, hidden=True)
                await self._original(event, await self._answer_missed(clicked, action.what, me))
            case "command":
                await self._respond(event, DEFER, hidden=True)
                key = await self._of_message(event, clicked.chain or clicked.message)
                author = await self._known.people.author(event.sender, event.guild)
                doing = Doings(key=key, text=action.what, event="click")
                receipt = await self._accept(event, author, doing)
                await self._original(event, receipt.reply or "Taken.")
            case _:
                await self._respond(event, DEFER_UPDATE)
                answer = await self._answer(action)
                await self._settle(event, action, answer, clicked.chain or clicked.message)

    async def _fill(self, filled: Filled) -> None:
        event, action = filled.event, filled.action
        if action is None or action.kind not in ("note", "text"):
            await self._say(event, UNKNOWN)
            return
        await self._respond(event, DEFER_UPDATE if filled.message else DEFER, hidden=True)
        kind = "deny" if action.kind == "note" else "text"
        answer = Answer(kind=kind, text=filled.text.strip())
        await self._settle(event, action, answer, filled.chain or filled.message, modal=True)

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
                    request = await self._gateway.store.request(action.what)
                except NotFound:
                    return None
                number = action.number or 0
                known = number < len(request.options)
                return Answer(kind="text", text=request.options[number]) if known else None

    async def _settle(
        self,
        event: Event,
        action: Action,
        answer: Answer | None,
        message: str,
        *,
        modal: bool = False,
    ) -> None:
        if answer is None:
            await self._whisper(event, UNKNOWN)
            return
        key = await self._of_message(event, message)
        author = await self._known.people.author(event.sender, event.guild)
        receipt = await self._gateway.accept(
            InboundMessage(
                key=key,
                author=author,
                event="modal" if modal else "click",
                direct=not event.guild,
                dedupe=(key.dedupe("click", event.id),),
                click=Click(request=action.what, answer=answer),
            )
        )
        if receipt.outcome != "answer" or receipt.reply:
            await self._whisper(event, receipt.reply or "This was not taken.")

    async def _answer_missed(self, clicked: Clicked, first: str, me: Me) -> str:
        """Take what was missed from that message on, for somebody who may write there."""
        event = clicked.event
        try:
            found = await self._known.rest.call(
                "GET",
                f"/channels/{event.channel}/messages",
                query={"after": str(int(first) - 1), "limit": "100"},
            )
        except (Refused, ValueError):
            return GONE
        parsed = (parse_message({**each, "guild_id": event.guild}, me) for each in found)
        missed = [said for said in parsed if said and int(said.id) < int(clicked.message)]
        missed.sort(key=lambda said: int(said.id))
        if not missed or missed[0].id != first:
            return GONE
        key, _ = await self._hearing.where(missed[0])
        author = await self._known.people.author(event.sender, event.guild)
        if not self._gateway.allows(InboundMessage(key=key, author=author, direct=not event.guild)):
            return DENIED
        for said in missed:
            if (await self._hearing.where(said))[0] == key:
                await self._hearing.hear(said, me)
        return TAKEN

    async def _where(self, event: Event, root: str) -> tuple[ConversationKey, bool]:
        known = self._known
        return await conversation(known.channels, known.spots, event.channel, event.guild, root)

    async def _of_message(self, event: Event, message: str) -> ConversationKey:
        key, _ = await self._where(event, message)
        return key

    async def _respond(self, event: Event, kind: int, *, hidden: bool = False) -> str:
        """The first answer; the id of the message that it makes, "" for none."""
        body: dict[str, Any] = {"type": kind}
        if kind == DEFER:
            body["data"] = {"flags": EPHEMERAL if hidden else 0}
        path = f"/interactions/{event.id}/{event.token}/callback?with_response=true"
        made = await self._first(path, body)
        if kind != DEFER:
            return ""
        if known := ((made or {}).get("interaction") or {}).get("response_message_id"):
            return str(known)
        path = f"/webhooks/{event.application}/{event.token}/messages/@original"
        return str((await self._known.rest.call("GET", path))["id"])

    async def _first(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Answer in time, once more if nobody knows whether that arrived."""
        try:
            return await self._known.rest.respond(path, body)
        except (Unclear, Unreachable):
            try:
                return await self._known.rest.respond(path, body)
            except Refused as error:
                if error.code != ALREADY_ANSWERED:
                    raise
                return None

    async def _say(self, event: Event, text: str) -> None:
        """A first answer that is all there is, for the person alone."""
        data = {**Message(content=text).body(), "flags": EPHEMERAL}
        path = f"/interactions/{event.id}/{event.token}/callback"
        await self._first(path, {"type": MESSAGE, "data": data})

    async def _form(self, event: Event, form: dict[str, Any]) -> None:
        path = f"/interactions/{event.id}/{event.token}/callback"
        await self._first(path, {"type": MODAL, "data": form})

    async def _original(self, event: Event, text: str) -> None:
        """What stands instead of the first answer."""
        path = f"/webhooks/{event.application}/{event.token}/messages/@original"
        body = Message(content=clip(text, CONTENT)).body()
        del body["flags"]
        await self._after(event, "PATCH", path, body)

    async def _whisper(self, event: Event, text: str) -> None:
        """Something for the person alone, after the first answer."""
        path = f"/webhooks/{event.application}/{event.token}"
        body = {**Message(content=clip(text, CONTENT)).body(), "flags": EPHEMERAL}
        await self._after(event, "POST", path, body)

    async def _after(self, event: Event, method: str, path: str, body: dict[str, Any]) -> None:
        """What was done stands, whether or not its person can be told."""
        try:
            await self._known.rest.call(method, path, json=body)
        except GatewayError as error:
            LOG.info("interaction %s: its person could not be told: %s", event.id, error)
