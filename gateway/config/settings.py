"""`[limits]`, `[store]`, `[terminal]`, `[logging]`: bounds and places."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from gateway.config.section import ConfigPath, Section


class Limits(Section):
    """How much may happen at once."""

    parallel_turns: int = Field(default=16, ge=1)
    """How many threads may have a turn running at the same time."""

    person_parallel_turns: int = Field(default=3, ge=1)
    """How many of them may be one person's; operators have no limits of their own."""

    person_turns: int = Field(default=30, ge=1)
    """How many turns of one person may begin within ten minutes; more wait."""


class StoreConfig(Section):
    """Where threads are kept."""

    folder: ConfigPath | None = None
    """The folder of the database, its lock and socket; ~/.local/share/parley if not given."""

    keys: SecretStr | None = None
    """Keys that the platforms' tokens are encrypted with, as `parley secrets key` prints them; the
    first one encrypts. Better in a variable or a file: keys_env = "NAME", keys_file = "path".
    """


class TerminalConfig(Section):
    """How `parley chat` looks and feels."""

    theme: str = ""
    """Name of its colours, such as "parley-light"; chosen by the terminal if empty."""

    mouse: bool = True
    """Take the mouse; without, the terminal's own selection works."""


class LoggingConfig(Section):
    """What is written down about Parley's own doings; never what people or models say."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """How much."""

    file: ConfigPath | None = None
    """Where; parley.log beside the store if not given."""
