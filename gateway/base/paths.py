"""Paths, and settings that the first screen needs; imports nothing heavy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def find_config() -> Path | None:
    """The config to use: $PARLEY_CONFIG, ./config.toml or the user's; or None."""
    if named := os.environ.get("PARLEY_CONFIG"):
        return Path(named)
    places = (Path("config.toml"), user_config())
    return next((place for place in places if place.is_file()), None)


def user_config() -> Path:
    """Where the user's own config file would be."""
    return _base("XDG_CONFIG_HOME", ".config") / "parley" / "config.toml"


def store_folder() -> Path:
    """Where threads are kept unless the config says otherwise."""
    return _base("XDG_DATA_HOME", ".local/share") / "parley"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstScreen:
    """Settings of [terminal] and [store] needed before the first screen."""

    store: Path
    theme: str = ""
    mouse: bool = True


def first_screen(source: Path | None) -> FirstScreen:
    """The config's settings as far as they can be read.

    Its mistakes are reported when it is loaded.
    """
    data = _read(source) if source else {}
    folder = source.absolute().parent if source else Path.cwd()
    stored, theme, mouse = (
        _setting(data, *keys)
        for keys in (("store", "folder"), ("terminal", "theme"), ("terminal", "mouse"))
    )
    plain = isinstance(stored, str) and "${" not in stored
    return FirstScreen(
        store=folder / Path(stored).expanduser() if plain else store_folder(),
        theme=theme if isinstance(theme, str) else "",
        mouse=mouse is not False,
    )


def _read(source: Path) -> dict[str, Any]:
    import tomllib  # a chat without a config starts without it

    try:
        return tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _setting(data: dict[str, Any], table: str, key: str) -> Any:
    inner = data.get(table)
    return inner.get(key) if isinstance(inner, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _base(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback)
