"""The bars: head, queued messages, new items below, and status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from adapters.terminal.excerpt import ends_of
from adapters.terminal.text import SENDING, format_cost, format_duration, format_tokens
from gateway.base.terminal_keys import Keys
from gateway.render.sanitize import one_line, sanitize, shorten

if TYPE_CHECKING:
    from gateway.agent_state import AgentState, Used
    from gateway.events import ContextFill
    from gateway.picture import Picture

MUTED = "$muted"
SHOWN_QUEUED = 3
LONGEST_MODEL = 20
MOST_TEAM = 0.5
"""Share of the head for a team in its own order; in a larger one those at work come first."""
LOADING = "Loading the thread…"
DEMO_MODEL = "demo"
DEMO = (
    "\n\nThis is the demo team, on a built-in model of simple rules. "
    "Click an example, or ask something else.\n\n"
)
EXAMPLES = ("what is 12*7+1?", "what time is it in Tokyo and in Paris?", "read README.md")
NEXT = (
    "   (it asks you first)\n\nWith OPENAI_API_KEY set, the same team runs on a real model; "
    "`parley init` writes a config for your own team."
)


class Welcome(Static):
    """Instructions in an empty thread."""

    @dataclass
    class ExampleChosen(Message):
        """An example was clicked."""

        text: str

    def __init__(self, keys: Keys) -> None:
        hints = (keys.hint("help", "keys"), keys.hint("sessions", "your threads"))
        told = ", ".join(("/ shows commands", *filter(None, hints)))
        self._text = f"Write to the team below. {told}."
        super().__init__(Content(self._text), markup=False, id="welcome")

    def show(self, models: Sequence[str], *, loading: bool) -> None:
        """Draw it for these models, or while a thread is read."""
        if loading:
            self.update(Content(LOADING))
        else:
            demo = _demo() if list(models) == [DEMO_MODEL] else ""
            self.update(Content.assemble(self._text, demo))

    def action_choose(self, number: int) -> None:
        """Tell which example was clicked."""
        self.post_message(self.ExampleChosen(EXAMPLES[number]))


class UnsentMessages(Static):
    """Messages that wait for the gateway, in an empty transcript's place."""

    def __init__(self, author: str) -> None:
        super().__init__(markup=False)
        self.display = False
        self._author = sanitize(author)
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        """Show a message at once."""
        self._texts.append(text)
        self._draw()

    def discard(self, text: str) -> bool:
        """Forget a sendable message; False if it was taken back."""
        found = text in self._texts
        if found:
            self._texts.remove(text)
        return found

    def take_back(self) -> str:
        """Take the newest one back; empty if there is none."""
        text = self._texts.pop() if self._texts else ""
        self._draw()
        return text

    def _draw(self) -> None:
        author = Content.assemble((self._author, "bold $primary"), (SENDING, MUTED), "\n")
        self.display = bool(self._texts)
        self.update(
            Content("\n\n").join(author + str(ends_of(sanitize(text))) for text in self._texts)
        )


class HeadBar(Horizontal):
    """The thread's title, its agents, and how many requests wait."""

    def __init__(self) -> None:
        super().__init__()
        self._title = Static("Parley", markup=False, id="title")
        self._team = Static(markup=False, id="team")
        self.team_name = ""
        """The team's name, if known."""

    def compose(self) -> ComposeResult:
        """Title on the left, the team on the right."""
        yield self._title
        yield self._team

    def show(self, model: Picture, team: Iterable[str], *, only: str, place: str) -> None:
        """Draw the agents who spoke, or the team; `only` is the filter.

        `place` is where else the thread is shown.
        """
        filtered = (f"  only {only}, /only shows all" if only else "", "$warning")
        where = (f"{place}  " if place else "", "$primary")
        self._title.update(Content.assemble(where, model.title or "New thread", filtered))
        parts: list[Content] = []
        if model.requests:
            parts.append(Content.styled(f"{len(model.requests)} waiting", "bold $warning"))
        if self.team_name:
            parts.append(Content.styled(f"{self.team_name}:", MUTED))
        states = [(name, model.agents.get(name)) for name in team]
        busy_first = sorted(states, key=lambda each: not (each[1] and each[1].doing))
        wanted = [_agent_label(name, state) for name, state in states]
        if sum(label.cell_length + 2 for label in wanted) > self.size.width * MOST_TEAM:
            wanted = [_agent_label(name, state) for name, state in busy_first]
        self._team.update(Content("  ").join([*parts, *wanted]))


class QueueBar(Static):
    """Messages that wait or are sent, and what holds the turn."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False

    def show(self, queued: Sequence[str], outbox: Sequence[str], *, held: str = "") -> None:
        """Draw them, newest last."""
        lines = [_waiting_line("queued", text) for text in queued[-SHOWN_QUEUED:]]
        if len(queued) > SHOWN_QUEUED:
            more = f"… {len(queued) - SHOWN_QUEUED} more queued"
            lines.insert(0, Content.styled(more, MUTED))
        lines += [_waiting_line("sending", text) for text in outbox]
        if held:
            lines.append(Content.styled(held, MUTED))
        self.display = bool(lines)
        self.update(Content("\n").join(lines))


class NewItemsBar(Static):
    """A hint at new items below; a click scrolls there."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False

    def show(self, unseen: int, *, following: bool) -> None:
        """Draw the line, or hide it at the end of the transcript."""
        self.display = not following
        self.update(f"{unseen} new, End to follow" if unseen else "End to follow")


class StatusBar(Horizontal):
    """The team's state, key hints and token usage."""

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        self._keys = keys
        self._state = Static(markup=False, id="state")
        self._usage = Static(markup=False, id="usage")
        self._state_text: tuple[tuple[str, str], Sequence[tuple[str, str]]] = (("", ""), ())
        self._usage_texts: Sequence[str] = ("",)
        self._mode = ""
        """From the longest to the shortest."""

    def compose(self) -> ComposeResult:
        """State on the left, tokens on the right."""
        yield self._state
        yield self._usage

    def show_connecting(self) -> None:
        """Say that there is no gateway yet."""
        self._show(("connecting…", MUTED))

    def show_loading(self) -> None:
        """Say that the thread is still being read."""
        self._show(("loading…", MUTED))

    def show_trouble(self, trouble: str) -> None:
        """Say why no events come."""
        self._show((trouble, "$error"))

    def show_ready(self, *, waits: bool, cut: bool = False) -> None:
        """Say that the team rests or waits; `cut`: an answer was."""
        if waits:
            self._show(("waits for you", "$warning"), self._hint("answer", "answer"))
        else:
            first = self._hint("retry", "continue") if cut else self._hint("help", "help")
            new_line = ("ctrl+j new line", MUTED)
            self._show(("ready", ""), first, self._hint("sessions", "threads"), new_line)

    def show_failed(self) -> None:
        """Say that the last turn failed."""
        hints = self._hint("retry", "try again"), self._hint("help", "help")
        self._show(("failed", "$error"), *hints)

    def show_working(self, model: Picture, now: float, *, stopping: bool, armed: bool) -> None:
        """Say that the team works; `armed`: one more esc stops it."""
        worked = format_duration(max(0.0, now - model.turn.began_at))
        hint = "stopping…" if stopping else "esc again to stop" if armed else "esc esc stop"
        self._show(
            (f"working {worked}  {model.silence}".rstrip(), "$primary"),
            (hint, "$warning" if armed and not stopping else MUTED),
        )

    def show_usage(
        self,
        models: Sequence[str],
        used: Used,
        fill: Sequence[ContextFill] = (),
        mode: str = "ask",
    ) -> None:
        """Draw the right part: mode, model, usage and the fullest context."""
        parts = [shorten(models[0], LONGEST_MODEL)] if models else []
        if len(models) > 1:
            parts.append(f"+{len(models) - 1}")
        if used.tokens:
            parts.append(f" in {format_tokens(used.read)}  out {format_tokens(used.written)}")
        context = max(fill, key=lambda each: each.used / each.window, default=None)
        last = [f" ctx {context.percent}"] if context else []
        cost = [f" {format_cost(used)}"] if used.tokens else []
        self._mode = "" if mode == "ask" else f"{mode}  "
        self._usage_texts = [
            self._mode + " ".join(texts) for texts in (parts + cost + last, parts + last)
        ]
        self._draw()

    def on_resize(self) -> None:
        """As many hints as there is room for."""
        self._draw()

    def _hint(self, command: str, does: str) -> tuple[str, str]:
        return self._keys.hint(command, does), MUTED

    def _show(self, state: tuple[str, str], *hints: tuple[str, str]) -> None:
        self._state_text = state, [hint for hint in hints if hint[0]]
        self._draw()

    def usage(self, width: int) -> str:
        """The usage, without its cost where there is no room for it."""
        room = width - cell_len(self._state_text[0][0]) - 1
        fitting = (text for text in self._usage_texts if cell_len(text) <= room)
        return next(fitting, self._usage_texts[-1])

    def line(self, width: int) -> Content:
        """The state with as many whole hints as fit beside the usage."""
        state, hints = self._state_text
        parts, gap = [state], "   "
        room = width - cell_len(state[0]) - cell_len(self.usage(width)) - len(gap)
        for hint, colour in hints:
            room -= len(gap) + len(hint)
            if room < 0:
                break
            parts += [gap, (hint, colour)]
            gap = "  "
        return Content.assemble(*parts)

    def _draw(self) -> None:
        used = self.usage(self.size.width).removeprefix(self._mode)
        self._usage.update(Content.assemble((self._mode, "$warning"), (used, MUTED)))
        self._state.update(self.line(self.size.width), layout=False)


def _demo() -> Content:
    """The demo team's introduction, with examples to click."""
    examples = [
        Content.assemble("  ", Content.styled(text, f"$primary @click=choose({number})"))
        for number, text in enumerate(EXAMPLES)
    ]
    return Content.assemble(DEMO, Content("\n").join(examples), NEXT)


def _agent_label(agent: str, state: AgentState | None) -> Content:
    if state is None:
        return Content.styled(agent, MUTED)
    colour = f"$agent-{state.agent.colour}"
    name = (state.agent.name, f"bold {colour}" if state.doing else MUTED)
    match state.doing:
        case "":
            return Content.assemble(name)
        case "working":
            return Content.assemble(name, (" ●", colour))
        case "asks you":
            return Content.assemble(name, (" ?", "bold $warning"))
        case tool:
            return Content.assemble(name, (f" {tool}", MUTED))


def _waiting_line(label: str, text: str) -> Content:
    return Content.assemble((f"{label}: ", MUTED), shorten(one_line(text), 200))
