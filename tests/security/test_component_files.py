"""A component file is data: the operator allows each power."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.app.check import check_config
from gateway.app.load import load_config
from gateway.config.problems import ConfigError
from gateway.factory.component_files import READERS, allow_line, needs_of
from gateway.factory.teams import TeamBuildError, TeamFactory
from teams._components.providers import known_providers
from teams.base import Team
from teams.kinds import KINDS, KindsOf, Tool
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.security.component_examples import (
    HARMLESS,
    MEMORIES,
    NOT_IN_A_FILE,
    POWERS,
    REPLAY,
    WORKBENCHES,
    Part,
    agent,
    docker,
    http,
    local,
    mcp,
    notebook,
    openai,
    part,
    team,
    with_executor,
)


def as_tool(inner: Part) -> Part:
    tools = [part("teams.tools.AgentTool", agent=inner)]
    return agent("outer", workbench=[part("autogen_core.tools.StaticWorkbench", tools=tools)])


def as_team_tool(inner: Part) -> Part:
    tool = part("teams.tools.TeamTool", team=team(inner), name="crew", description="Works.")
    return agent("outer", workbench=[part("teams.tools.StaticStreamWorkbench", tools=[tool])])


def as_society(inner: Part) -> Part:
    provider = "autogen_agentchat.agents.SocietyOfMindAgent"
    return part(provider, name="society", team=team(inner), model_client=REPLAY)


def filtered(inner: Part) -> Part:
    provider = "teams.agents.MessageFilterAgent"
    return part(provider, name="filtered", wrapped_agent=inner, filter={"per_source": []})


WRAPPERS: list[Callable[[Part], Part]] = [as_tool, as_team_tool, as_society, filtered, team]


def source(folder: Path, data: Part, allow: str = "", *, more: str = "") -> TeamFactory:
    (folder / "team.json").write_text(json.dumps(data))
    line = f"allow = [{allow}]" if allow else ""
    text = f"[teams.studio]\ncomponent = 'team.json'\n{line}\n{more}"
    (folder / "config.toml").write_text(text)
    loaded = load_config(folder / "config.toml")
    return TeamFactory(loaded.config, loaded.imports, start_folder=folder)


async def build(teams: TeamFactory, folder: Path) -> Team:
    try:
        return (await teams.build("studio", workdir=folder)).team
    finally:
        await teams.aclose()


async def refused(folder: Path, data: Part, allow: str = "") -> str:
    with pytest.raises(TeamBuildError) as caught:
        await build(source(folder, data, allow), folder)
    return str(caught.value)


def line_in(said: str) -> str:
    """The entries of the line that the error gives."""
    return said.partition("allow = [")[2].rpartition("]")[0]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_SEARCH_API_KEY")
    for name in names:
        monkeypatch.setenv(name, "sk-the-operators")


@pytest.mark.parametrize(("inner", "entry"), POWERS)
async def test_a_power_is_refused_with_the_line_that_allows_it(
    tmp_path: Path, inner: Part, entry: str
):
    data = team(inner)
    said = await refused(tmp_path, data)
    assert tomllib.loads(f"x = [{line_in(said)}]") == tomllib.loads(f"x = [{entry}]")
    if "/srv/cache" not in entry:  # it would be made
        assert await build(source(tmp_path, data, line_in(said)), tmp_path)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(POWERS), st.lists(st.sampled_from(WRAPPERS), max_size=5))
async def test_a_power_is_found_wherever_it_stands(
    tmp_path: Path, power: tuple[Part, str], wrappers: list[Callable[[Part], Part]]
):
    inner, entry = power
    for wrap in wrappers:
        inner = wrap(inner)
    said = await refused(tmp_path, team(inner))
    assert tomllib.loads(f"x = [{line_in(said)}]") == tomllib.loads(f"x = [{entry}]")


@pytest.mark.parametrize(
    ("inner", "allow"),
    [
        (WORKBENCHES[0][0], "{ command = ['npx'] }"),
        (WORKBENCHES[0][0], "{ command = ['npx', '-y', 'x@1', '/data', '/more'] }"),
        (WORKBENCHES[0][0], "{ command = ['npx', '*'] }"),
        (WORKBENCHES[1][0], "{ command = ['x'] }"),
        (WORKBENCHES[2][0], "{ command = ['x'] }"),
        (WORKBENCHES[3][0], "{ base_url = 'https://localhost' }"),
        (WORKBENCHES[3][0], "{ base_url = 'http://localhost:81' }"),
        (WORKBENCHES[4][0], "{ base_url = 'http://api.example.com' }"),
    ],
)
async def test_an_allowance_is_the_whole_command_and_the_whole_server(
    tmp_path: Path, inner: Part, allow: str
):
    assert "`allow` does not name" in await refused(
        tmp_path, team(agent("a", workbench=[inner])), allow
    )


@pytest.mark.parametrize(
    ("inner", "allow"),
    [
        (docker(extra_volumes={"/srv/x": {"bind": "/x"}}), "{ mount = '/srv' }"),
        (docker(extra_volumes={"/srv": {"bind": "/x"}}), "{ mount = '/srv', read_only = true }"),
        (docker(work_dir="/srv/x/.."), "{ mount = '/srv' }"),
        (docker(image="a", user="0:0"), "{ container = { image = 'a' } }"),
    ],
)
async def test_an_allowance_is_the_whole_path_and_the_whole_container(
    tmp_path: Path, inner: Part, allow: str
):
    assert "`allow` does not name" in await refused(tmp_path, team(with_executor(inner)), allow)


async def test_a_servers_host_wants_its_model_and_its_folders(tmp_path: Path):
    sampler = part("autogen_ext.tools.mcp.ChatCompletionClientSampler", client_config=openai())
    roots = part("teams.tools.mcp.StaticRootsProvider", roots=[{"uri": "file:///srv/my%20notes"}])
    host = part("autogen_ext.tools.mcp.McpSessionHost", sampler=sampler, roots=roots)
    bench = mcp(url="http://localhost:1/sse")
    bench["config"]["host"] = host
    allow = "{ base_url = 'http://localhost:1' }"
    said = await refused(tmp_path, team(agent("a", workbench=[bench])), allow)
    assert "OPENAI_API_KEY" in said
    assert '{ mount = "/srv/my notes", read_only = true }' in said


async def test_who_may_write_may_also_read_and_who_may_send_a_key_may_also_connect(tmp_path: Path):
    reading = with_executor(docker(extra_volumes={"/srv": {"bind": "/x", "mode": "ro"}}))
    assert await build(source(tmp_path, team(reading), "{ mount = '/srv' }"), tmp_path)
    own_key = agent("a", model_client=openai(api_key="sk-mine"))
    allow = "{ env = 'OPENAI_API_KEY', for = 'https://api.openai.com' }"
    assert await build(source(tmp_path, team(own_key), allow), tmp_path)


async def test_an_address_alone_gives_no_key(tmp_path: Path):
    data = team(agent("a", model_client=openai(base_url="https://x.com/v1")))
    said = await refused(tmp_path, data, "{ base_url = 'https://x.com' }")
    assert "OPENAI_API_KEY" in said


@pytest.mark.parametrize("wanted", ["https://*.example.com", "https://example.com/v1", "example"])
def test_an_allowed_server_has_no_wildcard_and_no_path(tmp_path: Path, wanted: str):
    with pytest.raises(ConfigError, match=r"teams.studio.allow\[0\].base_url"):
        source(tmp_path, team(agent("a")), f"{{ base_url = '{wanted}' }}")


async def test_the_line_allows_what_it_names_whatever_characters_it_has(tmp_path: Path):
    odd = ['"', "'", "\\", "\n", "\x7f", "\x1b[2J", "${HOME}", "$${X}", "é😀", "", "]", "#"]
    data = team(agent("a", workbench=[mcp(command="x", args=odd, env={"a b": "c"})]))
    assert await build(source(tmp_path, data, line_in(await refused(tmp_path, data))), tmp_path)


async def test_a_secret_of_the_file_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    server = mcp(command="x", env={"GITHUB_TOKEN": "swordfish"})
    data = team(agent("a", workbench=[server]))
    said = await refused(tmp_path, data)
    assert "swordfish" not in said
    monkeypatch.setenv("GITHUB_TOKEN", "swordfish")
    assert await build(source(tmp_path, data, line_in(said)), tmp_path)


async def test_an_http_tool_reaches_a_host_and_nothing_written_like_one(tmp_path: Path):
    data = team(agent("a", workbench=[http(host="good.com@evil.com", headers={"K": "swordfish"})]))
    said = await refused(tmp_path, data, "{ base_url = 'http://good.com:443' }")
    assert "expected a host alone" in said
    assert "swordfish" not in said


async def test_a_command_starts_only_if_it_is_allowed(tmp_path: Path):
    touch = [sys.executable, "-c", f"open({str(tmp_path / 'started')!r}, 'w')"]
    data = team(agent("a", workbench=[mcp(command=touch[0], args=touch[1:])]))
    said = await refused(tmp_path, data)
    assert not (tmp_path / "started").exists()
    teams = source(tmp_path, data, line_in(said))
    with pytest.raises(RuntimeError):  # what is started is no MCP server
        await (await build(teams, tmp_path)).run(task="Hi")
    assert (tmp_path / "started").exists()


async def test_a_key_reaches_only_the_server_that_may_have_it(tmp_path: Path):
    async with FakeOpenAI(Reply(text="Hello")) as server:
        data = team(agent("a", model_client=openai(base_url=server.url)))
        said = await refused(tmp_path, data)
        assert not server.requests
        teams = source(tmp_path, data, line_in(said))
        built = (await teams.build("studio", workdir=tmp_path)).team
        assert (await built.run(task="Hi")).messages[-1].to_text() == "Hello"
        await teams.aclose()
        assert server.requests


@pytest.mark.parametrize(("memory", "needs"), MEMORIES)
def test_a_memory_wants_its_store_and_its_model(memory: Part, needs: str):
    wanted = needs_of(team(agent("a", memory=[memory])))
    assert allow_line(wanted).replace('"', "'") == f"allow = [{needs}]"


@pytest.mark.parametrize("memory", NOT_IN_A_FILE)
def test_a_memory_that_no_allowance_can_name_is_refused(memory: Part):
    with pytest.raises(ValueError, match=r"expected|may not"):
        needs_of(team(agent("a", memory=[memory])))


def test_a_password_of_redis_goes_only_where_it_is_allowed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REDIS_PASSWORD", "sesame")
    memory = part("teams.memory.redis.RedisMemory", redis_url="redis://r", sequential=True)
    wanted = needs_of(team(agent("a", memory=[memory])))
    assert allow_line(wanted) == 'allow = [{ env = "REDIS_PASSWORD", for = "redis://r:6379" }]'


def test_every_component_class_of_ours_is_known_as_harmless_or_has_a_reader():
    # What "harmless" means is in test_hostile_components.py.
    names = {provider.rpartition(".")[2] for provider in known_providers()}
    wanting = {
        each.makes
        for family, declared in KINDS.items()
        for name, each in declared.items()
        if KindsOf(family).members[name].wants is not Tool.wants
    }
    assert names == HARMLESS | READERS.keys() | wanting
    assert not HARMLESS & (READERS.keys() | wanting)


async def test_a_file_that_wants_nothing_loads_as_before(tmp_path: Path):
    built = await build(source(tmp_path, team(agent("a"))), tmp_path)
    assert (await built.run(task="Hi")).messages[-1].to_text() == "x"


@pytest.mark.parametrize(
    ("executor", "limits"),
    [
        (docker(), {"read_only": True, "cpus": 1.0, "work_mb": 1000.0}),
        (docker(work_mb=1e9, cpus=None), {"read_only": True, "cpus": 1.0, "work_mb": 1000.0}),
        (docker(work_mb=5), {"read_only": True, "cpus": 1.0, "work_mb": 5.0}),
        (local(work_mb=1e9), {"work_mb": 1000.0}),
        (notebook(), {"work_mb": 1000.0}),
    ],
)
async def test_code_of_a_file_has_the_limits_of_code_in_the_config(
    tmp_path: Path, executor: Part, limits: dict[str, Any]
):
    data = team(part("teams.agents.CodeExecutorAgent", name="c", code_executor=executor))
    built = await build(source(tmp_path, data, "{ executor = 'local' }"), tmp_path)
    dumped = built.dump_component().model_dump()["config"]["participants"][0]
    config = dumped["config"]["code_executor"]["config"]
    assert {name: config[name] for name in limits} == limits


OWN = """
from pydantic import BaseModel

from teams.core import Component
from teams.models.openai import OpenAIChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient


class Mine(OpenAIChatCompletionClient):
    pass


class SiteConfig(BaseModel):
    site: str = ""
    server: dict = {}


class Site(ReplayChatCompletionClient, Component[SiteConfig]):
    component_config_schema = SiteConfig

    @classmethod
    def _from_config(cls, config):
        return cls(["x"])
"""


@pytest.mark.parametrize(
    ("model", "entry"),
    [
        (part("own_parts.Site"), ""),
        (part("own_parts.Site", site="see https://x.com"), ""),
        (part("own_parts.Site", site="https://x.com/a"), "{ base_url = 'https://x.com' }"),
        (
            part("own_parts.Site", server={"command": "x", "args": ["y"]}),
            "{ command = ['x', 'y'] }",
        ),
        (
            part("own_parts.Mine", model="gpt-4o", base_url="https://x.com/v1"),
            "{ env = 'OPENAI_API_KEY', for = 'https://x.com' }",
        ),
    ],
)
async def test_a_class_of_a_trusted_module_is_asked_about_its_addresses_and_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Part, entry: str
):
    (tmp_path / "own_parts.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    data, trusted = team(agent("a", model_client=model)), "trusted_modules = ['own_parts']"
    if not entry:
        assert await build(source(tmp_path, data, more=trusted), tmp_path)
        return
    with pytest.raises(TeamBuildError) as caught:
        await build(source(tmp_path, data, more=trusted), tmp_path)
    assert tomllib.loads(f"x = [{line_in(str(caught.value))}]") == tomllib.loads(f"x = [{entry}]")


async def test_check_lists_what_a_file_wants(tmp_path: Path):
    bench = mcp(command="npx", args=["server"])
    data = team(agent("a", workbench=[bench], model_client=openai(api_key="sk-mine")))
    source(tmp_path, data, "{ command = ['npx', 'server'] }")
    findings = await check_config(load_config(tmp_path / "config.toml"), offline=True)
    assert [(each.name, each.good, each.text) for each in findings if each.kind == "wants"] == [
        (
            "studio",
            False,
            '{ base_url = "https://api.openai.com" } is not in `allow` of the team',
        ),
        ("studio", True, '{ command = ["npx", "server"] } is allowed'),
    ]
    assert [each.good for each in findings if each.kind == "team"] == [False]


async def test_check_survives_a_trusted_module_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "failing_parts.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    data = team(agent("a", model_client=part("failing_parts.Model")))
    source(tmp_path, data, more="trusted_modules = ['failing_parts']")
    findings = await check_config(load_config(tmp_path / "config.toml"), offline=True)
    assert [(each.kind, each.good) for each in findings] == [("team", False)]
    assert "ZeroDivisionError" in findings[0].text


async def test_a_file_nested_too_deep_is_a_mistake_in_the_config(tmp_path: Path):
    (tmp_path / "team.json").write_text("[" * 100_000)
    (tmp_path / "config.toml").write_text("[teams.studio]\ncomponent = 'team.json'\n")
    with pytest.raises(ConfigError, match="nested too deep"):
        load_config(tmp_path / "config.toml")


def test_allowing_more_leaves_threads_with_the_team_that_they_have(tmp_path: Path):
    data = team(agent("a"))
    before = source(tmp_path, data).info("studio").definition
    after = source(tmp_path, data, "{ mount = '/srv' }").info("studio").definition
    assert after == before
    assert allow_line(needs_of(data)) == "allow = []"


@pytest.mark.parametrize("kind", ["ConversableAgent", "AssistantAgent", "UserProxyAgent"])
def test_conversable_agents_are_refused_wherever_they_stand(kind: str):
    member = part(f"teams.conversable.{kind}", name="al")
    chat = part("teams.conversable.ConversableChat", starter=member, recipient=member)
    with pytest.raises(ValueError, match="a component file may not name"):
        needs_of(team(agent("a", tools=[part("x.Y", inner=chat)])))
