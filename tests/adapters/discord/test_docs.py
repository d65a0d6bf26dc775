"""The Discord page: its settings load, and its commands run."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator
from gateway.app.load import load_config
from tests.adapters.discord.serving import bot_texts
from tests.fakes.forked import ForkedProcess, forked

PAGE = (Path(__file__).parents[3] / "docs" / "discord.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)( no-run)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOML = [found[3] for found in BLOCK.finditer(PAGE) if found[1] == "toml"]
COMMANDS = [
    line
    for found in BLOCK.finditer(PAGE)
    if found[1] == "sh" and not found[2]
    for line in found[3].splitlines()
]


@pytest.mark.parametrize("block", TOML)
def test_every_setting_of_the_page_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str
) -> None:
    monkeypatch.setenv("CRITIC_TOKEN", "MQ.a.b")
    monkeypatch.setenv("DISCORD_TOKEN", "a.bots.token")
    path = tmp_path / "config.toml"
    path.write_text(block, encoding="utf-8")
    assert "discord" in load_config(path).adapters


@pytest.mark.chaos
@pytest.mark.timeout(60)  # three processes, one after the other
async def test_the_way_from_nothing_to_a_running_bot(tmp_path: Path) -> None:
    assert COMMANDS == ["parley check", "parley serve"]
    async with DiscordSimulator() as discord:
        alice, general = discord.person("alice"), discord.channel("general")
        environment = {**os.environ, "DISCORD_TOKEN": discord.token}
        environment["PARLEY_CONFIG"] = str(tmp_path / "config.toml")  # nobody is there to be asked

        async def run(command: str) -> ForkedProcess:
            return await forked(
                *("gateway.cli", *shlex.split(command)[1:]),
                folder=tmp_path,
                environment=environment,
                log=tmp_path / "printed",
            )

        # The page's own settings, and where Discord is instead of where it really is.
        where = f'api_url = "{discord.api_url}"\ngateway_url = "{discord.gateway_url}"'
        config = TOML[0].replace("[adapters.discord]", f"[adapters.discord]\n{where}")
        config = re.sub('^guild = "[0-9]+"', f'guild = "{discord.home.id}"', config, flags=re.M)
        config += "\n[health]\nport = 0\n"  # another process of the tests may have the default
        (tmp_path / "config.toml").write_text(config, encoding="utf-8")
        checking = await run(COMMANDS[0])
        code, written = await checking.wait(), (tmp_path / "printed").read_text()
        assert code == 0, written
        assert "scope=bot+applications.commands" in written
        serving = await run(COMMANDS[1])
        try:
            await discord.connected(seconds=20)
            asked = await alice.mentions(general, "hello")
            await discord.until(
                lambda: asked.thread and bot_texts(discord, asked.thread), seconds=20
            )
        finally:
            serving.terminate()
            code, written = await serving.wait(), (tmp_path / "printed").read_text()
        assert code == 0, written
        assert discord.token not in written
