"""Law: nothing that a command writes steers a terminal."""

import ast
import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import main

HOSTILE = "a\x1b]0;title\x07 \x9b31m \x1b[2J \u202egnp\u200b \U000e0041 \x85 \x7f"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\U000e0000-\U000e0fff]")
SECRET = "canary-s3cret-0123456789"
COMMANDS = sorted((Path(__file__).parents[2] / "gateway/cli").glob("*.py"))

PARTS = f"""
from teams.models.replay import ReplayChatCompletionClient
from teams.models import RateLimited

TOOLS = {{"vision": False, "function_calling": True, "json_output": True, "family": "unknown",
         "structured_output": True}}


def hostile(**settings):
    return ReplayChatCompletionClient([{HOSTILE!r}, "{SECRET}"], TOOLS)
"""
CONFIG = r"""
[models.m]
provider = "hostile_parts:hostile"
api_key_env = "CANARY_KEY"
[teams.solo]
type = "round_robin"
description = "\u001b]0;title\u0007 \u009b31m \u202e"
max_turns = 1
[teams.solo.agents.greeter]
system_message = "\u001b]0;title\u0007 \u009b31m \u202e"
[store]
folder = "store"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "hostile_parts", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hostile_parts.py").write_text(PARTS)
    (tmp_path / "config.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CANARY_KEY", SECRET)
    monkeypatch.setenv("PARLEY_CONFIG", "config.toml")
    return tmp_path


def written(*args: str, given: str = "") -> str:
    result = CliRunner().invoke(main, args, input=given)
    assert not isinstance(result.exception, AssertionError | AttributeError | TypeError)
    assert not STEERS.search(result.output), args
    return result.output


@pytest.mark.timeout(60)
def test_no_output_of_any_command_steers_the_terminal(folder: Path) -> None:
    assert "a" in written("run", "--session", f"trip {HOSTILE}", HOSTILE)
    listed = written("sessions", "list")
    assert "trip" in listed
    session = listed.splitlines()[-1].split()[0]
    for command in ("show", "replay", "audit", "retry"):
        assert written("sessions", command, session)
    events = [json.loads(line) for line in written("sessions", "export", session).splitlines()]
    texts = [event["text"] for event in events if event["kind"] == "message_finished"]
    assert texts == [HOSTILE]
    for args in (
        ["sessions", "export", "--old-states", session],
        ["sessions", "show", HOSTILE],
        ["sessions", "delete", HOSTILE, "--yes"],
        ["sessions", "delete", "--person", HOSTILE, "--yes"],
        ["teams", "list"],
        ["teams", "dump", "solo"],
        ["teams", "dump", HOSTILE],
        ["check", "--offline", "--against-store"],
        ["run", "--team", HOSTILE, "x"],
        ["run", "--session", session, "--json", HOSTILE],
        ["pair", HOSTILE],
        ["status", "--config", HOSTILE],
        ["backup", HOSTILE],
        ["simulate", HOSTILE],
        [HOSTILE],
    ):
        written(*args)


def test_dumped_json_says_the_same(folder: Path) -> None:
    dumped = json.loads(written("teams", "dump", "solo"))
    agent = dumped["config"]["participants"][0]["config"]
    assert agent["system_message"] == "\x1b]0;title\x07 \x9b31m \u202e"


def test_no_output_has_a_secret_of_the_config(folder: Path) -> None:
    written("run", "--session", "trip", "one")
    said = written("run", "--session", "trip", "--json", "two")
    said += written("sessions", "show", "trip") + written("sessions", "export", "trip")
    said += written("teams", "dump", "solo") + written("check", "--offline")
    assert SECRET not in said
    assert "[secret]" in said


@pytest.mark.parametrize(
    "path",
    sorted((Path(__file__).parents[2] / "gateway/cli").glob("*.py")),
    ids=lambda path: path.name,
)
def test_commands_write_at_one_place(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (path.name, node.name) == ("group.py", "_write"):
            node.body = []
    names = [
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)
    ]
    forbidden = {"click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write"}
    assert not forbidden.intersection(names)
