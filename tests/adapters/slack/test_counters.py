"""Calls that one message costs on its way in, counted."""

from pathlib import Path

from adapters.slack.inbound.parse_events import parse_event
from adapters.slack.testing import SlackSimulator
from gateway.access.authority import RoutedAccess
from gateway.inbound.commands import parse_command
from tests.adapters.slack.serving import served
from tests.fakes.counted_calls import CallsOf


async def test_a_mention_is_parsed_and_judged_once(tmp_path: Path) -> None:
    with CallsOf(parse_event, parse_command, RoutedAccess.judge) as seen:
        async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
            asked = await slack.person("ann").asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
            await run.settled()
            delivered = [each.payload["event"]["type"] for each in slack.deliveries]
            assert sorted(delivered) == ["app_mention", "message", "message"]
    # The echo of the answer is parsed, too; what was delivered twice is not.
    assert seen.counts == {"parse_event": 2, "parse_command": 1, "judge": 1}
