"""Keys of the terminal: each command's, and those that a person chose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

DEFAULT_KEYS: Mapping[str, tuple[str, ...]] = {
    "answer": ("ctrl+t",),
    "retry": ("f5",),
    "sessions": ("ctrl+s",),
    "mode": ("f6",),
    "implement": ("f7",),
    "previous": ("ctrl+up",),
    "next": ("ctrl+down",),
    "follow": ("ctrl+end",),
    "find": ("ctrl+f",),
    "prompts": ("ctrl+r",),
    "copy": ("ctrl+o",),
    "code": ("f8",),
    "editor": ("ctrl+g",),
    "mouse": ("f9",),
    "help": ("f1",),
    "commands": ("ctrl+p",),
    "quit": ("ctrl+c",),
}
"""Keys of commands, by the names that they have in the palette, in the order of the help."""
OTHERS = (
    *("new", "open", "rename", "fork", "rewind", "undo", "delete", "stop", "only", "attach"),
    *("detach", "files", "theme", "export", "status", "continue", "again", "aside", "queue"),
    *("usage", "compact", "model", "grants", "revoke", "memory", "mute", "unmute"),
)
"""Commands of the palette without a key; a test compares them with those that it has."""
NEEDED = {"quit": "quit", "answer": "decide an approval"}
"""Commands that need a key, each with what nobody could do otherwise."""
FIXED = {
    "ctrl+d": "deletes, and quits in an empty draft",
    "ctrl+j": "begins a new line",
    "ctrl+q": "quits",
    "ctrl+v": "pastes",
    "ctrl+z": "leads back to the shell",
}
"""Keys that no command can have, and what they do."""
NO_KEY = "none"
"""Name of a key that no terminal sends."""

# ctrl+h, ctrl+i, ctrl+m and ctrl+[ are other keys for a terminal: backspace, tab, enter, esc.
_KEY = re.compile(
    r"f([1-9]|1[0-9]|2[0-4])|ctrl\+[a-gj-ln-z]|alt\+[a-z0-9]"
    r"|(ctrl|alt|ctrl\+shift)\+(up|down|left|right|home|end|pageup|pagedown)"
)
_EXPECTED = "expected F1 to F24, or ctrl+ or alt+ with a letter or an arrow, such as 'ctrl+s'"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys in use: usual ones, and those that a person `chose`."""

    chose: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def of(self, command: str) -> tuple[str, ...]:
        """The keys of a command."""
        return self.chose.get(command, DEFAULT_KEYS.get(command, ()))

    def label(self, command: str) -> str:
        """The command's first key as people write it; "" without one."""
        return next(iter(self.labels(command)), "")

    def labels(self, command: str) -> list[str]:
        """All keys of a command, as people write them."""
        return [key.upper() if "+" not in key else key for key in self.of(command)]

    def hint(self, command: str, does: str) -> str:
        """The key with what it does; "" without a key."""
        return f"{label} {does}" if (label := self.label(command)) else ""

    @property
    def keymap(self) -> dict[str, str]:
        """The chosen keys, as Textual reads them."""
        return {name: ",".join(keys) or NO_KEY for name, keys in self.chose.items()}


USUAL_KEYS = Keys()


def chosen_keys(table: object) -> Keys:
    """Keys of `[terminal.keys]`; the usual ones if it has a mistake."""
    if not isinstance(table, dict):
        return USUAL_KEYS
    chose = {str(name): keys_in(value) for name, value in table.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return USUAL_KEYS if any(key_mistakes(chose)) else Keys(chose)


def keys_in(value: object) -> tuple[str, ...]:
    """The keys that a setting names, in small letters."""
    keys = value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]
    return tuple(str(key).lower() for key in keys if key != "")  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def key_mistakes(chose: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, str]]:
    """Commands whose keys can't be used, each with why."""
    names = [*DEFAULT_KEYS, *OTHERS]
    taken: dict[str, str] = {}
    for name in names:
        if name not in chose:
            taken |= dict.fromkeys(DEFAULT_KEYS.get(name, ()), name)
    for name, keys in chose.items():
        if name not in names:
            from gateway.base.suggest import did_you_mean  # not at the start

            hint = did_you_mean(name, names) or "/ in the terminal lists them"
            yield name, f"found {name!r}, expected a command of the terminal; {hint}"
            continue
        if name in NEEDED and not [*keys]:
            yield name, f"found no key, expected one: without it you can't {NEEDED[name]}"
        for key in keys:
            if key in FIXED:
                yield name, f"found {key!r}, expected another key: this one {FIXED[key]}"
            elif not _KEY.fullmatch(key):
                yield name, f"found {key!r}, {_EXPECTED}"
            elif taken.setdefault(key, name) != name:
                other = f"it is that of {taken[key]}, to which keys can give another one"
                yield name, f"found {key!r}, expected another key: {other}"
