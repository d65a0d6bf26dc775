"""Parts of somebody's own kinds, where Parley looks into its agents."""

from pathlib import Path

import pytest

from gateway.app.assemble import team_factory
from gateway.app.load import LoadedConfig, load_config
from gateway.base.folder_modules import FolderModules
from gateway.base.imports import Imports
from gateway.config.problems import ConfigError
from gateway.factory.teams import TeamBuildError, TeamFactory
from gateway.references.tools import called_tools, known_tools

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARTS = '''
from typing import Annotated, Any, ClassVar

from teams.agents.kinds import HandoffConfig
from teams.kinds import Agent, ImportPath, Kind, KindsOf, Model, Part, Tool
from teams.model_context import UnboundedChatCompletionContext


class KeeperKind(Agent):
    """An agent that keeps things."""

    kind: ClassVar = Kind("agent", "keeper", "parts:Keeper")

    type: str
    """Kind of agent."""

    model: Model = ""
    """Model that it asks."""

    keeps: list[Annotated[Part, KindsOf("memory")]] = []
    """Memories."""

    tools: list[Annotated[Tool, KindsOf("tool")]] = []
    """Tools."""

    passes: list[HandoffConfig] = []
    """Hand-offs."""

    def called(self):
        return None if self.model == "blind" else self.tools


class LoggedKind(Tool):
    """A tool whose calls are logged."""

    kind: ClassVar = Kind("tool", "logged", "parts:Keeper")

    type: str
    """Kind of tool."""

    path: Annotated[str, ImportPath()]
    """Function that it calls."""


class WindowKind(Part):
    """A context with an odd size."""

    kind: ClassVar = Kind("context", "window", "teams.model_context:UnboundedChatCompletionContext")

    type: str
    """Kind of context."""

    size: int = 1
    """Messages."""

    def mistakes(self, load):
        if self.size % 2 == 0:
            yield ("size",), f"found {self.size}, expected an odd number"


class Keeper:
    def __init__(self, name, **more) -> None:
        pass


def search(query: str) -> str:
    "Search."
    return query
'''
CONFIG = """
[models.m]
model = "gpt-4o"
api_key = "sk-good"
[models.blind]
model = "gpt-4o"
api_key = "sk-good"
[models.talker]
provider = "openai"
model = "talk-1"
api_key = "sk-good"
base_url = "https://models.example/v1"
model_info = {{ function_calling = false }}
[teams.t]
type = "{type}"
max_turns = 1
{more}
[teams.t.agents.b]
model_client_stream = false
[teams.t.agents.a]
{agent}
"""
KEEPER = 'type = "parts:KeeperKind"'
LOGGED = 'tools = [{ type = "parts:LoggedKind", path = "parts:search" }]'


def loaded_config(
    folder: Path, agent: str, *, type_: str = "round_robin", more: str = "", parts: str = PARTS
) -> LoadedConfig:
    (folder / "parts.py").write_text(parts)
    (folder / "config.toml").write_text(CONFIG.format(agent=agent, type=type_, more=more))
    return load_config(folder / "config.toml")


def refusal(folder: Path, agent: str, **more: str) -> str:
    with pytest.raises(ConfigError) as refused:
        loaded_config(folder, agent, **more)
    return str(refused.value)


BROKEN = {
    "def (": "SyntaxError",
    "import nothing_like_it": "there is no module 'nothing_like_it'|No module named",
    "from json import nothing_like_it": "cannot import name 'nothing_like_it'",
    "1 / 0": "ZeroDivisionError: division by zero",
    "raise SystemExit(3)": "SystemExit: 3",
    "def __getattr__(name): raise OSError(name)": "OSError: Thing",
}


@pytest.mark.parametrize(("text", "said"), BROKEN.items())
def test_an_error_in_its_class_is_told_with_its_place(tmp_path: Path, text: str, said: str):
    (tmp_path / "broken.py").write_text(text)
    told = refusal(tmp_path, KEEPER, parts=PARTS.replace("parts:Keeper", "broken:Thing"))
    assert "teams.t.agents.a.type" in told
    assert any(each in told for each in said.split("|")), told


@pytest.mark.parametrize(("text", "said"), BROKEN.items())
async def test_a_class_that_breaks_later_is_told_by_the_build(tmp_path: Path, text: str, said: str):
    (tmp_path / "broken.py").write_text("def Thing(name, **more): pass")
    loaded = loaded_config(tmp_path, KEEPER, parts=PARTS.replace("parts:Keeper", "broken:Thing"))
    modules = FolderModules(tmp_path)
    (tmp_path / "broken.py").write_text(text + " # changed")
    modules.forget_changed()
    teams = TeamFactory(loaded.config, Imports(tmp_path), start_folder=tmp_path)
    with pytest.raises(TeamBuildError) as refused:
        await teams.build("t", workdir=tmp_path)
    assert any(each in str(refused.value) for each in said.split("|")), refused.value


async def test_a_factory_that_ends_the_program_is_told_by_the_build(tmp_path: Path):
    (tmp_path / "config.toml").write_text('[teams.t]\nfactory = "parts:end"\n')
    (tmp_path / "parts.py").write_text("def end(): raise SystemExit(3)")
    loaded = load_config(tmp_path / "config.toml")
    with pytest.raises(TeamBuildError, match="SystemExit: 3"):
        await team_factory(loaded, tmp_path).build("t", workdir=tmp_path)


STORE = 'keeps = [{ type = "redis", scope = "person" }]'


async def test_a_person_is_forgotten_by_memories_of_any_agent(tmp_path: Path):
    filtered = 'type = "message_filter"\nper_source = []\nagent'
    for agent in (
        f"{KEEPER}\n{STORE}",
        f"{filtered} = {{ {KEEPER}, {STORE} }}",
        f"{filtered} = {{ {STORE.replace('keeps', 'memory')} }}",
    ):
        teams = team_factory(loaded_config(tmp_path, agent), tmp_path)
        assert teams.remembers_elsewhere()
    team_part = STORE.replace("person", "team")
    teams = team_factory(loaded_config(tmp_path, f"{KEEPER}\n{team_part}"), tmp_path)
    assert not teams.remembers_elsewhere()
    await teams.forget("ann")


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ('keeps = [{ contents = ["x"] }]', {"memory"}),
        (STORE, {"memory", "remember"}),
        (LOGGED, None),
        ("", set[str]()),
    ],
)
def test_its_memories_are_known_to_rules_for_tools(
    tmp_path: Path, settings: str, more: set[str] | None
):
    loaded = loaded_config(tmp_path, f"{KEEPER}\n{settings}")
    known = known_tools(loaded.config, loaded.imports)
    assert known == (None if more is None else {"execute_code", "CodeExecutor", *more})


def test_its_hand_offs_are_known_to_conditions(tmp_path: Path):
    loaded = loaded_config(tmp_path, f'{KEEPER}\npasses = [{{ target = "b" }}]')
    team = loaded.config.teams["t"]
    assert called_tools([team], loaded.imports) == {"transfer_to_b"}  # pyright: ignore[reportArgumentType]


def test_its_type_wins_over_keys_of_other_kinds(tmp_path: Path):
    loaded = loaded_config(tmp_path, f"{KEEPER}\n{LOGGED}")
    assert "LoggedKind" in repr(loaded.config.teams["t"])


@pytest.mark.parametrize(
    "table",
    [
        '{ type = "parts:LoggedKind", path = "parts:search" }',
        '{ type = "parts:Missing", path = "parts:search" }',
        '{ type = "parts:LoggedKind" }',
    ],
)
def test_a_place_for_some_kinds_takes_none_of_somebody_s_own(tmp_path: Path, table: str):
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "config.toml").write_text(f"""
[models.m]
model = "gpt-4o"
api_key = "sk-good"
[teams.t]
type = "conversable"
recipient = "a"
max_turns = 1
agents.a = {{ model = "m", tools = [{table}] }}
""")
    with pytest.raises(ConfigError, match="expected the key 'path' or 'http'"):
        load_config(tmp_path / "config.toml")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (LOGGED, "'a' has tools"),
        ('model = "blind"', "'a' has tools"),
        (STORE, "'a' has a memory"),
        ('passes = [{ target = "b" }]', "'a' has hand-offs"),
        ('keeps = [{ contents = ["x"] }]', ""),
    ],
)
def test_what_its_model_calls_is_known(tmp_path: Path, settings: str, said: str):
    loaded = loaded_config(tmp_path, f"{KEEPER}\n{settings}")
    choices = team_factory(loaded, tmp_path).model_choices("t")
    problem = next(each.problem for each in choices if each.name == "talker")
    assert problem.startswith(said)
    assert bool(problem) == bool(said)


def test_mistakes_of_a_team_s_own_parts_are_told(tmp_path: Path):
    more = 'model_context = { type = "parts:WindowKind", size = 2 }'
    told = refusal(tmp_path, KEEPER, type_="selector", more=more)
    assert "teams.t.model_context.size" in told
    assert "found 2, expected an odd number" in told
    loaded_config(tmp_path, KEEPER, type_="selector", more=more.replace("2", "3"))
