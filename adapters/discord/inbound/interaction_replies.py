"""Answers to commands, clicks and forms, within Discord's three seconds.

An action is taken before its person is answered, unless that takes too long: then Discord is told
to wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from adapters.discord.connection.message_body import (
    CONTENT,
    SUPPRESS_EMBEDS,
    Message,
    clip,
    escape_markdown,
    neutral,
)
from adapters.discord.connection.rest import ApiError, Rest
from adapters.discord.connection.values import InteractionEvent
from adapters.discord.custom_ids import custom_id
from adapters.tolerated import tolerated
from gateway.adapter import AuthError
from gateway.errors import GatewayError, StoreError, StoreFull
from gateway.interactions import Button, FormSpec
from gateway.render.sanitize import label
from gateway.surface import OutcomeUnknown, PlatformUnreachable, RateLimited

LOG = logging.getLogger("adapters.discord")

SOON = 1.2
"""Seconds for which an answer waits for what it says."""

IN_TIME = 2.4
"""Seconds within which a first answer has to be known that can't be put off."""
PROMPT = 2_900

MESSAGE, DEFER, DEFER_UPDATE, MODAL = 4, 5, 6, 9
"""Discord's kinds of first answers."""
EPHEMERAL = 1 << 6
ALREADY_ANSWERED = 40060

NOT_ACCEPTED = "This could not be accepted just now. Please try again."
NOT_STORED = "I can't accept this: nothing can be stored right now. Try again in a few minutes."


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply to an action; `alone`: visible to its person alone."""

    text: str
    alone: bool = False


@dataclass(frozen=True, slots=True)
class SentReply:
    """A sent reply; `message` is its id, "" if private or unknown."""

    reply: Reply
    message: str


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    """The outcome of an action, before or after its acknowledgement."""

    result: T | GatewayError
    """Why it was not taken, if it was not."""
    late: bool
    message: str
    """The one that says that it was noticed."""


class InteractionReplies:
    """Answers interactions."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def reply_privately(
        self, event: InteractionEvent, work: Coroutine[Any, Any, str], *, update: bool = False
    ) -> None:
        """Do the work, and tell its person alone what it returns.

        `update`: with "" there is nothing to be told; the message that was clicked shows it.
        """
        done = await self._run_work(event, work, DEFER_UPDATE if update else DEFER, hidden=True)
        text = _why(done.result) if isinstance(done.result, GatewayError) else done.result
        if not done.late:
            await (self.reply_now(event, text) if text else self._send_first(event, DEFER_UPDATE))
        elif not update:
            await self.edit_reply(event, text)
        elif text:
            await self._send_private(event, text)

    async def reply(
        self, event: InteractionEvent, work: Coroutine[Any, Any, Reply], *, hidden: bool = False
    ) -> SentReply:
        """Do the work and show its result, `hidden` to its person alone."""
        done = await self._run_work(event, work, DEFER, hidden=hidden)
        shown = done.result
        if isinstance(shown, GatewayError):
            shown = Reply(text=_why(shown), alone=True)
        if not done.late:
            message = await self.reply_now(event, shown.text, hidden=hidden or shown.alone)
            return SentReply(shown, message)
        await self.edit_reply(event, shown.text)
        return SentReply(shown, "" if shown.alone else done.message)

    async def _run_work(
        self, event: InteractionEvent, work: Coroutine[Any, Any, T], kind: int, *, hidden: bool
    ) -> _Outcome[T]:
        """Do the work; acknowledge it meanwhile if it takes long."""
        message = ""
        async with asyncio.TaskGroup() as group:
            working = group.create_task(_result_or_error(work), name="takes an interaction")
            await asyncio.wait([working], timeout=SOON)
            if late := not working.done():
                message = await self._send_first(
                    event, kind, _flags(hidden=hidden), with_message=not hidden
                )
        return _Outcome(working.result(), late, message)

    async def reply_now(self, event: InteractionEvent, text: str, *, hidden: bool = True) -> str:
        """Send the first answer, `hidden` to its person alone.

        Returns the id of a public one, "" if it is not known.
        """
        body = Message(content=clip(text, CONTENT)).body() | _flags(hidden=hidden)
        return await self._send_first(event, MESSAGE, body, with_message=not hidden)

    async def show_form(
        self, event: InteractionEvent, work: Coroutine[Any, Any, FormSpec | str]
    ) -> None:
        """Do the work and show its form, or tell why not.

        A form can only be the first answer, so that the work has to end in time.
        """
        try:
            async with asyncio.timeout(IN_TIME):
                form = await _result_or_error(work)
        except TimeoutError:
            form = NOT_ACCEPTED
        if isinstance(form, FormSpec):
            await self._send_first(event, MODAL, modal(form))
        else:
            await self.reply_now(event, _why(form) if isinstance(form, GatewayError) else form)

    async def edit_reply(self, event: InteractionEvent, text: str) -> None:
        """Replace the text of the first answer."""
        body = Message(content=clip(text, CONTENT)).body()
        del body["flags"]
        await self._send_later(event, "PATCH", _original(event), body)

    async def _send_private(self, event: InteractionEvent, text: str) -> None:
        path = f"/webhooks/{event.application}/{event.token}"
        body = {**Message(content=clip(text, CONTENT)).body(), "flags": EPHEMERAL}
        await self._send_later(event, "POST", path, body)

    async def _send_first(
        self,
        event: InteractionEvent,
        kind: int,
        data: dict[str, Any] | None = None,
        *,
        with_message: bool = False,
    ) -> str:
        """Answer; the id of the message `with_message`, else "".

        If that fails, its person sees so, and their action still counts.
        """
        body: dict[str, Any] = {"type": kind}
        if data is not None and kind != DEFER_UPDATE:
            body["data"] = data
        try:
            made = await self._respond(event, body, with_message=with_message)
        except (RateLimited, ApiError, OutcomeUnknown, PlatformUnreachable) as error:
            LOG.warning(
                "interaction %s: Discord shows its user that it failed: %s", event.id, error
            )
            return ""
        return str((made.get("interaction") or {}).get("response_message_id") or "")

    async def _respond(
        self, event: InteractionEvent, body: dict[str, Any], *, with_message: bool
    ) -> dict[str, Any]:
        """Answer, and once more if nobody knows whether that arrived."""
        path = f"/interactions/{event.id}/{event.token}/callback"
        if with_message:
            path += "?with_response=true"
        try:
            return await self._rest.respond(path, body) or {}
        except (OutcomeUnknown, PlatformUnreachable):
            try:
                return await self._rest.respond(path, body) or {}
            except ApiError as error:
                if error.code != ALREADY_ANSWERED:
                    raise
                return {}

    async def _send_later(
        self, event: InteractionEvent, method: str, path: str, body: dict[str, Any]
    ) -> None:
        """Log a failed reply: the action stands."""
        with tolerated(LOG, f"answer the user of interaction {event.id}"):
            await self._rest.call(method, path, json=body)


def _original(event: InteractionEvent) -> str:
    return f"/webhooks/{event.application}/{event.token}/messages/@original"


def _flags(*, hidden: bool) -> dict[str, Any]:
    return {"flags": EPHEMERAL if hidden else SUPPRESS_EMBEDS}


async def _result_or_error(work: Coroutine[Any, Any, T]) -> T | GatewayError:
    try:
        return await work
    except AuthError:
        raise
    except GatewayError as error:
        LOG.error("could not accept an interaction: %s", error)  # noqa: TRY400 (the text says it all)
        return error


def _why(error: GatewayError) -> str:
    return NOT_STORED if isinstance(error, StoreError | StoreFull) else NOT_ACCEPTED


def modal(form: FormSpec) -> dict[str, Any]:
    """The form as a modal."""
    # "Component Reference" on docs.discord.com: a label has the field, a text display Markdown.
    field = {
        "type": 4,
        "custom_id": "text",
        "style": 2,
        "max_length": 4000,
        "required": form.required,
    }
    prompt = neutral(escape_markdown(form.prompt)).strip()
    asked = [{"type": 10, "content": clip(prompt, PROMPT)}] if prompt else []
    return {
        "custom_id": custom_id(Button(kind=form.kind, about=form.request)),
        "title": label(form.title, 45),
        "components": [*asked, {"type": 18, "label": label(form.label, 45), "component": field}],
    }
