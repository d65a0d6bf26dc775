"""Bars for words to find: in the thread, or in earlier prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

MUTED = "$muted"


class SearchBar(Horizontal, can_focus=True):
    """A label, the words, and what they lead to.

    Focused itself, it takes keys for steps.
    """

    LABEL = ""
    HINT = ""
    """The keys, as long as there are no words."""
    STEPS: ClassVar[dict[str, int]] = {"up": -1, "down": 1}
    """Steps of keys while the words are typed."""

    @dataclass
    class Typed(Message):
        """The words have changed."""

        bar: SearchBar
        words: str

    @dataclass
    class Stepped(Message):
        """The person goes on, or back."""

        bar: SearchBar
        step: int

    @dataclass
    class Scroll(Message):
        """Scroll the transcript by pages."""

        pages: int

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self._words = Input(compact=True, placeholder=self.HINT)
        self._told = Static(markup=False, classes="told")

    @property
    def words(self) -> str:
        """The words as they are typed."""
        return self._words.value

    def open(self, words: str = "") -> None:
        """Take words; those that are there already can be typed over.

        Its widgets are made at the first time: most chats search nothing.
        """
        if not self.children:
            label = Static(self.LABEL, markup=False, classes="label")
            self.mount(label, self._words, self._told)
        if words:
            self._words.value = words
        self.display = True
        self._words.focus()
        self._words.select_all()

    def close(self) -> None:
        """Vanish; the words are kept for the next time."""
        self.display = False

    def tell(self, text: str) -> None:
        """Say what the words lead to."""
        self._told.update(Content.styled(text, MUTED))

    def on_key(self, event: events.Key) -> None:
        """Steps and pages, before the keys reach anybody else."""
        if event.key in ("pageup", "pagedown"):
            self.post_message(self.Scroll(-1 if event.key == "pageup" else 1))
        elif (step := self._step(event.key)) is not None:
            self.post_message(self.Stepped(self, step))
        else:
            return
        event.stop()
        event.prevent_default()

    def _step(self, key: str) -> int | None:
        return self.STEPS.get(key)

    @on(Input.Changed)
    def _on_words(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Typed(self, event.value))


class FindBar(SearchBar):
    """Words to find in the thread.

    Enter goes on, then n and N walk.
    """

    LABEL = "find "
    HINT = "enter next, then n and N; esc closes"
    STEPS: ClassVar[dict[str, int]] = {"up": -1, "down": 1, "shift+enter": -1}
    WALKING: ClassVar[dict[str, int]] = {"n": 1, "N": -1, "enter": 1}
    BINDINGS: ClassVar[list[BindingType]] = [("slash", "edit", "Other words")]

    def action_edit(self) -> None:
        """Take other words."""
        self.open()

    def _step(self, key: str) -> int | None:
        step = super()._step(key)
        return self.WALKING.get(key) if step is None and self.has_focus else step

    @on(Input.Submitted)
    def _on_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value:
            self.focus()
            self.post_message(self.Stepped(self, 1))


class PromptBar(SearchBar):
    """Words of an earlier prompt.

    Up goes to an older one, Enter takes it.
    """

    LABEL = "history "
    HINT = "up older, enter takes it, esc closes"
    STEPS: ClassVar[dict[str, int]] = {"up": 1, "down": -1}

    class Taken(Message):
        """The prompt that was found becomes the draft."""

    @on(Input.Submitted)
    def _on_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Taken())
