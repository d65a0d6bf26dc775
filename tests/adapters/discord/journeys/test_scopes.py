"""`/approve` with a scope: what runs later, and what asks again."""

import json
from functools import partial
from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.registry import DiffRule, ToolRule
from teams.models import CreateResult
from tests.adapters.discord.serving import (
    bot_messages,
    serving,
    thread_of,
    wait_card,
    wait_commands,
    wait_delivered,
)
from tests.gateway.scripted import ScriptedTeams, calls, model, solo


async def test_a_grant_below_a_folder_asks_again_only_outside_of_it(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    sent: list[str] = []

    async def send(path: str, content: str) -> str:
        """Send."""
        sent.append(path)
        (teams.workdirs[-1] / "c.md").write_text("old\ntwo")
        return "sent"

    def sends(path: str) -> CreateResult:
        return calls("send", send=json.dumps({"path": path, "content": "one\ntwo"}))

    answers = (sends("reports/a.md"), sends("reports/b.md"), sends("c.md"), "done")
    client = model(*answers)
    rule = ToolRule(
        action="ask",
        paths=("path",),
        diff=DiffRule(path="path", content="content"),
        output="trusted",
    )
    teams = ScriptedTeams(partial(solo, client, tools=[send]), rules={"send": rule})
    boss = discord.person("boss")
    async with serving(discord, tmp_path, teams, operators=[f"discord:{boss.id}"]) as gateway:
        await wait_commands(discord)
        asked = await boss.mentions(discord.channel("general"), "send them")
        await discord.until(lambda: asked.thread)
        card = await wait_card(discord, thread_of(asked))
        assert "one\ntwo" in card.content
        await discord.answered(await boss.slash(card.channel, "approve", scope="below"))
        again = await discord.until(
            lambda: next(
                (
                    each
                    for each in bot_messages(discord, card.channel)
                    if each.components and "c.md" in each.content
                ),
                None,
            )
        )
        await wait_delivered(gateway)
        assert sent == ["reports/a.md", "reports/b.md"]
        assert "-old\n+one" in again.content
