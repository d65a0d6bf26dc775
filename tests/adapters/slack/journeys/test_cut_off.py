"""A node that is cut off from its database is silent."""

import asyncio
from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from gateway.store.units import outbox
from tests.adapters.slack.serving import served
from tests.fakes.cut_off import CutOff

pytestmark = pytest.mark.chaos


async def test_an_answer_waits_until_the_node_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off = CutOff(monkeypatch)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        cut_off.lasts = True
        asked = await slack.person("ann").asks("general", "there?")
        await slack.until(lambda: cut_off.refused >= 3)
        assert [each for each in slack.calls() if each.method.startswith("chat.")] == []
        cut_off.lasts = False
        async with asyncio.timeout(20):
            while await run.store.run(outbox.undelivered_threads, "slack"):  # noqa: ASYNC110 (in the store)
                await asyncio.sleep(0.01)
        texts = [each.text for each in slack.messages("general", asked)]
    assert len([text for text in texts if "fine" in text]) == 1
