"""Teams in config.toml: keys by kind, mistakes in names, graphs, cycles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.config.problems import ConfigError
from gateway.config.root import Config
from gateway.config.teams import GraphTeam, MagenticOneTeam, RoundRobinTeam, SelectorTeam
from teams.agents.kinds import CodeExecutorKind, MessageFilterKind
from teams.code_executors.kinds import DockerKind, LocalKind
from teams.model_context.kinds import BufferedKind

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARTS = """
from teams.messages import TextMessage
class Own(TextMessage): pass
def search(query: str) -> str:
    "Search."
    return query
def choose(messages): ...
"""


def load(folder: Path, text: str) -> Config:
    (folder / "parts.py").write_text(PARTS)
    (folder / "config.toml").write_text(text)
    return load_config(folder / "config.toml").config


def mistakes(folder: Path, text: str) -> dict[str, str]:
    """The messages by path."""
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    report = str(caught.value).replace(str(folder), "FOLDER")
    entries = (entry.partition("\n") for entry in re.split(r"\n  (?=\S)", report)[1:])
    return {place.partition(", ")[2]: said.strip() for place, _, said in entries}


# --- what it takes ---


def test_a_selector_is_written_with_every_parameter(tmp_path):
    team = load(
        tmp_path,
        """
        [teams.t]
        type = "selector"
        description = "All of it"
        max_turns = 3
        model = "auto"
        selector_prompt = "{roles} {participants} {history} {{}}"
        selector_func = "parts:choose"
        candidate_func = "parts:choose"
        allow_repeated_speaker = true
        max_selector_attempts = 2
        model_client_streaming = true
        emit_team_events = true
        custom_message_types = ["parts:Own"]
        model_context = { type = "buffered", buffer_size = 5 }
        agents.a = {}
        agents.b = {}
        [models.auto]
        provider = "demo"
        """,
    ).teams["t"]
    assert isinstance(team, SelectorTeam)
    assert isinstance(team.model_context, BufferedKind)
    assert (team.max_selector_attempts, team.allow_repeated_speaker) == (2, True)


def test_an_orchestrator_has_a_limit_of_turns_of_its_own(tmp_path):
    text = "[teams.t]\ntype = 'magentic_one'\nagents.a = {}"
    team = load(tmp_path, text).teams["t"]
    assert isinstance(team, MagenticOneTeam)
    assert (team.max_turns, team.max_stalls) == (20, 3)


def test_a_graph_without_loops_needs_no_termination(tmp_path):
    text = "[teams.t]\ntype = 'graph'\nedges = [{ source = 'a', target = 'b' }]\n"
    team = load(tmp_path, text + "agents.a = {}\nagents.b = {}").teams["t"]
    assert isinstance(team, GraphTeam)
    assert team.edges[0].activation_condition == "all"


def test_agents_that_others_have_as_tools_take_no_part_by_themselves(tmp_path):
    team = load(
        tmp_path,
        """
        [teams.t]
        type = "round_robin"
        max_turns = 1
        agents.filtered = { type = "message_filter", per_source = [], agent = { tools = [
            { agent = "inner" } ] } }
        agents.inner = { tools = [{ agent = "innermost" }, "parts:search"] }
        agents.innermost = {}
        """,
    ).teams["t"]
    assert isinstance(team, RoundRobinTeam)
    assert team.members == ["filtered"]
    assert isinstance(team.agents["filtered"], MessageFilterKind)


def test_code_runs_in_a_container_unless_it_is_said_otherwise(tmp_path):
    team = load(
        tmp_path,
        """
        [teams.t]
        type = "round_robin"
        max_turns = 1
        agents.a = { type = "code_executor" }
        agents.b = { type = "code_executor", executor = { type = "local", work_dir = "code" } }
        """,
    ).teams["t"]
    assert isinstance(team, RoundRobinTeam)
    a, b = team.agents["a"], team.agents["b"]
    assert isinstance(a, CodeExecutorKind)
    assert isinstance(b, CodeExecutorKind)
    assert isinstance(a.executor, DockerKind)
    assert isinstance(b.executor, LocalKind)
    assert b.executor.work_dir == tmp_path / "code"


# --- names ---

GROUP = """
[teams.t]
type = "round_robin"
max_turns = 1
participants = ["a", "inner"]
agents.a = {}
[teams.inner]
type = "selector"
max_turns = 2
agents.b = {}
agents.c = {}
[teams.script]
factory = "parts:choose"
"""


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        pytest.param(
            ('"inner"]', '"iner"]'),
            "teams.t.participants[1]",
            "found 'iner', expected an agent of this team, or a team; did you mean 'inner'?",
            id="team",
        ),
        pytest.param(
            ('"round_robin"', '"magentic_one"'),
            "teams.t.participants[1]",
            "found the team 'inner', expected an agent: type = 'society_of_mind' makes one of it",
            id="team-led-by-an-orchestrator",
        ),
        pytest.param(
            ("agents.a = {}", "agents.a = { type = 'society_of_mind', team = 'inr' }"),
            "teams.t.agents.a.team",
            "found 'inr', expected a team; did you mean 'inner'?",
            id="society",
        ),
        pytest.param(
            ("agents.a = {}", "agents.a = { tools = [{ team = 'iner', description = 'x' }] }"),
            "teams.t.agents.a.tools[0]",
            "found 'iner', expected a team; did you mean 'inner'?",
            id="team-tool",
        ),
        pytest.param(
            ("agents.a = {}", "agents.a = { tools = [{ team = 'inner' }] }"),
            "teams.t.agents.a.tools[0].description",
            "is missing: tell the model what the team is for",
            id="team-tool-without-description",
        ),
        pytest.param(
            (
                "agents.a = {}",
                "agents.a = { tools = [{ team = 'inner', description = 'd', name = 'x y' }] }",
            ),
            "teams.t.agents.a.tools[0].name",
            "found 'x y', expected a name of letters, digits, _ and - for the model",
            id="team-tool-name",
        ),
        pytest.param(
            ("agents.b = {}", "agents.b = { tools = [{ agent = 'd' }] }\nagents.dd = {}"),
            "teams.inner.agents.b.tools[0]",
            "found 'd', expected another agent of this team; there is 'dd', 'c'",
            id="agent-tool",
        ),
        pytest.param(
            ("agents.a = {}", "agents.a = { tools = [{ agnt = 'd' }] }"),
            "teams.t.agents.a.tools[0].agnt",
            "there is no setting 'agnt'; did you mean 'agent'?",
            id="tool-of-a-misspelt-kind",
        ),
        pytest.param(
            ("agents.a = {}", "agents.a = { tools = [{ it = 'd' }] }"),
            "teams.t.agents.a.tools[0]",
            "has no type, expected the key 'path', 'agent', 'team', 'executor', 'http', ",
            id="tool-of-no-kind",
        ),
        pytest.param(
            ("agents.b = {}\n", ""),
            "teams.inner.participants",
            "found one participant, expected at least two for a selector",
            id="selector-of-one",
        ),
        pytest.param(
            ("max_turns = 2", "max_turns = 2\nselector_prompt = 'Who of {role}?'"),
            "teams.inner.selector_prompt",
            "there is no field {role}; did you mean 'roles'?",
            id="prompt-field",
        ),
        pytest.param(
            ("max_turns = 2", "max_turns = 2\nselector_prompt = 'Who {?'"),
            "teams.inner.selector_prompt",
            "expected a text with {roles}, {participants}, {history}: ",
            id="prompt-brace",
        ),
        pytest.param(
            ("max_turns = 2", "max_turns = 2\ncandidate_func = 'parts:chose'"),
            "teams.inner.candidate_func",
            "there is no 'chose' in FOLDER/parts.py; did you mean 'choose'?",
            id="function",
        ),
        pytest.param(
            ("max_turns = 2", "max_turns = 2\ncustom_message_types = ['parts:choose']"),
            "teams.inner.custom_message_types[0]",
            "'parts:choose' is not a message type",
            id="message-type",
        ),
        pytest.param(
            (
                "agents.a = {}",
                "agents.a = { model_context = { type = 'token_limited', model = 'x' } }",
            ),
            "teams.t.agents.a.model_context.model",
            "found 'x', expected the name of a model; there is 'auto'",
            id="context-model",
        ),
        pytest.param(
            ("agents.a = {}", "agents.a = { model_context = { path = 'parts:x' } }"),
            "teams.t.agents.a.model_context.path",
            "there is no 'x' in FOLDER/parts.py",
            id="own-context",
        ),
        pytest.param(
            ("agents.a = {}", "agents.a = { memory = [{ contents = [3] }] }"),
            "teams.t.agents.a.memory[0].contents[0]",
            "found 3, expected a table",
            id="memory-content",
        ),
        pytest.param(
            ("agents.a = {}", "agents.a = { memory = [{ text = 'x' }] }"),
            "teams.t.agents.a.memory[0]",
            "has no type, expected type = 'chromadb', 'redis', 'mem0' or 'task_centric', "
            "or the key 'path'",
            id="memory-of-no-kind",
        ),
        pytest.param(
            (
                "agents.a = {}",
                "agents.a = { type = 'code_executor', executor = { type = 'locl' } }",
            ),
            "teams.t.agents.a.executor",
            "found 'locl', expected type = 'docker', 'local', 'jupyter' or 'docker_jupyter', or "
            "the key 'path'; did you mean",
            id="executor",
        ),
        pytest.param(
            (
                "agents.a = {}",
                "agents.a = { type = 'code_executor', "
                "executor = { type = 'local', virtual_env = 'env' } }",
            ),
            "teams.t.agents.a.executor.virtual_env",
            "found no pyvenv.cfg in FOLDER/env, expected a virtual environment",
            id="environment",
        ),
        pytest.param(
            (
                "agents.a = {}",
                "agents.a = { type = 'message_filter', per_source = [], agent = { modl = 'x' } }",
            ),
            "teams.t.agents.a.agent.modl",
            "there is no setting 'modl'; did you mean 'model'?",
            id="filtered-agent",
        ),
        pytest.param(
            ("agents.a = {}", "agents.a = { type = 'user_proxy', input_func = 'parts:x' }"),
            "teams.t.agents.a.input_func",
            "there is no 'x' in FOLDER/parts.py",
            id="input-function",
        ),
    ],
)
def test_a_name_that_leads_nowhere_is_said_at_its_place(tmp_path, change, path, said):
    found = mistakes(tmp_path, GROUP.replace(*change))
    assert found[path].startswith(said)
    assert len(found) == 1


def test_a_team_of_nobody_is_a_mistake(tmp_path):
    found = mistakes(tmp_path, "[teams.t]\ntype = 'round_robin'\nmax_turns = 1")
    assert found == {"teams.t.agents": "is missing: a team needs agents, or teams as participants"}


@pytest.mark.parametrize("kind", ["code_executor", "society_of_mind"])
def test_who_can_not_hand_over_can_not_be_the_first_of_a_swarm(tmp_path, kind):
    setting = ", team = 'u'" if kind == "society_of_mind" else ""
    found = mistakes(
        tmp_path,
        f"""
        [teams.t]
        type = "swarm"
        max_turns = 1
        agents.a = {{ type = "{kind}"{setting} }}
        agents.b = {{ handoffs = ["a"] }}
        [teams.u]
        type = "round_robin"
        max_turns = 1
        agents.c = {{}}
        """,
    )
    said = "the first participant of a swarm must be able to hand over"
    assert found == {"teams.t.agents.a": said}


# --- cycles ---


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        pytest.param(
            "[teams.t]\ntype = 'round_robin'\nmax_turns = 1\nparticipants = ['t']\n",
            "teams.t.participants[0]",
            "found t -> t, expected no circle",
            id="itself",
        ),
        pytest.param(
            "[teams.t]\ntype = 'round_robin'\nmax_turns = 1\nparticipants = ['u']\n"
            "[teams.u]\ntype = 'round_robin'\nmax_turns = 1\n"
            "agents.a = { type = 'society_of_mind', team = 'v' }\n"
            "[teams.v]\ntype = 'graph'\ndescription = 'v'\n"
            "agents.b = { tools = [{ team = 't', description = 'x' }] }",
            "teams.v.agents.b.tools[0]",
            "found t -> u -> a -> v -> b -> t, expected no circle",
            id="long",
        ),
        pytest.param(
            "[teams.t]\ntype = 'round_robin'\nmax_turns = 1\n"
            "agents.a = { tools = [{ agent = 'b' }] }\n"
            "agents.b = { tools = [{ agent = 'a' }] }",
            "teams.t.agents.b.tools[0]",
            "found a -> b -> a, expected no circle",
            id="agents",
        ),
        pytest.param(
            "[teams.t]\ntype = 'round_robin'\nmax_turns = 1\n"
            "agents.a = { tools = [{ agent = 'a' }] }\n",
            "teams.t.agents.a.tools[0]",
            "found a -> a, expected no circle",
            id="agent",
        ),
    ],
)
def test_what_would_be_inside_of_itself_is_one_mistake(tmp_path, text, path, said):
    assert mistakes(tmp_path, text) == {path: said}


def test_a_team_may_be_inside_of_several(tmp_path):
    inner = "[teams.{}]\ntype = 'round_robin'\nmax_turns = 1\nparticipants = ['c', 'd']\n"
    leaf = "[teams.{}]\ntype = 'round_robin'\nmax_turns = 1\nagents.x = {{}}\n"
    text = "".join([*map(inner.format, "ab"), *map(leaf.format, "cd")])
    assert list(load(tmp_path, text).teams) == ["a", "b", "c", "d"]


# --- graphs ---

GRAPH = """
[teams.t]
type = "graph"
{settings}
edges = [
    {edges}
]
agents.a = {{}}
agents.b = {{}}
agents.c = {{}}
"""
CHAIN = "{ source = 'a', target = 'b' }, { source = 'b', target = 'c' }"


def graph(edges: str = CHAIN, settings: str = "") -> str:
    return GRAPH.format(edges=edges, settings=settings)


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        pytest.param(
            graph("{ source = 'a', target = 'bb' }"),
            "edges[0].target",
            "found 'bb', expected a participant; there is 'a', 'b', 'c'",
            id="target",
        ),
        pytest.param(
            graph(settings="default_start_node = 'x'"),
            "default_start_node",
            "found 'x', expected a participant; there is 'a', 'b', 'c'",
            id="start",
        ),
        pytest.param(
            graph(settings="nodes.x = { activation = 'any' }"),
            "nodes.x",
            "found 'x', expected a participant; there is 'a', 'b', 'c'",
            id="node",
        ),
        pytest.param(
            graph(settings="default_start_node = 'b'"),
            "edges",
            "found no edges from b to 'a', expected a way to each participant",
            id="unreachable",
        ),
        pytest.param(
            graph(f"{CHAIN}, {{ source = 'c', target = 'a' }}", "max_turns = 3"),
            "default_start_node",
            "is missing: edges lead to every participant, so no one is first",
            id="no-start",
        ),
        pytest.param(
            graph(
                f"{CHAIN}, {{ source = 'b', target = 'a', condition = 'AGAIN' }}",
                "default_start_node = 'a'\nmax_turns = 3",
            ),
            "edges",
            "Node 'b' has a mix of conditional and unconditional edges.",
            id="mix",
        ),
        pytest.param(
            graph(
                "{ source = 'a', target = 'b' }, "
                "{ source = 'b', target = 'a', condition = 'AGAIN' }, "
                "{ source = 'b', target = 'c', condition = 'GOOD' }",
                "default_start_node = 'a'",
            ),
            "termination",
            "is missing: the graph has a loop, so a run needs a termination or max_turns to end",
            id="endless",
        ),
        pytest.param(
            graph(
                "{ source = 'a', target = 'b', condition = 'x', "
                "condition_function = 'parts:choose' }"
            ),
            "edges[0]",
            "found a condition and a condition_function, expected one of the two",
            id="two-conditions",
        ),
        pytest.param(
            graph("{ source = 'a', target = 'b', condition_function = 'parts:x' }"),
            "edges[0].condition_function",
            "there is no 'x' in FOLDER/parts.py",
            id="condition-function",
        ),
        pytest.param(
            graph("{ source = 'a', target = 'b', activation_condition = 'some' }"),
            "edges[0].activation_condition",
            "found 'some', expected 'all' or 'any'",
            id="activation",
        ),
    ],
)
def test_a_graph_that_can_not_be_walked_is_said_at_its_place(tmp_path, text, path, said):
    found = mistakes(tmp_path, text)
    assert list(found) == [f"teams.t.{path}"]
    assert found[f"teams.t.{path}"].startswith(said)
