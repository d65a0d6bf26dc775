"""`[limits]`, `[store]`, `[terminal]`, `[logging]`: bounds and places."""

from __future__ import annotations

import base64
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from gateway.config.routes import Names
from gateway.config.table import ConfigPath, Section

KEY_BYTES = 32


class LimitsConfig(Section):
    """How much may happen at once."""

    parallel_turns: int = Field(default=16, ge=1)
    """How many threads may have a turn running at the same time."""

    person_parallel_turns: int = Field(default=3, ge=1)
    """How many of them may be one person's; operators have no limits of their own."""

    person_turns: int = Field(default=30, ge=1)
    """How many turns of one person may begin within ten minutes; more wait."""

    team_parallel_turns: int | None = Field(default=None, ge=1)
    """How many of them may be of threads with one team; any number if not given."""

    workspace_parallel_turns: int | None = Field(default=None, ge=1)
    """How many of them may be of one workspace or guild; any number if not given."""

    waiting_messages: int = Field(default=20, ge=1)
    """How many messages may wait in a thread; what comes on top is refused, and its author told."""

    collect_seconds: float = Field(default=3.0, ge=0)
    """How long nobody may have written in a thread with the mode "collect" before its turn begins.
    """

    shutdown_seconds: float = Field(default=8.0, ge=0)
    """How long turns may take to reach a safe point when `parley serve` ends; those that do not go
    on from their last one at the next start.
    """


class Attachments(Section):
    """Which files are taken with messages; a message with another one is refused, and says why."""

    file_mb: float = Field(default=20.0, ge=0)
    """Megabytes (millions of bytes) that one file may have; also one that agents made and people
    are shown.
    """

    message_mb: float = Field(default=50.0, ge=0)
    """Megabytes that the files of one message may have together."""

    thread_mb: float = Field(default=500.0, ge=0)
    """Megabytes that all files of one thread may have together."""

    types: Names = Field(default_factory=lambda: ["*"])
    """Media types that are taken, such as "image/*" or "text/plain"."""

    image_megapixels: float = Field(default=50.0, gt=0)
    """Megapixels that an image may have; models are shown PNG, JPEG, GIF and WebP."""


class StoreConfig(Section):
    """Where threads are kept."""

    folder: ConfigPath | None = None
    """The folder of the database, its lock and socket; ~/.local/share/parley if not given."""

    retention_days: int = Field(default=90, ge=0)
    """Days for which a thread is kept that nothing happens in, then it is deleted with everything
    it has; 0 keeps threads for ever.
    """

    keys: SecretStr | None = None
    """Keys that the platforms' tokens are encrypted with, as `parley secrets key` prints them; the
    first one encrypts. Better in a variable or a file: keys_env = "NAME", keys_file = "path".
    """

    @field_validator("keys")
    @classmethod
    def _are_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        for entry in keys.get_secret_value().replace(",", " ").split() if keys else ():
            name, _, key = entry.partition(":")
            try:
                good = bool(name) and len(base64.urlsafe_b64decode(key)) == KEY_BYTES
            except ValueError:
                good = False
            if not good:
                raise ValueError("expected keys as `parley secrets key` prints them, ID:KEY")
        return keys


class TerminalConfig(Section):
    """How `parley chat` looks and feels."""

    theme: str = ""
    """Name of its colours, such as "parley-light"; chosen by the terminal if empty."""

    mouse: bool = True
    """Take the mouse; without, the terminal's own selection works."""


class HealthConfig(Section):
    """Where `parley serve` tells how it is doing: /healthz, /readyz and /metrics."""

    port: int = Field(default=8642, ge=0, le=65535)
    """The port; 0 for none."""

    host: str = "127.0.0.1"
    """The address; "0.0.0.0" for everybody who reaches this machine, as a container needs it."""


class LoggingConfig(Section):
    """What is written down about Parley's own doings, at no level what people or models say, but
    where an error's own text quotes it.
    """

    level: Literal["debug", "info", "warning", "error"] = "info"
    """How much. "debug" is for Parley's own doings alone, not for those of the libraries it uses.
    """

    file: ConfigPath | None = None
    """Where. If not given, parley.log beside the store; `parley serve` writes to standard error."""
