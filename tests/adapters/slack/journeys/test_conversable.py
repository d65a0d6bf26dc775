"""A chat on Slack: the person is asked before each reply."""

from __future__ import annotations

from pathlib import Path

from adapters.slack.testing import SlackSimulator
from tests.adapters.slack.serving import served
from tests.fakes.chat_of_two import chats_of_two


async def test_the_person_in_the_thread_replies_to_the_writer(tmp_path: Path) -> None:
    make = chats_of_two(tmp_path)
    async with SlackSimulator() as slack, served(slack, tmp_path, lambda _: make()) as run:
        ann = slack.person("ann")
        asked = await ann.asks("general", "a poem, please")

        def texts() -> list[str]:
            return [each.text for each in slack.messages("general", asked) if each.name != "ann"]

        await run.until(lambda: any("Provide feedback to writer" in each for each in texts()))
        assert any("A long poem." in each for each in texts())
        await ann.says("general", "shorter", thread=asked)
        await run.until(lambda: any("A poem." in each for each in texts()))
