"""The palette above a draft: slash commands, and agents after @."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static

from adapters.terminal.commands import Command, Commands

ROWS = 7
NAME = 18
_MENTION = re.compile(r"(?:^|(?<=\s))@([\w-]*)$")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested draft; choosing a command with Enter runs it."""

    draft: str
    label: str
    description: str
    keys: str = ""
    runs: bool = False

    def is_in(self, draft: str) -> bool:
        """True if the draft is this already."""
        return self.draft.strip() == draft.strip()


class Palette(Static):
    """Shows suggestions; the composer keeps the focus and moves the choice."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False
        self.commands = Commands()
        self.agents: Mapping[str, str] = {}
        """The team's agents, each with its model."""
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
        self.display = bool(offers)

    def close(self, draft: str) -> None:
        """Hide until the draft is another one."""
        self._closed_for = draft
        self.suggest(draft)

    def move(self, step: int) -> None:
        """Mark the offer so many rows further, around the ends."""
        self._at = (self._at + step) % len(self._offers)
        self._draw()

    def on_resize(self) -> None:
        """Redraw: the marked row wraps at the width."""
        self._draw()

    def _for(self, draft: str) -> list[Suggestion]:
        if mention := _MENTION.search(draft):
            typed, before = mention[1].lower(), draft[: mention.start()]
            named = [name for name in self.agents if name.lower().startswith(typed)]
            return [
                Suggestion(f"{before}@{name} ", f"@{name}", self.agents[name]) for name in named
            ]
        return [_command_suggestion(command) for command in self.commands.matching(draft)]

    def _draw(self) -> None:
        first = max(0, min(self._at - ROWS // 2, len(self._offers) - ROWS))
        shown = self._offers[first : first + ROWS]
        lines = [self._line(first + index, offer) for index, offer in enumerate(shown)]
        if below := len(self._offers) - first - len(shown):
            lines.append(Content.styled(f"  ↓ {below} more", "$muted"))
        elif first:
            lines.append(Content.styled(f"  ↑ {first} more", "$muted"))
        self.update(Content("\n").join(lines))

    def _line(self, index: int, offer: Suggestion) -> Content:
        here = index == self._at
        keys = f"  {offer.keys}" if offer.keys else ""
        does = self._wrapped(offer.description) if here else offer.description
        return Content.assemble(
            ("▸ " if here else "  ", "$primary"),
            (f"{offer.label:<{NAME - 1}} ", "bold $primary" if here else "bold"),
            (does, "" if here else "$muted"),
            (keys, "$muted"),
        )

    def _wrapped(self, text: str) -> str:
        margin = NAME + 2
        room = self.content_size.width - margin
        return f"\n{' ' * margin}".join(textwrap.wrap(text, room)) if room > NAME else text


def _command_suggestion(command: Command) -> Suggestion:
    label = f"/{command.name} {command.argument}".strip()
    return Suggestion(f"/{command.name}", label, command.description, command.keys, runs=True)
