"""Slash commands of the palette, the help page and the line mode."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.base.terminal_keys import DEFAULT_KEYS, USUAL_KEYS, Keys

if TYPE_CHECKING:
    from adapters.terminal.prompts import Prompt, Prompts
    from gateway.client import ArgumentKind, CommandInfo


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a command's argument, and what it is."""

    name: str
    description: str = ""
    goes_on: bool = False
    """More has to be typed behind it."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the palette.

    `argument` names its argument, `keys` are those that nobody can change. `takes` is the
    argument's kind, `words` are its values where the command has its own.
    """

    name: str
    description: str
    argument: str = ""
    keys: str = ""
    takes: ArgumentKind = ""
    words: tuple[Value, ...] = ()
    needs_screen: bool = False
    """Line mode does not have it."""

    @property
    def needs_argument(self) -> bool:
        """True if it does nothing without its argument."""
        return bool(self.argument) and not self.argument.startswith("[")


# What the terminal does itself; whatever else the gateway offers is sent to it as a message.
LOCAL = (
    Command("new", "Start an empty thread", "[team]", takes="team"),
    Command("open", "Open a thread by its title", "title", takes="thread", needs_screen=True),
    Command("sessions", "List, open, rename and delete threads"),
    Command("rename", "Give this thread a title", "[title]", takes="text"),
    Command("fork", "Go on in a copy of this thread; N: without its last N turns", "[N]"),
    Command(
        "rewind", "Go back to before a message, and edit it", keys="esc esc", needs_screen=True
    ),
    Command("undo", "Take your last message back, with all that followed"),
    Command("delete", "Delete this thread"),
    Command("stop", "Stop the team", keys="esc esc"),
    Command(
        "only",
        "Show one agent; without a name, all agents",
        "[agent]",
        takes="agent",
        needs_screen=True,
    ),
    Command("find", "Find words in this thread: enter next, then n and N", "[words]"),
    Command("attach", "Attach a file to your next message", "path", takes="text"),
    Command("detach", "Take attached files off, or the one named", "[name]", takes="text"),
    Command(
        "files",
        "List files that the team has made; save one, or open it",
        "[name | open name]",
        takes="text",
    ),
    Command("theme", "Change the colours", "name", takes="theme", needs_screen=True),
    Command("editor", "Edit the draft in your editor", needs_screen=True),
    Command(
        "copy",
        "Copy the last reply, or a message or code block counted from the newest",
        "[number | code [number]]",
        needs_screen=True,
    ),
    Command(
        "export",
        "Write this thread to a file of the current folder",
        "[markdown | events]",
        takes="word",
        words=(
            Value("markdown", "a document to read"),
            Value("events", "each event as a line of JSON"),
        ),
    ),
    Command("mouse", "Give the mouse to the terminal or to Parley", needs_screen=True),
    Command("help", "Show keys and commands"),
    Command("quit", "Quit; the team's work is saved"),
    Command("answer", "Answer the team", needs_screen=True),
    Command("code", "Copy the last code block; again: the one before", needs_screen=True),
    Command("prompts", "Find an earlier prompt; again: an older one", needs_screen=True),
    Command("implement", "Leave the mode plan: the plan is the next task"),
    Command(
        "previous",
        "Move to the tool call, thought or code above; enter opens it",
        needs_screen=True,
    ),
    Command("next", "Move to the one below", needs_screen=True),
    Command("follow", "Go to the end of the thread, and follow it", needs_screen=True),
    Command("commands", "Search all commands", needs_screen=True),
)

BY_KEY = {
    "mode": "change the mode of approval: ask, accept edits, plan",
    "retry": "try a failed turn again, continue a cut answer",
    "quit": "copy what is selected; clear the draft; twice in an empty draft: quit",
}
"""Effects of keys that differ from those of their commands."""


ADOPT = "/adopt"
"""Lets a thread of another config go on with this one."""
RETRY, CONTINUE = "/retry", "/continue"
"""Commands that begin a turn. F5 sends the first after a failed turn, the second after an answer
that was cut.
"""

# What request cards do better than a typed id, and /delete and /new by other names.
HIDDEN = frozenset(("approve", "deny", "forget", "team"))


class Commands:
    """The terminal's own commands, the gateway's, and prompts of the person."""

    def __init__(self, offered: Iterable[CommandInfo] = (), keys: Keys = USUAL_KEYS) -> None:
        """`offered`: the gateway's commands."""
        self._keys = keys
        self._own = {command.name for command in LOCAL} | HIDDEN
        self._known = LOCAL + tuple(
            _offered(each) for each in offered if each.name not in self._own
        )
        self._all = self._known
        self._prompts: Mapping[str, Prompt] = {}
        self._told: set[str] = set()

    def __iter__(self) -> Iterator[Command]:
        return iter(self._all)

    def keys_of(self, command: Command) -> str:
        """The keys that run a command, as people write them."""
        label = self._keys.label(command.name)
        return command.keys or (f"{label} {label}" if command.name == "quit" else label)

    def by_key(self) -> list[tuple[str, str, str]]:
        """Commands with keys: the name, the keys, what they do."""
        says = {command.name: command.description for command in self._all} | BY_KEY
        named = dict.fromkeys((*DEFAULT_KEYS, *self._keys.chose))
        keyed = ((name, ", ".join(self._keys.labels(name))) for name in named)
        return [(name, keys, _lower(says.get(name, ""))) for name, keys in keyed if keys]

    async def find_prompts(self) -> list[str]:
        """Offer the prompts of now; sentences on others, each once."""
        taken = {*self._own, ADOPT[1:], *(each.name for each in self._known)}
        self._prompts, troubles = await asyncio.to_thread(_found, taken)
        self._all = self._known + tuple(map(_of_prompt, self._prompts.items()))
        told, self._told = self._told, {*troubles}
        return [trouble for trouble in troubles if trouble not in told]

    def needs_argument(self, name: str) -> bool:
        """True for a command that does nothing without its argument."""
        return any(each.needs_argument for each in self._all if each.name == name)

    async def expanded(self, text: str) -> str:
        """The text of the prompt that this names, or the same.

        A prompt never is a command: one that begins like that gets its name above. Raises
        GatewayError.
        """
        words = text[1:].split(maxsplit=1) if text.startswith("/") else []
        prompt = self._prompts.get(words[0].lower()) if words else None
        if prompt is None:
            return text
        text = await asyncio.to_thread(prompt.expanded, "".join(words[1:]))
        return f"{words[0].lower()}:\n\n{text}" if text.startswith(("/", "!")) else text

    def matching(self, draft: str) -> list[Command]:
        """Commands for a draft: those that begin with it come first."""
        if not draft.startswith("/") or any(char.isspace() for char in draft):
            return []
        typed = draft[1:].lower()
        begin = [command for command in self._all if command.name.startswith(typed)]
        within = [command for command in self._all if typed in command.name]
        return begin + [command for command in within if command not in begin]

    def with_argument(self, draft: str) -> tuple[Command, str] | None:
        """The command whose argument is being typed, with that argument."""
        name, space, typed = draft[1:].partition(" ")
        if not draft.startswith("/") or not space or "\n" in draft:
            return None
        found = next((command for command in self._all if command.name == name.lower()), None)
        return (found, typed.lstrip()) if found and found.takes else None

    def local(self, text: str) -> tuple[Command, str] | None:
        """The terminal's own command in a text, with what follows it."""
        if not text.startswith("/"):
            return None
        name, _, rest = text[1:].partition(" ")
        own = next((command for command in LOCAL if command.name == name.strip().lower()), None)
        return (own, rest.strip()) if own else None


def matching_values(values: Iterable[Value], typed: str) -> list[Value]:
    """Values for what was typed: those that begin with it come first."""
    typed = typed.casefold()
    found = [value for value in values if typed in value.name.casefold()]
    return sorted(found, key=lambda value: not value.name.casefold().startswith(typed))


def _of_prompt(named: tuple[str, Prompt]) -> Command:
    name, prompt = named
    argument = "arguments" if prompt.takes_arguments else "[more]"
    return Command(name, prompt.description or "Send this prompt", argument)


def _offered(info: CommandInfo) -> Command:
    words = tuple(Value(each.name, each.description, each.goes_on) for each in info.choices)
    description = info.description[:1].upper() + info.description[1:]
    return Command(info.name, description, info.argument, takes=info.takes, words=words)


def _found(taken: Collection[str]) -> Prompts:
    from adapters.terminal.prompts import find_prompts  # in a worker: it holds nothing up

    return find_prompts(taken)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
