"""AutoGen's team files become tables that build the same team."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.app.check import dump_team
from gateway.app.import_teams import read_teams, report_text, write_teams
from gateway.app.load import load_config
from gateway.config.teams import TEAMS
from gateway.errors import GatewayError
from gateway.migrate.team_tables import import_teams
from teams import BaseGroupChat, MagenticOneGroupChat, RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.agents.file_surfer import FileSurfer
from teams.agents.magentic_one import MagenticOneCoderAgent
from teams.agents.web_surfer import MultimodalWebSurfer
from teams.core import ComponentLoader
from teams.model_context import UnboundedChatCompletionContext
from teams.models import ModelInfo
from teams.models.replay import ReplayChatCompletionClient
from teams.tools.http import HttpTool
from tests.gateway.migrate.gallery import GALLERY, SECRETS

INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, family="unknown", structured_output=True
)
DATA = Path(__file__).parents[2] / "data" / "autogen-0.7.5"


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def comparable(form: Any) -> Any:
    """The component without what a TOML file says otherwise."""
    match form:
        case {"provider": str(provider), "config": dict(config)} if provider.endswith("Tool"):
            left = {key: config[key] for key in config if key not in ("source_code",)}
            return {"provider": provider, "config": comparable(left)}
        case {"label": "AutoChatCompletionContext"}:  # that of tables without one
            return comparable(UnboundedChatCompletionContext().dump_component().model_dump())
        # AutoGen writes this for an agent without tools.
        case {"workbench": [{"config": {"tools": []}}]}:
            return comparable({key: form[key] for key in form if key != "workbench"})
        case {"chat_completions": list(answers)}:
            return {**form, "chat_completions": [each for each in answers if each is str(each)]}
        case dict():
            return {key: comparable(value) for key, value in form.items() if value is not None}
        case _:
            return [comparable(each) for each in form] if isinstance(form, list) else form


async def rebuilt(source: Path, folder: Path) -> tuple[Any, str]:
    """The first team after a way through TOML, and the report."""
    output = folder / "config.toml"
    imported = read_teams(source, output)
    write_teams(imported, source, output)
    loaded = load_config(output)
    dumped = await dump_team(loaded, loaded.config.team_name())
    return json.loads(dumped.text), report_text(imported)


@pytest.mark.parametrize(
    "name", ["round-robin", "selector", "swarm", "graph", "graph-loop", "magentic-one", "nested"]
)
async def test_a_team_of_autogen_is_the_same_after_a_way_through_toml(
    name: str, tmp_path: Path
) -> None:
    source = DATA / f"{name}-new.json"
    component = json.loads(source.read_text())["component"]
    overrides = {"add": f"{__name__}:add"}
    loaded = ComponentLoader.load_component(component, BaseGroupChat, tool_overrides=overrides)
    expected = comparable(loaded.dump_component().model_dump(mode="json"))
    found, _ = await rebuilt(source, tmp_path)
    assert comparable(found) == expected


async def test_a_gallery_is_taken_without_its_secrets_and_all_losses_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "gallery.json"
    source.write_text(json.dumps(GALLERY))
    for variable in ("OPENAI_API_KEY", "LOCAL_API_KEY", "TOKEN", "MCP2_AUTHORIZATION"):
        monkeypatch.setenv(variable, "from-the-environment")
    found, report = await rebuilt(source, tmp_path)
    text = (tmp_path / "config.toml").read_text()
    assert [secret for secret in SECRETS if secret in text + report] == []
    assert report.splitlines() == [
        "Not taken:",
        "  components.agents[0]: AssistantAgent outside of a team; config.toml has it in a team "
        "alone",
        "  components.teams[0].participants[0].model_client.default_headers: it may hold a secret: "
        "write it in `options` with ${VARIABLE}",
        "  components.teams[0].participants[0].workbench[2].tools[2]: an HTTP tool without a name "
        "or a host",
        "  components.teams[0].participants[1].code_executor.container_name: config.toml has no "
        "such setting",
        "  components.teams[0].participants[4]: no agent like mine.Agent",
        "  components.models[1]: no model client like "
        "autogen_ext.models.llama_cpp.LlamaCppChatCompletionClient; the default model is used",
        "Left to do:",
        "  the team 'My team' is [teams.My_team] here",
        "  put the key of [models.gpt_4o] into the variable OPENAI_API_KEY",
        "  set the variables TOKEN for an MCP server",
        "  set the variables MCP2_AUTHORIZATION for an MCP server",
        "  write add() in config_tools.py; Parley never runs the file's code",
        "  code is denied unless [policies.tools] has an execute_code",
        "  put the key of [models.local] into the variable LOCAL_API_KEY",
    ]
    assert [each["config"]["name"] for each in found["config"]["participants"]] == [
        "helper",
        "coder",
        "mind",
        "filter",
    ]
    helper = found["config"]["participants"][0]["config"]
    assert helper["system_message"] == "Say ${this}\nand \"that\" \\ '''."
    assert helper["memory"][0]["config"]["memory_contents"][0]["content"] == "Tea."
    assert "def add(a: int) -> int:" in (tmp_path / "config_tools.py").read_text()


async def test_an_http_tool_becomes_a_table_without_its_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    tool = HttpTool(
        "book",
        "api.example.com",
        8443,
        schema,
        headers={"Authorization": "Bearer sk-secret"},
        description="Find a book.",
        path="/books/{id}?lang=de",
        scheme="https",
        method="GET",
        return_type="json",
        timeout=3,
    )
    client = ReplayChatCompletionClient(["x"], model_info=INFO)
    team = RoundRobinGroupChat([AssistantAgent("a", client, tools=[tool])], max_turns=1)
    source = tmp_path / "team.json"
    source.write_text(team.dump_component(provider="autogen").model_dump_json())
    monkeypatch.setenv("BOOK_AUTHORIZATION", "from-the-environment")
    found, report = await rebuilt(source, tmp_path)
    text = (tmp_path / "config.toml").read_text()
    assert 'http = "https://api.example.com:8443/books/{id}?lang=de"' in text
    assert "sk-secret" not in text + report
    assert "set the variables BOOK_AUTHORIZATION for the HTTP tool" in report
    (made,) = found["config"]["participants"][0]["config"]["workbench"][0]["config"]["tools"]
    wanted = tool.dump_component().model_dump(mode="json")["config"]
    assert made["config"] == wanted | {"headers": {"Authorization": "from-the-environment"}}


async def test_a_web_surfer_becomes_a_table_and_its_folders_are_told_of(tmp_path: Path) -> None:
    model = ReplayChatCompletionClient(["Hello."], model_info=INFO)
    surfer = MultimodalWebSurfer(
        "surfer", model, downloads_folder="/srv/downloads", start_page="https://example.com/"
    )
    source = tmp_path / "team.json"
    team = RoundRobinGroupChat([surfer], max_turns=1)
    source.write_text(team.dump_component().model_dump_json())
    found, report = await rebuilt(source, tmp_path)
    [agent] = found["config"]["participants"]
    assert agent["provider"] == "teams.agents.web_surfer.MultimodalWebSurfer"
    assert agent["config"]["start_page"] == "https://example.com/"
    assert "downloads_folder" in report


def test_what_looks_like_a_secret_is_not_written() -> None:
    server = {
        "type": "StdioServerParams",
        "command": "server",
        "args": ["--api-key", "abc-1", "--token=abc-2", "--url", "http://h/?api_key=abc-3&x=1"],
    }
    bench = {
        "provider": "autogen_ext.tools.mcp.McpWorkbench",
        "config": {"server_params": server},
    }
    client = {
        "provider": "autogen_ext.models.openai.OpenAIChatCompletionClient",
        "config": {"model": "m", "base_url": "https://me:abc-4@host/v1", "user": "sk-abcdefgh-5"},
    }
    agent = {
        "provider": "autogen_agentchat.agents.AssistantAgent",
        "config": {"name": "a", "model_client": client, "workbench": [bench]},
    }
    team = {"provider": "autogen_agentchat.teams.Swarm", "config": {"participants": [agent]}}
    imported = import_teams(team, tools_module="x")
    made = imported.tables["teams"]["swarm"]["agents"]["a"]["mcp"][0]["args"]
    assert made == [
        "--api-key", "[secret]", "--token=[secret]", "--url", "http://h/?api_key=[secret]&x=1"
    ]  # fmt: skip
    assert "abc-" not in str(imported.tables)
    assert "abcdefgh" not in str(imported.tables)
    places = [each.partition(": ")[0] for each in imported.report.lost]
    assert places == [
        "participants[0].model_client.base_url",
        "models.m.options.user",
        "teams.swarm.agents.a.mcp[0].args[1]",
        "teams.swarm.agents.a.mcp[0].args[2]",
        "teams.swarm.agents.a.mcp[0].args[4]",
    ]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    source = DATA / "round-robin-new.json"
    (tmp_path / "x_tools.py").write_text("mine")
    imported = read_teams(source, tmp_path / "x.toml")
    with pytest.raises(GatewayError, match=r"x_tools\.py already exists, so no file was written"):
        write_teams(imported, source, tmp_path / "x.toml")
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}', '{"provider": "x.Y", "config": {}}'])
def test_a_file_of_another_kind_is_an_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(GatewayError, match=r"x\.json"):
        read_teams(tmp_path / "x.json", None)


@pytest.mark.parametrize("graph", [[1], {"nodes": {"a": 7}}, {"nodes": {"a": {"edges": [4]}}}])
def test_a_part_of_a_wrong_kind_is_told_in_plain_words(graph: Any, tmp_path: Path) -> None:
    config = {"participants": [], "graph": graph}
    flow = {"provider": "autogen_agentchat.teams.GraphFlow", "config": config}
    (tmp_path / "x.json").write_text(json.dumps([flow]))
    with pytest.raises(GatewayError, match=r"x\.json is damaged: \[0\] holds something") as refused:
        read_teams(tmp_path / "x.json", None)
    assert "attribute" not in str(refused.value)


def test_what_a_condition_means_stays() -> None:
    def condition(name: str, **config: Any) -> dict[str, Any]:
        return {"provider": f"autogen_agentchat.conditions.{name}Termination", "config": config}

    def both(name: str, *inner: Any) -> dict[str, Any]:
        provider = f"autogen_agentchat.base.{name}TerminationCondition"
        return {"provider": provider, "config": {"conditions": [*inner]}}

    text = condition("TextMention", text="it's\n'${x}'\\")
    either = both("Or", text, condition("MaxMessage", max_messages=3))
    whole = both("And", either, both("Or", condition("StopMessage"), condition("External")))
    team = {
        "provider": "autogen_agentchat.teams.Swarm",
        "config": {"participants": [], "termination_condition": whole},
    }
    made = import_teams(team, tools_module="x").tables["teams"]["swarm"]["termination"]
    assert made == (
        "(TextMention(text='it\\'s\\n\\'$${x}\\'\\\\') | MaxMessage(max_messages=3))"
        " & (StopMessage() | External())"
    )


async def test_magentic_one_s_agents_are_taken(tmp_path: Path) -> None:
    model = ReplayChatCompletionClient([], model_info={**INFO, "function_calling": True})
    agents = [
        FileSurfer("files", model, base_path=str(tmp_path)),
        MagenticOneCoderAgent("c", model),
    ]
    team = MagenticOneGroupChat(agents, model)
    source = tmp_path / "team.json"
    source.write_text(team.dump_component().model_dump_json())
    found, _ = await rebuilt(source, tmp_path)
    files, coder = found["config"]["participants"]
    assert files["provider"] == "teams.agents.file_surfer.FileSurfer"
    assert coder["provider"] == "teams.agents.magentic_one.MagenticOneCoderAgent"
    text = (tmp_path / "config.toml").read_text()
    assert 'type = "file_surfer"' in text
    assert 'type = "coder"' in text


@pytest.mark.parametrize(
    ("kind", "is_told"),
    [
        ("RoundRobinGroupChat", True),
        ("SelectorGroupChat", True),
        ("Swarm", True),
        ("GraphFlow", False),
        ("MagenticOneGroupChat", False),
    ],
)
def test_an_end_that_the_file_does_not_have_is_told(kind: str, is_told: bool) -> None:
    agent = {"provider": "autogen_agentchat.agents.UserProxyAgent", "config": {"name": "a"}}
    config: dict[str, Any] = {"participants": [agent]}
    team = {"provider": f"autogen_agentchat.teams.{kind}", "config": config}

    def told() -> list[str]:
        todo = import_teams(team, tools_module="tools").report.todo
        return [each for each in todo if "has no end" in each]

    named = next(each.kind.name for each in TEAMS if each.kind.made_by == f"teams:{kind}")
    said = f"[teams.{named}] has no end of its own: `parley check` says where a run ends here"
    assert told() == ([said] if is_told else [])
    config["max_turns"] = 3
    assert told() == []
    end = "autogen_agentchat.conditions.MaxMessageTermination"
    config |= {
        "max_turns": None,
        "termination_condition": {"provider": end, "config": {"max_messages": 3}},
    }
    assert told() == []
    config["termination_condition"] = {"provider": "mine.Unheard", "config": {}}
    assert told() == ([said] if is_told else [])
