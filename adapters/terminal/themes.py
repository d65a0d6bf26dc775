"""Parley's two themes, and colours that every theme has."""

from textual.theme import Theme

DARK_AGENTS = (
    "#7aa2f7",
    "#9ece6a",
    "#e0af68",
    "#bb9af7",
    "#7dcfff",
    "#ff9e64",
    "#73daca",
    "#f7a8c4",
)
LIGHT_AGENTS = (
    "#2e5cc5",
    "#3d7a1f",
    "#8a5a00",
    "#7440b8",
    "#0b7285",
    "#b34700",
    "#0f766e",
    "#b03060",
)


def theme_variables(*, dark: bool) -> dict[str, str]:
    """The CSS variables `agent-0` to `agent-7`, and `muted`."""
    colours = DARK_AGENTS if dark else LIGHT_AGENTS
    named = {f"agent-{number}": colour for number, colour in enumerate(colours)}
    return named | {"muted": "#8790a0" if dark else "#667085"}


PARLEY_DARK = Theme(
    name="parley-dark",
    primary="#7aa2f7",
    secondary="#9aa5ce",
    accent="#bb9af7",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#cdd3de",
    background="#14171c",
    surface="#1b1f26",
    panel="#232933",
    dark=True,
)
PARLEY_LIGHT = Theme(
    name="parley-light",
    primary="#2e5cc5",
    secondary="#56607a",
    accent="#7440b8",
    warning="#8a5a00",
    error="#b3261e",
    success="#3d7a1f",
    foreground="#23272f",
    background="#fafafa",
    surface="#f0f1f4",
    panel="#e4e6eb",
    dark=False,
)
