"""The simulated workspace as lines in a terminal: what is new, as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from adapters.slack.simulator.state import Channel, Message, View
from adapters.slack.testing.people import Person
from adapters.slack.testing.record import Record
from adapters.slack.testing.shown import Shown, show
from gateway.render.sanitize import sanitize

INDENT = "      "


@dataclass
class _Printed:
    """What stands on the terminal of a message."""

    number: int
    lines: list[str] = field(default_factory=list)
    gone: bool = False


class Screen:
    """Writes what has changed since the last time. Every message has a number to name it by."""

    def __init__(self, slack: Record, write: Callable[[str], None]) -> None:
        self._slack = slack
        self._write = write
        self._printed: dict[str, _Printed] = {}
        self._numbers: dict[int, Message] = {}
        self._last = ""
        self._wrote = False
        self._working: set[tuple[str, str]] = set()
        self._modals: dict[str, tuple[str, str]] = {}

    def message(self, number: str) -> Message:
        """The message with a number. Raises LookupError."""
        if not number.isdigit() or int(number) not in self._numbers:
            raise LookupError(f"there is no message {number!r}; messages are named by number")
        return self._numbers[int(number)]

    def number(self, message: Message) -> int:
        """The number of a message that was shown."""
        return self._printed[message.ts].number

    def refresh(self) -> bool:
        """Write what is new; tells whether something was."""
        self._wrote = False
        for workspace in self._slack.world.workspaces.values():
            for channel in workspace.channels.values():
                for message in sorted(channel.messages.values(), key=lambda each: float(each.ts)):
                    self._show(channel, message)
        self._show_work()
        for person in self._slack.people:
            self._show_modal(person)
        return self._wrote

    def _show(self, channel: Channel, message: Message) -> None:
        printed = self._printed.get(message.ts)
        if printed is None:
            if message.hidden:
                return
            printed = self._printed[message.ts] = _Printed(len(self._printed) + 1)
            self._numbers[printed.number] = message
        if message.hidden:
            if not printed.gone:
                printed.gone = True
                self._line(f"  [{printed.number}] was deleted")
            return
        shown = show(message, self._slack.world.user(message.user).name)
        lines = list(_lines(shown, self._slack.names))
        if lines == printed.lines:
            return
        self._head(channel, message, shown, printed)
        for line in _news(printed.lines, lines):
            self._put(f"{INDENT}{line}")
        printed.lines = lines

    def _head(self, channel: Channel, message: Message, shown: Shown, printed: _Printed) -> None:
        if self._last == message.ts and shown.stream:
            return
        place = f"#{channel.name}" if channel.name else "direct"
        root = self._printed.get(message.thread_ts)
        thread = f" in {root.number}" if root and root is not printed else ""
        private = " (only for you)" if message.ephemeral else ""
        again = " (changed)" if printed.lines and not shown.stream else ""
        self._line(f"{place} [{printed.number}]{thread} {shown.name}{private}{again}")
        self._last = message.ts

    def _show_work(self) -> None:
        working = {(each.channel, each.thread_ts) for each in self._slack.busy}
        for _, root in sorted(working - self._working):
            if root in self._printed:
                self._line(f"  (the app works in {self._printed[root].number})")
        for _, root in sorted(self._working - working):
            if root in self._printed:
                self._line(f"  (it has stopped working in {self._printed[root].number})")
        self._working = working

    def _show_modal(self, person: Person) -> None:
        view = person.modal
        state = (view.hash, repr(view.errors)) if view is not None else ("", "")
        if self._modals.get(person.id, ("", "")) == state:
            return
        self._modals[person.id] = state
        if view is not None:
            for line in _modal_lines(view):
                self._line(line)
        else:
            self._line("  (the modal is closed)")

    def _line(self, text: str) -> None:
        self._last = ""
        self._put(text)

    def _put(self, text: str) -> None:
        self._wrote = True
        self._write(sanitize(text))


def _lines(shown: Shown, names: dict[str, str]) -> Iterable[str]:
    text = shown.text
    for identity, name in names.items():
        text = text.replace(f"<@{identity}>", f"@{name}")
    lines = text.split("\n") if text else []
    if lines and shown.stream == "streaming":
        lines.pop()  # it may still grow
    yield from lines
    for name in shown.files:
        yield f"[file] {name}"
    if shown.buttons:
        yield " ".join(f"<{each}>" for each in shown.buttons)
    if shown.reactions:
        yield " ".join(f":{each}:" for each in shown.reactions)


def _news(before: list[str], now: list[str]) -> Iterable[str]:
    """The lines to write: what was added at the end, or what was not there before."""
    if now[: len(before)] == before:
        return now[len(before) :]
    return [line for line in now if line not in before] or now


def _modal_lines(view: View) -> Iterable[str]:
    yield f"--- {view.body['title']['text']} ---"
    for block in view.body["blocks"]:
        if block.get("type") == "input":
            yield f"    {block['label']['text']} = ..."
            for option in block["element"].get("options") or ():
                yield f"        {option['text']['text']}"
        elif isinstance(block.get("text"), dict):
            yield f"    {block['text']['text']}"
        if block.get("block_id") in view.errors:
            yield f"    ! {view.errors[block['block_id']]}"
    if view.body.get("submit"):
        yield f"    /submit {view.body['submit']['text']}, or /close"
