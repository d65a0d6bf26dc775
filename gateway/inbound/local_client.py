"""The gateway for the person at the terminal of its process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from gateway.access.authority import awaited
from gateway.client import Answer, Choice, ChoiceKind, CommandInfo, Receipt, SentFile, ThreadInfo
from gateway.conversation import LOCAL_OPERATOR, Author, ConversationKey, InboundMessage
from gateway.errors import NotFound
from gateway.events import SessionEvent
from gateway.inbound.commands import command_infos
from gateway.inbound.file_faults import file_faults
from gateway.inbound.forking import fork_thread
from gateway.inbound.intake import Intake
from gateway.inbound.model_choice import agent_models, blind_models, choices_of
from gateway.inbound.origins import check_own, check_team
from gateway.inbound.receipts import attachment_of
from gateway.interactions import Click
from gateway.runtime.lifecycle import GatewayParts, Lifecycle
from gateway.sessions.event_bus import watch
from gateway.store.decisions import TurnStop
from gateway.store.records import Thread, lane_groups_of
from gateway.store.units import audit, deletion, people, queue, rows
from gateway.store.units import events as event_units
from gateway.store.units import threads as thread_units
from gateway.values import Origin
from teams.safe_files import read_file


class LocalClient:
    """A person's view of the gateway; see `gateway.client.Client`.

    A program that speaks for somebody else names the `author`.
    """

    def __init__(self, parts: GatewayParts, life: Lifecycle, intake: Intake) -> None:
        self._store = parts.store
        self._bus = parts.bus
        self._dispatcher = parts.dispatcher
        self._nodes = parts.nodes
        self._using = parts.using
        self._trust = parts.trust
        self._life = life
        self._intake = intake

    async def threads(
        self,
        *,
        search: str = "",
        platform: str = "",
        own_first: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> list[ThreadInfo]:
        """Threads, the last used first; `search` has words of them."""
        found = await self._store.run(
            thread_units.threads,
            search=search,
            platform=platform,
            own=self.origin() if own_first else None,
            limit=limit,
            offset=offset,
        )
        return [
            replace(each, asked=awaited(each.wait)) if each.wait else each
            for each in map(self._told, found)
        ]

    async def thread(self, thread: str) -> Thread:
        """The thread, with the name of its place. Raises NotFound."""
        return self._told(await self._store.run(thread_units.thread, thread))

    def _told(self, thread: Thread) -> Thread:
        """The thread, and whether it is another config's."""
        return replace(thread, foreign=True) if thread.is_foreign(self.origin()) else thread

    async def newest_thread(self) -> Thread | None:
        """The config's last thread in the terminal, if its team is there."""
        return await self._store.run(
            thread_units.newest_thread, self.origin(), self._using.teams.names()
        )

    async def create_thread(self, *, team: str = "", title: str = "") -> ThreadInfo:
        """A new thread of the terminal's own.

        It has the default team unless one is named.
        """
        self._life.check_open()
        new = self._intake.new_thread(team)
        return await self._store.run(
            rows.create_thread, new, key=ConversationKey.local(new.id), title=title
        )

    async def fork_thread(self, thread: str, *, back: int = 0, before: int = 0) -> ThreadInfo:
        """A new thread from the end of a turn. Raises NotFound."""
        self._life.check_open()
        return await fork_thread(self._store, thread, back, before)

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give a thread another title. Raises NotFound."""
        self._life.check_open()
        self._bus.publish(thread, await self._store.run(thread_units.rename_thread, thread, title))

    async def adopt_thread(self, thread: str) -> None:
        """Let another config's thread go on here. Raises NotFound."""
        self._life.check_open()
        check_team(await self._store.run(thread_units.thread, thread), self._using.teams)
        adopted = await self._store.run(thread_units.adopt_thread, thread, self.origin())
        self._dispatcher.wake(thread, groups=lane_groups_of(adopted.team, adopted.key))

    async def delete_thread(self, thread: str) -> None:
        """Stop the thread's work and remove everything it has. Raises NotFound."""
        self._life.check_open()
        for deleted in await self._store.run(deletion.delete_thread, thread):
            self._gone(deleted)

    def _gone(self, thread: str) -> None:
        self._life.gone(thread)
        self._nodes.tell("gone", thread)

    async def send(
        self,
        thread: str,
        text: str,
        *,
        files: Sequence[SentFile] = (),
        author: Author = LOCAL_OPERATOR,
    ) -> Receipt:
        """Say something in a thread, or type a command.

        Raises NotFound, and OtherConfig for a thread of another config.
        """
        found = await self._store.run(thread_units.thread, thread)
        check_own(found, self._using.teams, text)
        return await self._intake.take(
            InboundMessage(
                key=found.key,
                thread=thread,
                author=author,
                text=text,
                attachments=tuple(map(attachment_of, files)),
            )
        )

    async def answer(
        self,
        request: str,
        answer: Answer,
        *,
        author: Author = LOCAL_OPERATOR,
        dedupe: tuple[str, ...] = (),
    ) -> str | None:
        """Answer a request.

        None if the answer was taken, otherwise a sentence why not. Raises like `send`.
        """
        if author == LOCAL_OPERATOR:
            try:
                asked = await self._store.run(event_units.request, request)
                thread = await self._store.run(thread_units.thread, asked.thread)
            except NotFound:
                pass  # which is a sentence below
            else:
                check_own(thread, self._using.teams)
        accepted = await self._intake.accept(
            InboundMessage(
                key=ConversationKey.local(request),
                author=author,
                dedupe=dedupe,
                click=Click(request=request, answer=answer),
            )
        )
        return None if accepted.outcome == "answer" else accepted.reply

    async def stop(self, thread: str, *, author: Author = LOCAL_OPERATOR) -> bool:
        """Stop the thread's turn, running or waiting; False if there is none."""
        accepted = await self._intake.accept(
            InboundMessage(
                key=ConversationKey.local(thread), author=author, thread=thread, text="/stop"
            )
        )
        return isinstance(accepted.decision, TurnStop)

    async def withdraw(self, thread: str, inbox: int) -> str | None:
        """Withdraw a waiting message; its text, None if it no longer waits."""
        self._life.check_open()
        taken = await self._store.run(queue.withdraw_here, thread, inbox)
        if taken is None:
            return None
        text, events = taken
        self._bus.publish(thread, events)
        self._dispatcher.hasten(thread)
        return text

    def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """Events of a thread after a seq, then new ones."""
        return watch(self._store, self._bus, thread, after)

    async def agents(self, team: str = "", *, model: str = "") -> dict[str, str]:
        """A team's agents with their models; none for an unknown team."""
        return agent_models(self._using.teams, team, model)

    async def file_faults(
        self, files: Sequence[SentFile], *, team: str = "", model: str = ""
    ) -> list[str]:
        """A sentence for each file that the team does not get."""
        blind = blind_models(self._using.teams, team, model)
        limits = self._using.limits.attachments
        return await file_faults(files, limits, blind, self._intake.documents)

    async def made_file(self, thread: str, path: str) -> SentFile:
        """A file of the thread's own folder. Raises NotFound."""
        await self._store.run(thread_units.thread, thread)
        folder, most = await self._store.work_folder(thread), self._using.limits.largest_file
        try:
            data = await asyncio.to_thread(read_file, folder, path, longest=most)
        except (OSError, ValueError) as error:
            raise NotFound(f"There is no file {path!r} in the thread's folder.") from error
        return SentFile(name=path.rpartition("/")[2], media_type="", data=data)

    async def choices(self, kind: ChoiceKind) -> list[Choice]:
        """The config's teams, or what /model takes, with what they are."""
        return choices_of(self._using.teams, kind)

    async def note_export(self, thread: str) -> dict[str, int]:
        """Add to the audit that a thread was exported; its ratings."""
        self._life.check_open()
        await self._store.run(audit.note, "thread.exported", thread=thread)
        return {**await self._store.run(people.feedback, thread)}

    def commands(self) -> list[CommandInfo]:
        """The commands that people can type."""
        return command_infos()

    def operator(self) -> str:
        """The name of the person at the terminal, as others read it."""
        return self._using.access.operator_name

    def origin(self) -> Origin:
        """The config with which this gateway runs."""
        return self._using.teams.origin

    def owner(self) -> None:
        """This process has the gateway."""
