"""Forms as Slack's modals: opened by a button, handled when sent."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from adapters.slack.action_ids import plain
from adapters.slack.connection.web_api import Calls
from adapters.slack.inbound.drafts import Drafts
from adapters.slack.inbound.parsed import Draft
from adapters.slack.inbound.slash import NOT_STORED
from gateway.adapter import NOT_ALLOWED, AdapterHost
from gateway.base.describe import describe
from gateway.errors import UNSTORED, GatewayError
from gateway.interactions import Form, FormKind, FormOpening, FormSpec

LOG = logging.getLogger("adapters.slack")

BLOCK = "answer"
INPUT = "g:input:0"
CALLBACK = "g:answer"
LONGEST = 3000
"""Characters that an input takes: Slack's own limit."""
NOT_OPENED = "Slack did not open the window in time. Press the button again."


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalPlace:
    """The request of a modal, and the card that opened it."""

    kind: FormKind
    request: str
    channel: str
    message: str
    thread: str

    def dump(self) -> str:
        """As a view's private_metadata."""
        return _PLACES.dump_json(self).decode()

    @classmethod
    def load(cls, text: str) -> ModalPlace:
        """The inverse of `dump`. Raises ValueError for anything else."""
        return _PLACES.validate_json(text, strict=True)


_PLACES = TypeAdapter(ModalPlace)


class Modals:
    """Opens modals and handles their submissions."""

    def __init__(self, host: AdapterHost, calls: Calls, drafts: Drafts) -> None:
        self._host = host
        self._calls = calls
        self._drafts = drafts

    async def open(self, draft: Draft, opening: FormOpening, trigger: str) -> str:
        """Open a form for who may send it; else a reply."""
        key = draft.message.key
        try:
            message = await self._drafts.with_author(draft)
            form = await self._host.open_form(message, opening)
            if isinstance(form, str):
                return form
            place = ModalPlace(
                kind=form.kind,
                request=form.request,
                channel=key.channel,
                message=message.message_id,
                thread=key.root,
            )
            view = view_of(form, place)
            await self._calls.write(key.workspace, "views.open", trigger_id=trigger, view=view)
        except GatewayError as error:
            LOG.warning("a modal was not opened: %s", error)
            return NOT_OPENED
        return ""

    async def submit(self, draft: Draft, form: Form) -> dict[str, Any] | None:
        """Handle a submission; the errors to show if it stays open.

        Raises GatewayError.
        """
        try:
            message = await self._drafts.with_author(draft)
            receipt = await self._host.accept(replace(message, click=form))
        except UNSTORED as error:
            LOG.warning("a form was not accepted: %s", describe(error))
            return _errors(NOT_STORED)
        return None if receipt.outcome == "answer" else _errors(receipt.reply or NOT_ALLOWED)


def _errors(text: str) -> dict[str, Any]:
    """The answer that keeps a modal open with an error."""
    return {"response_action": "errors", "errors": {BLOCK: text}}


def view_of(form: FormSpec, place: ModalPlace) -> dict[str, Any]:
    """The form as a view."""
    field = {
        "type": "input",
        "block_id": BLOCK,
        "label": plain(form.label),
        "optional": not form.required,
        "element": {
            "type": "plain_text_input",
            "action_id": INPUT,
            "multiline": True,
            "max_length": LONGEST,
        },
    }
    asked = [{"type": "section", "text": plain(form.prompt)}] if form.prompt.strip() else []
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": place.dump(),
        "title": plain(form.title),
        "submit": plain(form.send),
        "close": plain("Close"),
        "blocks": [*asked, field],
    }
