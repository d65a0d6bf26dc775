"""`parley discord sync`: commands of the config, compared with Discord's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator, Refusal
from tests.fakes.forked import forked
from tests.fakes.proxy import FakeProxy

CONFIG = """
[models.default]
provider = "auto"
model = "gpt-4o-mini"

[teams.helpdesk]
type = "round_robin"
max_turns = 1
agents.front = {{}}

[adapters.discord]
token_env = "BOT"
api_url = "{api}"
ask = "{ask}"

[[routes]]
adapter = "discord"
channels = "*"
guild = "{guild}"
users = "members"
team = "helpdesk"
"""


async def parley(folder: Path, discord: DiscordSimulator, *args: str) -> tuple[int, str]:
    environment = {**os.environ, "BOT": discord.token, "XDG_DATA_HOME": str(folder)}
    (told := folder / "told").unlink(missing_ok=True)
    running = await forked(
        *("gateway.cli", "discord", "sync", *args), folder=folder, environment=environment, log=told
    )
    return await running.wait(), told.read_text()


def write(folder: Path, discord: DiscordSimulator, ask: str, more: str = "") -> str:
    path = folder / "config.toml"
    told = CONFIG.format(api=discord.api_url, guild=discord.home.id, ask=ask) + more
    path.write_text(told, encoding="utf-8")
    return str(path)


@pytest.mark.chaos
async def test_it_writes_where_discord_has_other_commands(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    config = write(tmp_path, discord, "ask")
    code, told = await parley(tmp_path, discord, "--config", config)
    assert (code, told.startswith("Discord has ")) == (0, True)
    assert "added ask, new, stop" in told
    code, told = await parley(tmp_path, discord, "--config", config)
    assert (code, told.endswith("commands already.\n")) == (0, True)
    assert len(discord.calls("PUT", "/commands")) == 1
    write(tmp_path, discord, "team")
    _, told = await parley(tmp_path, discord, "--config", config)
    assert told.endswith("commands now: changed team; removed ask.\n")


async def test_it_says_what_discord_refuses(discord: DiscordSimulator, tmp_path: Path) -> None:
    discord.faults.plan(Refusal(403, 50001, "Missing Access"), method="PUT")
    code, told = await parley(tmp_path, discord, "--config", write(tmp_path, discord, "ask"))
    assert code == 1
    assert "Missing Access (50001)" in told
    assert discord.token not in told


@pytest.mark.chaos
async def test_a_config_of_the_folder_gets_no_token_without_the_operators_word(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    write(tmp_path, discord, "ask")
    code, told = await parley(tmp_path, discord)
    assert code != 0
    assert "--trust-config" in told
    assert discord.calls() == []
    assert (await parley(tmp_path, discord, "--trust-config"))[0] == 0


async def test_it_asks_discord_through_the_proxy_of_the_config(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    async with FakeProxy(password="canary-of-a-proxy") as proxy:
        network = f'\n[network]\nproxy = "{proxy.url}"\n'
        config = write(tmp_path, discord, "ask", network)
        code, told = await parley(tmp_path, discord, "--config", config)
    assert (code, told.startswith("Discord has ")) == (0, True)
    assert any("/applications/" in target for target in proxy.targets)
