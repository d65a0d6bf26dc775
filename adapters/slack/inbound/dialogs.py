"""Modals: opened by a button, and handled when submitted."""

from __future__ import annotations

import logging
from typing import Any

from adapters.slack.connection.payload import escaped, text_at
from adapters.slack.connection.web_api import Calls
from adapters.slack.inbound import modals
from adapters.slack.inbound.drafts import Drafts
from adapters.slack.inbound.missed_messages import UNSTORED
from adapters.slack.inbound.parsed import Draft, ModalOpening
from adapters.slack.inbound.slash import NOT_STORED
from gateway.adapter import AdapterHost
from gateway.base.describe import describe
from gateway.errors import GatewayError, NotFound

LOG = logging.getLogger("adapters.slack")

NOT_OPENED = "Slack did not open the window in time. Press the button again."
NO_REQUEST = "There is no such request."
NOT_YOURS = "You may not answer this request."
EMPTY = "Write an answer first."


class Dialogs:
    """Opens modals and handles their submissions."""

    def __init__(self, host: AdapterHost, calls: Calls, drafts: Drafts) -> None:
        self._host = host
        self._calls = calls
        self._drafts = drafts

    async def open(self, wanted: ModalOpening) -> str:
        """Open a modal at once, then fill it; a reply on failure."""
        team, kind = wanted.draft.message.key.workspace, wanted.place.kind
        try:
            opened = await self._calls.write(
                team, "views.open", trigger_id=wanted.trigger, view=modals.loading(kind)
            )
            view = await self._view(wanted)
            ident = text_at(opened, "view", "id")
            await self._calls.write(team, "views.update", view_id=ident, view=view)
        except GatewayError as error:
            LOG.warning("a modal was not opened: %s", error)
            return NOT_OPENED
        return ""

    async def _view(self, wanted: ModalOpening) -> dict[str, Any]:
        place = wanted.place
        try:
            request = await self._host.request(place.request)
        except NotFound:
            return modals.closed(place.kind, NO_REQUEST)
        if not request.open:
            settled = f"This is already settled: {request.outcome}."
            return modals.closed(place.kind, escaped(settled))
        author = await self._drafts.author(wanted.draft)
        if not await self._host.may_answer(author, place.request):
            return modals.closed(place.kind, NOT_YOURS)
        return modals.asking(place, escaped(request.card.prompt))

    async def submit(self, draft: Draft) -> dict[str, Any] | None:
        """Handle a submission; the errors to show if it stays open.

        Raises GatewayError.
        """
        click = draft.message.click
        assert click is not None  # the parser made it of the modal
        if click.answer.kind == "text" and not click.answer.text:
            return modals.errors(EMPTY)
        try:
            receipt = await self._host.accept(await self._drafts.with_author(draft))
        except UNSTORED as error:
            LOG.warning("a form was not accepted: %s", describe(error))
            return modals.errors(NOT_STORED)
        return None if receipt.outcome == "answer" else modals.errors(receipt.reply or NOT_YOURS)
