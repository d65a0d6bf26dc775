"""Custom ids of buttons, menus and forms, and a command's name.

They are `g:` and the gateway's id of a button, have at most 100 characters, and are the same in
every process.
"""

from __future__ import annotations

from gateway.interactions import Button

LONGEST = 100
FORK = "Fork from here"
"""The entry in a message's menu that forks its thread."""


def custom_id(button: Button) -> str:
    """The id of a button, or of a menu by its first."""
    return f"g:{button.id}"


def parse_button(custom_id: str) -> Button | None:
    """The inverse of `custom_id`, or None."""
    prefix, _, rest = custom_id.partition(":")
    if rest.startswith("menu:"):  # so they were called on cards that are still there
        rest = f"choice:{rest.removeprefix('menu:')}"
    return Button.parse(rest) if prefix == "g" else None
