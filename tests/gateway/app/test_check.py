"""Findings of `parley check` about models, and a demo team's own server."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.app import check
from gateway.app.check import Finding, check_config
from gateway.app.load import load_config
from gateway.app.servable import ServeError, check_servable
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from tests.fakes import forked_command
from tests.fakes.mcp_web import served
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.time_limits import slowness


async def probes(folder: Path, text: str) -> list[Finding]:
    path = folder / "config.toml"
    path.write_text(text)
    findings = await check_config(load_config(path), offline=False)
    return [finding for finding in findings if finding.kind == "model"]


@pytest.mark.parametrize(
    ("settings", "good", "said"),
    [
        pytest.param("api_key = 'sk-good'", True, "gpt-4o answered in ", id="answers"),
        pytest.param("api_key = 'bad-key'", False, "", id="bad-key"),
        pytest.param("api_key = 'sk-good'\nmodel = 'gpt-5'", False, "gpt-5", id="unknown-model"),
        pytest.param("base_url = 'http://127.0.0.1:1/v1'\nmax_retries = 0", False, "", id="nobody"),
    ],
)
async def test_each_model_is_asked_once_and_its_error_is_told(tmp_path, settings, good, said):
    async with FakeOpenAI(Reply(text="ok")) as server:
        defaults = {"model": "gpt-4o", "base_url": server.url}
        lines = [f"{key} = '{value}'" for key, value in defaults.items() if key not in settings]
        [finding] = await probes(tmp_path, "\n".join(["[models.m]", *lines, settings]))
    assert (finding.name, finding.good) == ("m", good)
    assert said in finding.text
    assert "bad-key" not in finding.text
    assert "Traceback" not in finding.text


async def test_the_demo_team_runs_on_the_server_that_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_MODEL", "gpt-4o")
    async with FakeOpenAI(Reply(text="Hello from the server")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        out, err = tmp_path / "out", tmp_path / "err"
        run = forked_command.begin("run", "Hi", stdout=out, stderr=err)
        code = await asyncio.to_thread(forked_command.code_of, run, 20 * slowness())
    assert (code, err.read_text()) == (0, "")
    assert out.read_text() == "front_desk:\nHello from the server\n"
    assert server.requests[0].roles[0] == "system"


async def offline(folder: Path, text: str) -> list[tuple[str, str, bool, str]]:
    path = folder / "config.toml"
    path.write_text(text)
    findings = await check_config(load_config(path), offline=True)
    return [(each.kind, each.name, each.good, each.text) for each in findings]


MADE = """
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.models import ModelInfo
from teams.models.replay import ReplayChatCompletionClient
def clock() -> str:
    "Tell the time."
    return "noon"
def build():
    able = ModelInfo(
        vision=False, function_calling=True, json_output=False, family="x", structured_output=False
    )
    client = ReplayChatCompletionClient(["Hi"], model_info=able)
    return RoundRobinGroupChat([AssistantAgent("a", client, tools=[clock])], max_turns=1)
"""


@pytest.mark.usefixtures("fresh_imports")
async def test_a_rule_for_a_tool_that_no_built_team_has_fails_the_check(tmp_path):
    (tmp_path / "made.py").write_text(MADE)
    config = 'teams.t.factory = "made:build"\n[policies.tools]\ndefault = "allow"\nclok = "deny"'
    findings = await offline(tmp_path, config)
    [(_, name, good, text)] = [each for each in findings if each[0] == "rule"]
    assert (name, good) == ("clok", False)
    assert text == "found 'clok', expected a tool of the teams; did you mean 'clock'?"


ROUTES = """
[adapters.slack]
bot_token = "xoxb-1"
app_token = "xapp-1"
[[routes]]
adapter = "slack"
channels = "*"
users = "members"
[[routes]]
adapter = "slack"
channels = ["C1"]
users = "members"
team = "demo"
"""


async def test_a_route_behind_one_that_takes_everything_is_warned_of(tmp_path):
    [(_, name, good, text)] = [
        each for each in await offline(tmp_path, ROUTES) if each[0] == "route"
    ]
    assert (name, good) == ("routes[1]", True)
    assert text.startswith("warning: the route of line 9 never holds, because that of line 5 takes")


async def test_what_serve_refuses_before_it_connects_is_refused_by_check(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('[adapters.discord]\ntoken = "a.b.c"')
    with pytest.raises(ServeError) as refused:
        check_servable(load_config(path))
    [found] = [
        each for each in await check_config(load_config(path), offline=True) if not each.good
    ]
    assert (found.kind, found.exit_code) == ("serve", ExitCode.USAGE)
    assert str(refused.value) == f"{found.text}\n\n{found.details}"


def test_the_exit_code_is_that_of_serve(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('[adapters.discord]\ntoken = "a.b.c"')
    checked = CliRunner().invoke(main, ["check", "--offline", "--config", str(path)])
    assert checked.exit_code == ExitCode.USAGE
    assert '\n    adapter = "discord"\n' in checked.output


async def test_code_on_this_machine_in_a_served_team_is_refused_by_check(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(
        """
        adapters.discord.token = "a.b.c"
        [[routes]]
        adapter = "discord"
        channels = ["80351110224678912"]
        users = ["80351110224678913"]
        team = "t"
        [teams.t]
        type = "round_robin"
        max_turns = 1
        agents.a = { type = "code_executor", executor = { type = "local" } }
        [policies.tools]
        execute_code = "ask"
        """
    )
    [found] = [
        each for each in await check_config(load_config(path), offline=True) if not each.good
    ]
    assert (found.kind, found.exit_code) == ("serve", ExitCode.USAGE)
    assert "'t' runs code on this machine" in found.text


async def test_a_config_for_the_terminal_alone_needs_no_platform(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('[models.m]\nprovider = "demo"\n[teams.t]\ntype = "demo"')
    assert all(each.good for each in await check_config(load_config(path), offline=True))


@pytest.mark.parametrize(
    ("setting", "name", "said"),
    [
        ('store.folder = "config.toml/x"', "store.folder", "Not a directory"),
        ('store.folder = "config.toml"', "store.folder", "Not a directory"),
        ('logging.file = "config.toml/x.log"', "logging.file", "Not a directory"),
        ('logging.file = "."', "logging.file", "Is a directory"),
        ('logging.file = "/proc/parley/x.log"', "logging.file", "No such file or directory"),
    ],
)
async def test_a_place_that_can_not_be_written_to_fails_the_check(tmp_path, setting, name, said):
    findings = await offline(tmp_path, setting)
    [(_, found, good, text)] = [each for each in findings if each[0] == "place"]
    assert (found, good) == (name, False)
    assert f": {said}; choose a fil" in text or f": {said}; choose a folder" in text
    assert [each.name for each in tmp_path.iterdir()] == ["config.toml"]


@pytest.mark.parametrize(
    ("mode", "good", "said"),
    [
        (0o700, True, "warning: {} is on the store's disk"),
        (0o777, True, "warning: others than Parley's user can delete backups in {}"),
        (None, False, "there is no folder {}; mount its disk, or create it"),
    ],
)
async def test_the_folder_of_the_backups_is_checked(tmp_path, mode, good, said):
    folder = tmp_path / "backups"
    if mode is not None:
        folder.mkdir()
        folder.chmod(mode)
    findings = await offline(tmp_path, 'store.folder = "store"\nbackup.folder = "backups"')
    [(_, name, found, text)] = [each for each in findings if each[0] == "backup"]
    assert (name, found) == ("backup.folder", good)
    assert text.startswith(said.format(folder))


async def test_a_tool_server_whose_program_is_missing_fails_the_check(tmp_path):
    (tmp_path / "here.sh").touch(mode=0o700)
    findings = await offline(
        tmp_path,
        """
        [mcp.lost]
        command = "no-such-program"
        [mcp.near]
        command = "./here.sh"
        cwd = "."
        [mcp.remote]
        url = "http://127.0.0.1:1/mcp"
        [mcp.usual]
        command = "sh"
        [teams.t]
        type = "round_robin"
        max_turns = 1
        agents.a.mcp = ["lost", { command = "./not-here.sh", cwd = "." }]
        """,
    )
    told = [(name, good, text) for kind, name, good, text in findings if kind == "server"]
    advice = "install it, or give its path in command"
    assert told == [
        ("lost", False, f"there is no program 'no-such-program'; {advice}"),
        ("mcp", False, f"there is no program './not-here.sh'; {advice}"),
    ]


async def test_each_tool_server_with_an_address_is_asked_for_its_tools(tmp_path):
    path = tmp_path / "config.toml"
    with served("http") as server:
        path.write_text(f"""
            [mcp.near]
            url = "{server.url}"
            [mcp.gone]
            url = "http://127.0.0.1:1/mcp"
            """)
        findings = await check_config(load_config(path), offline=False)
    near, gone = [each for each in findings if each.kind == "server"]
    assert (near.name, near.good) == ("near", True)
    assert near.text.endswith(" tools")
    assert not near.text.startswith("0")
    assert (gone.name, gone.good) == ("gone", False)
    assert "127.0.0.1" in gone.text or "Connect" in gone.text


@pytest.mark.parametrize("installed", [True, False])
async def test_a_config_with_a_platform_says_that_documents_are_not_read(
    tmp_path, monkeypatch, installed
):
    monkeypatch.setattr(check, "can_read_documents", lambda: installed)
    path = tmp_path / "config.toml"
    path.write_text(
        "[adapters.discord]\ntoken = 'abc'\n\n[[routes]]\nadapter = 'discord'\ndm = true\n"
        "users = ['42424242424242424']\n"
    )
    findings = await check_config(load_config(path), offline=True)
    told = [finding.text for finding in findings if finding.kind == "files"]
    assert len(told) == (not installed)
    assert all("parley-gateway[documents]" in text for text in told)
