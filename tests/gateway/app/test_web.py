"""The command line of a browser's chats, and their environment."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.app.web import command_of, take_out_variables

CONFIG = """
[models.main]
provider = "openai"
model = "gpt-4.1"
api_key_env = "TEAM_KEY"

[teams.main]
type = "round_robin"

[teams.main.agents.a]
model = "main"
system_message = "${GREETING}"

[web]
variables = ["JIRA_TOKEN"]
"""
KEPT = ["PATH", "HOME", "LANG", "HTTPS_PROXY", "PARLEY_CONFIG", "XDG_DATA_HOME", "OPENAI_API_KEY"]
TAKEN = [
    "EDITOR",
    "SSH_AUTH_SOCK",
    "DISPLAY",
    "TMUX",
    "AWS_SECRET_ACCESS_KEY",
    "PGPASSWORD",
    "MY_PIN",
]


@pytest.fixture
def environment(monkeypatch) -> dict[str, str]:
    """This process's environment, for the test alone."""
    names = [*KEPT, *TAKEN, "TEAM_KEY", "GREETING", "JIRA_TOKEN"]
    made = {name: f"value of {name}" for name in names if name != "PARLEY_CONFIG"}
    made |= {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"]}
    for name in set(os.environ) - set(made):
        monkeypatch.delenv(name)
    for name, value in made.items():
        monkeypatch.setenv(name, value)
    return made


def test_what_the_chat_does_not_need_is_taken_out(tmp_path: Path, environment):
    (tmp_path / "config.toml").write_text(CONFIG)
    take_out_variables(load_config(tmp_path / "config.toml", references=False, secrets=False))
    left = {*KEPT, "TEAM_KEY", "GREETING", "JIRA_TOKEN"} - {"PARLEY_CONFIG"}
    assert {*os.environ} == left
    assert all(os.environ[name] == environment[name] for name in left)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[models.a]\nprovider = "bedrock"\nmodel = "x"\n', "AWS_SECRET_ACCESS_KEY"),
        ('[store]\nurl = "postgresql://me@db/parley"\n', "PGPASSWORD"),
        ("", "TIKTOKEN_CACHE_DIR"),
        ("", "PLAYWRIGHT_BROWSERS_PATH"),
    ],
)
def test_what_a_library_reads_beside_is_kept_where_it_is_used(
    tmp_path: Path, environment, monkeypatch, text, name
):
    monkeypatch.setenv(name, "x")
    (tmp_path / "config.toml").write_text(text)
    take_out_variables(load_config(tmp_path / "config.toml", references=False, secrets=False))
    assert name in os.environ
    assert "MY_PIN" not in os.environ


def test_the_command_line_is_one_of_words(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["exec", sys.executable, "-P", "-m", "gateway.cli", "chat", "--in-browser"]
    assert shlex.split(command_of(None)) == words
    named = Path("my; id $(id) 'x'.toml")
    assert shlex.split(command_of(named)) == [*words, "--config", str(tmp_path / named)]
