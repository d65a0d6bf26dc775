"""Calls that one message costs on its way in, counted."""

from pathlib import Path

import pytest

from adapters.slack.inbound.parse_events import parse_event
from adapters.slack.testing import SlackSimulator
from gateway.access.authority import Access
from gateway.inbound.commands import parse_command
from tests.adapters.slack.serving import served
from tests.fakes.counted_calls import CallsOf


async def test_a_mention_is_parsed_and_judged_once(tmp_path: Path) -> None:
    with CallsOf(parse_event, parse_command, Access.judge) as seen:
        async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
            asked = await slack.person("ann").asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
            await run.settled()
            delivered = [each.payload["event"]["type"] for each in slack.deliveries]
            assert sorted(delivered) == ["app_mention", "message", "message"]
    # The echo of the answer is parsed, too; what was delivered twice is not.
    assert seen.counts == {"parse_event": 2, "parse_command": 1, "judge": 1}


@pytest.mark.parametrize("text", ["what is on?", "help", "approve 0123456789ab"])
async def test_a_slash_command_is_judged_once(tmp_path: Path, text: str) -> None:
    with CallsOf(Access.judge) as seen:
        async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
            used = await slack.person("ann").commands("general", "/parley", text)
            await used.answered()
            await run.settled()
    assert seen.counts == {"judge": 1}
