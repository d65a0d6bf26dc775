"""The line mode: a chat for pipes, screen readers and dumb terminals."""

from __future__ import annotations

import asyncio
import io
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from adapters.terminal.commands import ADOPT, Command, Commands
from adapters.terminal.errors import describe_error
from adapters.terminal.line_files import LineFiles
from adapters.terminal.place import list_place, message_title, waits
from adapters.terminal.text import format_age, indented, thread_title, typed_number
from gateway.base.exit_codes import ExitCode
from gateway.errors import GatewayClosed, OtherConfig
from gateway.render.sanitize import sanitize

if TYPE_CHECKING:
    from adapters.terminal.conversation import Conversation
    from adapters.terminal.lines import LineTranscript
    from adapters.terminal.settings import Settings
    from gateway.client import Answer, Client, Receipt, SentFile, ThreadInfo
    from gateway.items import RequestItem
    from gateway.picture import Picture

LISTED = 20
TAIL = 10
"""Number of an old thread's items printed when it is opened."""


class PlainChat:
    """A chat by lines.

    From a terminal they may come at any time; from a pipe each has its turn.
    """

    _later = "The team waits for your answer. Answer later in the same thread."

    def __init__(
        self,
        settings: Settings,
        *,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self._settings = settings
        self._in = stdin or sys.stdin or io.StringIO()  # each may be closed from the start
        self._out = stdout or sys.stdout or io.StringIO()
        self._err = stderr or sys.stderr or io.StringIO()
        self._interactive = self._in.isatty()
        self._first = settings.first
        self._input: deque[str | None] = deque()
        self._news = asyncio.Event()
        self._quitting = False
        self._failed = False
        self._sent = False
        self._unread = False
        self._prompted = False
        self._replaying = False
        self._interrupted = False
        self._files = LineFiles(self._print_line)
        self._listed: list[ThreadInfo] = []
        self._lines: LineTranscript | None = None
        self._conversation: Conversation | None = None
        self._follow: asyncio.Task[None] | None = None
        self._group: asyncio.TaskGroup | None = None

    async def run(self, connect: Callable[[], AbstractAsyncContextManager[Client]]) -> int:
        """Chat until the input ends, /quit, or `quit`; the exit code."""
        try:
            return await self.go(connect)
        except Exception as error:
            self._print_error(f"parley: {describe_error(error)}")
            return getattr(error, "exit_code", ExitCode.FAILED)

    async def go(self, connect: Callable[[], AbstractAsyncContextManager[Client]]) -> int:
        """Chat as `run` does, which tells what this raises."""
        async with connect() as client, asyncio.TaskGroup() as self._group:
            notices = self._group.create_task(self._show_notices(), name="notices")
            code = await self._chat(client)
            if self._conversation is not None:
                await self._attempt(self._conversation.end_modes(client, closes=True))
            notices.cancel()
            if self._follow is not None:
                self._follow.cancel()
        return ExitCode.BROKEN_PIPE if self._unread else code

    def quit(self) -> None:
        """End the chat; what the team does is kept."""
        self._quitting = True
        self._news.set()

    def interrupt(self) -> None:
        """Stop the working team; otherwise leave at the second ctrl+c."""
        if self._conversation and self._group and not self._conversation.model.settled:
            self._group.create_task(self._attempt(self._conversation.stop()), name="stop")
        elif self._interrupted:
            self.quit()
        else:
            self._interrupted = True
            self._print_error("Press ctrl+c again to quit.")

    async def _chat(self, client: Client) -> int:
        from adapters.terminal.conversation import Conversation  # it loads the gateway

        conversation = Conversation(
            client, changed=self._on_changed, opened=self._on_opened, lost=self._on_lost
        )
        commands = Commands(client.commands())
        for trouble in await commands.find_prompts():
            self._print_error(trouble)
        self._conversation = conversation
        if not await self._attempt(self._start(conversation)):
            return ExitCode.FAILED
        while (text := await self._next_message(conversation)) is not None:
            self._interrupted = False
            if not await self._handle_line(conversation, commands, text):
                self._failed = not self._interactive
            if not self._interactive:
                await self._wait_until(lambda: has_turn(conversation.model))
        if self._asked() and not self._interactive and not self._quitting:
            self._print_error(self._later)
            return ExitCode.WAITING
        gave_up = self._sent and conversation.model.turn.early and not self._interactive
        return ExitCode.FAILED if self._failed or gave_up else ExitCode.DONE

    async def _start(self, conversation: Conversation) -> None:
        """Open the thread, and begin to read lines."""
        asked = self._settings
        await conversation.start(
            thread=asked.thread,
            new=asked.new or asked.resume,
            team=asked.team,
            origin=asked.origin,
        )
        if self._interactive:
            await conversation.load_agents()
            on = f", on {', '.join(models)}" if (models := conversation.models) else ""
            self._print_line(f"Parley in line mode{on}. /help lists commands, /quit ends the chat.")
        if conversation.attached and (self._interactive or conversation.runs_elsewhere):
            self._print_error(conversation.attached)
        if asked.resume:
            await self._list_threads(conversation, own_first=True)
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), daemon=True, name="lines").start()

    @property
    def _model(self) -> Picture:
        assert self._conversation is not None
        return self._conversation.model

    def _asked(self) -> RequestItem | None:
        """The question that is to be answered next."""
        return self._model.held_up or next(iter(self._model.requests.values()), None)

    async def _show_notices(self) -> None:
        while True:
            text, level = await self._settings.notices.get()
            await self._wait_until(lambda: self._lines is not None and not self._replaying)
            if self._conversation is not None:
                self._conversation.note(text, level)

    # input

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read lines in a daemon worker, which can't be interrupted."""
        with suppress(RuntimeError, OSError, ValueError):  # the chat is over, or the input closed
            for line in self._in:
                loop.call_soon_threadsafe(self._on_line, line)
            loop.call_soon_threadsafe(self._on_line, None)

    def _on_line(self, line: str | None) -> None:
        self._input.append(line)
        self._news.set()

    async def _next_message(self, conversation: Conversation) -> str | None:
        """The next message, joined over backslashes; None at the end.

        No call waits for a line that can't come any more.
        """
        from gateway.questions import no_answer  # it loads the gateway

        parts: list[str] = []
        first, self._first = self._first, ""
        if first:
            return first
        if self._interactive:
            await self._wait_until(lambda: bool(self._input) or conversation.model.settled)
            self._prompt()
        while True:
            await self._wait_until(lambda: bool(self._input))
            self._prompted = False
            line = None if self._quitting else self._input[0]
            if line is None:
                held = None if self._interactive or self._quitting else self._model.held_up
                return "\n".join(parts) or (held and no_answer(held))
            self._input.popleft()
            line = line.rstrip("\r\n")
            parts.append(line.removesuffix("\\"))
            if not line.endswith("\\") and any(parts):
                return "\n".join(parts).strip()

    async def _wait_until(self, ready: Callable[[], bool]) -> None:
        while not ready() and not self._quitting:
            self._news.clear()
            await self._news.wait()

    # lines

    async def _handle_line(self, conversation: Conversation, commands: Commands, text: str) -> bool:
        """Do what the line says; False when that failed."""
        try:
            return await self._do(conversation, commands, text)
        except Exception as error:
            self._print_error(error)
            if isinstance(error, OtherConfig):
                self._print_error(f"Type {ADOPT} if it may; /new begins an empty thread.")
            return False

    async def _do(self, conversation: Conversation, commands: Commands, text: str) -> bool:
        from gateway.questions import understand  # it loads the gateway

        request = self._asked()
        if text == ADOPT:
            await conversation.adopt()
            self._print_line("The chat goes on with this config. Send your message again.")
        elif local := commands.local(text):
            await self._run_command(conversation, commands, *local)
        elif not self._files.asks and request is not None and (answer := understand(request, text)):
            return await self._answer(conversation, request, answer)
        else:
            expanded = await commands.expanded(text)
            await self._files.send(conversation, text, expanded, self._send)
        return True

    async def _send(
        self, conversation: Conversation, text: str, files: Sequence[SentFile] = ()
    ) -> Receipt:
        model, client, thread = conversation.model, conversation.client, conversation.thread
        rests = False
        if thread is not None and text.startswith(("/", "!")):
            rests = (await client.thread(thread.id)).state in ("idle", "parked")
        turn, asked = model.turn.key, set(model.requests)
        receipt = await conversation.send(text, files)
        self._sent, model = True, conversation.model
        if thread and rests and receipt.outcome == "command" and receipt.thread == thread.id:
            now = await client.thread(thread.id)  # a command may have begun a turn, or ended one
            if now.state == "working":
                await self._wait_until(lambda: model.turn.key != turn)
            else:
                await self._wait_until(lambda: model.last_seq >= now.last_seq)
        waits = receipt.outcome in ("queued", "merged") and not self._interactive
        if waits or receipt.outcome == "turn":
            key = f"human-{receipt.inbox}"  # whoever is asked may have to answer first
            await self._wait_until(lambda: key in model.items or bool(model.requests))
        elif receipt.outcome == "answer" and asked:
            await self._wait_until(lambda: not asked <= model.requests.keys())
        return receipt

    async def _answer(
        self, conversation: Conversation, request: RequestItem, answer: Answer
    ) -> bool:
        if refusal := await conversation.answer(request.request, answer.kind, answer.text):
            self._print_error(refusal)
            return False
        await self._wait_until(lambda: request.request not in conversation.model.requests)
        return True

    async def _run_command(
        self, conversation: Conversation, commands: Commands, command: Command, rest: str
    ) -> None:
        thread = conversation.thread
        match command.name:
            case "quit":
                self.quit()
            case "new":
                await self._begin(conversation, rest)
            case "sessions":
                await self._list_threads(conversation, rest)
            case "find" if rest:
                await self._wait_until(lambda: not conversation.loading)
                self._find(conversation, rest)
            case "stop":
                await conversation.stop()
            case "attach" | "detach" | "files" as name if rest or name != "attach":
                await self._wait_until(lambda: not conversation.loading)
                await self._files.run(conversation, name, rest)
            case "rename" if thread and rest:
                await conversation.rename(thread.id, rest)
            case "export" if thread:
                from adapters.terminal.export import export  # not at the start

                path = await export(conversation.client, thread.id, rest, Path.cwd())
                self._print_line(f"Wrote {path}.")
            case "fork" | "undo" | "implement":
                await self._wait_until(lambda: not conversation.loading)
                await self._go_on(conversation, command.name, rest)
            case "delete":
                await self._delete(conversation, rest)
            case "help":
                self._print_help(commands)
            case name:
                self._print_line(
                    f"/{name} needs an argument or the full screen. /help lists commands."
                )

    async def _delete(self, conversation: Conversation, rest: str) -> None:
        """Delete the thread, once that is confirmed."""
        if conversation.thread and rest == "yes":
            await conversation.delete(conversation.thread.id)
        else:
            self._print_line("Type “/delete yes” to delete this thread with all its messages.")

    async def _go_on(self, conversation: Conversation, name: str, rest: str) -> None:
        """Carry a plan out, or go on in a fork."""
        if name == "implement":
            await self._send(conversation, await conversation.leave_plan())
        if name == "fork":
            await conversation.fork(rest, partial(self._agrees, conversation))
        for message in conversation.messages[:1] if name == "undo" else ():
            await conversation.rewind(message)
            self._print_line(f"Taken back: {message.text}")

    async def _agrees(self, conversation: Conversation, told: str) -> bool:
        """True after a yes. A pipe without one ends."""
        self._print_line(f"{told} Type y to fork it, or n.")
        agreed = (await self._next_message(conversation) or "").casefold() in ("y", "yes")
        if not agreed:
            self._print_line("The thread was not forked.")
            if not self._interactive:  # else its next lines would go to the platform
                self._failed = True
                self.quit()
        return agreed

    async def _begin(self, conversation: Conversation, team: str) -> None:
        """Begin a thread; a pipe whose thread fails ends."""
        begun = False
        try:
            await conversation.open_new(team)
            begun = True
        finally:
            if not (begun or self._interactive):
                self.quit()

    async def _list_threads(
        self, conversation: Conversation, rest: str = "", *, own_first: bool = False
    ) -> None:
        """List threads, or open the one with this number of the list."""
        if 0 < (number := typed_number(rest)) <= len(self._listed):
            conversation.open(self._listed[number - 1])
            return
        self._listed = await conversation.client.threads(
            search=rest, own_first=own_first, limit=LISTED
        )
        for number, thread in enumerate(self._listed, 1):
            ago = format_age(time.time() - thread.updated_at)
            parts = [thread_title(thread), *list_place(thread), thread.state, *waits(thread), ago]
            self._print_line(f"{number}. {', '.join(parts)}")
        self._print_line("Type /sessions and a number to open one.")

    def _find(self, conversation: Conversation, words: str) -> None:
        """Print each line with the words, and who said it."""
        from adapters.terminal.find import NOTHING, found_lines  # not at the start

        model = conversation.model
        items = [model.items[key] for key in model.keys]
        for line in list(found_lines(items, words)) or [NOTHING]:
            self._print_line(line)

    async def _attempt(self, doing: Awaitable[object]) -> bool:
        try:
            await doing
        except Exception as error:
            self._print_error(error)
            return False
        return True

    # output

    def _on_opened(self) -> None:
        from adapters.terminal.lines import LineTranscript  # it loads the gateway

        if self._conversation is None:
            return
        thread, name = self._conversation.thread, self._conversation.client.operator()
        if others := message_title(thread, name):
            self._print_line(f"Messages go {others}.")
        if self._lines is None or self._lines.model is not self._conversation.model:
            self._lines = LineTranscript(self._conversation.model)
            self._replaying = True
        self._begin_to_follow()

    def _begin_to_follow(self) -> None:
        if self._follow is not None:
            self._follow.cancel()
        if self._group is not None and self._conversation is not None:
            self._follow = self._group.create_task(self._listen(self._conversation), name="events")

    async def _listen(self, conversation: Conversation) -> None:
        """Hear the thread until it, or the gateway, is gone."""
        await conversation.follow()
        if conversation.trouble:
            self._print_error(GatewayClosed(conversation.trouble))
            self._on_lost()

    def _on_lost(self) -> None:
        self._failed = True
        self.quit()

    def _on_changed(self) -> None:
        self._news.set()
        conversation, lines = self._conversation, self._lines
        if conversation is None or lines is None:
            return
        if self._replaying:
            if conversation.thread and conversation.model.last_seq < conversation.thread.last_seq:
                return
            self._replaying = False
            lines.skip(keep=TAIL)
        for line in lines.new_lines():
            self._print_line(line)
        lines.echo = not self._interactive  # what the person types stands there already

    def _print_help(self, commands: Commands) -> None:
        for command in commands:
            if not command.needs_screen:
                self._print_line(
                    f"/{command.name} {command.argument}".strip() + f": {command.description}"
                )
        self._print_line("End a line with a backslash to continue on the next line.")

    def _prompt(self) -> None:
        if not self._input and not self._quitting:
            self._write(self._out, "> ")
            self._prompted = True

    def _print_line(self, text: str) -> None:
        start = "\n" if self._prompted else ""
        self._prompted = False
        self._write(self._out, f"{start}{indented(text, self._width())}\n")

    def _width(self) -> int:
        """Cells of the terminal's lines; 0 without a terminal."""
        try:
            return os.get_terminal_size(self._out.fileno()).columns
        except (OSError, ValueError):
            return 0

    def _print_error(self, problem: str | Exception) -> None:
        text = describe_error(problem) if isinstance(problem, Exception) else sanitize(problem)
        self._write(self._err, f"{text}\n")

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except OSError:
            # Nobody reads any more. The interpreter must not try again when it ends.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            self._unread = True
            self.quit()


def has_turn(model: Picture) -> bool:
    """True if the next line of a pipe is to be read."""
    return model.settled or model.held_up is not None
