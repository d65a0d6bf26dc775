"""An approval below a folder: what runs later, and what asks again."""

import json
from pathlib import Path
from typing import Any

from adapters.slack.testing import SlackSimulator
from gateway.registry import DiffRule, ToolRule
from gateway.store.units import threads
from tests.adapters.slack.serving import served
from tests.gateway.scripted import calls, solo

RULE = ToolRule(
    action="ask",
    paths=("path",),
    diff=DiffRule(path="path", content="content"),
    output="trusted",
)


async def test_a_grant_below_a_folder_asks_again_only_outside_of_it(tmp_path: Path) -> None:
    sent: list[str] = []

    async def send(path: str, content: str) -> str:
        """Send."""
        sent.append(path)
        (thread,) = await run.store.run(threads.threads)
        (await run.store.work_folder(thread.id) / "c.md").write_text("old\ntwo")
        return "sent"

    def sends(path: str) -> object:
        return calls("send", send=json.dumps({"path": path, "content": "one\ntwo"}))

    async with SlackSimulator(rates=False) as slack:
        slack.add_channel("team")
        boss = slack.person("boss")
        slack.join("team", boss)
        async with served(
            slack,
            tmp_path,
            lambda client: solo(client, tools=[send]),
            answers=[sends("reports/a.md"), sends("reports/b.md"), sends("c.md"), "done"],
            rules={"send": RULE},
        ) as run:
            opened = await boss.asks("team", "send them")

            def cards(name: str) -> list[Any]:
                shown = slack.messages("team", opened)
                return [each for each in shown if each.buttons and name in str(each)]

            await run.until(lambda: cards("reports/a.md"))
            await run.settled()
            (card,) = cards("reports/a.md")
            await boss.clicks(card.ts, next(each for each in card.buttons if "below" in each))
            await run.until(lambda: cards("c.md"))
            (again,) = cards("c.md")
            assert "-old\\n+one" in str(again)
            await run.settled()
            assert sent == ["reports/a.md", "reports/b.md"]
