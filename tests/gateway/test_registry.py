"""Lines about teams and models."""

from __future__ import annotations

from gateway.demo.model import DemoChatCompletionClient
from gateway.registry import TeamInfo, described, model_label
from teams.models.replay import ReplayChatCompletionClient


def test_a_team_is_described_on_one_line() -> None:
    team = TeamInfo(
        name="t", description="Writes\n well.", participants=("a", "b"), models={}, definition=""
    )
    assert described(team) == "Writes well: a, b"
    bare = TeamInfo(name="t", description="", participants=(), models={}, definition="")
    assert described(bare) == ""


def test_a_model_is_named_or_known_by_its_class() -> None:
    demo = DemoChatCompletionClient()
    assert model_label(demo) == demo.model
    assert model_label(ReplayChatCompletionClient([])) == "ReplayChatCompletionClient"
