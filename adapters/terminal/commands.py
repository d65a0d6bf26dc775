"""Slash commands of the palette, the help page and the line mode."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command; `argument` names its argument, `keys` its shortcut."""

    name: str
    description: str
    argument: str = ""
    keys: str = ""


# What the terminal does itself; whatever else the gateway offers is sent to it as a message.
LOCAL = (
    Command("new", "Start an empty thread", "[team]"),
    Command("sessions", "List, open, rename and delete threads", keys="ctrl+s"),
    Command("rename", "Give this thread a title", "[title]"),
    Command("delete", "Delete this thread"),
    Command("stop", "Stop the team", keys="esc esc"),
    Command("only", "Show one agent; without a name, all agents", "[agent]"),
    Command("find", "Find words in this thread", "[words]", keys="ctrl+f"),
    Command("editor", "Edit the draft in your editor", keys="ctrl+g"),
    Command("copy", "Copy the last reply, or a code block", "[code [number]]", keys="ctrl+o"),
    Command("mouse", "Give the mouse to the terminal or to Parley", keys="F9"),
    Command("help", "Show keys and commands", keys="F1"),
    Command("quit", "Quit; the team's work is saved", keys="ctrl+c ctrl+c"),
)


RETRY = "/retry"
"""Sent by F5 after a failed turn."""

# What request cards do better than a typed id, and /delete by another name.
HIDDEN = frozenset(("approve", "deny", "forget"))


class Commands:
    """The terminal's own commands and the gateway's."""

    def __init__(self, offered: Iterable[tuple[str, str]] = ()) -> None:
        """`offered`: name (with or without slash) and description of the gateway's commands."""
        own = {command.name for command in LOCAL} | HIDDEN
        named = ((name.removeprefix("/"), description) for name, description in offered)
        self._all = LOCAL + tuple(
            Command(name, description[:1].upper() + description[1:])
            for name, description in named
            if name not in own
        )

    def __iter__(self) -> Iterator[Command]:
        return iter(self._all)

    def matching(self, draft: str) -> list[Command]:
        """Commands for a draft: those that begin with it come first."""
        if not draft.startswith("/") or any(char.isspace() for char in draft):
            return []
        typed = draft[1:].lower()
        begin = [command for command in self._all if command.name.startswith(typed)]
        within = [command for command in self._all if typed in command.name]
        return begin + [command for command in within if command not in begin]

    def local(self, text: str) -> tuple[Command, str] | None:
        """The terminal's own command in a text, with what follows it."""
        if not text.startswith("/"):
            return None
        name, _, rest = text[1:].partition(" ")
        own = next((command for command in LOCAL if command.name == name.strip().lower()), None)
        return (own, rest.strip()) if own else None
