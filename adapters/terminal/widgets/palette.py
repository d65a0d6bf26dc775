"""The palette above a draft: slash commands, and agents after @."""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from adapters.terminal.commands import Command, Commands, Value, matching_values
from adapters.terminal.mentions import BEGUN, mention_of

ROWS = 7
"""Offers shown at the same time, where there is room."""
OTHERS = 7
"""Rows that the chat around the palette needs at least."""
NAME = 18


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested draft; choosing one that `runs` with Enter sends it."""

    draft: str
    label: str
    description: str
    keys: str = ""
    runs: bool = False
    goes_on: bool = False
    """Something has to be typed behind it."""
    theme: str = ""
    """The theme that it is, to be seen while it is marked."""

    def is_in(self, draft: str) -> bool:
        """True if the draft is this already."""
        return draft == self.draft if self.goes_on else draft.strip() == self.draft.strip()


class Palette(Static):
    """Shows suggestions; the composer keeps the focus and moves the choice."""

    @dataclass
    class Marked(Message):
        """Another offer is marked, or none."""

        offer: Suggestion | None

    @dataclass
    class Clicked(Message):
        """An offer was clicked."""

        offer: Suggestion

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False
        self.commands = Commands()
        self.agents: Mapping[str, str] = {}
        """The team's agents, each with its model."""
        self.values: dict[str, Sequence[Value]] = {}
        """Values of arguments by their kind, as far as they are known."""
        self.paths: Callable[[str], Iterable[str]] = lambda typed: ()
        """Paths for what was typed behind @, as far as they are known."""
        self._rows: list[int] = []
        """The offer of each row."""
        self._offers: Sequence[Suggestion] = ()
        self._at = 0
        self._closed_for = ""

    @property
    def choice(self) -> Suggestion | None:
        """The marked offer."""
        return self._offers[self._at] if self._offers else None

    def suggest(self, draft: str) -> None:
        """Show what the draft may become; where there is nothing, hide."""
        if draft != self._closed_for:
            self._closed_for = ""
        offers = [] if self._closed_for else self._for(draft)
        if offers != self._offers:
            self._offers, self._at = offers, 0
            self._draw()
            self.post_message(self.Marked(self.choice))
        self.display = bool(offers)

    def close(self, draft: str) -> None:
        """Hide until the draft is another one."""
        self._closed_for = draft
        self.suggest(draft)

    def move(self, step: int) -> None:
        """Mark the offer so many rows further, around the ends."""
        if self._offers:  # the wheel may turn when the list has just closed
            self._at = (self._at + step) % len(self._offers)
            self._draw()
            self.post_message(self.Marked(self.choice))

    def on_click(self, event: events.Click) -> None:
        """Take the offer under the mouse."""
        if (at := event.get_content_offset(self)) and at.y < len(self._rows):
            self.post_message(self.Clicked(self._offers[self._rows[at.y]]))

    def on_mouse_scroll_down(self) -> None:
        """Mark the next offer."""
        self.move(1)

    def on_mouse_scroll_up(self) -> None:
        """Mark the offer before."""
        self.move(-1)

    def on_resize(self) -> None:
        """Redraw: the marked row wraps at the width."""
        self._draw()

    def _for(self, draft: str) -> list[Suggestion]:
        if (found := self.commands.with_argument(draft)) and not found[1].startswith("@"):
            command, typed = found
            values = matching_values(self._values(command), typed)
            return [_value_suggestion(command, value) for value in values]
        if mention := BEGUN.search(draft):
            typed, before = mention[1].strip('"'), draft[: mention.start()]
            folded = typed.lower()
            named = [name for name in self.agents if name.lower().startswith(folded)]
            return [
                *(Suggestion(f"{before}@{name} ", f"@{name}", self.agents[name]) for name in named),
                *(_path_suggestion(before, path) for path in self.paths(typed)),
            ]
        matching = self.commands.matching(draft)
        return [_command_suggestion(each, self.commands.keys_of(each)) for each in matching]

    def _values(self, command: Command) -> Iterable[Value]:
        if command.takes == "agent":
            return [Value(name, model) for name, model in self.agents.items()]
        return [*command.words, *self.values.get(command.takes, ())]

    def _draw(self) -> None:
        room = max(3, self.app.size.height - OTHERS)
        rows = min(ROWS, room - 2)
        first = max(0, min(self._at - rows // 2, len(self._offers) - rows))
        shown = self._offers[first : first + rows]
        lines: list[Content] = []
        self._rows = []
        for index, offer in enumerate(shown, first):
            lines.append(line := self._line(index, offer, room - rows))
            self._rows += [index] * (line.plain.count("\n") + 1)
        if below := len(self._offers) - first - len(shown):
            lines.append(Content.styled(f"  ↓ {below} more", "$muted"))
        elif first:
            lines.append(Content.styled(f"  ↑ {first} more", "$muted"))
        self.update(Content("\n").join(lines))

    def _line(self, index: int, offer: Suggestion, most: int) -> Content:
        here = index == self._at
        keys = f"  {offer.keys}" if offer.keys else ""
        does = self._wrapped(offer.description, most) if here else offer.description
        return Content.assemble(
            ("▸ " if here else "  ", "$primary"),
            (f"{offer.label:<{NAME - 1}} ", "bold $primary" if here else "bold"),
            (does, "" if here else "$muted"),
            (keys, "$muted"),
        )

    def _wrapped(self, text: str, most: int) -> str:
        margin = NAME + 2
        room = self.content_size.width - margin
        if room <= NAME:
            return text
        lines = textwrap.wrap(text, room, max_lines=most, placeholder="…")
        return f"\n{' ' * margin}".join(lines)


def _command_suggestion(command: Command, keys: str) -> Suggestion:
    label = f"/{command.name} {command.argument}".strip()
    needs = command.needs_argument
    return Suggestion(
        f"/{command.name} " if needs else f"/{command.name}",
        label,
        command.description,
        keys,
        runs=not needs,
        goes_on=needs,
    )


def _path_suggestion(before: str, path: str) -> Suggestion:
    is_folder = path.endswith("/")
    named = mention_of(path)
    draft = named.removesuffix('"') if is_folder else f"{named} "
    return Suggestion(f"{before}{draft}", f"@{path}", "", goes_on=is_folder)


def _value_suggestion(command: Command, value: Value) -> Suggestion:
    return Suggestion(
        f"/{command.name} {value.name}{' ' if value.goes_on else ''}",
        value.name,
        value.description,
        runs=not value.goes_on,
        goes_on=value.goes_on,
        theme=value.name if command.takes == "theme" else "",
    )
