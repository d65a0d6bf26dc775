"""`parley run`: the line mode with one message."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from adapters.terminal.commands import Commands
from adapters.terminal.conversation import Conversation
from adapters.terminal.plain import PlainChat
from adapters.terminal.run_output import Output, OutputStyle
from adapters.terminal.settings import Settings
from gateway.agent_state import Used
from gateway.base.exit_codes import ExitCode
from gateway.client import Client, SentFile, ThreadInfo
from gateway.errors import GatewayError, NotFound
from gateway.events import SessionEvent
from gateway.items import RequestItem, TurnItem
from gateway.questions import advice_lines, no_answer, question_lines, understand
from gateway.render.sanitize import sanitize
from gateway.values import begun_with

STOP_SECONDS = 4.0
"""Time limit for stopping the turn when the run is cut short."""

_KEPT = "The team waits for your answer. Give it later, with --session or in the chat."
_NOT_KEPT = "The team waits for your answer. Without --session you can't give it later."
_CALLED_OFF = "The call needs an answer now, and there is none."


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task, with the thread or the team to use.

    `session` names the thread, `team` the team of a new one. Calls of the tools in `allow` are
    approved. `style` and `verbose` are the output's.
    """

    text: str
    session: str = ""
    team: str = ""
    allow: frozenset[str] = frozenset()
    style: OutputStyle = "text"
    verbose: bool = False


async def run_task(
    task: Task,
    connect: Callable[[], AbstractAsyncContextManager[Client]],
    files: Sequence[SentFile] = (),
    **streams: TextIO,
) -> int:
    """Send the task and show its turn; the exit code.

    A question of the team is asked at the terminal. Without one it is written to standard error,
    and the answer is ExitCode.WAITING. When this is cancelled or the output breaks, the turn is
    stopped. `streams` are those of PlainChat. Raises GatewayError.
    """
    run = _Run(task, files, **streams)
    code = await run.go(connect)
    if run.error is not None:
        raise run.error
    return code


class _Run(PlainChat):
    """A pipe with the task, then with answers of who is asked.

    What follows on a question or the end of a turn is shown once that was looked at.
    """

    _later = _NOT_KEPT

    def __init__(self, task: Task, files: Sequence[SentFile], **streams: TextIO) -> None:
        super().__init__(Settings(data_dir=Path(), first=task.text), **streams)
        self.error: Exception | None = None
        self._task = task
        self._files = files
        self._somebody, self._interactive = self._interactive, False
        self._inbox = 0
        self._before = 0
        """The newest event from before the run."""
        self._answered: set[str] = set()
        self._looked = asyncio.Event()
        if task.session:
            self._later = _KEPT

    async def _chat(self, client: Client) -> int:
        try:
            code = await super()._chat(client)
        except asyncio.CancelledError:
            await self._stop()
            raise
        if self.error is None:
            self._show(self._output.pause)
            if code == ExitCode.DONE:
                self._show(self._output.finish)
            elif (turn := self._model.turn).early and not self._output.failure_told:
                reason = turn.reason or f"the turn was {turn.outcome}"
                if not self._output.told.startswith(reason):
                    self._print_error(reason)
        if self._unread:
            await self._stop()
        return code

    def _show(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Exception as error:
            self._unread = True
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                error = GatewayError(f"The answer can't be written: {error.strerror}.")
            self._print_error(error)

    async def _stop(self) -> None:
        """Stop the turn, of which nothing more is shown."""
        if self._follow is None or self._conversation is None:
            return
        self._follow.cancel()
        self._show(self._output.pause)
        with suppress(GatewayError, TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await self._conversation.stop()

    async def _start(self, conversation: Conversation) -> None:
        task, client = self._task, conversation.client
        thread = await _thread(client, task)
        names = len(await client.agents(thread.team)) != 1
        style, verbose = task.style, task.verbose
        self._output = Output(style, self._out, self._err, names=names, verbose=verbose)
        self._before = thread.last_seq
        conversation.heard = self._on_event
        conversation.open(thread)
        await self._wait_until(lambda: not conversation.loading)
        self._model.used = Used()  # of this run alone

    def _on_opened(self) -> None:
        if self._conversation is None or (thread := self._conversation.thread) is None:
            return
        if thread.state != "waiting":  # else its questions are looked up
            self._model.last_seq = thread.last_seq
        self._begin_to_follow()

    async def _on_event(self, event: SessionEvent) -> None:
        if event.seq and event.seq <= self._before:
            return
        self._show(lambda: self._output.show(event, self._model))
        for item in self._model.news:
            over = isinstance(item, TurnItem) and item.outcome
            if over or (isinstance(item, RequestItem) and item.awaited and not item.outcome):
                self._looked.clear()
        self._news.set()
        await self._looked.wait()

    async def _wait_until(self, ready: Callable[[], bool]) -> None:
        while not ready() and not self._quitting:
            self._looked.set()
            self._news.clear()
            await self._news.wait()

    async def _next_message(self, conversation: Conversation) -> str | None:
        """The task, then answers; None at the end, and where nobody answers."""
        if self._first:
            return await super()._next_message(conversation)
        await self._wait_until(lambda: self._over or self._asked() is not None)
        if self._quitting or (request := self._asked()) is None:
            return None
        self._show(self._output.pause)
        return await self._answer_of(request)

    @property
    def _over(self) -> bool:
        """The turn of the newest message has ended."""
        return self._model.activity == "idle" and self._inbox not in self._model.queued

    def _asked(self) -> RequestItem | None:
        model = self._model
        waiting = model.activity == "waiting"
        for request in model.requests.values():
            if (waiting or request.awaited) and request.request not in self._answered:
                return request
        if model.handed is None or model.turn.outcome != "done" or not self._over:
            return None
        prompt = model.handed.text or "over to you"
        return RequestItem(key="", request="", kind="text", agent=model.handed.agent, prompt=prompt)

    async def _answer_of(self, request: RequestItem) -> str | None:
        """A line that can be understood; None if nobody gives one."""
        asked, allowed = request.asked, self._task.allow
        if request.kind == "approval" and asked and not asked.changed and asked.tool in allowed:
            return "approve"
        self._say(question_lines(request))
        while self._somebody:
            self._write(self._err, "\n".join((*advice_lines(request), "> ")))
            if not (line := await self._typed()):
                self._say([""])
                break
            if understand(request, line.strip()):
                return line.strip()
        if not request.awaited:
            return None
        self._print_error(_CALLED_OFF)
        return no_answer(request)

    async def _typed(self) -> str:
        """One line, read only now: the rest is for the shell."""
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            text = self._in.readline()
            with suppress(RuntimeError):  # the run is over
                loop.call_soon_threadsafe(lambda: line.done() or line.set_result(text))

        threading.Thread(target=read, daemon=True, name="line").start()
        return await line

    async def _do(self, conversation: Conversation, commands: Commands, text: str) -> bool:
        request = self._asked() if self._sent else None
        if request and request.request and (answer := understand(request, text)):
            self._answered.add(request.request)
            if refusal := await conversation.answer(request.request, answer.kind, answer.text):
                self._print_error(refusal)
            return True
        turn = self._model.turn.key
        receipt = await self._send(conversation, text, () if self._sent else self._files)
        self._inbox = receipt.inbox
        if receipt.outcome not in ("command", "refused", "offered"):
            return True
        if request is None and self._model.turn.key == turn:
            self.quit()
        if receipt.outcome == "command":
            self._say([receipt.reply] if receipt.reply else [])
            return True
        self._print_error(receipt.reply)
        return False

    def _say(self, lines: Sequence[str]) -> None:
        self._write(self._err, sanitize("".join(f"{line}\n" for line in lines)))

    def _print_error(self, problem: str | Exception) -> None:
        if isinstance(problem, Exception):
            self.error = self.error or problem
            self.quit()
        elif self.error is None:
            super()._print_error(f"parley: {problem}")


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
    return named[0] if named else await client.create_thread(team=task.team, title=task.session)
