"""Answers that wait for Slack's limits are seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from gateway.app import operator
from tests.adapters.slack.serving import served

PEOPLE = 5


async def test_answers_that_wait_for_a_limit_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator, "MOMENT", 0.0)
    slow = {"pace": 0.02}
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, settings=slow) as run,
    ):
        for n in range(PEOPLE):
            await slack.person(f"p{n}").asks("general", f"hello {n}")
        await run.until(lambda: sum(each.threads for each in run.gateway.vitals.owed) == PEOPLE - 1)
        _, status = await operator.owner_status(run.store)
    assert "Waiting for slack's limit of chat.postMessage: 4 answers, the oldest for " in status
    assert run.gateway.vitals.owed == []
