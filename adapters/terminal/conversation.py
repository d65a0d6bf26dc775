"""`Conversation`: one thread over any `Client`, without Textual."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from adapters.terminal.deletions import Deletions
from adapters.terminal.text import typed_number
from gateway.base.suggest import no_such
from gateway.client import Answer, ThreadInfo
from gateway.errors import GatewayClosed, GatewayError, NotFound, OtherConfig, log_incident
from gateway.events import ASK, EDITS, PLAN
from gateway.items import HumanItem, NoticeItem
from gateway.picture import Picture
from gateway.render.sanitize import one_line, sanitize
from gateway.values import config_name

if TYPE_CHECKING:
    from adapters.terminal.key_guard import KeyClock
    from gateway.client import AnswerKind, ChoiceKind, Client, Receipt, SentFile
    from gateway.events import ApprovalName, NoticeLevel, SessionEvent
    from gateway.items import News
    from gateway.values import Origin

T = TypeVar("T")
FORK_WHAT = "Only a thread with messages can be forked: /fork, or /fork N without its last N turns."
ONLY_OWN = "The thread is on {platform}. /fork goes on in a copy, from which you can go back."
FIRST_RETRY = 1.0
LONGEST_RETRY = 10.0
STORED = ("turn", "queued")
"""Outcomes of messages that the thread will tell of."""
BREATH = 100
"""Events taken in before the rest of the program gets its turn: a replay may never have to wait."""


NEXT_MODE: Mapping[ApprovalName, ApprovalName] = {ASK: EDITS, EDITS: PLAN, PLAN: ASK}


async def _not_asked(told: str) -> bool:
    return False


async def _not_heard(event: SessionEvent) -> None: ...


@dataclass(slots=True, eq=False)
class Outgoing:
    """A message on its way, until the thread tells of it."""

    item: HumanItem
    inbox: int = 0
    """Its number once the gateway has stored it."""


class Conversation:
    """The open thread, or none until the first message creates it.

    `changed()` is called after each change of `model`, `outbox` or `trouble`; `opened()` when
    another thread is shown, whose events somebody must `follow()` then; `deleted()` with a thread
    that was given up, before that; `due()` with one that somebody must `delete()` now; `lost()`
    when the gateway is gone, and only `replace_client` helps. `agree()` asks the person whether a
    thread of another config may go on, with a sentence that says what is sent where.
    """

    def __init__(
        self,
        client: Client,
        *,
        changed: Callable[[], None],
        opened: Callable[[], None],
        lost: Callable[[], None],
        deleted: Callable[[str], None] = lambda thread: None,
        due: Callable[[str], object] = lambda thread: None,
        agree: Callable[[str], Awaitable[bool]] = _not_asked,
        clock: KeyClock | None = None,
    ) -> None:
        self.client = client
        self.deletions = Deletions(clock or asyncio.get_running_loop(), due)
        self.model = Picture()
        self.thread: ThreadInfo | None = None
        self.outbox: list[Outgoing] = []
        """Messages that the thread does not tell of yet."""
        self._sent = 0
        self.trouble = ""
        """Why no events come, as a sentence; empty when they do."""
        self._agents: dict[str, str] = {}
        self._team = ""
        self._changed = changed
        self._opened = opened
        self._deleted = deleted
        self._lost = lost
        self._agree = agree
        self.heard = _not_heard
        """Called with each event once `model` has taken it in, and waited for."""
        self._origin: Origin | None = None
        self._agreed = False
        """The person has agreed that the gateway has another config."""
        self._sending = asyncio.Lock()
        self._switching = asyncio.Lock()
        self._left: set[str] = set()
        """Threads that were left, and whose modes of approval have to end."""
        self._takes_over = False
        """The thread is read for the first time: a mode of another chat may stand in it."""

    def note(self, text: str, level: NoticeLevel = "info") -> None:
        """Add a line of the terminal's own to the transcript."""
        self.model.note(text, level)
        self._changed()

    @property
    def attached(self) -> str:
        """A sentence naming the gateway's process; empty if it is ours."""
        if not (owner := self.client.owner()):
            return ""
        config = config_name(self.client.origin().path)
        other = f" and runs with {config}, not with this chat's config" * self.runs_elsewhere
        return f"Process {owner} owns the threads{other}. This chat works through it."

    @property
    def runs_elsewhere(self) -> bool:
        """True if the gateway runs with another config than this chat's."""
        return self._origin is not None and self._origin.differs(self.client.origin())

    async def start(
        self,
        *,
        thread: str | None = None,
        new: bool = False,
        team: str = "",
        origin: Origin | None = None,
    ) -> None:
        """Open the thread asked for, or the config's last one.

        A `team` is one for a new thread. Raises GatewayError.
        """
        self._origin = origin
        if thread is not None:
            self.open(await self.client.thread(thread))
        elif new or team or self.runs_elsewhere:
            self.open(None, team=team)
        else:
            self.open(await self.client.newest_thread())

    def open(self, thread: ThreadInfo | None, *, team: str = "") -> None:
        """Show a thread from its beginning, or an empty one for `team`."""
        self._leave()
        self.thread, self._team, self._takes_over = thread, team, thread is not None
        self.model = Picture()
        self.outbox = []
        self.model.title = _clean(thread.title) if thread else ""
        self.trouble = ""
        self._opened()
        self._changed()

    def _leave(self) -> None:
        if self.thread is not None and self.model.approval != ASK:
            self._left.add(self.thread.id)

    async def end_modes(self, client: Client, *, closes: bool = False) -> None:
        """Let left threads ask again, the open one if the chat `closes`."""
        if closes:
            self._leave()
        for thread in list(self._left):
            with suppress(NotFound):
                await client.send(thread, f"/mode {ASK}")
            self._left.discard(thread)

    async def switch_mode(self, mode: ApprovalName | None = None) -> None:
        """Change the mode of approval, to the next unless named. Raises GatewayError."""
        async with self._switching:
            wanted = mode or NEXT_MODE[self.model.approval]
            async with self._sending:
                receipt = await self._send(f"/mode {wanted}", ())
            if receipt.outcome == "command" and not receipt.reply:
                self.model.approval = wanted  # its event comes, perhaps after the next key
                self._changed()

    async def leave_plan(self) -> str:
        """Leave the mode plan; a task to carry it out. Raises GatewayError."""
        if not (plan := self.model.plan):
            raise NotFound("There is no plan to carry out.")
        await self.switch_mode(ASK)
        return f"Carry out this plan:\n\n{plan}"

    async def open_new(self, team: str) -> None:
        """Show an empty thread for `team`.

        Raises NotFound with the known teams, or another GatewayError, and changes nothing then.
        """
        if team:
            await self.check_known("team", team)
        self.open(None, team=team)

    async def check_known(self, kind: ChoiceKind, name: str, *, any_case: bool = False) -> None:
        """Raises NotFound, with the known names, for another one."""
        known = [choice.name for choice in await self.client.choices(kind)]
        folded = [each.casefold() for each in known] if any_case else []
        if name not in known and name.casefold() not in folded:
            raise NotFound(no_such(kind, name, known))

    def replace_client(self, client: Client) -> None:
        """Go on where the thread stands, with another client."""
        self.client = client
        self.trouble = ""
        self.model.reconnect()
        self._opened()
        self._changed()

    async def follow(self) -> None:
        """Apply the open thread's events until cancelled, and reconnect after breaks."""
        thread, model, pause = self.thread, self.model, FIRST_RETRY
        try:
            with suppress(GatewayError):  # they are tried again
                await self.end_modes(self.client)
            await self.load_agents()
        except Exception as error:
            log_incident(error, "the team's agents could not be read")
        while thread is not None:
            try:
                await self._receive_events(thread.id, model)
            except (GatewayClosed, NotFound) as error:
                self.trouble = sanitize(str(error))
                self._changed()
                if isinstance(error, GatewayClosed):
                    self._lost()
                return
            except GatewayError as error:
                self.trouble = sanitize(str(error))
            except Exception as error:
                incident = log_incident(error, "events could not be read")
                self.trouble = f"Something went wrong in Parley (log: {incident}). Trying again."
            self._changed()
            await asyncio.sleep(pause)
            pause = min(LONGEST_RETRY, 2 * pause)
            model.reconnect()

    @property
    def team(self) -> str:
        """The team's name; empty before the first message to the default team."""
        return _clean(self.thread.team if self.thread else self._team)

    @property
    def loading(self) -> bool:
        """True until all that was stored before has been read."""
        return self.thread is not None and self.model.last_seq < self.thread.last_seq

    @property
    def models(self) -> list[str]:
        """Models of the current speaker, or of the team, if known."""
        states = self.model.agents
        if (speaker := states.get(self.model.speaker)) and speaker.model:
            return [speaker.model]
        return list(dict.fromkeys(filter(None, self.agents.values())))

    @property
    def agents(self) -> dict[str, str]:
        """The team's agents, each with its model or "", if known."""
        agents = dict(self._agents)
        idle = self.model.activity == "idle"
        for name, state in self.model.agents.items():
            known = agents.get(name, "")
            # A turn goes on with its model, whatever was chosen meanwhile.
            agents[name] = known or state.model if idle else state.model or known
        return agents

    async def load_agents(self) -> None:
        """Ask who is in the team, and which models they run on."""
        team, model = (self.thread.team, self.thread.model) if self.thread else (self._team, "")
        with suppress(GatewayError):  # what is wrong shows with the events
            agents = await self.client.agents(team, model=model)
            self._agents = {_clean(name): _clean(model) for name, model in agents.items()}
            self._changed()

    async def _look_again(self, thread: str) -> None:
        """Ask anew for what a notice may tell of: team and model."""
        with suppress(GatewayError):  # what is wrong shows with the events
            found = await self.client.thread(thread)
            if self.thread is not None and self.thread.id == thread:
                self.thread = replace(self.thread, team=found.team, model=found.model)
                await self.load_agents()

    async def file_faults(self, files: Sequence[SentFile]) -> list[str]:
        """Sentences on files that the team does not get."""
        team, model = (self.thread.team, self.thread.model) if self.thread else (self._team, "")
        faults = await self.client.file_faults(files, team=team, model=model)
        return [_clean(fault) for fault in faults]

    async def send(self, text: str, files: Sequence[SentFile] = ()) -> Receipt:
        """Send a message or command to the gateway. Raises GatewayError."""
        self._sent += 1
        name = _clean(self.client.operator())
        key = f"sending-{self._sent}"
        names = tuple(_clean(file.name) for file in files)
        item = HumanItem(key=key, author=name, text=sanitize(text), files=names, sending=True)
        self.outbox.append(outgoing := Outgoing(item))
        self._changed()
        try:
            async with self._sending:
                receipt = await self._send(text, files)
        except GatewayClosed as error:
            self.trouble = sanitize(str(error))
            self._lost()
            raise
        else:
            if receipt.outcome in STORED:
                outgoing.inbox, outgoing.item = receipt.inbox, replace(item, sending=False)
            return receipt
        finally:
            self.outbox = [each for each in self.outbox if each is not outgoing or each.inbox]
            self._drop_shown()
            self._changed()

    def _drop_shown(self) -> None:
        """Forget messages that are a part of the thread now."""
        self.outbox = [each for each in self.outbox if not self.model.has_message(each.inbox)]

    async def withdraw_newest(self) -> str | None:
        """Withdraw the newest queued message; its text, or None."""
        if self.thread is None or not self.model.queued:
            return None
        inbox = next(reversed(self.model.queued))
        return await self.client.withdraw(self.thread.id, inbox)

    async def answer(self, request: str, kind: AnswerKind, text: str = "") -> str | None:
        """Answer a request; None, or a refusal as a sentence. Raises GatewayError."""
        given = Answer(kind=kind, text=text)
        return await self._once_agreed(self.thread, lambda: self.client.answer(request, given))

    async def adopt(self) -> None:
        """Let the chat go on under the gateway's config. Raises GatewayError."""
        self._agreed = True
        if self.thread is not None and self.thread.foreign:
            await self._adopt(self.thread)

    async def _agree_to_gateway(self) -> None:
        """Ask once before anything is sent under a gateway's other config.

        Raises OtherConfig without an agreement. A thread of yet another config asks itself.
        """
        if self._agreed or not self.runs_elsewhere or (self.thread and self.thread.foreign):
            return
        if not self._agents:
            await self.load_agents()
        readers = " and ".join(self.models) or "its models"
        told = f"{self.attached} What you write is sent to {readers}."
        if not await self._agree(told):
            raise OtherConfig(told)
        self._agreed = True

    async def _adopt(self, thread: ThreadInfo) -> None:
        await self.client.adopt_thread(thread.id)
        if self.thread is not None and self.thread.id == thread.id:
            self.thread = replace(self.thread, foreign=False)

    async def _once_agreed(self, thread: ThreadInfo | None, act: Callable[[], Awaitable[T]]) -> T:
        """Act; in a thread of another config once the person has agreed."""
        try:
            return await act()
        except OtherConfig as error:
            if thread is None or not await self._agree(sanitize(str(error))):
                raise
            await self._adopt(thread)
            return await act()

    async def stop(self) -> bool:
        """Stop the running turn. False if there was none. Raises GatewayError."""
        return self.thread is not None and await self.client.stop(self.thread.id)

    async def rename(self, thread: str, title: str) -> None:
        """Give a thread a title. Raises GatewayError."""
        await self.client.rename_thread(thread, title)
        if self.thread is not None and thread == self.thread.id:
            self.thread = replace(self.thread, title=title)
            self.model.title = _clean(title)
            self._changed()

    async def fork(self, words: str, agrees: Callable[[str], Awaitable[bool]]) -> None:
        """Go on in a fork, without so many of the last turns.

        That of a platform's thread needs the person to agree. Raises GatewayError.
        """
        back = typed_number(words)
        if (thread := self.thread) is None or (words.strip("0") and not back):
            raise NotFound(FORK_WHAT)
        if not thread.fork_asks or await agrees(thread.fork_asks):
            self.open(await self.client.fork_thread(thread.id, back=back))

    @property
    def messages(self) -> list[HumanItem]:
        """Messages of people, the newest first."""
        found = map(self.model.items.__getitem__, reversed(self.model.keys))
        return [each for each in found if isinstance(each, HumanItem) and each.inbox]

    async def rewind(self, message: HumanItem) -> None:
        """Go on in a fork from before a message. Raises GatewayError."""
        if (thread := self.thread) is None:
            return
        if thread.fork_asks:
            raise NotFound(ONLY_OWN.format(platform=thread.platform.capitalize()))
        self.open(await self.client.fork_thread(thread.id, before=message.inbox))

    def delete_soon(self, thread: str) -> None:
        """Give a thread up; delete it in ten seconds, unless undone."""
        self.deletions.begin(thread)
        self._give_up(thread)

    async def delete(self, thread: str) -> None:
        """Delete a thread; an empty one replaces it. Raises GatewayError."""
        await self.client.delete_thread(thread)
        self._give_up(thread)

    def _give_up(self, thread: str) -> None:
        self._deleted(thread)
        if self.thread is not None and thread == self.thread.id:
            self.open(None)

    async def _send(self, text: str, files: Sequence[SentFile]) -> Receipt:
        if not text.startswith("/"):
            await self._agree_to_gateway()
        if self.thread is None:
            model = self.model
            self.thread = await self.client.create_thread(team=self._team)
            self._takes_over = False
            self._opened()
            model.title = model.title or _clean(self.thread.title)
        thread = self.thread
        receipt = await self._once_agreed(
            thread, lambda: self.client.send(thread.id, text, files=files)
        )
        if receipt.thread != thread.id and self.thread is thread:
            self.open(await self.client.thread(receipt.thread))
        if receipt.reply:
            command = text if text.startswith("/") else ""
            self.model.note(receipt.reply, command=command)
        return receipt

    async def _receive_events(self, thread: str, model: Picture) -> None:
        stream = self.client.events(thread, after=model.last_seq)
        async with aclosing(cast("AsyncGenerator[SessionEvent, None]", stream)) as events:
            taken = 0
            async for event in events:
                self.trouble = ""
                if model.apply(event):
                    self._drop_shown()
                    self._changed()
                    await self.heard(event)
                if not self.loading and any(_is_notice(item) for item in model.news):
                    await self._look_again(thread)
                if self._takes_over and not self.loading:
                    if model.approval != ASK:
                        await self.switch_mode(ASK)
                    self._takes_over = False
                taken += 1
                if taken % BREATH == 0:
                    await asyncio.sleep(0)


def _is_notice(item: News) -> bool:
    return isinstance(item, NoticeItem) and item.notice is not None


def _clean(text: str) -> str:
    return one_line(sanitize(text))
