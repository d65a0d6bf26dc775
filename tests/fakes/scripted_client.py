"""A gateway client in memory, with events that a test writes.

It records its requests.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.client import (
    Answer,
    Choice,
    ChoiceKind,
    CommandInfo,
    Outcome,
    Receipt,
    SentFile,
    ThreadInfo,
)
from gateway.errors import NotFound, OtherConfig
from gateway.events import (
    HumanText,
    InputResolved,
    MessageQueued,
    MessageWithdrawn,
    Notice,
    SessionEvent,
    TextDelta,
    ThreadRenamed,
    TurnFinished,
    TurnStarted,
)
from gateway.values import NO_ORIGIN, Origin

NOW = 1_750_000_000.0


@dataclass
class Thread:
    info: ThreadInfo
    events: list[SessionEvent] = field(default_factory=list)
    queued: dict[int, str] = field(default_factory=dict)
    more: asyncio.Condition = field(default_factory=asyncio.Condition)


class ScriptedClient:
    """Does at once what the real one does later.

    The team's part is written with `happen`.

    `send` starts a turn in an idle thread and queues in a busy one. While `gate` is clear, `send`
    and `answer` wait.
    """

    def __init__(self) -> None:
        self.all: dict[str, Thread] = {}
        self.sent: list[tuple[str, str]] = []
        self.files: list[list[SentFile]] = []
        """Files of each message that has some."""
        self.faults: list[str] = []
        self.forked: list[tuple[str, int, int]] = []
        """Threads with `back` and `before`."""
        self.made: dict[str, bytes] = {}
        """Files that agents have made, by their paths."""
        self.answers: list[tuple[str, Answer]] = []
        self.stopped: list[str] = []
        self.exported: list[str] = []
        self.rated: dict[str, int] = {}
        self.closed = False
        self.team_agents: dict[str, str] = {}
        self.offered: dict[ChoiceKind, list[Choice]] = {"team": [], "model": []}
        self.has_commands = [
            CommandInfo(name="status", description="What the team is doing"),
            CommandInfo(name="stop", description="Stop the team"),
        ]
        self.pid: int | None = None
        self.config = NO_ORIGIN
        self.fail: Exception | None = None
        self.refuse = ""
        self.refuse_answer: str | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self._inbox = 0

    # what a test writes

    def add_thread(self, title: str = "", *, id: str = "", ago: float = 0.0, **more: Any) -> str:
        name = id or f"t{len(self.all) + 1}"
        facts: dict[str, Any] = {"team": "demo", "state": "idle", "platform": "local"} | more
        self.all[name] = Thread(ThreadInfo(id=name, title=title, updated_at=NOW - ago, **facts))
        return name

    async def happen(self, thread: str, *events: Any) -> None:
        """Append events; their thread, seq and time are set here."""
        entry = self.all[thread]
        async with entry.more:
            for event in events:
                entry.events.append(self._numbered(entry, event))
            entry.more.notify_all()

    def _numbered(self, entry: Thread, event: SessionEvent) -> SessionEvent:
        seq = 0
        if not isinstance(event, TextDelta):
            seq = entry.info.last_seq + 1
            entry.info = replace(entry.info, last_seq=seq)
        match event:
            case TurnStarted():
                entry.info = replace(entry.info, state="working")
            case TurnFinished(outcome=outcome):
                state = "waiting" if outcome == "waiting" else "idle"
                entry.info = replace(entry.info, state=state)
            case _:
                pass
        return replace(event, thread=entry.info.id, seq=seq, at=event.at or NOW)

    # gateway.client.Client

    async def threads(
        self,
        *,
        search: str = "",
        platform: str = "",
        own_first: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> list[ThreadInfo]:
        self._maybe_fail()
        found = [
            entry.info
            for entry in self.all.values()
            if search.lower() in entry.info.title.lower() and platform in ("", entry.info.platform)
        ]
        found.sort(key=lambda info: (own_first and info.foreign, -info.updated_at))
        return found[offset : offset + limit]

    async def thread(self, thread: str) -> ThreadInfo:
        self._maybe_fail()
        return self._entry(thread).info

    async def newest_thread(self) -> ThreadInfo | None:
        found = await self.threads(platform="local")
        return next((each for each in found if not each.foreign), None)

    async def adopt_thread(self, thread: str) -> None:
        entry = self._entry(thread)
        entry.info = replace(entry.info, foreign=False)

    async def create_thread(self, *, team: str = "", title: str = "") -> ThreadInfo:
        self._maybe_fail()
        return self.all[self.add_thread(title, team=team or "demo")].info

    async def fork_thread(self, thread: str, *, back: int = 0, before: int = 0) -> ThreadInfo:
        self._maybe_fail()
        entry = self._entry(thread)
        self.forked.append((thread, back, before))
        fork = self.add_thread(f"{entry.info.title} (fork)", team=entry.info.team)
        return self.all[fork].info

    async def rename_thread(self, thread: str, title: str) -> None:
        entry = self._entry(thread)
        entry.info = replace(entry.info, title=title)
        await self.happen(thread, ThreadRenamed(thread=thread, title=title))

    async def delete_thread(self, thread: str) -> None:
        self._entry(thread)
        del self.all[thread]

    async def send(self, thread: str, text: str, *, files: Sequence[SentFile] = ()) -> Receipt:
        await self.gate.wait()
        self._maybe_fail()
        entry = self._entry(thread)
        self._check_own(entry)
        self._inbox += 1
        if self.refuse:
            return Receipt(inbox=0, thread=thread, outcome="refused", reply=self.refuse)
        self.sent.append((thread, text))
        self.files += [list(files)] if files else []
        if text.startswith("/mode "):
            approval: Any = text.removeprefix("/mode ")
            await self.happen(thread, Notice(thread=thread, text=text, approval=approval))
            return Receipt(inbox=self._inbox, thread=thread, outcome="command")
        if text.startswith("/"):
            return Receipt(inbox=self._inbox, thread=thread, outcome="command", reply=f"did {text}")
        message = HumanText(inbox=self._inbox, author="you", text=text)
        outcome: Outcome = "turn"
        if entry.info.state in ("working", "waiting"):
            outcome = "queued"
            entry.queued[self._inbox] = text
            await self.happen(thread, MessageQueued(thread=thread, message=message))
        else:
            await self.happen(thread, TurnStarted(thread=thread, messages=(message,)))
        return Receipt(inbox=self._inbox, thread=thread, outcome=outcome)

    async def withdraw(self, thread: str, inbox: int) -> str | None:
        text = self._entry(thread).queued.pop(inbox, None)
        if text is not None:
            await self.happen(thread, MessageWithdrawn(thread=thread, inbox=inbox))
        return text

    async def answer(self, request: str, answer: Answer) -> str | None:
        await self.gate.wait()
        self._maybe_fail()
        if self.refuse_answer:
            return self.refuse_answer
        for entry in self.all.values():
            if any(getattr(event, "request", "") == request for event in entry.events):
                self._check_own(entry)
        self.answers.append((request, answer))
        outcome = {"approve": "approved", "approve_always": "always approved"}.get(
            answer.kind, answer.text
        )
        for thread, entry in self.all.items():
            if any(getattr(event, "request", "") == request for event in entry.events):
                resolved = InputResolved(thread=thread, request=request, outcome=outcome, by="you")
                await self.happen(thread, resolved)
        return None

    async def stop(self, thread: str) -> bool:
        self.stopped.append(thread)
        if self._entry(thread).info.state != "working":
            return False
        await self.happen(thread, TurnFinished(thread=thread, outcome="stopped"))
        return True

    async def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent, None]:
        entry, given = self._entry(thread), 0
        while True:
            async with entry.more:
                while len(entry.events) == given:
                    await entry.more.wait()
            new, given = entry.events[given:], len(entry.events)
            for event in new:
                if event.seq == 0 or event.seq > after:
                    yield event

    def commands(self) -> list[CommandInfo]:
        return self.has_commands

    async def agents(self, team: str = "", *, model: str = "") -> dict[str, str]:
        return dict.fromkeys(self.team_agents, model) if model else self.team_agents

    async def file_faults(
        self, files: Sequence[SentFile], *, team: str = "", model: str = ""
    ) -> list[str]:
        return self.faults

    async def made_file(self, thread: str, path: str) -> SentFile:
        if path not in self.made:
            raise NotFound(f"There is no file {path!r} in the thread's folder.")
        return SentFile(name=path.rpartition("/")[2], media_type="", data=self.made[path])

    async def choices(self, kind: ChoiceKind) -> list[Choice]:
        return self.offered[kind]

    async def note_export(self, thread: str) -> dict[str, int]:
        self.exported.append(thread)
        return self.rated

    def operator(self) -> str:
        return "Ann"

    def origin(self) -> Origin:
        return self.config

    def owner(self) -> int | None:
        return self.pid

    async def aclose(self) -> None:
        self.closed = True

    def _entry(self, thread: str) -> Thread:
        if thread not in self.all:
            raise NotFound(f"There is no thread {thread!r}.")
        return self.all[thread]

    def _check_own(self, entry: Thread) -> None:
        if entry.info.foreign:
            raise OtherConfig("All of it is sent to gpt (models.example).")

    def _maybe_fail(self) -> None:
        if self.fail is not None:
            raise self.fail
