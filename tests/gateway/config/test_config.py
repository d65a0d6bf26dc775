"""config.toml: its place, its contents, and the one report of mistakes."""

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.app.load import LoadedConfig, load_config
from gateway.config.agents import AssistantConfig
from gateway.config.problems import ConfigError
from gateway.config.root import Config
from gateway.config.teams import ComponentTeam, RoundRobinTeam, SwarmTeam
from teams.tools.kinds import FunctionToolKind

pytestmark = pytest.mark.usefixtures("fresh_imports")

ROOT = Path(__file__).resolve().parents[3]
MINIMAL = """
[teams.one]
type = "round_robin"
max_turns = 1
agents.a = {}
"""


def load(folder: Path, text: str, **options: Any) -> LoadedConfig:
    path = folder / "config.toml"
    path.write_text(dedent(text))
    return load_config(path, **options)


def report(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return str(caught.value).replace(str(folder), "FOLDER")


def mistakes(folder: Path, text: str) -> dict[str, str]:
    """The messages by `line, path`."""
    entries = re.split(r"\n  (?=\S)", report(folder, text))[1:]
    parts = (entry.partition("\n") for entry in entries)
    return {place: said.strip() for place, _, said in parts}


# --- where it comes from ---


def test_the_config_of_the_project_says_what_is_built_in():
    assert load_config(ROOT / "config.toml").config == Config()


def test_every_example_in_the_config_of_the_project_is_valid(tmp_path, monkeypatch):
    secrets = {"OPENAI_API_KEY": "sk-1", "SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    secrets |= {"ANTHROPIC_API_KEY": "sk-2", "DISCORD_TOKEN": "token"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    text = (ROOT / "config.toml").read_text().replace("C0123456789", "C0GENERAL")
    examples = re.sub(r'^# (?=\[|\]|    |[\w."-]+ = )', "", text, flags=re.MULTILINE)
    (tmp_path / "team.json").write_text("{}")
    (tmp_path / "my_tools.py").write_text(
        "def find_order(id: str) -> str: ...\ndef pay_back(id: str) -> str: ...\n"
        "def search(query: str) -> str: ...\n"
    )
    (tmp_path / "my_team.py").write_text("def build(): ...\n")
    config = load(tmp_path, examples).config
    assert list(config.teams) == ["demo", "helpdesk", "writers", "press", "studio", "mine"]
    assert list(config.models) == ["auto", "strong", "claude", "local"]


def test_without_a_file_the_built_in_config_is_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = load_config()
    assert (loaded.config, loaded.source) == (Config(), None)
    assert loaded.config.team_name() == "demo"
    assert loaded.config.model_name() == "auto"


def test_the_first_place_that_has_a_config_wins(tmp_path, home, monkeypatch):
    named, local, given = (tmp_path / name for name in ("named", "local", "given"))
    user = home / ".config" / "parley"
    for folder in (named, local, user, given):
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(MINIMAL)
    monkeypatch.chdir(local)
    monkeypatch.setenv("PARLEY_CONFIG", str(named / "config.toml"))

    assert load_config(given / "config.toml").source == given / "config.toml"
    assert load_config().source == named / "config.toml"
    monkeypatch.delenv("PARLEY_CONFIG")
    assert load_config().source == Path("config.toml")
    (local / "config.toml").unlink()
    assert load_config().source == user / "config.toml"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(
            None, "cannot read it: No such file or directory; `parley init ", id="missing"
        ),
        pytest.param(b"\xff\x00", "cannot read it: it is not UTF-8 text", id="not-text"),
        pytest.param("a = 1".encode("utf-16"), "cannot read it: it is UTF-16 text", id="utf-16"),
        pytest.param(b"a = 1\nb = = 2", "is not valid TOML: line 2, column 5: ", id="toml"),
        pytest.param(b"[a", "is not valid TOML: end of document: Expected ']'", id="open-text"),
    ],
)
def test_a_file_that_can_not_be_read_is_named_with_the_reason(tmp_path, content, said):
    path = tmp_path / "config.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: one mistake\n  {said}")


@pytest.mark.parametrize("path", ["C:\\Users", "C:\\data", "C:\\new\\x1"])
def test_a_path_of_windows_between_double_quotes_is_told_how_to_be_written(tmp_path, path):
    (tmp_path / "config.toml").write_text(f'data_dir = "{path}"\n{MINIMAL}')
    with pytest.raises(ConfigError, match=r"line 1, column \d+: .*a backslash is written"):
        load_config(tmp_path / "config.toml")


def test_the_mark_that_some_editors_write_first_is_no_mistake(tmp_path):
    (tmp_path / "config.toml").write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode())
    assert load_config(tmp_path / "config.toml").config.teams


# --- what it may say ---


def test_a_team_is_written_with_every_parameter(tmp_path):
    (tmp_path / "parts.py").write_text(
        dedent("""
        from pydantic import BaseModel
        class Answer(BaseModel):
            text: str
        def search(query: str) -> str:
            "Search."
            return query
        def summary(call, result): return result.content
        def remember(): ...
        """)
    )
    config = load(
        tmp_path,
        """
        default_model = "b"
        [models.a]
        model = "gpt-4o"
        [models.b]
        provider = "teams.models.replay:ReplayChatCompletionClient"
        options = { chat_completions = ["hi"] }
        [teams.t]
        type = "swarm"
        description = "All of it"
        participants = ["second", "first"]
        termination = '''
            Handoff("user")
            | (TextMention(text="DONE", sources=["first"])
               & MaxMessage(3, include_agent_event=true))
        '''
        max_turns = 5
        emit_team_events = true
        [teams.t.agents.first]
        type = "assistant"
        model = "a"
        description = "The first"
        system_message = ""
        tools = ["parts:search", { path = "parts:search", name = "find", strict = true }]
        handoffs = ["second", { target = "user", name = "ask", message = "m", description = "d" }]
        model_context = { type = "buffered", buffer_size = 4 }
        model_client_stream = false
        reflect_on_tool_use = true
        max_tool_iterations = 3
        tool_call_summary_format = "{tool_name}: {result}"
        tool_call_summary_formatter = "parts:summary"
        output_content_type = "parts:Answer"
        output_content_type_format = "{text}"
        memory = ["parts:remember"]
        metadata = { role = "x" }
        [teams.t.agents.second]
        handoffs = ["first"]
        [policies]
        operators = ["slack:T1:U1"]
        timezone = "Europe/Berlin"
        [policies.tools]
        default = "deny"
        search = "allow"
        find = { action = "ask", idempotent = true, read_only = true }
        """,
    ).config
    team = config.teams["t"]
    assert isinstance(team, SwarmTeam)
    first = team.agents["first"]
    assert isinstance(first, AssistantConfig)
    assert team.members == ["second", "first"]
    assert [tool.path for tool in first.tools if isinstance(tool, FunctionToolKind)] == [
        "parts:search",
        "parts:search",
    ]
    assert [handoff.target for handoff in first.handoffs] == ["second", "user"]
    assert first.system_message == ""
    assert config.model_name() == "b"
    assert config.model_name("a") == "a"
    tools = config.policies.tools
    assert (search := tools.of("search")) is not None
    assert (find := tools.of("find")) is not None
    assert (search.action, find.action, find.idempotent) == ("allow", "ask", True)
    assert tools.of("other") is None


def test_agents_of_toml_teams_stream_and_go_on_after_tool_calls(tmp_path):
    team = load(tmp_path, MINIMAL).config.teams["one"]
    assert isinstance(team, RoundRobinTeam)
    agent = team.agents["a"]
    assert isinstance(agent, AssistantConfig)
    assert (agent.model_client_stream, agent.max_tool_iterations) == (True, 10)
    assert team.members == ["a"]


def test_own_models_and_teams_replace_the_built_in_ones(tmp_path):
    config = load(tmp_path, MINIMAL + "[models.mine]\nmodel = 'gpt-4o'").config
    assert (list(config.teams), list(config.models)) == (["one"], ["mine"])
    assert (config.team_name(), config.model_name()) == ("one", "mine")


def test_a_component_team_is_found_beside_the_config(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    (tmp_path / "team.json").write_text("{}")
    team = load(tmp_path, '[teams.x]\ncomponent = "team.json"').config.teams["x"]
    assert isinstance(team, ComponentTeam)
    assert team.component == tmp_path / "team.json"


# --- secrets ---


@pytest.mark.parametrize(
    "line",
    [
        'api_key = "${THE_KEY}"',
        'api_key_env = "THE_KEY"',
        'api_key_file = "key.txt"',
    ],
)
def test_a_secret_comes_from_the_environment_or_a_file(tmp_path, monkeypatch, line):
    monkeypatch.setenv("THE_KEY", "sk-canary")
    (tmp_path / "key.txt").write_text("sk-canary\n")
    model = load(tmp_path, f"[models.m]\nmodel = 'gpt-4o'\n{line}").config.models["m"]
    assert model.api_key is not None
    assert model.api_key.get_secret_value() == "sk-canary"
    assert "sk-canary" not in repr(model)


def test_variables_are_replaced_in_every_text_and_can_be_written_literally(tmp_path, monkeypatch):
    monkeypatch.setenv("TONE", "kind")
    team = load(
        tmp_path,
        MINIMAL.replace("{}", "{ system_message = 'Be ${TONE}, say $${TONE} and $TONE.' }"),
    ).config.teams["one"]
    assert isinstance(team, RoundRobinTeam)
    assert team.agents["a"].model_dump()["system_message"] == "Be kind, say ${TONE} and $TONE."


@pytest.mark.parametrize(
    ("line", "path", "said"),
    [
        ('api_key_env = "NOPE"', ".api_key_env", "the environment variable NOPE is not set"),
        ("api_key_env = 3", ".api_key_env", "expected the name of an environment variable"),
        ('api_key_file = "no.txt"', ".api_key_file", "cannot read FOLDER/no.txt: No such file or"),
        ('api_key_file = "empty.txt"', ".api_key_file", "FOLDER/empty.txt is empty"),
        (
            'api_key = "${NOPE}"',
            ".api_key",
            "the environment variable NOPE is not set (for a plain",
        ),
        (
            'api_key = "x"\napi_key_env = "THE_KEY"',
            ".api_key_env",
            "found api_key beside it, expected one of the two",
        ),
        ('api_key = ["sk-canary"]', ".api_key", "found something else, expected text"),
        ('api_kye = "sk-canary"', ".api_kye", "there is no setting 'api_kye'; did you mean 'api_k"),
        ('timeout = "${THE_KEY}"', ".timeout", "found '${THE_KEY}', expected a number"),
    ],
)
def test_a_secret_is_never_part_of_the_report(tmp_path, monkeypatch, line, path, said):
    monkeypatch.setenv("THE_KEY", "sk-canary")
    (tmp_path / "empty.txt").write_text("\n")
    found = mistakes(tmp_path, f"[models.m]\nmodel = 'gpt-4o'\n{line}")
    place = f"line {2 + len(line.splitlines())}, models.m{path}"
    assert found[place].startswith(said)
    assert "sk-canary" not in str(found)


# --- mistakes ---


def test_all_mistakes_are_in_one_report(tmp_path):
    (tmp_path / "good.py").write_text("def search(query: str) -> str: ...\nnumber = 3\n")
    (tmp_path / "broken.py").write_text("import json\n\nraise KeyError('boom')\n")
    (tmp_path / "syntax.py").write_text("def f(:\n")
    (tmp_path / "needy.py").write_text("import not_installed_anywhere\n")
    text = report(
        tmp_path,
        """\
        default_team = "helpdsk"
        colour = "red"

        [models.fast]
        model = "gpt-4o"
        timeout = "soon"

        [models.other]
        provider = "openia"

        [teams.helpdesk]
        type = "swarm"
        participants = ["front", "refund", "front"]
        termination = "TextMention('DONE') | MaxMesage(30)"

        [teams.helpdesk.agents.front]
        modle = "fast"
        tools = [
            "good:serach", "nomod:x",
            "justtext", "broken:f",
            "good:number", "syntax:f", "needy:f",
        ]
        handoffs = ["user", { target = "refunds" }, "front"]

        [teams.helpdesk.agents.refunds]
        model = "fsat"
        model_context = { type = "bufferd", buffer_size = 3 }
        max_tool_iterations = 0

        [teams.x]
        participants = []

        [teams.y]
        factory = "good:search"
        model = "other"
        agents = {}

        [policies.tools]
        default = "never"
        rm = "denyy"
        [policies]
        timezone = "Mars/Phobos"
        """,
    )
    assert text == (Path(__file__).parent / "data" / "mistakes.txt").read_text().strip()


def test_mistakes_in_items_of_a_list_leave_the_other_items_and_their_numbers(tmp_path):
    found = mistakes(
        tmp_path,
        """\
        [[routes]]
        adapter = "slack"
        chanels = "*"
        users = "members"
        [[routes]]
        adapter = "slak"
        channels = 3
        users = "members"
        [[routes]]
        adapter = "slack"
        channels = "*"
        users = "members"
        team = "dmo"
        [adapters.slack]
        bot_token_env = "NOPE"
        app_token = "${NIX}"
        mode = "htpp"
        """,
    )
    assert list(found) == [
        "line 3, routes[0].chanels",
        "line 6, routes[1].adapter",
        "line 7, routes[1].channels",
        "line 13, routes[2].team",
        "line 15, adapters.slack.bot_token_env",
        "line 16, adapters.slack.app_token",
        "line 17, adapters.slack.mode",
    ]


def test_an_item_that_lacks_two_things_leaves_the_other_items(tmp_path):
    found = mistakes(
        tmp_path,
        """\
        [[routes]]
        adapter = "slack"
        channels = "general"
        users = "members"
        [[routes]]
        adapter = "slack"
        [adapters.slack]
        bot_token = "xoxb-1"
        app_token = "xapp-1"
        """,
    )
    assert list(found) == [
        "line 3, routes[0].channels[0]",
        "line 5, routes[1].channels",
        "line 5, routes[1].users",
    ]


def test_a_misspelt_table_still_names_what_is_in_it(tmp_path):
    text = 'default_team = "t"\nmodells.m.model = "x"\nteam.t = { type = "demo", model = "m" }'
    assert list(mistakes(tmp_path, text)) == ["line 2, modells", "line 3, team"]


SWARM = """
[teams.t]
type = "swarm"
max_turns = 3
agents.a = { handoffs = ["b"] }
agents.b = {}
"""


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        pytest.param(
            ('{ handoffs = ["b"] }', "{}"),
            "agents.a.handoffs",
            "is missing: the first participant of a swarm must be able to hand over",
            id="swarm-that-stays",
        ),
        pytest.param(
            ("agents.b", "agents.b-c"),
            "agents.b-c",
            "found 'b-c', expected a name of letters, digits and underscores",
            id="name",
        ),
        pytest.param(
            ("agents.b = {}", "agents.b = { type = 'user' }"),
            "agents.b",
            "found 'user', expected type = 'assistant', 'openai', 'azure_ai', 'user_proxy', ",
            id="agent-type",
        ),
        pytest.param(
            ("agents.b = {}", "agents.b = { tools = ['json:dumps'], workbench = ['json:dumps'] }"),
            "agents.b",
            "found tools and a workbench, expected one of the two",
            id="tools-and-workbench",
        ),
        pytest.param(
            ("agents.b = {}", "agents.b = { tools = [{ name = 'x' }] }"),
            "agents.b.tools[0]",
            "has no type, expected the key 'path', 'agent', 'team', 'executor', 'http', ",
            id="tool-without-path",
        ),
        pytest.param(
            ("agents.b = {}", "agents.b = { tools = [3] }"),
            "agents.b.tools[0]",
            "found 3, expected a table",
            id="tool-of-wrong-type",
        ),
        pytest.param(
            ("agents.b = {}", "agents.b = { memory = ['nomod:x'] }"),
            "agents.b.memory[0]",
            "there is no module 'nomod' in FOLDER or among the installed packages",
            id="memory",
        ),
        pytest.param(
            ("max_turns = 3", "termination = \"Functional('nomod:x')\""),
            "termination",
            "'func': there is no module 'nomod' in FOLDER",
            id="functional",
        ),
        pytest.param(
            ("max_turns = 3", "max_turns = true"),
            "max_turns",
            "found true, expected a whole number",
            id="truth-is-no-number",
        ),
        pytest.param(
            ("max_turns = 3", "max_turns = '3'"),
            "max_turns",
            "found '3', expected a whole number",
            id="text-is-no-number",
        ),
    ],
)
def test_a_mistake_in_a_team_is_said_at_its_place(tmp_path, change, path, said):
    found = mistakes(tmp_path, SWARM.replace(*change))
    [problem] = [text for place, text in found.items() if place.endswith(f", teams.t.{path}")]
    assert problem.startswith(said)


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("teams.t = 3", "teams.t", "found 3, expected a table"),
        ("teams = 3", "teams", "found 3, expected a table"),
        ("models = {}", "models", "found an empty table, expected at least one entry"),
        ("[[teams]]", "teams", "found a list, expected a table"),
        (
            "teams.t.component = 'no.json'",
            "teams.t.component",
            "cannot read FOLDER/no.json: ",
        ),
        (
            "teams.t.component = 'config.toml'",
            "teams.t.component",
            "FOLDER/config.toml is not ",
        ),
        ("teams.t.factory = 'json:nope'", "teams.t.factory", "there is no 'nope' in "),
        ("models.m.provider = 'json:x'", "models.m.provider", "there is no 'x' in "),
        ("models.m.provider = 'openai'", "models.m.model", "is missing"),
        (
            "models.m = { model = 'gpt-4o', options = { temperatur = 1 } }",
            "models.m.options.temperatur",
            "there is no option 'temperatur'; did you mean 'temperature'?",
        ),
        (
            "models.m = { model = 'gpt-4o', options = { colour = 1 } }",
            "models.m.options.colour",
            "there is no option 'colour'; anything the API takes can stand in extra_body",
        ),
        (
            "models.m = { model = 'gpt-4o', options = { seed = 'x' } }",
            "models.m.options.seed",
            "found 'x', expected a valid integer",
        ),
        (
            "policies.approvals = ['slack:C1']",
            "policies.approvals[0]",
            "found 'slack:C1', expected a channel such as 'slack:T1:C1'",
        ),
        (
            "policies.live_links = ['https://docs.example.com']",
            "policies.live_links[0]",
            "found 'https://docs.example.com', expected a host such as 'docs.example.com'",
        ),
        (
            "policies.live_links = ['.example.com', '*', 'a.example', '*.example.com']",
            "policies.live_links[3]",
            "found '*.example.com', expected a host",
        ),
        (
            "policies.approvals = ['slak:T1:C1']",
            "policies.approvals[0]",
            "found 'slak', expected a channel of a platform in [adapters]",
        ),
        (
            "policies.tools.pay = { action = 'ask', approvers = ['askr'] }",
            "policies.tools.pay.approvers[0]",
            "found 'askr', expected a person such as 'slack:T1:U1', or 'asker' or 'operators'",
        ),
        (
            "policies.tools.pay = { action = 'ask', quorum = 3, approvers = ['asker', 'x:1'] }",
            "policies.tools.pay.quorum",
            "found 3, expected at most 2, as many as may approve; name more approvers or operators",
        ),
        (
            "policies.tools.pay = { action = 'ask', quorum = 2 }",
            "policies.tools.pay.quorum",
            "found 2, expected at most 1, as many as may approve",
        ),
        (
            "policies.missed_days = inf",
            "policies.missed_days",
            "found inf, expected a",
        ),
        (
            "policies.missed_days = 366",
            "policies.missed_days",
            "found 366, expected a value less than or equal to 365",
        ),
        (
            "policies.answer_missed_minutes = nan",
            "policies.answer_missed_minutes",
            "found nan, expected a",
        ),
        (
            "policies.answer_missed_minutes = 721\npolicies.missed_days = 0.5",
            "policies.answer_missed_minutes",
            "found 721, longer than missed_days, which is 720 minutes;",
        ),
        (
            "policies.tools.pay = { action = 'ask', quorum = 0 }",
            "policies.tools.pay.quorum",
            "found 0, expected a value greater than or equal to 1",
        ),
    ],
)
def test_a_mistake_anywhere_is_said_at_its_place(tmp_path, text, path, said):
    found = mistakes(tmp_path, text)
    assert found[f"line 1, {path}"].startswith(said)


def test_what_is_wrong_with_a_thing_does_not_make_its_name_unknown(tmp_path):
    found = mistakes(
        tmp_path,
        """
        default_team = "broken"
        [models.broken]
        model = 3
        [teams.broken]
        type = "round_robin"
        max_turns = 0
        agents.a = { model = "broken" }
        """,
    )
    assert set(found) == {"line 4, models.broken.model", "line 7, teams.broken.max_turns"}


def test_commands_without_a_team_take_names_and_imports_on_trust(tmp_path):
    text = "default_team = 'x'\n" + SWARM.replace("agents.b = {}", "agents.b.tools = ['nomod:x']")
    assert load(tmp_path, text, references=False).config.default_team == "x"
    assert len(mistakes(tmp_path, text)) == 2


toml_values = st.recursive(
    st.booleans() | st.integers() | st.text(alphabet="a${}'():|\n", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "agents", "a", "model", "tools", "default", "path", "${X}"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


def as_toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            escaped = value.replace("\n", "\\n").replace('"', "")
            return f'"{escaped}"'
        case list():
            return f"[{', '.join(map(as_toml, value))}]"
        case dict():
            return "{" + ", ".join(f"{as_toml(k)} = {as_toml(v)}" for k, v in value.items()) + "}"
        case _:
            return str(value)


@pytest.mark.timeout(60)
@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(list(Config.model_fields)), toml_values, max_size=3))
def test_any_toml_is_a_config_or_a_report(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    path = folder / "fuzzed.toml"
    path.write_text("\n".join(f"{key} = {as_toml(value)}" for key, value in data.items()))
    try:
        loaded = load_config(path)
    except ConfigError as error:
        assert error.problems  # noqa: PT017 (either outcome is fine)
    else:
        assert isinstance(loaded.config, Config)


# --- budgets ---

BUDGET = '[[budgets]]\nper = "person"\n'


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (BUDGET, "budgets[0].tokens", "is missing: a budget limits tokens, cost, turns or seconds"),
        (
            BUDGET + "seconds = 5",
            "budgets[0].seconds",
            'found 5, expected window = "turn" with it: ',
        ),
        (
            BUDGET + 'turns = 1\nwindow = "turn"',
            "budgets[0].turns",
            'found 1, expected window = "day": one turn has no number',
        ),
        (
            BUDGET + "tokens = 0",
            "budgets[0].tokens",
            "found 0, expected a value greater than or eq",
        ),
        (
            BUDGET + 'turns = 1\nwindow = "week"',
            "budgets[0].window",
            "found 'week', expected 'turn', 'hour', 'day' or 'month'",
        ),
        (
            '[[budgets]]\nper = "team"\nonly = "dmo"\nturns = 1',
            "budgets[0].only",
            "found 'dmo', expected a team; did you mean 'demo'?",
        ),
        (
            BUDGET + 'cost = 1.0\n[models.m]\nmodel = "our-own"',
            "models.m.model",
            "found no price, expected our-own in [prices]: a budget limits the cost",
        ),
    ],
)
def test_a_budget_that_could_not_be_kept_is_a_mistake(tmp_path, text, place, said):
    found = mistakes(tmp_path, text)
    (where,) = [where for where in found if place in where]
    assert found[where].startswith(said)


def test_budgets_and_prices_are_read(tmp_path):
    text = (
        BUDGET + 'cost = 1.5\nwindow = "month"\n[prices]\n"gpt-4.1-mini" = {input=0.4, output=1.6}'
    )
    config = load(tmp_path, text).config
    assert config.budgets[0].cost == 1.5
    assert config.prices["gpt-4.1-mini"].output == 1.6


# --- keys of the terminal ---


def test_mistakes_in_keys_of_the_terminal_stand_in_their_lines(tmp_path: Path):
    text = """
    [terminal.keys]
    sesions = "f2"
    find = "ctrl+s"
    quit = []
    copy = "y"
    """
    assert list(mistakes(tmp_path, text)) == [
        "line 3, terminal.keys.sesions",
        "line 4, terminal.keys.find",
        "line 5, terminal.keys.quit",
        "line 6, terminal.keys.copy",
    ]
    assert "did you mean 'sessions'?" in report(tmp_path, text)
