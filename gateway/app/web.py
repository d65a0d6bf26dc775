"""Command line and environment of the chats of `parley web`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from gateway.app.load import LoadedConfig
from gateway.base.paths import first_screen
from gateway.config.powers import BUILT_IN, powers_of
from gateway.config.toml import read_toml
from teams.environment import USUAL_VARIABLES

_OF_SCREENS = {"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "TERM", "COLORTERM", "SHELL"}
"""Variables of the terminal and the desktop where it is started."""
_CACHES = {"TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "PLAYWRIGHT_BROWSERS_PATH"}
"""Folders where libraries find what they would fetch otherwise."""
_FAMILIES = ("PARLEY_", "XDG_", "DOCKER_")
_OF_CLOUDS = ("AWS_", "AZURE_")
"""Beginnings of names that a library reads beside the one in the config."""


def command_of(named: Path | None) -> str:
    """The command line of a chat: always the same for a config."""
    words = [sys.executable, "-P", "-m", "gateway.cli", "chat", "--in-browser"]
    if named is not None:
        words += ["--config", str(named.absolute())]
    return f"exec {shlex.join(words)}"


def take_out_variables(loaded: LoadedConfig) -> None:
    """Take out of this process's environment what the chat does not need."""
    config = loaded.config
    written = read_toml(loaded.text)
    named = {power.what for power in powers_of(written) if power.kind == "variable"}
    named |= {*BUILT_IN, *_CACHES, *config.web.variables, *USUAL_VARIABLES} - _OF_SCREENS
    begun = [*_FAMILIES, *(each for each in _OF_CLOUDS if any(map(_begins(each), named)))]
    begun += ["OTEL_"] if config.tracing else []
    begun += ["PG"] if first_screen(loaded.source).in_database else []
    for name in [*os.environ]:
        if name not in named and not name.startswith(tuple(begun)):
            del os.environ[name]


def _begins(word: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(word)
