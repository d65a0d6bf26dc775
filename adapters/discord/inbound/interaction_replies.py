"""Answers to commands, clicks and forms, within Discord's three seconds.

An action is taken before its person is answered, unless that takes too long: then Discord is told
to wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

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

MESSAGE, DEFER, DEFER_UPDATE, CHOICES, MODAL = 4, 5, 6, 8, 9
"""Discord's kinds of first answers."""
EPHEMERAL = 1 << 6
MOST_CHOICES = 25
"""Suggestions for an option, each of at most 100 characters (Discord's documentation)."""
LONGEST_CHOICE = 100
ALREADY_ANSWERED = 40060

NOT_ACCEPTED = "This could not be accepted just now. Please try again."
NOT_STORED = "I can't accept this because I can't store it right now. Try again in a few minutes."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply to an action; `alone`: visible to its person alone.

    Without a text there is nothing to be told: the message that was clicked shows it.
    """

    text: str = ""
    form: FormSpec | None = None
    alone: bool = True


class InteractionReplies:
    """Answers interactions."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def reply(
        self,
        event: InteractionEvent,
        work: Coroutine[Any, Any, Reply],
        *,
        hidden: bool = True,
        update: bool = False,
    ) -> tuple[Reply, str]:
        """Do the work and show its result.

        It is acknowledged meanwhile if it takes long. `hidden`: to its person alone; `update`: a
        message was clicked. Returns the reply, and the id of its message, "" if that is private or
        unknown.
        """
        message = ""
        async with asyncio.TaskGroup() as group:
            working = group.create_task(_reply_or_error(work), name="takes an interaction")
            await asyncio.wait([working], timeout=SOON)
            if late := not working.done():
                kind = DEFER_UPDATE if update else DEFER
                message = await self._send_first(
                    event, kind, _flags(hidden=hidden), with_message=not hidden
                )
        reply = working.result()
        if not late and reply.text:
            message = await self.reply_now(event, reply.text, hidden=hidden or reply.alone)
        elif not late:
            await self._send_first(event, DEFER_UPDATE)
        elif not update:
            await self.edit_reply(event, reply.text)
        elif reply.text:
            await self._send_private(event, reply.text)
        return reply, "" if reply.alone else message

    async def reply_now(self, event: InteractionEvent, text: str, *, hidden: bool = True) -> str:
        """Send the first answer, `hidden` to its person alone.

        Returns the id of a public one, "" if it is not known.
        """
        body = Message(content=clip(text, CONTENT)).body() | _flags(hidden=hidden)
        return await self._send_first(event, MESSAGE, body, with_message=not hidden)

    async def suggest(self, event: InteractionEvent, names: Sequence[str]) -> None:
        """Offer values for an option that is being typed."""
        fit = [name for name in names if len(name) <= LONGEST_CHOICE][:MOST_CHOICES]
        choices = [{"name": name, "value": name} for name in fit]
        await self._send_first(event, CHOICES, {"choices": choices})

    async def show_form(self, event: InteractionEvent, work: Coroutine[Any, Any, Reply]) -> None:
        """Do the work and show its form, or tell why not.

        A form can only be the first answer, so that the work has to end in time.
        """
        try:
            async with asyncio.timeout(IN_TIME):
                reply = await _reply_or_error(work)
        except TimeoutError:
            reply = Reply(text=NOT_ACCEPTED)
        if reply.form is not None:
            await self._send_first(event, MODAL, modal(reply.form))
        else:
            await self.reply_now(event, reply.text)

    async def edit_reply(self, event: InteractionEvent, text: str) -> None:
        """Replace the text of the first answer."""
        body = Message(content=clip(text, CONTENT)).body()
        del body["flags"]
        await self._send_later(event, "PATCH", "/messages/@original", body)

    async def _send_private(self, event: InteractionEvent, text: str) -> None:
        """Send it once: "Execute Webhook" takes no nonce."""
        body = {**Message(content=clip(text, CONTENT)).body(), "flags": EPHEMERAL}
        await self._send_later(event, "POST", "", body)

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
        path = f"/webhooks/{event.application}/{event.token}{path}"
        with tolerated(LOG, f"answer the user of interaction {event.id}"):
            await self._rest.call(method, path, json=body)


def _flags(*, hidden: bool) -> dict[str, Any]:
    return {"flags": EPHEMERAL if hidden else SUPPRESS_EMBEDS}


async def _reply_or_error(work: Coroutine[Any, Any, Reply]) -> Reply:
    try:
        return await work
    except AuthError:
        raise
    except GatewayError as error:
        LOG.error("could not accept an interaction: %s", error)  # noqa: TRY400 (the text says it all)
        unstored = isinstance(error, StoreError | StoreFull)
        return Reply(text=NOT_STORED if unstored else NOT_ACCEPTED)


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
