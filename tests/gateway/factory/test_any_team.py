"""Random valid teams in TOML build, and come back from their JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.app.load import load_config
from gateway.config.problems import ConfigError
from gateway.factory.teams import TeamFactory
from teams.base import Team
from tests.gateway.config.test_config import as_toml

MODEL = """\
[models.m]
provider = "teams.models.replay:ReplayChatCompletionClient"
model_info = { function_calling = true, structured_output = true }
options = { chat_completions = [] }
[teams]"""
AGENTS = st.sampled_from("abc")
TEAMS = st.sampled_from("tuv")

contexts = st.sampled_from(
    [
        {"type": "unbounded"},
        {"type": "buffered", "buffer_size": 3, "initial_messages": ["x"]},
        {"type": "head_and_tail", "head_size": 1, "tail_size": 2},
        {"type": "token_limited", "token_limit": 100},
    ]
)
executors = st.sampled_from(
    [{"type": "local"}, {"type": "docker", "timeout": 5}, {"type": "jupyter"}]
)
tools = st.one_of(
    st.builds(lambda name: {"agent": name}, AGENTS),
    st.builds(lambda name: {"team": name, "description": "x"}, TEAMS),
    st.builds(lambda executor: {"executor": executor}, executors),
)
speakers = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "tools": st.lists(tools, max_size=1),
            "handoffs": st.lists(AGENTS, max_size=1),
            "model_context": contexts,
            "memory": st.just([{"contents": ["x", "y"]}]),
            "system_message": st.just(""),
        },
    ),
    st.just({"type": "user_proxy"}),
    st.builds(lambda name: {"type": "society_of_mind", "team": name}, TEAMS),
    st.fixed_dictionaries(
        {"type": st.just("code_executor"), "executor": executors},
        optional={"model": st.just("m"), "model_context": contexts},
    ),
)
filtered = st.builds(
    lambda agent: {"type": "message_filter", "per_source": [{"source": "a"}], "agent": agent},
    speakers,
)
edges = st.fixed_dictionaries(
    {"source": AGENTS, "target": AGENTS}, optional={"condition": st.just("x")}
)
kinds = st.sampled_from(["round_robin", "swarm", "selector", "graph", "magentic_one"])


@st.composite
def a_team(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(kinds)
    agents = draw(st.dictionaries(AGENTS, speakers | filtered, min_size=1))
    team: dict[str, Any] = {"type": kind, "max_turns": 2, "agents": agents}
    if kind in ("round_robin", "selector") and draw(st.booleans()):
        team["participants"] = [*agents, draw(TEAMS)]
    if kind == "graph":
        team["edges"] = draw(st.lists(edges, max_size=3))
    return team


@pytest.mark.chaos
@pytest.mark.timeout(60)
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.dictionaries(TEAMS, a_team(), min_size=1))
async def test_a_team_without_mistakes_builds_and_comes_back_from_its_json(
    tmp_path: Path, teams: dict[str, Any]
):
    path = tmp_path / "config.toml"
    lines = [f"{name} = {as_toml(team)}" for name, team in teams.items()]
    path.write_text("\n".join([MODEL, *lines]))
    try:
        loaded = load_config(path)
        source = TeamFactory(loaded.config, loaded.imports, start_folder=tmp_path)
    except ConfigError:
        return
    for name in source.names():
        assert source.info(name).definition
        team = (await source.build(name, workdir=tmp_path, portable=True)).team
        dumped = team.dump_component().model_dump()
        again = Team.load_component(dumped, Team)
        assert again.dump_component().model_dump() == dumped
