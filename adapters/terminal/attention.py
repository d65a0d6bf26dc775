"""Notices for a person whose window is not focused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gateway.render.sanitize import one_line, shorten

if TYPE_CHECKING:
    from gateway.picture import Picture

LONG_TURN = 10.0
"""Seconds after which the end of a turn is worth a notice."""
MOST = 120
"""Characters of a notice."""
BELL = "\a"
WITH_777 = ("ghostty", "wezterm", "kitty", "foot", "rxvt-unicode")
"""Terminals that show `OSC 777;notify`, by a part of their names."""
MARKS = {
    "KITTY_WINDOW_ID": "kitty",
    "GHOSTTY_RESOURCES_DIR": "ghostty",
    "WEZTERM_PANE": "wezterm",
    "ITERM_SESSION_ID": "iterm",
}
"""Variables that name a terminal also in a multiplexer."""


class Attention:
    """Chooses notices for a person who looks elsewhere: one for each wait."""

    def __init__(self) -> None:
        self._model: Picture | None = None
        self._asked: set[str] = set()
        self._ended = 0.0

    def notice(self, model: Picture, *, now: float, loading: bool) -> str:
        """A sentence for a new wait since the last look, or ""."""
        known = self._model is model and not loading
        new = [item for key, item in model.requests.items() if key not in self._asked]
        ended = model.activity == "idle" and model.turn.began_at != self._ended
        self._model, self._asked = model, set(model.requests)
        if model.activity == "idle":
            self._ended = model.turn.began_at
        if not known:
            return ""
        if new:
            item = new[0]
            what = f"to run {item.tool}" if item.kind == "approval" else f"you: {item.prompt}"
            return f"{item.agent.name} asks {what}"
        title = f": {model.title}" if model.title else ""
        if ended and model.turn.early:
            return f"The team did not finish{title}"
        if ended and now - model.turn.began_at >= LONG_TURN:
            return f"The team has finished{title}"
        return ""


def sequence(text: str, environ: Mapping[str, str]) -> str:
    """A terminal's sequence: a notice if it shows one, else a bell.

    tmux shows a bell itself. What is wrapped for the terminal behind it gets there if
    `allow-passthrough` is on, and is dropped otherwise.
    """
    names = [environ.get(name, "") for name in ("TERM_PROGRAM", "LC_TERMINAL", "TERM")]
    names += [name for variable, name in MARKS.items() if environ.get(variable)]
    terminal = " ".join(names).lower()
    said = _plain(text)
    if "iterm" in terminal:
        notice = f"\x1b]9;Parley: {said}\a"
    elif any(name in terminal for name in WITH_777):
        notice = f"\x1b]777;notify;Parley;{said}\a"
    else:
        return BELL
    if environ.get("TMUX"):
        doubled = notice.replace("\x1b", "\x1b\x1b")
        return f"{BELL}\x1bPtmux;{doubled}\x1b\\"
    return BELL if environ.get("STY") else notice


def _plain(text: str) -> str:
    """A text as one short line that can't end the sequence."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return shorten(one_line(printable.replace(";", ",")), MOST)
