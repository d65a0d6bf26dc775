"""The pages about config and commands say what the code does."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from gateway.app.load import load_config
from gateway.base.exit_codes import ExitCode
from gateway.config.root import Config
from gateway.config.setting_types import annotation_of
from teams.kinds import KindsOf, Section

pytestmark = pytest.mark.usefixtures("fresh_imports")

DOCS = Path(__file__).resolve().parents[3] / "docs"
EXAMPLES = re.findall(r"```toml\n(.*?)```", (DOCS / "configuration.md").read_text(), re.DOTALL)


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_and_the_help_texts_are_up_to_date():
    for page, text in generator().pages().items():
        assert page.read_text() == text, (
            f"run `python docs/generate.py`: {page.name} is out of date"
        )


def add_tables(kind: Any, found: set[type[Section]]) -> None:
    """Add the tables in a setting of this type."""
    inner = [each for each in get_args(kind) if isinstance(each, KindsOf)] or get_args(kind)
    if isinstance(kind, KindsOf):
        inner = kind.members.values()
    if isinstance(kind, type) and issubclass(kind, Section) and kind not in found:
        found.add(kind)
        inner = [annotation_of(field) for field in kind.model_fields.values()]
    for each in inner:
        add_tables(each, found)


def test_the_reference_has_every_table():
    listed = {
        kind for tables in generator().TABLES.values() for _, kinds in tables for kind in kinds
    }
    found: set[type[Section]] = set()
    add_tables(Config, found)
    assert found <= listed


OTHER_TOOLS = """
[teams.own]  # nobody knows its tools
factory = "my_team:build"
[teams.served]
type = "round_robin"
max_turns = 1
agents = { a = { mcp = [{ name = "files", command = "files-server" }] } }
"""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0])
def test_an_example_of_the_page_is_a_valid_config(tmp_path, monkeypatch, example):
    secrets = {"SLACK_BOT_TOKEN": "xoxb-test", "SLACK_APP_TOKEN": "xapp-test"}
    for variable in ("OPENAI_API_KEY", "AZURE_AI_KEY", "BOOKS_TOKEN", "TRACKER_TOKEN"):
        secrets[variable] = "sk-test"
    for variable, value in secrets.items():
        monkeypatch.setenv(variable, value)
    functions = ("find_order", "pay_back", "search", "send_mail")
    (tmp_path / "my_tools.py").write_text(
        "\n".join(f"def {name}(text: str, to: str) -> str: ..." for name in functions)
    )
    (tmp_path / "my_team.py").write_text("def build(model_client, workdir, careful): ...")
    (tmp_path / "team.json").write_text("{}")
    if "[policies.tools" in example and "[teams" not in example:
        example += OTHER_TOOLS
    (tmp_path / "config.toml").write_text(example)
    assert load_config(tmp_path / "config.toml").config.teams


def test_the_page_of_the_commands_names_every_exit_code():
    page = (DOCS / "commands.md").read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == set(ExitCode)
