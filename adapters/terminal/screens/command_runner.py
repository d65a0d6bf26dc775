"""The terminal's own commands: typed, picked, or run by a key."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from textual.app import SuspendNotSupported

from adapters.terminal.errors import notify_errors
from adapters.terminal.screens.choosing import Choosable, Choosing
from adapters.terminal.text import deletion_notice, typed_number
from gateway.render.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen

    from adapters.terminal.code_blocks import CodeBlock
    from adapters.terminal.commands import Command, Commands
    from adapters.terminal.conversation import Conversation
    from adapters.terminal.screens.attaching import Attaching
    from adapters.terminal.settings import Settings
    from adapters.terminal.widgets.composer import Composer
    from gateway.items import HumanItem

COPY_AGAIN = 5.0
"""Seconds in which a key that copies goes on to the next older block."""
EMPTY = "This thread is still empty."
NOT_IDLE = "The team is not done yet. esc esc stops it."


class ChatActions(Choosable, Protocol):
    """Actions of the chat screen that commands take, too."""

    def show_threads(self) -> None:
        """Walk the threads."""
        ...

    def answer(self) -> None:
        """Answer what the team asks."""
        ...

    def carry_out_plan(self) -> object:
        """Leave the mode plan, with the plan as the next task."""
        ...

    def follow(self) -> None:
        """Go to the end of the transcript and stay there."""
        ...

    def find_prompt(self) -> None:
        """Look for an earlier prompt by its words."""
        ...

    def edit_draft(self) -> object:
        """Write the draft in the person's editor."""
        ...

    def show_help(self) -> None:
        """Show keys and commands."""
        ...

    def stop_team(self) -> object:
        """Stop the running turn."""
        ...

    def find(self, words: str) -> None:
        """Find words in the transcript; without any, ask for them."""
        ...

    async def agrees(self, told: str, title: str, keys: str) -> bool:
        """Ask the person a question."""
        ...

    @property
    def files(self) -> Attaching:
        """The files of the next message."""
        ...


class CommandRunner:
    """Runs commands of a chat screen, slow ones in its workers."""

    def __init__(self, screen: Screen[None], chat: ChatActions, settings: Settings) -> None:
        self._screen = screen
        self._chat = chat
        self._settings = settings
        self.choosing = Choosing(screen, chat, settings)
        self._pressed_at = -COPY_AGAIN
        self._number = 0
        """The code block that was copied last, counted from the newest."""

    @property
    def _conversation(self) -> Conversation | None:
        return self._chat.conversation

    def run(self, command: Command, rest: str) -> None:
        """Run one of the terminal's own commands with its argument."""
        at_once: dict[str, Callable[[], object]] = {
            "sessions": self._chat.show_threads,
            "answer": self._chat.answer,
            "implement": self._chat.carry_out_plan,
            "follow": self._chat.follow,
            "prompts": self._chat.find_prompt,
            "previous": self._screen.app.action_focus_previous,
            "next": self._screen.app.action_focus_next,
            "commands": self._screen.app.action_command_palette,
            "code": partial(self.copy_code, 1),
            "stop": self._chat.stop_team,
            "editor": self._chat.edit_draft,
            "find": partial(self._chat.find, rest),
            "detach": partial(self._detach, rest),
            "files": partial(
                self._screen.run_worker, partial(self._made_files, rest), group="files"
            ),
            "copy": partial(self._copy_part, rest),
            "rewind": self.rewind,
            "undo": self._undo,
            "mouse": self._settings.toggle_mouse,
            "help": self._chat.show_help,
        }
        match command.name:
            case name if name in at_once:
                at_once[name]()
            case "new" | "open" | "only" | "theme" if rest:
                take = partial(self.choosing.take, command.name, rest)
                self._screen.run_worker(take, group="choice")
            case "new" if self._conversation is not None:
                self._conversation.open(None)
            case "only":
                self._chat.show_only("")
            case "export":
                self._screen.run_worker(partial(self._export, rest), group="export")
            case "attach" if rest:
                self._screen.run_worker(partial(self._attach, rest), group="attach")
            case "rename":
                self._screen.run_worker(partial(self._rename, rest), group="dialog")
            case "fork":
                self._screen.run_worker(partial(self._fork, rest), group="dialog")
            case "delete":
                self._delete()
            case "quit":
                self._screen.app.exit(0)
            case name if command.needs_argument:
                self._chat.give_back(f"/{name} ")  # which offers what it takes
            case _:
                pass  # /new while connecting: there is nothing to leave yet

    async def _made_files(self, words: str) -> None:
        from adapters.terminal import desktop, made_files  # not at the start

        opener = "" if self._settings.in_browser else desktop.find_opener()
        keys = "y opens it   n or esc leaves it"
        agrees = partial(self._chat.agrees, title="Open the file", keys=keys)
        if (conversation := self._conversation) is not None:
            with notify_errors(self._screen):
                told = await made_files.list_or_save(
                    conversation, words, Path.cwd(), opener=opener, agrees=agrees
                )
                if told:
                    conversation.note(told)

    async def _attach(self, path: str) -> None:
        if not await self._chat.files.attach(path):
            self._chat.give_back(f"/attach {path}")

    def _detach(self, name: str) -> None:
        if not self._chat.files.detach(name):
            self._screen.notify("No such file is attached.", markup=False)

    def _copy_part(self, rest: str) -> None:
        """Copy the last reply, or a code block by its number."""
        words = rest.split()
        match words[:1]:
            case ["code"]:
                number = " ".join(words[1:]) or "1"
                self.copy_code(typed_number(number))
            case [number]:
                self._copy_message(typed_number(number))
            case _:
                self.copy_reply()

    async def edit(self, composer: Composer) -> None:
        """Edit the draft in the person's editor."""
        from adapters.terminal import desktop  # not at the start

        command, trouble = desktop.find_editor(), ""
        if not command:
            self._screen.notify("No editor was found. Set EDITOR to one.", markup=False)
            return
        try:
            with self._screen.app.suspend():
                try:
                    draft = composer.whole
                    edited = await desktop.edit_text(draft, command)
                    if edited != draft:
                        composer.set_draft(edited)
                except OSError as error:
                    trouble = sanitize(f"{command[0]} did not start ({error.strerror}).")
        except SuspendNotSupported:
            self._screen.notify("Parley can't lend this terminal to an editor.", markup=False)
        if trouble:
            self._screen.notify(f"{trouble} Set EDITOR to another editor.", markup=False)

    def help(self, commands: Commands) -> None:
        """Show keys and commands."""
        from adapters.terminal.widgets.dialogs import HelpDialog  # not at the start
        from adapters.terminal.widgets.overlay import show

        show(self._screen, HelpDialog(commands))

    def copy_reply(self) -> None:
        """Copy the newest reply of an agent."""
        reply = self._conversation.model.last_reply() if self._conversation else ""
        if not reply:
            self._screen.notify("There is no reply to copy yet.", markup=False)
            return
        self._copy(reply, "Copied the last reply.")

    def _copy_message(self, number: int) -> None:
        """Copy a message, 1 is the newest."""
        from gateway.items import AgentItem, HumanItem  # not at the start

        match self._conversation and self._conversation.model.message(number):
            case HumanItem(author=name, text=text):
                self._copy(text, f"Copied the message of {name}.")
            case AgentItem(agent=agent, text=text):
                self._copy(text, f"Copied the message of {agent.name}.")
            case _:
                self._screen.notify("There is no such message.", markup=False)

    def copy_code(self, number: int) -> bool:
        """Copy a code block, 1 is the newest; False without it."""
        from adapters.terminal.code_blocks import newest_blocks  # not at the start

        model = self._conversation.model if self._conversation else None
        items = [model.items[key] for key in model.keys] if model else []
        block = next(islice(newest_blocks(items), number - 1, None), None) if number else None
        if block is None:
            self._screen.notify("There is no such code block.", markup=False)
            return False
        self.copy_block(block)
        return True

    def copy_next_code(self) -> None:
        """Copy the newest code block; pressed again, the one before."""
        now = self._settings.clock.time() if self._settings.clock else time.monotonic()
        again = now - self._pressed_at < COPY_AGAIN
        number = self._number + 1 if again else 1
        self._pressed_at, self._number = now, number if self.copy_code(number) else 0

    def copy_block(self, block: CodeBlock) -> None:
        """Copy the source of a code block."""
        self._copy(block.source, f"Copied {block}.")

    def _copy(self, text: str, told: str) -> None:
        self._screen.app.copy_to_clipboard(text)
        copying = partial(self._hand_to_desktop, text, told)
        self._screen.run_worker(copying, group="copy", exclusive=True)

    async def _hand_to_desktop(self, text: str, told: str) -> None:
        from adapters.terminal import desktop  # not at the start

        if not self._settings.in_browser:  # which has the text already
            await asyncio.to_thread(desktop.copy_text, text)
        self._screen.notify(told, markup=False)

    async def _export(self, kind: str) -> None:
        from adapters.terminal.export import export  # not at the start

        conversation = self._conversation
        if conversation is None or conversation.thread is None:
            self._screen.notify(EMPTY, markup=False)
            return
        with notify_errors(self._screen):
            path = await export(conversation.client, conversation.thread.id, kind, Path.cwd())
            self._screen.notify(f"Wrote {sanitize(str(path))}.", markup=False)

    async def _rename(self, title: str) -> None:
        from adapters.terminal.widgets.dialogs import InputDialog  # not at the start
        from adapters.terminal.widgets.overlay import ask

        conversation = self._conversation
        if conversation is None or conversation.thread is None:
            self._screen.notify(EMPTY, markup=False)
            return
        thread = conversation.thread
        if not title:
            dialog = InputDialog("Title", conversation.model.title)
            title = await ask(self._screen, dialog) or ""
        if title:
            with notify_errors(self._screen):
                await conversation.rename(thread.id, title)

    async def _fork(self, words: str) -> None:
        keys = "y forks it   n or esc leaves it"
        agrees = partial(self._chat.agrees, title="Fork the thread", keys=keys)
        if self._conversation is not None:
            with notify_errors(self._screen):
                await self._conversation.fork(words, agrees)

    def rewind(self) -> None:
        """Let the person choose a message to go back to."""
        if messages := self._messages():
            self._screen.run_worker(partial(self._choose_message, messages), group="dialog")

    def _undo(self) -> None:
        if messages := self._messages():
            self._screen.run_worker(partial(self._rewind, messages[0]), group="dialog")

    def _messages(self) -> list[HumanItem]:
        """Messages that can be taken back; why none can is told."""
        conversation = self._conversation
        if conversation is None or not (found := conversation.messages):
            self._screen.notify(EMPTY, markup=False)
            return []
        if conversation.model.activity != "idle":
            self._screen.notify(NOT_IDLE, markup=False)
            return []
        return found

    async def _choose_message(self, messages: list[HumanItem]) -> None:
        from adapters.terminal.widgets.message_list import MessageList  # not at the start
        from adapters.terminal.widgets.overlay import ask

        if message := await ask(self._screen, MessageList(messages)):
            await self._rewind(message)

    async def _rewind(self, message: HumanItem) -> None:
        """Go back to before a message, which is the draft then."""
        if self._conversation is not None:
            with notify_errors(self._screen):
                await self._conversation.rewind(message)
                self._chat.give_back(message.text)

    def _delete(self) -> None:
        conversation = self._conversation
        if conversation is None or conversation.thread is None:
            self._screen.notify(EMPTY, markup=False)
            return
        self._screen.notify(deletion_notice(conversation.thread), markup=False)
        conversation.delete_soon(conversation.thread.id)
