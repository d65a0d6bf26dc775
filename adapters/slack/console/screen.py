"""The screen of the simulated workspace: new lines as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adapters.simulation import screen as simulation
from adapters.simulation.screen import PrintedMessage
from adapters.slack.simulator.state import Channel, Message, View
from adapters.slack.testing.people import Person
from adapters.slack.testing.rendered_message import RenderedMessage, render_message
from adapters.slack.testing.simulator import Record


class Screen(simulation.Screen[Message]):
    """Messages, the work of the app and the modals of all workspaces."""

    def __init__(self, slack: Record, write: Callable[[str], None]) -> None:
        super().__init__(write)
        self._slack = slack
        self._working: set[tuple[str, str]] = set()
        self._modals: dict[str, tuple[str, str]] = {}

    def number(self, message: Message) -> int:
        """The number of a message that was shown."""
        return self._printed[message.ts].number

    def _write_news(self) -> None:
        for workspace in self._slack.world.workspaces.values():
            for channel in workspace.channels.values():
                for message in sorted(channel.messages.values(), key=lambda each: float(each.ts)):
                    self._show(channel, message)
        self._show_work()
        for person in self._slack.people:
            self._show_modal(person)

    def _show(self, channel: Channel, message: Message) -> None:
        if message.hidden:
            if message.ts in self._printed:
                self._write_deletion(self._printed[message.ts])
            return
        printed = self._printed_message(message.ts, message)
        shown = render_message(message, self._slack.world.user(message.user).name)
        lines = list(_lines(shown, self._slack.names))
        if lines == printed.lines:
            return
        self._head(channel, message, shown, printed)
        self._write_lines(printed, lines)

    def _head(
        self,
        channel: Channel,
        message: Message,
        shown: RenderedMessage,
        printed: PrintedMessage[Message],
    ) -> None:
        if self._last is message and shown.stream:
            return
        place = f"#{channel.name}" if channel.name else "direct"
        root = self._printed.get(message.thread_ts)
        thread = f" in {root.number}" if root and root is not printed else ""
        private = " (only for you)" if message.ephemeral else ""
        again = " (changed)" if printed.lines and not shown.stream else ""
        self._line(f"{place} [{printed.number}]{thread} {shown.name}{private}{again}")
        self._last = message

    def _show_work(self) -> None:
        working = {(each.channel, each.thread_ts) for each in self._slack.busy}
        for _, root in sorted(working - self._working):
            if root in self._printed:
                self._line(f"  (the app is working in {self._printed[root].number})")
        for _, root in sorted(self._working - working):
            if root in self._printed:
                self._line(f"  (the app has stopped working in {self._printed[root].number})")
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


def _lines(shown: RenderedMessage, names: dict[str, str]) -> Iterable[str]:
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
