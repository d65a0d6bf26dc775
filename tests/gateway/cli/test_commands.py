"""The command line: what each command does, says and ends with."""

import asyncio
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from pathlib import Path
from sqlite3 import connect
from textwrap import dedent

import pytest
from click.testing import CliRunner, Result

from gateway.app.load import load_config
from gateway.app.trust import read_found, remember
from gateway.cli import main
from gateway.config.root import Config
from gateway.events import load_event
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes import forked_command
from tests.fakes.forked_command import at_a_terminal
from tests.time_limits import slowness

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARLEY = [sys.executable, "-m", "gateway.cli"]
PARTS = """
import asyncio
import os
import re
from pathlib import Path

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.core import FunctionCall
from teams.models import CreateResult, ModelUnreachable, RequestUsage
from teams.models.replay import ReplayChatCompletionClient as Replies

TOOLS = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown",
         "structured_output": True}


def replies(*answers):
    return lambda **settings: Replies(list(answers), TOOLS)


def call(name):
    return CreateResult(
        finish_reason="function_calls", cached=False, usage=RequestUsage(1, 1),
        content=[FunctionCall(id="1", name=name, arguments='{"path": "x"}')],
    )


class Slow(Replies):
    async def create_stream(self, messages, **more):
        yield "Well, "
        Path("started").touch()
        await asyncio.sleep(60)


class Offline(Replies):
    async def create(self, messages, **more):
        raise ModelUnreachable("The model can't be reached.")

    async def create_stream(self, messages, **more):
        yield await self.create(messages)


class Reader(Replies):
    async def create_stream(self, messages, **more):
        Path("seen").write_text(str(messages[-1].content))
        yield await self.create(messages)


reading = lambda **settings: Reader(["I have read it", "And again"], TOOLS)
hello = replies("Hello there", "Hello again", "And again")
wiping = replies(call("wipe"), "All done")
slow = lambda **settings: Slow([])
offline = lambda **settings: Offline([])


def local(**settings):
    class Local(Replies):
        pass

    return Local(["x"])


def wipe(path: str) -> str:
    Path("wiped").touch()
    return "wiped"


def own_team():
    return RoundRobinGroupChat([AssistantAgent("a", Replies(["x"]))], max_turns=1)


ONE = own_team()


def same_team():
    return ONE
"""
HELLO = """
[models.m]
provider = "parts:hello"
[teams.solo]
type = "round_robin"
description = "Greets"
max_turns = 1
agents.greeter = {}
"""
PAIR = HELLO + "agents.second = {}\n"


def damage(store: Path) -> None:
    store.mkdir()
    (store / "parley.db").write_bytes(b"nothing" * 1000)


@pytest.fixture
def folder(tmp_path, monkeypatch, fresh_imports):
    """The current folder, with a module `parts` and its own store."""
    (tmp_path / "parts.py").write_text(PARTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(folder: Path, text: str) -> None:
    """Write the config, and agree to it."""
    rest = "\n[store]\nfolder = 'store'\n[terminal]\nname = 'Ann'\n"
    (folder / "config.toml").write_text(dedent(text) + rest)
    if found := read_found(folder / "config.toml"):
        remember(found)


def parley(*args: str, given: str | None = None) -> Result:
    result = CliRunner().invoke(main, args, input=given)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


# --- help and mistakes on the command line ---

COMMANDS = ["chat", "run", "check", "init", "sessions", "teams", "models", "status", "serve"]


@pytest.mark.parametrize("args", [["--help"], ["-h"], *([name, "--help"] for name in COMMANDS)])
def test_every_command_has_a_help_text(args):
    result = parley(*args)
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) > 4


def test_the_help_lists_every_command():
    shown = parley("--help").stdout
    assert all(f"\n  {name} " in shown for name in COMMANDS)


def test_the_version_is_that_of_the_package():
    assert parley("--version").stdout.startswith("parley, version ")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["fly"], "No such command 'fly'"),
        (["run", "Hi", "there"], "unexpected extra argument"),
        (["run", "--colour"], "No such option"),
        (["run", " "], "The task is empty."),
        (["run", "-"], "The task is empty."),
        (["run", "--json", "-v", "Hi"], "leave out -v"),
        (["sessions", "list", "--limit", "0"], "Invalid value for '--limit'"),
        (["sessions", "show"], "Missing argument"),
        (["teams", "dump"], "Missing argument"),
        (["chat", "--session", "x", "--team", "y"], "--session opens a thread that is there"),
        (["chat", "--session", "x", "--new", "Hi"], "--new starts a new one"),
        (["chat", " "], "The message is empty."),
        (["chat", "--resume", "Hi"], "--resume lists the threads"),
        (["--resume", "--session", "x"], "--resume lists the threads"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(args, said):
    result = parley(*args)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["run", "Hi"],
        ["check"],
        ["sessions", "list"],
        ["sessions", "delete", "x"],
        ["teams", "list"],
        ["teams", "dump", "x"],
        ["status"],
        ["serve"],
    ],
)
def test_a_wrong_config_is_exit_code_2_with_the_report(folder, args):
    configure(folder, "colour = 'red'")
    result = parley(*args)
    assert result.exit_code == 2
    assert "config.toml: one mistake\n  line 1, colour\n      there is no setting" in result.stderr
    assert result.stdout == ""


def test_a_config_that_is_named_and_missing_is_exit_code_2(folder):
    result = parley("run", "--config", "none.toml", "Hi")
    assert result.exit_code == 2
    assert "none.toml" in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["--config", "other.toml", "teams", "list"],
        ["--config=other.toml", "--trust-config", "teams", "list"],
        ["teams", "--config", "other.toml", "list"],
        ["teams", "list", "--config", "other.toml"],
        ["--config", "none.toml", "teams", "list", "--config", "other.toml"],
    ],
)
def test_the_config_is_named_before_or_after_the_command(folder, args):
    (folder / "other.toml").write_text(HELLO)
    listed = parley(*args)
    assert (listed.exit_code, listed.stdout.split()[:2]) == (0, ["*", "solo"]), listed.stderr


def test_a_config_before_a_platforms_command_is_read(folder):
    wrong = parley("--config", "none.toml", "slack", "manifest")
    assert (wrong.exit_code, wrong.stderr.splitlines()[0]) == (2, "parley: none.toml: one mistake")


def test_a_global_option_alone_opens_the_chat_and_needs_its_value(folder):
    opened = parley("--config", "none.toml")
    assert (opened.exit_code, "none.toml" in opened.stderr) == (2, True)
    assert "requires an argument" in parley("--config").stderr


SERVED = """
[adapters.slack]
bot_token = "xoxb-1"
app_token = "xapp-1"

[[routes]]
adapter = "slack"
channels = "*"
users = "members"
"""


@pytest.mark.parametrize("command", ["check", "serve"])
@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("HTTPS_PROXY", "http://user:pa#canary@host:1"),
        ("https_proxy", "http://[canary"),
        ("ALL_PROXY", "socks5://canary:1"),
    ],
)
def test_a_wrong_proxy_variable_is_one_error_without_its_value(
    folder, monkeypatch, command, name, address
):
    configure(folder, SERVED)
    monkeypatch.setenv(name, address)
    ran = parley(command)
    assert ran.exit_code == 2
    assert f"{name}: expected an address such as" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "canary" not in ran.stdout + ran.stderr


@pytest.fixture
def desktop(monkeypatch) -> None:
    """The variables of a desktop whose proxy models can't use."""
    monkeypatch.setenv("ALL_PROXY", "socks5://canary:1/")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.0/8,[::1]")


MODEL = '[models.m]\nmodel = "gpt-4o"\napi_key = "sk-1"\n'


@pytest.mark.usefixtures("desktop")
@pytest.mark.parametrize(
    ("words", "config"),
    [
        (["run", "--team", "demo", "hello"], ""),
        (["check", "--offline"], MODEL),
    ],
)
def test_a_desktops_proxy_variables_end_no_command_that_goes_on_without_them(folder, words, config):
    configure(folder, config)
    ran = parley(*words)
    assert (ran.exit_code, ran.stderr) == (0, "")


@pytest.mark.usefixtures("desktop")
def test_a_model_behind_a_proxy_that_can_not_be_used_is_one_error(folder):
    configure(folder, MODEL)
    ran = parley("run", "hello")
    assert ran.exit_code == 2
    assert ran.stderr.count("ALL_PROXY: expected an address such as") == 1


# --- pipes ---


def into_a_closed_pipe(*args: str) -> int:
    """Run a command whose reader is gone; its exit code."""
    reader, writer = os.pipe()
    os.close(reader)
    with (
        open(writer, "w", encoding="utf-8") as out,
        redirect_stdout(out),
        pytest.raises(SystemExit) as ended,
    ):
        main(args, prog_name="parley")
    return int(ended.value.code or 0)


def test_every_listing_ends_quietly_where_nobody_reads_on(folder, capsys):
    configure(folder, HELLO)
    parley("run", "--session", "trip", "Hi")
    (folder / "store" / "parley.log").write_text("incident abc123: it failed\n")
    for command in ("list", "export trip", "replay trip"):
        assert into_a_closed_pipe("sessions", *command.split()) == 141
    assert into_a_closed_pipe("check", "--offline") == 141
    assert into_a_closed_pipe("log", "abc123") == 141
    assert capsys.readouterr().err == ""


# --- completion ---


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_says_how_to_install_it(shell):
    printed = parley("completion", shell)
    assert printed.exit_code == 0
    assert printed.stdout.startswith("# To install it, ")
    assert f"_PARLEY_COMPLETE={shell}_complete" in printed.stdout


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("parley ses", ["plain,sessions"]),
        ("parley --config x.toml che", ["plain,check"]),
        ("parley sessions re", ["plain,replay", "plain,retry"]),
        ("parley run --ver", ["plain,--verbose"]),
    ],
)
def test_commands_and_options_are_completed(words, completed):
    assert completions(words) == sorted(completed)


def completions(words: str, shell: str = "bash") -> list[str]:
    """Offers for the last word, as the shell gets them."""
    *before, last = words.split(" ")
    asked = {"COMP_WORDS": words, "COMP_CWORD": last if shell == "fish" else str(len(before))}
    variables = {**asked, "_PARLEY_COMPLETE": f"{shell}_complete"}
    result = CliRunner().invoke(main, prog_name="parley", env=variables)
    assert result.exit_code in (0, 1)
    assert result.stderr == ""
    return sorted(filter(None, result.stdout.splitlines()))


def test_values_are_completed_from_the_config_and_the_store(folder):
    configure(folder, HELLO + "tools = ['nowhere:find']\n[teams.pair]\nfactory = 'nowhere:x'\n")
    assert completions("parley chat --team s") == ["plain,solo"]
    assert completions("parley run --team ") == ["plain,pair", "plain,solo"]
    assert completions("parley teams dump p") == ["plain,pair"]
    assert completions("parley models ") == ["plain,m"]
    assert completions("parley --config none.toml models --probe ") == ["plain,auto"]
    assert completions("parley chat --config none.toml --team ") == ["plain,demo"]
    assert completions("parley --config none.toml run --team ") == ["plain,demo"]
    assert completions("parley sessions list --platform ") == [
        "plain,discord",
        "plain,slack",
        "plain,terminal",
    ]
    assert completions("parley simulate ") == ["plain,discord", "plain,slack"]
    assert completions("parley run --session ") == []
    assert not (folder / "store").exists()
    (folder / "config.toml").write_text("[teams\n[store")
    assert completions("parley chat --team ") == ["plain,demo"]
    assert completions("parley run --allow ") == []
    assert not [name for name in sys.modules if name == "nowhere"]


def test_threads_are_completed_by_their_ids_with_their_titles(folder):
    configure(folder, HELLO)
    parley("run", "--session", "a \x1b[31mtrip", "Hi")
    known = parley("sessions", "list").stdout.splitlines()[1].split()[0]
    assert completions("parley sessions show ") == [f"plain,{known}"]
    assert completions(f"parley chat --session {known[:5]}") == [f"plain,{known}"]
    assert completions("parley sessions export ", "fish") == [f"plain,{known}\ta trip"]
    config = folder / "config.toml"
    in_files = config.read_text()
    config.write_text(in_files.replace("[store]", "[store]\nurl_env = 'ADDRESS'"))
    assert completions("parley sessions show ") == []  # no server is asked
    config.write_text(in_files)
    (folder / "store" / "parley.db").write_bytes(b"nothing" * 1000)
    assert completions("parley sessions show ") == []


# --- init ---


def test_init_writes_the_built_in_config_and_overwrites_nothing(folder):
    result = parley("init")
    assert (result.exit_code, result.stdout.split()[:2]) == (0, ["Wrote", "config.toml."])
    assert load_config().config == Config()
    (folder / "config.toml").write_text("mine")
    again = parley("init")
    assert again.exit_code == 1
    assert "already exists" in again.stderr
    assert (folder / "config.toml").read_text() == "mine"


def test_init_writes_where_it_is_told_to(folder):
    assert parley("init", "other.toml").exit_code == 0
    assert (folder / "other.toml").is_file()
    missing = parley("init", "no/such/folder.toml")
    assert missing.exit_code == 1
    assert "can't be written" in missing.stderr


def test_the_starter_config_is_that_of_the_project():
    root = Path(__file__).resolve().parents[3]
    assert (root / "gateway/starter.toml").read_text() == (root / "config.toml").read_text()


# --- check ---


def test_check_builds_every_team_and_lets_every_model_answer(folder):
    configure(folder, HELLO)
    result = parley("check")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["config", "config.toml"]
    assert lines[1] == ["team", "solo", "ok", "greeter"]
    assert lines[2][:5] == ["model", "m", "ok", "parts:hello", "answered"]


def test_check_without_a_config_says_what_runs(folder):
    result = parley("check")
    assert result.exit_code == 0
    assert "built in" in result.stdout
    assert "the built-in demo model; set OPENAI_API_KEY for a real one" in result.stdout


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HELLO.replace("hello", "offline"), "model   m     FAILED  The model can't be reached."),
        (
            "[teams.t]\nfactory = 'parts:same_team'",
            "team    t     FAILED  The team 't' can't be built: 'parts:same_team' returned the",
        ),
    ],
)
def test_check_tells_all_that_fails_and_ends_with_1(folder, text, line):
    configure(folder, text)
    result = parley("check")
    assert result.exit_code == 1
    assert any(shown.startswith(line) for shown in result.stdout.splitlines())


def test_check_offline_calls_no_model(folder):
    configure(folder, HELLO.replace("hello", "offline"))
    result = parley("check", "--offline")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 2)


# --- teams ---


def test_models_are_listed_and_asked(folder):
    configure(folder, HELLO + "[models.off]\nprovider = 'parts:offline'\nfallback = ['m']\n")
    listed = parley("models")
    assert listed.exit_code == 0
    assert [line.split() for line in listed.stdout.splitlines()[1:]] == [
        ["*", "m", "parts:hello", "parts:hello", "none", "10,000", "?"],
        ["off", "parts:offline", "parts:offline", "none", "10,000", "?", "m"],
    ]
    asked = parley("models", "--probe")
    assert asked.exit_code == 1
    good, bad = asked.stdout.splitlines()
    assert good.startswith("model   m    ok      parts:hello answered in ")
    assert bad.startswith("model   off  FAILED  The model can't be reached.")
    assert parley("models", "--probe", "m").exit_code == 0
    unknown = parley("models", "x")
    assert (unknown.exit_code, unknown.stderr) == (
        2,
        "parley: There is no model 'x'; the models are m, off.\n",
    )


def test_teams_are_listed_with_agents_and_models(folder):
    configure(folder, PAIR + "[teams.own]\nfactory = 'parts:own_team'")
    result = parley("teams", "list")
    assert result.exit_code == 0
    assert result.stdout == (
        "* solo  Greets\n    greeter (parts:hello), second (parts:hello)\n"
        "  own\n    a (ReplayChatCompletionClient)\n"
    )


def test_a_team_is_dumped_as_component_json_that_builds_the_same_team(folder):
    configure(folder, "[teams.own]\nfactory = 'parts:own_team'")
    dumped = parley("teams", "dump", "own")
    assert dumped.exit_code == 0
    assert json.loads(dumped.stdout)["provider"] == "teams.RoundRobinGroupChat"
    (folder / "team.json").write_text(dumped.stdout)
    configure(folder, "[teams.again]\ncomponent = 'team.json'")
    assert json.loads(parley("teams", "dump", "again").stdout) == json.loads(dumped.stdout)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("slo", "There is no team 'slo'; did you mean 'solo'?"),
        ("x", "There is no team 'x'; the teams are solo"),
        ("solo", "The team 'solo' can't be written as JSON: "),
    ],
)
def test_a_team_that_can_not_be_dumped_is_exit_code_1(folder, name, said):
    configure(folder, HELLO.replace("hello", "local"))
    result = parley("teams", "dump", name)
    assert result.exit_code == 1
    assert said in result.stderr


# --- run ---


def test_run_writes_the_answer_and_keeps_nothing(folder):
    configure(folder, HELLO)
    result = parley("run", "Hi")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Hello there\n", "")
    assert not (folder / "store" / "parley.db").exists()


def test_run_takes_the_task_from_a_pipe(folder):
    configure(folder, PAIR)
    result = parley("run", "--team", "solo", given="Hi\n")
    assert (result.exit_code, result.stdout) == (0, "greeter:\nHello there\n")


def test_run_writes_events_as_json_lines(folder):
    configure(folder, HELLO)
    result = parley("run", "--json", "Hi")
    events = [load_event(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert events[-1].kind == "turn_finished"
    assert [event.text for event in events if event.kind == "message_finished"] == ["Hello there"]


def test_run_goes_on_with_a_session_whose_team_remembers(folder):
    configure(folder, HELLO)
    assert parley("run", "--session", "trip", "Hi").stdout == "Hello there\n"
    parley("run", "--session", "trip", "And now?")
    shown = parley("sessions", "show", "trip").stdout
    assert [line for line in shown.splitlines() if line in ("Hi", "And now?")] == ["Hi", "And now?"]


def test_run_with_an_unknown_team_fails(folder):
    configure(folder, HELLO)
    result = parley("run", "--team", "nope", "Hi")
    assert result.exit_code == 2
    assert "There is no team 'nope'; the teams are" in result.stderr


def test_run_whose_model_fails_is_not_0(folder):
    configure(folder, HELLO.replace("hello", "offline"))
    result = parley("run", "Hi")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("parley: ")


def test_the_id_of_an_error_leads_to_the_log(folder):
    configure(folder, HELLO.replace("hello", "offline"))
    [incident] = re.findall(r"\(parley log (\w{6})\)$", parley("run", "Hi").stderr, re.MULTILINE)
    found = parley("log", incident)
    assert found.exit_code == 0
    assert "Traceback" in found.stdout
    assert "ModelUnreachable: The model can't be reached." in found.stdout
    unknown = parley("log", "ffffff0")
    assert unknown.exit_code == 1
    assert str(folder / "store" / "parley.log") in unknown.stderr


WIPE = """
[models.m]
provider = "parts:wiping"
[teams.solo]
type = "round_robin"
max_turns = 1
agents.cleaner = { tools = ["parts:wipe"] }
"""


def test_run_without_a_terminal_ends_with_3_when_it_would_have_to_ask(folder):
    configure(folder, WIPE)
    result = parley("run", "Clean up", given="")
    assert result.exit_code == 3
    assert "cleaner asks to run wipe\n  path: x\n" in result.stderr
    assert not (folder / "wiped").exists()


def test_run_asks_at_the_terminal(folder):
    configure(folder, WIPE)
    code, shown = at_a_terminal("run", "Clean up", typed="maybe\ny\n", seconds=patience())
    assert code == 0
    assert "cleaner asks to run wipe\r\n  path: x\r\n" in shown
    assert shown.count("Type approve") == 2
    assert shown.rstrip().endswith("All done")
    assert (folder / "wiped").exists()


def test_run_allows_the_tools_that_it_is_told_to_allow(folder):
    configure(folder, WIPE)
    result = parley("run", "--final", "-v", "--allow", "wipe", "Clean up", given="")
    assert (result.exit_code, result.stdout) == (0, "All done\n"), result.stderr
    assert (folder / "wiped").exists()
    told = result.stderr.splitlines()
    assert told[0] == "parley: cleaner (parts:wiping)"
    assert 'parley: cleaner: wipe {"path": "x"}' in told
    assert any(
        re.fullmatch(r"parley: cleaner: wipe done in \d\.\d s: wiped", each) for each in told
    )
    assert "parley: 1 tokens in, 1 tokens out" in told


def test_run_never_allows_what_the_policy_denies(folder):
    configure(folder, WIPE + '[policies.tools]\nwipe = "deny"\n')
    result = parley("run", "--allow", "wipe", "Clean up", given="")
    assert (result.exit_code, result.stdout) == (0, "All done\n")
    assert not (folder / "wiped").exists()


@pytest.mark.parametrize("session", [[], ["--session", "s"]], ids=["alone", "kept"])
def test_run_sends_files_with_the_task(folder, session):
    configure(folder, HELLO.replace("hello", "reading"))
    (folder / "notes.md").write_text("trains leave at noon")
    result = parley("run", *session, "--file", "notes.md", "When?")
    assert (result.exit_code, result.stdout) == (0, "I have read it\n"), result.stderr
    seen = (folder / "seen").read_text()
    assert all(part in seen for part in ("When?", "notes.md", "trains leave at noon"))


def test_run_refuses_files_beyond_the_limits(folder):
    configure(folder, HELLO + "[attachments]\nfile_mb = 0.001\n")
    (folder / "big.txt").write_text("x" * 2000)
    result = parley("run", "--file", "big.txt", "Read it")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "big.txt has 0.0 MB; a file may have 0.001 MB." in result.stderr


def test_run_refuses_to_allow_a_tool_that_no_team_has(folder):
    configure(folder, WIPE)
    result = parley("run", "--allow", "wip", "Clean up")
    assert (result.exit_code, result.stdout) == (2, "")
    assert (
        "--allow: found 'wip', expected a tool of the teams; did you mean 'wipe'?" in result.stderr
    )


def test_run_writes_only_the_answer(folder):
    configure(folder, PAIR.replace("max_turns = 1", "max_turns = 2"))
    result = parley("run", "--final", "Hi")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Hello again\n", "")


@pytest.mark.chaos
def test_run_takes_no_for_an_answer(folder):
    configure(folder, WIPE)
    code, shown = at_a_terminal("run", "Clean up", typed="no, not today\n", seconds=patience())
    assert code == 0, shown
    assert not (folder / "wiped").exists()


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.chaos),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.chaos),
    ],
)
def test_run_stops_its_turn_when_it_is_interrupted(folder, number, code):
    configure(folder, HELLO.replace("hello", "slow"))
    reader, out = os.pipe()
    err = folder / "err"
    process = forked_command.begin("run", "--session", "s", "Hi", stdout=out, stderr=err)
    os.close(out)
    with open(reader, "rb") as said:
        assert said.read(6) == b"Well, "
        os.kill(process.pid or 0, number)
        assert said.read() == b"\n"
        assert forked_command.code_of(process, patience()) == code
    assert "Traceback" not in err.read_text()
    assert parley("sessions", "list").stdout.split()[-6:] == [
        "now",
        "idle",
        "solo",
        "-",
        "terminal",
        "s",
    ]


@pytest.mark.parametrize(
    "command", [("run", "Hi"), pytest.param(("simulate", "slack"), marks=pytest.mark.chaos)]
)
def test_a_command_ends_quietly_when_its_reader_has_gone(folder, command):
    configure(folder, HELLO)
    with subprocess.Popen(
        [*PARLEY, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 141


# --- sessions and status ---


def first_turn() -> str:
    """Run a turn; the id of its thread."""
    parley("run", "--session", "trip", "Hi")
    return parley("sessions", "list").stdout.splitlines()[1].split()[0]


@pytest.fixture(scope="module")
def one_turn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a store with one turn, and its thread."""
    return tmp_path_factory.mktemp("one_turn")


@pytest.fixture
def thread(folder, one_turn) -> str:
    """The id of a thread with one turn, in a copy."""
    configure(folder, HELLO)
    if (known := one_turn / "thread").exists():
        shutil.copytree(one_turn / "store", folder / "store")
    else:
        known.write_text(first_turn())
        shutil.copytree(folder / "store", one_turn / "store")
    return known.read_text()


def test_sessions_are_listed(folder):
    configure(folder, HELLO)
    thread = first_turn()
    heading, row = parley("sessions", "list").stdout.splitlines()
    assert heading.split() == ["ID", "USED", "STATE", "TEAM", "MODEL", "WHERE", "TITLE"]
    assert row.split() == [thread, "now", "idle", "solo", "-", "terminal", "trip"]
    assert parley("sessions", "list", "--platform", "terminal").stdout.splitlines()[1] == row
    assert parley("sessions", "list", "--platform", "slack").stdout == "There are no threads.\n"
    assert parley("sessions", "list", "--search", "nothing").stdout == "There are no threads.\n"


def test_an_empty_store_has_no_sessions(folder):
    configure(folder, HELLO)
    assert parley("sessions", "list").stdout == "There are no threads.\n"
    assert not (folder / "store").exists()


def test_a_session_is_shown_by_id_or_title(thread):
    shown = parley("sessions", "show", thread).stdout
    assert shown == parley("sessions", "show", "trip").stdout
    assert shown == "# trip\n\nTeam: solo\n\n## Ann\n\nHi\n\n## greeter\n\nHello there\n"


def test_a_session_is_exported_as_events(thread):
    result = parley("sessions", "export", "trip")
    events = [load_event(line) for line in result.stdout.splitlines()]
    assert {event.thread for event in events} == {thread}
    assert [event.seq for event in events] == [*range(1, len(events) + 1)]


def test_a_session_is_forked(thread):
    forked = parley("sessions", "fork", "trip").stdout
    assert forked.startswith(f"Forked {thread}: the new thread is ")
    fork = forked.split()[-1].rstrip(".")
    shown = parley("sessions", "show", fork).stdout
    assert shown.startswith("# trip (fork)\n")
    assert "Hello there" in shown
    assert "fork of 'trip', from the end of its turn 1 of 1" in shown
    refused = parley("sessions", "fork", "trip", "--back", "1")
    assert (refused.exit_code, "its last turns (1)" in refused.stderr) == (1, True)


def test_a_session_of_a_platform_is_forked_after_a_yes(thread, folder):
    with closing(connect(folder / "store" / "parley.db")) as connection, connection:
        connection.execute("UPDATE threads SET key = 'slack/T1/C1/1/'")
    refused = parley("sessions", "fork", "trip", given="y\n")
    told = "people on Slack do not see the fork. There is no terminal to ask at: give --yes"
    assert (refused.exit_code, told in " ".join(refused.stderr.split())) == (2, True)
    assert len(parley("sessions", "list").stdout.splitlines()) == 2
    for key, code in (("n", 1), ("y", 0)):
        ended, shown = at_a_terminal(
            "sessions", "fork", thread, typed=f"{key}\n", seconds=patience()
        )
        assert "people on Slack do not see the fork. Fork it?" in " ".join(shown.split())
        assert (ended, "Forked" in shown) == (code, key == "y")
    assert parley("sessions", "fork", thread, "--yes").exit_code == 0
    listed = parley("sessions", "list", "--platform", "terminal").stdout.splitlines()
    assert [line.split()[-2:] for line in listed[1:]] == [["trip", "(fork)"]] * 2


def test_a_session_is_deleted_after_asking(thread, folder):
    kept = parley("sessions", "delete", "trip", given="n\n")
    assert kept.exit_code == 1
    assert thread in parley("sessions", "list").stdout
    deleted = parley("sessions", "delete", "trip", given="y\n")
    assert (deleted.exit_code, deleted.stdout) == (0, f"Deleted {thread}.\n")
    assert parley("sessions", "list").stdout == "There are no threads.\n"
    assert not (folder / "store" / "work" / thread).exists()


@pytest.mark.parametrize("command", ["show", "export", "delete"])
def test_an_unknown_session_is_exit_code_1(folder, command):
    configure(folder, HELLO)
    result = parley("sessions", command, "nope")
    assert result.exit_code == 1
    assert "No thread has the id or title 'nope'." in result.stderr


def test_commands_reach_the_process_that_owns_the_store(thread, folder):
    configure(folder, HELLO.replace("hello", "slow"))
    said = folder / "said"
    owner = forked_command.begin("run", "--session", "busy", "Hi", stdout=said, stderr=said)
    try:
        wait_for((folder / "started").exists)
        status = parley("status")
        assert status.exit_code == 0
        assert f"Parley runs as process {owner.pid} since " in status.stdout
        assert "1 turn running" in status.stdout
        assert parley("sessions", "delete", "--yes", "trip").exit_code == 0
        assert thread not in parley("sessions", "list").stdout
        queued = parley("run", "--session", "busy", "/status")
        assert queued.exit_code == 0
        assert "is working" in queued.stderr
    finally:
        owner.terminate()
        code = forked_command.code_of(owner, patience())
    assert code == 143


def test_status_without_an_owner_is_exit_code_1(thread):
    result = parley("status")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Parley is not running.",
        "1 thread (1 idle), 0 open requests.",
        "1 message accepted (1 turn).",
    ]


# --- operation ---


def test_a_session_is_replayed_with_its_timing(thread):
    lines = parley("sessions", "replay", "trip").stdout.splitlines()
    assert [line.split()[3] for line in lines] == [*map(str, range(1, len(lines) + 1))]
    timing = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\+\d+\.\d{3}s ")
    assert all(timing.match(line) for line in lines)
    assert any("message_finished" in line and "Hello there" in line for line in lines)


def test_the_audit_of_a_thread_is_shown(thread):
    nothing = parley("sessions", "audit", "trip")
    assert nothing.stdout == "This thread has no questions or decisions.\n"
    gone = parley("sessions", "audit", "nothing like it")
    assert gone.exit_code == 1


def test_threads_that_a_change_of_their_team_affects_are_listed(thread, folder):
    def listed() -> str:
        return parley("check", "--offline", "--against-store").stdout.splitlines()[-1]

    assert listed() == "No thread is affected by changes of the teams."
    configure(folder, HELLO.replace("Greets", "Greets better"))
    assert listed() == f"thread  {thread}  solo  idle  goes on  trip"
    configure(folder, PAIR)
    assert listed() == f"thread  {thread}  solo  idle  begins anew  trip"
    configure(folder, HELLO.replace("teams.solo", "teams.duo"))
    assert listed() == f"thread  {thread}  solo  idle  has no team  trip"


def test_what_a_replaced_team_remembered_is_exported(folder):
    configure(folder, HELLO)
    first_turn()
    assert parley("sessions", "export", "--old-states", "trip").stdout == ""
    configure(folder, PAIR)
    parley("run", "--session", "trip", "Hi")
    [line] = parley("sessions", "export", "--old-states", "trip").stdout.splitlines()
    old = json.loads(line)
    team = RoundRobinGroupChat([AssistantAgent("greeter", ReplayChatCompletionClient([]))])
    asyncio.run(team.load_snapshot([part.encode() for part in old["parts"]]))
    states = asyncio.run(team.save_state())["agent_states"]
    thread = states["RoundRobinGroupChatManager"]["message_thread"]
    assert [each["content"] for each in thread] == ["Hi", "Hello there"]


def test_what_has_not_failed_is_not_tried_again(thread):
    assert parley("sessions", "retry", "trip").stdout.startswith("No turn has failed")


def test_what_has_failed_is_tried_again_once_parley_runs(folder):
    configure(folder, HELLO.replace("hello", "offline"))
    parley("run", "--session", "trip", "Hi")
    said = parley("sessions", "retry", "trip")
    assert "Trying again from where it stopped. Parley is not running" in said.stdout
    assert "1 working" in parley("status").stdout


def test_a_backup_is_a_store_of_its_own(thread, folder):
    result = parley("backup", "copy.db")
    assert (result.exit_code, result.stdout) == (0, "Wrote copy.db.\n")
    assert (folder / "copy.db").stat().st_mode & 0o777 == 0o600
    parley("sessions", "delete", "--yes", "trip")
    assert parley("sessions", "list").stdout == "There are no threads.\n"
    # Restoring, as docs/operate.md tells it.
    for name in ("parley.db-wal", "parley.db-shm"):
        (folder / "store" / name).unlink(missing_ok=True)
    shutil.copyfile(folder / "copy.db", folder / "store" / "parley.db")
    assert thread in parley("sessions", "list").stdout
    assert parley("run", "--session", "trip", "Hi again").exit_code == 0


@pytest.mark.parametrize("args", [("status",), ("sessions", "list"), ("sessions", "show", "x")])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda store: (store / "parley.db").mkdir(parents=True), "can't be read: Is a directory"),
        (lambda store: store.write_text("x"), "can't be read: Not a directory"),
        (damage, "is damaged: file is not a database. `parley store restore` puts a backup in its"),
    ],
    ids=["database-is-a-folder", "folder-is-a-file", "damaged"],
)
def test_a_store_that_can_not_be_read_is_named_with_what_to_do(folder, args, spoil, said):
    (folder / "config.toml").write_text("store.folder = 'store'")
    spoil(folder / "store")
    result = parley(*args)
    assert result.exit_code == (4 if "damaged" in said else 1)
    assert result.stderr.startswith(f"parley: The store '{folder / 'store' / 'parley.db'}' {said}")
    assert len(result.stderr.splitlines()) == 1


def test_a_full_disk_leaves_no_half_written_config(folder):
    result = subprocess.run(
        [*PARLEY, "init", "new.toml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert (result.returncode, "can't be written: File too large" in result.stderr) == (1, True)
    assert not (folder / "new.toml").exists()


def test_reload_says_that_nothing_runs(folder):
    result = parley("reload")
    assert result.exit_code == 1
    assert "Parley is not running. Start `parley serve`" in result.stderr


def test_a_backup_of_nothing_or_to_nowhere_is_exit_code_1(thread, folder):
    result = parley("backup", "none/copy.db")
    assert result.exit_code == 1
    assert "can't be written: No such file or directory" in result.stderr
    (folder / "config.toml").write_text("store.folder = 'empty'")
    result = parley("backup", "copy.db")
    assert (result.exit_code, "There is no store at" in result.stderr) == (1, True)
    assert not (folder / "copy.db").exists()


def test_all_threads_of_a_person_are_deleted_after_asking(thread):
    asked = parley("sessions", "delete", "--person", "local:operator", given="n\n")
    assert asked.exit_code == 1
    assert "Delete 1 threads and all else of 'local:operator' for good?" in asked.stderr
    assert thread in asked.stderr
    done = parley("sessions", "delete", "--person", "local:operator", "--yes")
    assert done.stdout == "Deleted 1 threads.\n"
    assert parley("sessions", "list").stdout == "There are no threads.\n"


@pytest.mark.parametrize("args", [(), ("trip", "--person", "x")], ids=["nothing", "both"])
def test_what_to_delete_has_to_be_said(folder, args):
    configure(folder, HELLO)
    assert parley("sessions", "delete", *args).exit_code == 2


# --- serve, chat ---


def test_serve_needs_a_platform(folder):
    result = parley("serve")
    assert result.exit_code == 2
    assert "The config names no chat platform" in result.stderr


def test_without_a_command_the_chat_opens(folder):
    configure(folder, HELLO)
    reader, typed = os.pipe()
    os.write(typed, b"Hi\n")
    os.close(typed)
    shown = folder / "shown"
    chat = forked_command.begin("--plain", stdin=reader, stdout=shown, stderr=folder / "err")
    os.close(reader)
    code = forked_command.code_of(chat, patience())
    assert code == 0, (folder / "err").read_text()
    assert "Hello there" in shown.read_text()


@pytest.mark.parametrize(
    ("config", "team", "said"),
    [
        (PAIR, "sol", "There is no team 'sol'; did you mean 'solo'? The teams are solo."),
        (PAIR, "x", "There is no team 'x'; the teams are solo."),
        ("", "x", "There is no team 'x'; the teams are demo."),
        ("colour = 'red'", "x", "there is no setting 'colour'"),
    ],
    ids=["nearest", "known", "built in", "wrong config"],
)
def test_a_chat_with_an_unknown_team_does_not_open(folder, config, team, said):
    configure(folder, config)
    refused = parley("chat", "Hi", "--team", team)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert said in refused.stderr
    assert not (folder / "store").exists()


def test_a_wrong_config_ends_the_chat_with_2(folder):
    configure(folder, "colour = 'red'")
    done = parley("chat", "--plain", given="")
    assert done.exit_code == 2
    assert "there is no setting 'colour'" in done.stderr


# --- helpers ---


def patience() -> float:
    """Seconds for what takes a few on an idle machine."""
    return 9.0 * slowness()


def wait_for(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + patience()
    while not fact():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
