"""A team that remembers and forgets on request."""

from gateway.config.agent_parts import TeamMemoryConfig
from gateway.factory.memory import TeamMemory
from teams.base import Team
from tests.fakes.remembering_model import RememberingModel
from tests.gateway.scripted import ScriptedTeams, solo


def remembering_teams() -> ScriptedTeams:
    return ScriptedTeams(_team)


def _team() -> Team:
    memory = TeamMemory("demo", TeamMemoryConfig())
    return solo(RememberingModel(), memory=[memory], tools=memory.tools(), reflect_on_tool_use=True)
