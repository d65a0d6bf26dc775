"""`[limits]`, `[store]`, `[backup]`, `[terminal]`, `[network]`, `[logging]`: bounds and places."""

from __future__ import annotations

import base64
import re
from ipaddress import ip_network
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

from gateway.base.database_url import database_place
from gateway.base.suggest import did_you_mean
from gateway.base.terminal_keys import key_mistakes, keys_in
from gateway.config.media_types import check_media_type
from gateway.config.routes import Names, Reasoning, listed
from gateway.config.table import host_name
from teams.kinds import ConfigPath, Section, SettingMistake, setting_errors

KEY_BYTES = 32

HOST_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


THEMES = (
    *("ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light", "catppuccin-frappe"),
    *("catppuccin-latte", "catppuccin-macchiato", "catppuccin-mocha", "dracula", "flexoki"),
    *("gruvbox", "monokai", "nord", "parley-dark", "parley-light", "rose-pine", "rose-pine-dawn"),
    *("rose-pine-moon", "solarized-dark", "solarized-light", "textual-dark", "textual-light"),
    "tokyo-night",
)
"""The terminal's themes; a test compares them with those that it has."""


def _check_networks(networks: list[str]) -> list[str]:
    for each in networks:
        try:
            ip_network(each)
        except ValueError:
            raise ValueError(
                f"found {each!r}, expected an IP address or a network, such as '10.0.0.0/8'"
            ) from None
    return networks


Networks = Annotated[Names, AfterValidator(_check_networks)]

MediaType = Annotated[str, AfterValidator(check_media_type)]


def _theme(name: str) -> str:
    if name and name not in THEMES:
        hint = did_you_mean(name, THEMES) or f"there are {', '.join(THEMES)}"
        raise ValueError(f"found {name!r}, expected a theme of the terminal; {hint}")
    return name


class LimitsConfig(Section):
    """Limits on work at the same time."""

    parallel_turns: int = Field(default=16, ge=1)
    """Turns that may run at the same time."""

    person_parallel_turns: int = Field(default=3, ge=1)
    """Turns of one person that may run at the same time.

    Operators have no limits of their own.
    """

    person_turns: int = Field(default=30, ge=1)
    """Turns of one person that may begin within ten minutes; more wait."""

    team_parallel_turns: int | None = Field(default=None, ge=1)
    """Turns of one team at the same time; any number if not given."""

    workspace_parallel_turns: int | None = Field(default=None, ge=1)
    """Turns of one workspace or guild; any number if not given."""

    live_teams_mb: float = Field(default=256.0, ge=0)
    """Megabytes of saved teams that stay in memory between turns.

    Teams used least recently are dropped, and loaded again for their next turn.
    """

    waiting_messages: int = Field(default=20, ge=1)
    """Messages that may wait in a thread.

    Further ones are refused, and their authors are told.
    """

    collect_seconds: float = Field(default=3.0, ge=0)
    """Seconds without a message before a turn with mode "collect" begins."""

    shutdown_seconds: float = Field(default=8.0, ge=0)
    """Seconds for turns to reach a safe point when `parley serve` ends.

    Slower turns go on from their last safe point at the next start.
    """


class Attachments(Section):
    """Files that are taken with messages.

    A message with any other file is refused with a reason.
    """

    file_mb: float = Field(default=20.0, gt=0)
    """Megabytes (millions of bytes) of one file, also of agents' files."""

    message_mb: float = Field(default=50.0, gt=0)
    """Megabytes of all files of one message."""

    thread_mb: float = Field(default=500.0, gt=0)
    """Megabytes of all files of one thread."""

    work_mb: float = Field(default=1000.0, gt=0)
    """Megabytes of a thread's work folder; code that writes more there is stopped."""

    types: Annotated[list[MediaType], BeforeValidator(listed)] = Field(
        default_factory=lambda: ["*"]
    )
    """Media types that are taken, such as "image/*" or "text/plain"; none if empty."""

    image_megapixels: float = Field(default=50.0, gt=0)
    """Megapixels of an image.

    Models are shown PNG, JPEG, GIF and WebP.
    """


_SCHEMA = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")


class StoreConfig(Section):
    """Place of the threads."""

    folder: ConfigPath | None = None
    """Folder of the store; ~/.local/share/parley if not given.

    It holds the database, its lock and its socket. With a `url` it holds the lock, the socket and
    this machine's copies of work folders.
    """

    url: SecretStr | None = None
    """Address of a PostgreSQL database for the store, instead of a file in `folder`.

    "postgresql://USER:PASSWORD@HOST:PORT/NAME". A variable or a file is safer: url_env = "NAME",
    url_file = "path".
    """

    schema_: str = Field(default="", alias="schema")
    """Schema of the tables in the database of `url`, made at the first start; the role's own if not
    given.

    Products that share a database have one each.
    """

    name: str = Field(default="", max_length=100)
    """Name of the product whose database that of `url` is.

    The database keeps it beside the ids of the platforms' apps, and another product is refused.
    With a name, the apps may be replaced.
    """

    pool_size: int = Field(default=8, ge=2)
    """Connections to the database of `url`, at most."""

    failover_seconds: float = Field(default=6.0, ge=1.0, le=600.0)
    """Seconds without a sign of life after which other nodes take a node's work over.

    With the database of `url`. A node that can't reach it is silent after 60 % of them.
    """

    file_mb: float = Field(default=25.0, gt=0)
    """Megabytes of one file of a work folder that the store keeps.

    Larger files are in the folder alone.
    """

    work_mb: float = Field(default=200.0, gt=0)
    """Megabytes of a thread's work folder that are kept, and as many of its earlier versions.

    Of the folder, the rest is in it alone; of the versions, the oldest go first. `work_mb` in
    [attachments] limits what code may write there.
    """

    fork_turns: int = Field(default=20, ge=0)
    """Turns of a thread from whose ends it can be forked, the last ones."""

    retention_days: int = Field(default=90, ge=0)
    """Days until an unused thread is deleted; 0 keeps threads for ever.

    Everything that belongs to the thread is deleted with it.
    """

    retention_share: float = Field(default=0.2, gt=0, le=1)
    """Largest share of all threads that a round deletes, but always five threads.

    The rest waits for the next round, an hour later: time to notice a mistake.
    """

    audit_days: int = Field(default=365, ge=0)
    """Days for which rows of the audit are kept, also of deleted threads; 0 keeps them for ever."""

    keys: SecretStr | None = None
    """Keys for the platforms' tokens, as `parley secrets key` prints them.

    The first key encrypts, all decrypt. A variable or a file is safer: keys_env = "NAME", keys_file
    = "path".
    """

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            database_place(url.get_secret_value())
        return url

    @field_validator("schema_")
    @classmethod
    def _check_schema(cls, schema: str) -> str:
        if schema and not _SCHEMA.fullmatch(schema):
            raise ValueError(
                f"found {schema!r}, expected a name of small letters, digits and _, such as "
                "'second', that does not begin with pg_"
            )
        return schema

    @field_validator("keys")
    @classmethod
    def _check_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        for entry in keys.get_secret_value().replace(",", " ").split() if keys else ():
            name, _, key = entry.partition(":")
            try:
                good = bool(name) and len(base64.urlsafe_b64decode(key)) == KEY_BYTES
            except ValueError:
                good = False
            if not good:
                raise ValueError("expected keys as `parley secrets key` prints them, ID:KEY")
        return keys


class BackupConfig(Section):
    """Backups that `parley serve` makes by itself.

    Each is checked by opening it before it counts.
    """

    folder: ConfigPath
    """Folder of the backups, best on another disk; it has to be there.

    Stores may share one: each deletes only its own backups.
    """

    every_hours: float = Field(default=24.0, ge=0.25, allow_inf_nan=False)
    """Hours from the start of one backup to the next."""

    keep: int = Field(default=7, ge=1)
    """Number of good backups that are kept; then the oldest is deleted for a new one."""


class TerminalConfig(Section):
    """Look and feel of `parley chat`, and who writes there."""

    name: Annotated[str, StringConstraints(max_length=60, strip_whitespace=True)] = ""
    """Your name, as the team and people on other platforms read it.

    If empty, the name of your account on this machine.
    """

    theme: Annotated[str, AfterValidator(_theme)] = ""
    """Name of the colours, such as "parley-light" or one of Textual's; automatic if empty."""

    mouse: bool = True
    """Use the mouse; if false, the terminal's own selection works."""

    reasoning: Reasoning = "fold"
    """Reasoning of models that show it.

    "fold": it is a line of its own that opens, once it is complete; "stream": you see it before
    that, too, while it grows, as a quotation, until the answer begins; "hide": there is none, and
    the thread's history lacks it.
    """

    keys: dict[str, str | list[str]] = Field(default_factory=dict)
    """Keys of commands, by their names in the palette, such as sessions = "f2".

    Several stand in a list, and [] takes a command's keys away. Each key is that of one command,
    and `quit` and `answer` need one. [The terminal](../terminal.md) lists the default keys.
    """

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        chose = {name: keys_in(value) for name, value in self.keys.items()}
        if wrong := [SettingMistake(("keys", *each[:1]), each[1]) for each in key_mistakes(chose)]:
            raise setting_errors(wrong)
        return self


class HealthConfig(Section):
    """Address of /healthz, /readyz and /metrics of `parley serve`."""

    port: int = Field(default=8642, ge=0, le=65535)
    """The port; 0 for none."""

    host: Annotated[str, host_name("127.0.0.1")] = "127.0.0.1"
    """The address; "0.0.0.0" for all networks, as in a container."""

    hosts: Names = Field(default_factory=list)
    """Names in addresses of requests, such as "parley.internal".

    Requests by IP address or to localhost are always answered, those by other names never.
    """

    @field_validator("hosts")
    @classmethod
    def _check_hosts(cls, hosts: list[str]) -> list[str]:
        for host in hosts:
            if not HOST_NAME.fullmatch(host):
                raise ValueError(
                    f"found {host!r}, expected a host's name without scheme, port and wildcards, "
                    "such as 'parley.internal'"
                )
        return hosts


class WebConfig(Section):
    """The terminal in a browser, which `parley web` serves."""

    proxies: Networks = Field(default_factory=list)
    """Addresses of proxies, such as "127.0.0.1" or "10.0.0.0/8".

    X-Forwarded-Host and X-Forwarded-Proto are believed from these alone.
    """

    variables: Names = Field(default_factory=list)
    """Environment variables that your own Python code reads, such as "JIRA_TOKEN".

    `parley web` keeps those that the config names, and the usual ones; all others it takes out.
    """


class NetworkConfig(Section):
    """The way to the network."""

    proxy: SecretStr | None = None
    """Address of the HTTP proxy, such as "http://proxy.example.com:3128".

    All connections to platforms and models go through it, but for the hosts that the variable
    NO_PROXY lists. If not given, the variables HTTPS_PROXY and HTTP_PROXY name it. With a password
    in it, a variable or a file is safer: proxy_env = "NAME", proxy_file = "path".
    """

    @field_validator("proxy")
    @classmethod
    def _check_proxy(cls, proxy: SecretStr | None) -> SecretStr | None:
        if proxy is None:
            return None
        from gateway.base.proxy import EXPECTED, is_proxy  # only here: it costs start-up time

        if not is_proxy(proxy.get_secret_value()):
            raise ValueError(EXPECTED)
        return proxy


class LoggingConfig(Section):
    """The log of Parley's own work.

    At no level does it hold what people or models say, unless an error quotes it.
    """

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged.

    "debug" shows details of Parley, not of the libraries that it uses.
    """

    file: ConfigPath | None = None
    """File of the log.

    If not given, it is parley.log beside the store; `parley serve` writes to standard error.
    """

    sample: float = Field(default=1.0, ge=0.0, le=1.0)
    """Share, from 0 to 1, of the turns that went well that are logged at level "info".

    Those that failed, were stopped, had a warning or took 30 seconds or more always are.
    """
