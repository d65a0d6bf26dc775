"""`parley serve`: requirements at the start, and platforms that fail and recover."""

import asyncio
import os
import pty
import re
import signal
import socket
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.adapter import AdapterHost, AuthError
from gateway.app.load import LoadedConfig, load_config
from gateway.app.servable import ServeError, check_servable
from gateway.app.serve import open_service, run_adapters
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.config.problems import ConfigError
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.factory.teams import TeamBuildError
from tests.fakes.new_store import new_store
from tests.fakes.scripted_platform import Platform, installed

pytestmark = pytest.mark.usefixtures("fresh_imports")

TOKEN = "xoxb-canary-1234567890"
ADAPTER = f"[adapters.scripted]\nbot_token = '{TOKEN}'\n"
ROUTE = "[[routes]]\nadapter = 'scripted'\nchannels = 'C1'\nusers = 'members'\n"
PLACES = "store = { folder = 'store' }\nhealth = { port = 0 }\n"
KEY = ConversationKey(platform="scripted", channel="C1", root="1")
ANN = Author(id="scripted:T1:ann", name="Ann")


def load(folder: Path, text: str) -> LoadedConfig:
    (folder / "config.toml").write_text(f"{PLACES}{text}")
    return load_config(folder / "config.toml")


def serve(folder: Path, text: str):
    (folder / "config.toml").write_text(f"{PLACES}{text}")
    return CliRunner().invoke(main, ["serve", "--config", str(folder / "config.toml")])


# --- the config of platforms ---


@pytest.mark.parametrize(
    ("table", "place", "said"),
    [
        ("[adapters.scriptd]\nbot_token = 'x'", "adapters.scriptd", "there is no chat platform"),
        ("[adapters.'../x']\na = 1", "adapters.'../x'", "there is no chat platform"),
        ("[adapters.scripted]", "adapters.scripted.bot_token", "is missing"),
        ("[adapters.scripted]\nbot_token_env = 'NO'", "adapters.scripted.bot_token_env", "not set"),
        (
            "[adapters.scripted]\nbot_token = 'x'\nworkspaces = [1]",
            "adapters.scripted.workspaces[0]",
            "found 1, expected text",
        ),
        (f"{ADAPTER}colour = 1", "adapters.scripted.colour", "there is no setting 'colour'"),
        ("[[routes]]\nadapter = 'slak'\ndm = true\nusers = 'members'", "routes[0].adapter", "slak"),
        (ROUTE + "team = 'none'", "routes[0].team", "expected a team"),
        ("[[routes]]\nadapter = 'scripted'\nusers = 'members'", "routes[0].channels", "dm = true"),
        ("[[routes]]\nadapter = 'scripted'\ndm = true", "routes[0].users", "is missing"),
        (ROUTE + "pairing = true", "routes[0].pairing", "expected dm = true with it"),
        (ROUTE + "guild = '1'\nworkspace = '1'", "routes[0].guild", "expected one of the two"),
        (ROUTE + "mention = 'never'", "routes[0].mention", "'always', 'mention' or 'thread'"),
        (ROUTE + "limits = { turns = 0 }", "routes[0].limits.turns", "greater than or equal to 1"),
        ("[policies]\noperators = ['ann']", "policies.operators[0]", "slack:T1:U1"),
        (
            "[policies.tools]\nx = { action = 'ask', cases = [{ action = 'allow', "
            "arguments = { to = '(' } }] }",
            "policies.tools.x.cases[0].arguments.to",
            "expected a pattern that RE2 can match: missing )",
        ),
        (
            "[policies.tools]\nx = { action = 'ask', cases = [{ action = 'deny', "
            "teams = ['no'] }] }",
            "policies.tools.x.cases[0].teams[0]",
            "expected a team",
        ),
    ],
)
def test_every_mistake_has_its_place_in_the_report(tmp_path, table, place, said):
    with installed(Platform()), pytest.raises(ConfigError) as caught:
        load(tmp_path, table)
    report = str(caught.value)
    assert place in report
    assert said in report


def test_mistakes_of_platforms_and_of_the_rest_are_in_one_report(tmp_path):
    with installed(Platform()), pytest.raises(ConfigError) as caught:
        load(tmp_path, f"{ADAPTER}colour = 1\n[limits]\nparallel_turns = 0\n{ROUTE}mode = 'x'")
    assert len(caught.value.problems) == 3
    assert TOKEN not in str(caught.value)


def test_a_module_that_is_no_platform_is_said(tmp_path):
    with installed(Platform(), build=None), pytest.raises(ConfigError, match="not a chat platform"):
        load(tmp_path, ADAPTER)
    with pytest.raises(ConfigError, match="not a chat platform"):
        load(tmp_path, "[adapters.terminal]\nx = 1")


# --- before anybody may write ---


def test_without_a_platform_there_is_nothing_to_serve(tmp_path):
    result = serve(tmp_path, "")
    assert result.exit_code == ExitCode.USAGE
    assert "names no chat platform" in result.stderr


def test_a_platform_without_a_route_ends_with_an_example_that_works(tmp_path):
    with installed(Platform()) as platform:
        result = serve(tmp_path, ADAPTER)
        assert result.exit_code == ExitCode.USAGE
        assert "No route leads to" in result.stderr
        example = result.stderr.partition("For example:")[2]
        assert tomllib.loads(example)["routes"][0]["adapter"] == "scripted"
        check_servable(load(tmp_path, ADAPTER + example))
    assert platform.connected == 0


SHARING = """
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent
from teams.code_executors.jupyter import JupyterCodeExecutor
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conditions import MaxMessageTermination
from teams.memory import ListMemory
from teams.model_context import UnboundedChatCompletionContext
from teams.tools import AgentTool, StaticWorkbench

memory, context, workbench = ListMemory(), UnboundedChatCompletionContext(), StaticWorkbench([])
end = MaxMessageTermination(2)

def group(agent, condition=None):
    return RoundRobinGroupChat([agent], termination_condition=condition, max_turns=1)

def same_memory(model_client):
    return group(AssistantAgent("a", model_client, memory=[memory]))

def same_context(model_client):
    return group(AssistantAgent("a", model_client, model_context=context))

def same_workbench(model_client):
    return group(AssistantAgent("a", model_client, workbench=workbench))

def same_condition(model_client):
    return group(AssistantAgent("a", model_client), end)

inner = None
def same_inner_agent(model_client):
    global inner
    inner = inner or AssistantAgent("inner", model_client)
    return group(AssistantAgent("a", model_client, tools=[AgentTool(inner)]))

executor = LocalCommandLineCodeExecutor(work_dir="/tmp")
def same_executor():
    return group(CodeExecutorAgent("a", executor))

def local_code():
    return group(group(CodeExecutorAgent("a", LocalCommandLineCodeExecutor(work_dir="/tmp"))))

def notebook():
    return group(CodeExecutorAgent("a", JupyterCodeExecutor(output_dir="/tmp")))

def nothing_shared(model_client):
    return group(AssistantAgent("a", model_client, memory=[ListMemory()]))
"""


async def open_and_close(folder: Path, text: str) -> None:
    with installed(Platform()):
        loaded = load(folder, text)
        async with open_service(loaded, new_store(folder / "store")):
            pass


@pytest.mark.parametrize(
    ("factory", "what"),
    [
        ("same_memory", "'default_list_memory'"),
        ("same_context", "UnboundedChatCompletionContext"),
        ("same_workbench", "StaticWorkbench"),
        ("same_condition", "MaxMessageTermination"),
        ("same_inner_agent", "'inner'"),
        ("same_executor", "LocalCommandLineCodeExecutor"),
    ],
)
async def test_a_factory_whose_threads_would_share_something_is_refused_at_the_start(
    tmp_path, factory, what
):
    (tmp_path / "mine.py").write_text(SHARING)
    with pytest.raises(TeamBuildError, match=f"the same {what} twice"):
        await open_and_close(tmp_path, f"{ADAPTER}{ROUTE}[teams.t]\nfactory = 'mine:{factory}'\n")


async def test_one_that_shares_nothing_is_served(tmp_path):
    (tmp_path / "mine.py").write_text(SHARING)
    await open_and_close(tmp_path, f"{ADAPTER}{ROUTE}[teams.t]\nfactory = 'mine:nothing_shared'\n")


@pytest.mark.parametrize("factory", ["local_code", "notebook"])
async def test_code_on_this_machine_needs_to_be_allowed_by_name(tmp_path, factory):
    (tmp_path / "mine.py").write_text(SHARING)
    team = f"[teams.t]\nfactory = 'mine:{factory}'\n"
    with pytest.raises(ServeError, match=r"'t' runs code on this machine"):
        await open_and_close(tmp_path, f"{ADAPTER}{ROUTE}{team}")
    await open_and_close(tmp_path, f"{ADAPTER}{ROUTE}{team}[policies]\nlocal_code = true\n")


# --- running ---


async def test_people_of_a_platform_reach_the_team_of_their_route(tmp_path):
    receipts = []

    async def script(gateway: AdapterHost) -> None:
        guest = Author(id="scripted:T1:g", kind="guest")
        messages = [InboundMessage(key=KEY, author=author, text="hi") for author in (ANN, guest)]
        receipts.extend([await gateway.accept(message) for message in messages])
        raise RuntimeError("the end")

    with installed(Platform(script)) as platform:
        loaded = load(tmp_path, ADAPTER + ROUTE)
        with pytest.raises(ExceptionGroup, match="unhandled errors"):
            async with open_service(loaded, new_store(tmp_path / "store")) as (
                gateway,
                adapters,
                _,
            ):
                await run_adapters(gateway, adapters)
    assert [receipt.outcome for receipt in receipts] == ["turn", "refused"]
    assert platform.configs[0].bot_token.get_secret_value() == TOKEN


def status(folder: Path) -> str:
    return CliRunner().invoke(main, ["status", "--config", str(folder / "config.toml")]).output


async def test_status_shows_each_platform_and_since_when(tmp_path):
    told = []

    async def script(gateway: AdapterHost) -> None:
        told.append(await asyncio.to_thread(status, tmp_path))
        gateway.health.heartbeat("scripted")
        told.append(await asyncio.to_thread(status, tmp_path))
        gateway.health.connection("scripted", is_open=False)
        told.append(await asyncio.to_thread(status, tmp_path))
        raise AuthError("enough")

    with installed(Platform(script)):
        loaded = load(tmp_path, ADAPTER + ROUTE)
        async with open_service(loaded, new_store(tmp_path / "store")) as (gateway, adapters, _):
            await run_adapters(gateway, adapters)
            told.append(await asyncio.to_thread(status, tmp_path))
    states = [re.search(r"^scripted: (\w+) since (2\S+ \S+)\.$", each, re.M) for each in told]
    assert [found and found[1] for found in states] == [
        "connecting",
        "connected",
        "connecting",
        "stopped",
    ]


def test_a_health_port_that_is_taken_is_told_and_ends_nothing(tmp_path, caplog):
    told = []

    async def script(gateway: AdapterHost) -> None:
        told.append(await asyncio.to_thread(status, tmp_path))
        os.kill(os.getpid(), signal.SIGTERM)

    with socket.create_server(("127.0.0.1", 0)) as taken, installed(Platform(script)):
        port = taken.getsockname()[1]
        text = f"store = {{ folder = 'store' }}\nhealth = {{ port = {port} }}\n{ADAPTER}{ROUTE}"
        (tmp_path / "config.toml").write_text(text)
        place = ["--config", str(tmp_path / "config.toml")]
        checked = CliRunner().invoke(main, ["check", "--offline", *place])
        served = CliRunner().invoke(main, ["serve", *place])
    said = f"Parley can't listen at 127.0.0.1:{port}: Address already in use."
    assert (checked.exit_code, served.exit_code) == (ExitCode.DONE, ExitCode.DONE)
    assert f"warning: {said}" in checked.output
    assert f"Degraded: {said}" in told[0]
    assert said in served.stderr


def test_check_says_nothing_of_a_port_that_its_own_serve_has(tmp_path):
    told = []

    async def script(gateway: AdapterHost) -> None:
        check = ["check", "--offline", "--config", str(tmp_path / "config.toml")]
        told.append(await asyncio.to_thread(CliRunner().invoke, main, check))
        os.kill(os.getpid(), signal.SIGTERM)

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with installed(Platform(script)):
        text = f"store = {{ folder = 'store' }}\nhealth = {{ port = {port} }}\n{ADAPTER}{ROUTE}"
        (tmp_path / "config.toml").write_text(text)
        CliRunner().invoke(main, ["serve", "--config", str(tmp_path / "config.toml")])
    assert told[0].exit_code == ExitCode.DONE
    assert "Health" not in told[0].output


async def test_a_platform_that_refuses_its_keys_stops_alone(tmp_path, caplog):
    with installed(Platform(refuses=True)):
        loaded = load(tmp_path, ADAPTER + ROUTE)
        async with open_service(loaded, new_store(tmp_path / "store")) as (gateway, adapters, _):
            await run_adapters(gateway, adapters)
    assert "scripted is no longer served: the platform refused bot_token" in caplog.text


@pytest.mark.chaos
def test_a_signal_ends_it_in_order(tmp_path):
    async def script(gateway: AdapterHost) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    with installed(Platform(script)):
        assert serve(tmp_path, ADAPTER + ROUTE).exit_code == ExitCode.DONE
    with installed(Platform(refuses=True)):
        assert serve(tmp_path, ADAPTER + ROUTE).exit_code == ExitCode.FAILED


def test_codes_are_taken_listed_and_taken_back_on_the_command_line(tmp_path):
    told = []

    async def script(gateway: AdapterHost) -> None:
        direct = ConversationKey(platform="scripted", channel="D1")
        message = InboundMessage(key=direct, author=ANN, text="hi", direct=True)
        told.append((await gateway.accept(message)).reply)
        os.kill(os.getpid(), signal.SIGTERM)

    route = "[[routes]]\nadapter = 'scripted'\ndm = true\npairing = true\n"

    def parley(*arguments: str) -> tuple[int, str]:
        command = ["pair", *arguments, "--config", str(tmp_path / "config.toml")]
        result = CliRunner().invoke(main, command)
        return result.exit_code, (result.stdout + result.stderr).strip()

    with installed(Platform(script)):
        serve(tmp_path, ADAPTER + route)
        code = told[0].partition("parley pair ")[2].partition("`")[0]
        assert parley("WRONG")[0] == ExitCode.FAILED
        assert parley("--list") == (0, "No one was let in with a code.")
        assert parley(code) == (0, "scripted:T1:ann Ann may now write to the teams.")
        assert parley(code)[0] == ExitCode.FAILED
        assert parley("--list") == (0, "scripted:T1:ann Ann")
        assert parley("--remove", ANN.id) == (0, f"{ANN.id} may no longer write.")
        assert parley("--remove", ANN.id)[0] == ExitCode.FAILED
        assert parley()[0] == ExitCode.USAGE


# --- the terminal that it runs in ---

UNREACHABLE = """
[adapters.slack]
bot_token = "xoxb-1"
app_token = "xapp-1"
api_url = "http://127.0.0.1:9/api/"

[[routes]]
adapter = "slack"
workspace = "T0HOME"
channels = "*"
users = "members"
"""


@pytest.mark.chaos
@pytest.mark.timeout(60)
def test_a_closed_terminal_ends_it_in_order_and_any_other_hangup_reloads(tmp_path):
    (tmp_path / "config.toml").write_text(f"{PLACES}{UNREACHABLE}")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        words = ["serve", "--config", "config.toml"]
        os.execv(sys.executable, [sys.executable, "-m", "gateway.cli", *words])
    shown = b""

    def read_until(text: bytes) -> None:
        nonlocal shown
        while text not in shown:
            shown += os.read(terminal, 4096)

    try:
        read_until(b"serving slack")
        os.kill(pid, signal.SIGHUP)
        read_until(b"the config was reloaded")
        os.close(terminal)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except BaseException:  # the time is up: nothing is left behind
        os.kill(pid, signal.SIGKILL)
        raise
    assert (code, b"Traceback" in shown) == (ExitCode.DONE, False)
