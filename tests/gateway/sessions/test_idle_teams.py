"""Idle teams: how many stay in memory, and which go first."""

from gateway.sessions.idle_teams import IdleTeams
from gateway.sessions.live_team import LiveTeam, TeamCloser
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from tests.gateway.scripted import model


async def saved(name: str) -> LiveTeam:
    """A team with a snapshot."""
    live = LiveTeam(RoundRobinGroupChat([AssistantAgent(name, model())], max_turns=1))
    await live.checkpoint()
    assert live.saved_bytes
    return live


async def test_its_bytes_are_those_of_the_teams_it_holds():
    idle = IdleTeams(TeamCloser())
    teams = {name: await saved(name) for name in ("a", "bb", "ccc")}
    for name, team in teams.items():
        idle.add(name, team)
    assert (len(idle), idle.bytes) == (3, sum(each.saved_bytes for each in teams.values()))
    assert idle.take("bb") is teams["bb"]
    assert idle.take("bb") is None
    idle.drop("a")
    idle.drop("unknown")
    assert (len(idle), idle.bytes) == (1, teams["ccc"].saved_bytes)
    idle.drop_all()
    assert (len(idle), idle.bytes) == (0, 0)


async def test_the_longest_unused_goes_first():
    idle = IdleTeams(TeamCloser())
    for name in ("a", "b", "c"):
        idle.add(name, await saved(name))
    again = idle.take("a")
    assert again is not None
    idle.add("a", again)
    idle.drop_surplus(2, float("inf"))
    assert idle.take("b") is None
    idle.drop_surplus(2, idle.bytes - 1)
    assert idle.take("c") is None
    idle.drop_unused(60)
    assert idle.take("a") is again
