"""Figures of the simulated installation, read from `parameters.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt

FILE = Path(__file__).with_name("parameters.toml")


class _Figures(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Nodes(_Figures):
    """Processes of `parley serve`."""

    count: PositiveInt
    cpu_ms: PositiveFloat
    accept_share: PositiveFloat
    parallel_turns: PositiveInt
    pool_size: PositiveInt
    more_connections: PositiveInt


class Postgres(_Figures):
    """The database."""

    cores: PositiveInt
    cpu_ms: PositiveFloat
    max_connections: PositiveInt
    wal_kb: PositiveFloat
    stored_kb: PositiveFloat
    retention_days: PositiveFloat
    disk_gb: PositiveFloat


class Model(_Figures):
    """An account at a provider of models."""

    requests_per_minute: PositiveFloat
    tokens_per_minute: PositiveFloat
    calls: PositiveFloat
    prompt_tokens: PositiveInt
    call_tokens: PositiveInt
    first_token: PositiveFloat
    tokens_per_second: PositiveFloat


class Slack(_Figures):
    """Slack's limits, and our use of them."""

    start_per_minute: PositiveFloat
    append_per_minute: PositiveFloat
    stop_per_minute: PositiveFloat
    update_per_minute: PositiveFloat
    post_per_minute: PositiveFloat
    start_burst: PositiveFloat
    append_burst: PositiveFloat
    update_burst: PositiveFloat
    post_burst: PositiveFloat
    update_reserve: PositiveFloat
    flush: PositiveFloat
    events_per_hour: PositiveFloat
    events_per_message: PositiveFloat
    sockets: PositiveInt
    sockets_per_node: PositiveInt


class Discord(_Figures):
    """Discord's limits, and our use of them."""

    calls_per_second: PositiveFloat
    channel_calls: PositiveFloat
    channel_seconds: PositiveFloat
    edit_seconds: PositiveFloat
    guilds: PositiveInt
    guilds_per_shard: PositiveInt
    identify_seconds: PositiveFloat


class Parameters(_Figures):
    """The whole installation."""

    nodes: Nodes
    postgres: Postgres
    model: Model
    slack: Slack
    discord: Discord

    def changed(self, table: str, **figures: float) -> Parameters:
        """The same with other figures in one table."""
        now = {**self.model_dump()[table], **figures}
        return Parameters.model_validate({**self.model_dump(), table: now})


def read(file: Path = FILE) -> Parameters:
    """Read a file of parameters. Raises ValueError for one that is wrong."""
    return Parameters.model_validate(tomllib.loads(file.read_text()))
