"""Rulings on people: whether they may write, and which forms they get."""

from __future__ import annotations

from dataclasses import replace

from gateway.access.authority import Denial, Judgement, judge
from gateway.conversation import InboundMessage
from gateway.errors import NotFound
from gateway.inbound.forms import form_of
from gateway.interactions import FormOpening, FormSpec
from gateway.runtime.lifecycle import GatewayParts, Lifecycle
from gateway.store.units import events as event_units
from gateway.store.units import people as people_units


class Rulings:
    """Rulings of one gateway."""

    def __init__(self, parts: GatewayParts, life: Lifecycle) -> None:
        self._store = parts.store
        self._using = parts.using
        self._trust = parts.trust
        self._life = life

    async def judge(self, message: InboundMessage) -> InboundMessage:
        """The message with the authority's ruling on it.

        `may_write` says whether its author may write there, including people who were let in by a
        code. `accept` need not ask again.
        """
        ruling = await self._ruling(message)
        return message if message.ruling is ruling else replace(message, ruling=ruling)

    async def _ruling(self, message: InboundMessage) -> Judgement:
        ruling = judge(message, self._using.access)
        if isinstance(ruling.verdict, Denial) and ruling.verdict.once_paired is not None:
            people = await self._store.run(people_units.people)
            paired = any(person.id == message.author.id for person in people)
            ruling = replace(ruling, may_write=paired)
        return ruling

    async def open_form(self, message: InboundMessage, opening: FormOpening) -> FormSpec | str:
        """The form that an author asks for, or why they get none."""
        self._life.check_open()
        try:
            request = await self._store.run(event_units.request, opening.request)
        except NotFound:
            request = None
        ruling, operators = await self._ruling(message), self._using.access.operators
        return form_of(opening, request, ruling, operators, self._trust.now())
