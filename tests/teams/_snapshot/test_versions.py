"""Snapshots of earlier releases load, and today's deltas continue them.

Commit 1482369 wrote `tests/data/snapshot-2.json`, in version 2: of each scenario the snapshot, a
delta at every item of its run, and what `save_state` gave in the middle and at the end.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from teams import BaseGroupChat, RoundRobinGroupChat
from teams.base import run_hooks
from teams.messages import StructuredMessage
from tests.fakes.interrupted_runs import Build, Later, Models
from tests.fakes.scripted_model import calls
from tests.teams.test_safe_points import SCENARIOS, Spell
from tests.teams.test_safe_points_inside import SCENARIOS as INSIDE

SAMPLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "snapshot-2.json").read_text()
)


class Weather(BaseModel):
    city: str
    degrees: float


def odd(models: Models) -> BaseGroupChat:
    """A picture and a structured message as task, and a silent agent."""
    worker = models.agent("worker", calls(("spell", {"text": "ab"})), "ä € ", tools=[Spell()])
    return RoundRobinGroupChat(
        [worker, models.agent("second", "")],
        max_turns=3,
        custom_message_types=[StructuredMessage[Weather]],
    )


BUILDS: list[Build] = [build for build in (*SCENARIOS, *INSIDE, odd) if build.__name__ in SAMPLES]
every_sample = pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)


def as_json(state: Any) -> Any:
    return json.loads(json.dumps(state))


@every_sample
async def test_a_sample_loads_to_the_state_it_was_saved_from(build: Build):
    sample = SAMPLES[build.__name__]
    parts = [part.encode() for part in sample["parts"]]
    for count, state in sample["states"].items():
        team = build(Models())
        await team.load_snapshot(parts[: int(count)])
        assert as_json(await team.save_state()) == state
        assert await team.save_delta() == b""


@every_sample
async def test_deltas_and_snapshots_of_this_commit_go_on_from_a_sample(build: Build):
    sample = SAMPLES[build.__name__]
    middle = int(next(iter(sample["states"])))
    parts = [part.encode() for part in sample["parts"][:middle]]
    team = build(Models())
    await team.load_snapshot(parts)
    later = Later()
    with run_hooks(ask=later.ask, intercept=later.intercept):
        parts += [await team.save_delta() async for _ in team.run_stream()]
    state = as_json(await team.save_state())
    for chain in (parts, [await team.save_snapshot()]):
        fresh = build(Models())
        await fresh.load_snapshot(chain)
        assert as_json(await fresh.save_state()) == state
