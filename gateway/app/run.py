"""`parley run`: one task, its answer on standard output."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TextIO, cast

from gateway.app.ask import Asker
from gateway.app.run_output import Output
from gateway.base.exit_codes import ExitCode
from gateway.client import Answer, Client, Receipt, SentFile, ThreadInfo, no_answer
from gateway.errors import GatewayClosed, GatewayError, NotFound
from gateway.events import SessionEvent
from gateway.items import HandoffItem, HumanItem, NoticeItem, RequestItem, TurnItem
from gateway.picture import Picture
from gateway.questions import question_lines
from gateway.render.sanitize import sanitize
from gateway.values import begun_with

STOP_SECONDS = 4.0
"""Time limit for stopping the turn when the run is cut short."""

_KEPT = "The team waits for your answer. Give it later, with --session or in the chat."
_CALLED_OFF = "Nobody answers, and the call can't wait for it."
_NOT_KEPT = "The team waits for your answer. Without --session you can't give it later."


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task, with the thread or the team to use.

    `session` names the thread, `team` the team of a new one. Calls of the tools in `allow` are
    approved; `files` go with it.
    """

    text: str
    session: str = ""
    team: str = ""
    allow: frozenset[str] = frozenset()
    files: tuple[SentFile, ...] = ()


async def run_task(
    client: Client,
    task: Task,
    *,
    output: Callable[[ThreadInfo], Output],
    err: TextIO,
    asker: Asker | None = None,
) -> ExitCode:
    """Send the task and show what happens until its turn ends.

    A question of the team goes to the asker. Without one it is written to `err`, and the answer is
    ExitCode.WAITING. When this is cancelled or the output breaks, the turn is stopped. Raises
    GatewayError.
    """
    thread = await _thread(client, task)
    shown = output(thread)
    run = _Run(client, thread, shown, err, asker, _KEPT if task.session else _NOT_KEPT)
    try:
        return await run.go(task)
    except (asyncio.CancelledError, BrokenPipeError):
        with suppress(BrokenPipeError):
            shown.pause()
        with suppress(GatewayError, TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await client.stop(thread.id)
        raise


async def _thread(client: Client, task: Task) -> ThreadInfo:
    """The config's thread of that id or title, or a new one."""
    if not task.session:
        return await client.create_thread(team=task.team)
    with suppress(NotFound):
        thread = await client.thread(task.session)
        if thread.foreign:
            raise GatewayError(
                f"{begun_with(thread.config)} Name that one with --config, or go on in the chat:"
                f" `parley chat --session {thread.id}` asks first."
            )
        return thread
    found = await client.threads(search=task.session, limit=1000)
    named = [each for each in found if each.title == task.session and not each.foreign]
    if named:
        return named[0]
    return await client.create_thread(team=task.team, title=task.session)


@dataclass(slots=True)
class _Run:
    client: Client
    thread: ThreadInfo
    output: Output
    err: TextIO
    asker: Asker | None
    where_to_answer: str
    picture: Picture = field(default_factory=Picture)
    answered: set[str] = field(default_factory=set)
    failure_shown: bool = False
    """True once `err` says what went wrong."""

    async def go(self, task: Task) -> ExitCode:
        if self.thread.state == "waiting":
            await self._remember_requests()
        receipt = await self.client.send(self.thread.id, task.text, files=task.files)
        match receipt.outcome:
            case "command":
                self._say(receipt.reply)
                return ExitCode.DONE
            case "refused" | "offered":  # said now, so never from before a loss
                self._say(f"parley: {receipt.reply}")
                return ExitCode.FAILED
            case "queued" if self.picture.requests and not await self._ask():
                return ExitCode.WAITING
            case "turn" | "queued" | "answer" | "merged":
                return await self._follow(receipt)

    async def _remember_requests(self) -> None:
        """Requests of the thread from before this run."""
        before = Picture()
        async with aclosing(self._events(0)) as events:
            async for event in events:
                before.apply(event)
                if event.seq >= self.thread.last_seq:
                    break
        self.picture.requests.update(before.requests)

    async def _follow(self, receipt: Receipt) -> ExitCode:
        mine = receipt.outcome != "queued"
        async with aclosing(self._events(self.thread.last_seq)) as events:
            async for event in events:
                self.picture.apply(event)
                self.output.show(event, self.picture)
                for item in self.picture.news:
                    match item:
                        case HumanItem(inbox=inbox):
                            mine = mine or inbox == receipt.inbox
                        case NoticeItem(level="error"):
                            self.failure_shown = True
                        case RequestItem(awaited=True, outcome=""):
                            self.output.pause()
                            await self._ask_within(item)
                        case TurnItem(outcome="waiting"):
                            self.output.pause()
                            if not await self._ask():
                                return ExitCode.WAITING
                        case TurnItem(outcome="done") if mine and self.picture.handed:
                            self.output.pause()
                            if (back := await self._give_back(self.picture.handed)) is None:
                                return ExitCode.WAITING
                            receipt, mine = back, back.outcome != "queued"
                        case TurnItem() if mine and item.outcome:
                            self.output.pause()
                            return self._end(item)
                        case _:
                            pass
        raise GatewayClosed("The gateway stopped before the answer was complete.")

    def _events(self, after: int) -> AsyncGenerator[SessionEvent]:
        events = self.client.events(self.thread.id, after=after)
        return cast("AsyncGenerator[SessionEvent]", events)

    async def _ask(self) -> bool:
        """Get the open requests answered; False if nobody does."""
        for request in list(self.picture.requests.values()):
            if request.request in self.answered:
                continue  # the event that says so is still to come
            if (answer := await self._answer_of(request)) is None:
                return False
            await self._give(request, answer)
        return True

    async def _ask_within(self, request: RequestItem) -> None:
        """Get a question answered while its call waits."""
        answer = await self._answer_of(request, _CALLED_OFF) or no_answer(request.kind)
        await self._give(request, answer)

    async def _give(self, request: RequestItem, answer: Answer) -> None:
        self.answered.add(request.request)
        if refused := await self.client.answer(request.request, answer):
            self._say(f"parley: {refused}")

    async def _give_back(self, handed: HandoffItem) -> Receipt | None:
        """Send a person's answer to a hand-off; None if nobody answers."""
        prompt = handed.text or "over to you"
        asked = RequestItem(key="", request="", kind="text", agent=handed.agent, prompt=prompt)
        if (answer := await self._answer_of(asked)) is None:
            return None
        receipt = await self.client.send(self.thread.id, answer.text)
        if receipt.outcome in ("command", "refused"):
            self._say(receipt.reply)
            return None
        return receipt

    async def _answer_of(self, request: RequestItem, without: str = "") -> Answer | None:
        """The person's answer; without one, `err` has the question."""
        with suppress(EOFError):
            if self.asker is not None:
                return await self.asker.ask(request)
        told = f"parley: {without or self.where_to_answer}"
        self._say("\n".join((*question_lines(request), told)))
        return None

    def _end(self, turn: TurnItem) -> ExitCode:
        if turn.outcome == "done":
            self.output.finish()
            return ExitCode.DONE
        if not self.failure_shown:
            self._say(f"parley: {turn.reason or f'the turn was {turn.outcome}'}")
        return ExitCode.FAILED

    def _say(self, text: str) -> None:
        self.err.write(f"{sanitize(text)}\n")
        self.err.flush()
