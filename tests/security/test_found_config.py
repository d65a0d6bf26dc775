"""A config of the current folder is used only once somebody agreed."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from click.testing import CliRunner, Result
from pydantic import SecretStr

from gateway.app.trust import ConfigNotTrusted, check_powers, powers_here
from gateway.cli import main
from gateway.config.descriptions import described_fields
from gateway.config.powers import BUILT_IN, Power, powers_of
from gateway.config.root import Config
from gateway.config.setting_types import annotation_of
from teams.kinds import KINDS, ConfigPath, KindsOf, Section
from teams.models.openai import OpenAIClientConfigurationConfigModel
from tests.fakes.pty_process import PtyProcess

pytestmark = pytest.mark.timeout(60)  # some start processes

ROOT = Path(__file__).resolve().parents[2]
PARLEY = ("-m", "gateway.cli")
ENDS = '[teams.t]\ntermination = "{}"'
FOREIGN = "from pathlib import Path\nPath('imported').touch()\ndef build(): return None\n"
CONFIG = "[teams.mine]\nfactory = 'foreign_team:build'\n[store]\nfolder = 'store'\n"
ASKING = [
    ["chat", "--plain"],
    ["run", "Hi"],
    ["check"],
    ["check", "--offline"],
    ["teams", "list"],
    ["teams", "dump", "mine"],
    ["simulate", "slack"],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a config that names Python beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "foreign_team", raising=False)
    (tmp_path / "config.toml").write_text(CONFIG)
    (tmp_path / "foreign_team.py").write_text(FOREIGN)
    return tmp_path


def parley(*args: str) -> Result:
    return CliRunner().invoke(main, args, input="")


def is_imported(folder: Path) -> bool:
    """True if the folder's Python ran since the last time."""
    ran = (folder / "imported").exists()
    (folder / "imported").unlink(missing_ok=True)
    return ran


def asked(result: Result) -> bool:
    return result.exit_code == 2 and "--trust-config" in result.stderr


def at_a_terminal(folder: Path, answer: str, *args: str) -> tuple[int, str]:
    with PtyProcess(*PARLEY, *args, folder=folder) as terminal:
        terminal.until("Use it?")
        assert not is_imported(folder)
        terminal.type(f"{answer}\n")
        return terminal.ended(), terminal.text


# --- when it is asked ---


@pytest.mark.parametrize("args", ASKING)
def test_without_a_terminal_a_found_config_ends_with_2_before_its_python_is_imported(
    folder: Path, args: list[str]
):
    result = parley(*args)
    assert asked(result)
    assert "foreign_team:build" in result.stderr
    assert result.stdout == ""
    assert not is_imported(folder)


@pytest.mark.parametrize("args", ASKING)
def test_a_component_file_is_asked_about_before_it_is_read(folder: Path, args: list[str]):
    (folder / "config.toml").write_text("[teams.mine]\ncomponent = 'team.json'\n")
    (folder / "team.json").symlink_to("/dev/full")  # to read it would never end
    result = parley(*args)
    assert asked(result)
    assert "the file team.json" in result.stderr


@pytest.mark.chaos
def test_at_a_terminal_it_is_asked_once_until_the_file_changes(folder: Path):
    code, text = at_a_terminal(folder, "n", "check", "--offline")
    assert code == 2
    assert "is not used" in text
    assert not is_imported(folder)
    code, text = at_a_terminal(folder, "y", "check", "--offline")
    assert code == 1  # the factory returns no team
    assert is_imported(folder)
    with PtyProcess(*PARLEY, "check", "--offline", folder=folder) as terminal:
        assert terminal.ended() == 1
        assert "Use it?" not in terminal.text
    assert is_imported(folder)
    (folder / "config.toml").write_text(f"{CONFIG}\n# changed\n")
    assert at_a_terminal(folder, "", "check", "--offline")[0] == 2


def test_the_flag_stands_for_the_answer_and_is_remembered(folder: Path, home: Path):
    assert parley("check", "--offline", "--trust-config").exit_code == 1
    assert not asked(parley("check", "--offline"))
    [remembered] = home.rglob("trusted-configs.json")
    assert remembered.stat().st_mode & 0o777 == 0o600
    (folder / "config.toml").write_text(f"{CONFIG}\n# changed\n")
    assert asked(parley("check", "--offline"))


def test_a_link_to_a_trusted_config_is_another_config(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    parley("check", "--offline", "--trust-config")
    other = tmp_path_factory.mktemp("other")
    (other / "config.toml").symlink_to(folder / "config.toml")
    (other / "foreign_team.py").write_text(FOREIGN)
    monkeypatch.chdir(other)
    assert asked(parley("check", "--offline"))


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_it_is_read_as_it_is_loaded(folder: Path, end: str):
    (folder / "config.toml").write_bytes(CONFIG.replace("\n", end).encode())
    assert asked(parley("check", "--offline"))


@pytest.mark.parametrize(
    "deep",
    ["x = " + "[" * 5000 + "]" * 5000, ".".join("a" * 5000) + " = 1"],
    ids=["arrays", "keys"],
)
def test_a_config_nested_too_deep_is_not_used(folder: Path, deep: str):
    (folder / "config.toml").write_text(f"{deep}\n{CONFIG}")
    result = parley("check", "--offline")
    assert result.exit_code == 2
    assert "nested too deep" in result.stderr
    assert not is_imported(folder)


def test_trust_in_one_folder_is_none_in_another(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    parley("check", "--offline", "--trust-config")
    other = tmp_path_factory.mktemp("other")
    (other / "config.toml").write_text(CONFIG)
    monkeypatch.chdir(other)
    assert asked(parley("check", "--offline"))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"x": 1}', "\\xff"])
def test_a_damaged_record_is_no_trust(folder: Path, home: Path, content: str):
    parley("check", "--offline", "--trust-config")
    [remembered] = home.rglob("trusted-configs.json")
    remembered.write_text(content)
    assert asked(parley("check", "--offline"))


def test_the_question_is_safe_to_read(folder: Path):
    words = ["x", "\x1b[2J", "a\nb", "\u202e"]
    table = f"command = 'npx'\nargs = {json.dumps(words)}\n"
    (folder / "config.toml").write_text(
        f"[teams.t]\ntype = 'round_robin'\n[[teams.t.agents.a.mcp]]\n{table}"
    )
    shown = parley("check").stderr
    assert asked(parley("check"))
    assert "npx x" in shown
    assert "a b" in shown
    assert not {"\x1b", "\u202e"} & {*shown}


# --- when it is not ---


def test_a_config_that_is_named_has_been_chosen(folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert not asked(parley("check", "--offline", "--config", "config.toml"))
    assert is_imported(folder)
    monkeypatch.setenv("PARLEY_CONFIG", "config.toml")
    assert not asked(parley("check", "--offline"))


def test_a_config_of_the_user_is_their_own(folder: Path, home: Path):
    own = home / ".config" / "parley"
    own.mkdir(parents=True)
    (folder / "config.toml").rename(own / "config.toml")
    (folder / "foreign_team.py").rename(own / "foreign_team.py")
    assert not asked(parley("check", "--offline"))


@pytest.mark.parametrize("args", [["sessions", "list"], ["status"], ["slack", "manifest"]])
def test_commands_without_a_team_run_nothing_of_the_folder_and_do_not_ask(
    folder: Path, args: list[str]
):
    assert not asked(parley(*args))
    assert not is_imported(folder)


def test_serve_takes_the_config_as_the_operators_word(folder: Path):
    with PtyProcess(*PARLEY, "serve", folder=folder) as terminal:
        assert terminal.ended() != 0  # the factory returns no team
        assert "Use it?" not in terminal.text
    assert is_imported(folder)


@pytest.mark.parametrize("name", ["config.toml", "gateway/starter.toml"])
def test_the_config_of_the_project_and_the_starter_ask_nothing(name: str):
    assert powers_of(tomllib.loads((ROOT / name).read_text())) == []


# --- what has to be asked about ---


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("[models.m]\nprovider = 'mine:Client'", "Python", "mine:Client"),
        ("[models.m]\noptions = { http_client = 'mine:make' }", "Python", "mine:make"),
        ("[models.m]\noptions = { base_url = 'http://x' }", "address", "http://x"),
        ("[models.m]\nbase_url = 'HTTPS://x.com/v1'", "address", "HTTPS://x.com/v1"),
        ("[models.m]\napi_key_env = 'AWS_KEY'", "variable", "AWS_KEY"),
        ("[models.m]\napi_key = '${AWS_KEY}'", "variable", "AWS_KEY"),
        ("[models.m]\napi_key_file = '~/.ssh/id'", "secret", "the file ~/.ssh/id"),
        ("[models.m]\nmodel = 'claude-x'", "variable", "ANTHROPIC_API_KEY"),
        ("[models.m]\nprovider = 'anthropic'", "variable", "ANTHROPIC_API_KEY"),
        ("[models.m]\nprovider = 'anthropic'", "variable", "ANTHROPIC_BASE_URL"),
        ("[models.m]\nprovider = 'bedrock'", "variable", "AWS_ACCESS_KEY_ID"),
        ("[teams.t.agents.a]\ntools = ['os:system']", "Python", "os:system"),
        ("[teams.t.agents.a]\nhosted_tools = ['x']", "address", "OpenAI's tool x"),
        ("[teams.t.agents.a]\nhosted_tools = [{ type = 'x' }]", "address", "OpenAI's tool x"),
        ("[teams.t]\ntrusted_modules = ['mine']", "Python", "mine"),
        (ENDS.format("Functional('mine:over')"), "Python", "mine:over"),
        (ENDS.format("(MaxMessage(3) & FunctionalTermination(func='a.b:c'))"), "Python", "a.b:c"),
        (ENDS.format("MaxMessage(3) | mine:Quiet(2)"), "Python", "mine:Quiet"),
        (ENDS.format("mine:Quiet(['x', ['mine:call']])"), "Python", "mine:call"),
        ('[[teams.t.more]]\ntermination = "a.b:C.d()"', "Python", "a.b:C.d"),
        ("[teams.t]\ncomponent = 'team.json'", "team", "the file team.json"),
        ("[teams.t]\ncomponent = '/tmp/t.json'", "team", "the file /tmp/t.json"),
        ("[teams.t]\nallow = [{ command = ['sh', '-c', 'x'] }]", "command", "sh -c x"),
        ("[teams.t]\nallow = [{ base_url = 'https://x.com' }]", "address", "https://x.com"),
        ("[teams.t]\nallow = [{ env = 'K', for = 'https://x.com' }]", "variable", "K"),
        ("[teams.t]\nallow = [{ mount = '/' }]", "folder", "/"),
        ("[teams.t]\nallow = [{ executor = 'local' }]", "code", "on this machine"),
        ("[teams.t]\nallow = [{ container = { image = 'x' } }]", "code", "image: x"),
        ("[teams.t.agents.a.executor]\ntype = 'local'", "code", "on this machine"),
        ("[teams.t.agents.a.executor]\ninit_command = 'x'", "command", "x"),
        (
            "[teams.t.agents.a.executor]\nextra_volumes = { '/' = { bind = '/x' } }",
            "folder",
            "/: {'bind': '/x'}",
        ),
        ("[[teams.t.agents.a.mcp]]\nurl = 'http://x'", "address", "http://x"),
        ("[adapters.slack]", "address", "the platform slack"),
        ("[logging]\nfile = '~/.bashrc'", "folder", "~/.bashrc"),
        ("[tracing]", "address", "the collector of OTEL_EXPORTER_OTLP_ENDPOINT"),
        ("[tracing]\nendpoint = 'http://x'", "address", "http://x"),
        ("[tracing]\nendpoint = 'x'\nheaders = { a = '${KEY}' }", "variable", "KEY"),
        ("[store]\nfolder = '../x'", "folder", "../x"),
    ],
)
def test_a_power_is_found(text: str, kind: Any, what: str):
    assert Power(kind, what) in powers_of(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "[models.m]\nprovider = 'openai'\nmodel = 'gpt-4o'\napi_key_env = 'OPENAI_API_KEY'",
        "[models.m]\nbase_url = 'https://api.openai.com/v1/'",
        "[teams.t.agents.a]\nsystem_message = 'See https://x.com and say $${NAME}: yes.'",
        ENDS.format("TextMention('DONE: x') | Handoff('user') & MaxMessage(3)"),
        ENDS.format("Functional('mine:over'"),
        "[policies]\noperators = ['slack:T1:U1']\n[store]\nfolder = 'store'",
    ],
)
def test_what_the_built_in_config_can_do_is_no_power(text: str):
    assert powers_of(tomllib.loads(text)) == []


def test_a_models_name_leads_to_the_variables_that_the_client_knows():
    for model in ("gemini-x", "claude-x", "Llama-x"):
        used = OpenAIClientConfigurationConfigModel(model=model).key_variable
        assert powers_of({"models": {"m": {"model": model}}}) == [Power("variable", used)]
    read = {each for name in ("openai", "auto") for each in KINDS["model"][name].variables}
    assert read <= BUILT_IN


def fields(kind: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Any, Any]]:
    """Every setting under this type: its path, its type, and its description."""
    origin, arguments = get_origin(kind), get_args(kind)
    families = [each for each in (kind, *arguments) if isinstance(each, KindsOf)]
    if families:
        for table in families[0].members.values():
            yield from fields(table, path)
    elif origin is Annotated or origin in (Union, UnionType):
        for each in arguments[:1] if origin is Annotated else arguments:
            yield from fields(each, path)
    elif origin in (list, dict):
        yield from fields(arguments[-1], (*path, 0 if origin is list else "x"))
    elif isinstance(kind, type) and issubclass(kind, Section) and len(path) < 9:
        for name, field in described_fields(kind).items():
            at = (*path, field.alias or name)
            yield at, field, field.description or ""
            yield from fields(annotation_of(field), at)


def nested(path: tuple[str | int, ...], value: Any) -> Any:
    for part in reversed(path):
        value = [value] if isinstance(part, int) else {part: value}
    return value


ALL = {path: (field, text) for path, field, text in fields(Config)}


def settings_of(kind: object) -> list[Any]:
    return [
        path
        for path, (field, _) in ALL.items()
        if kind in (field.annotation, *get_args(field.annotation))
    ]


def is_asked(path: tuple[str | int, ...], value: Any) -> bool:
    data: Mapping[str, Any] = nested(path, value)
    return powers_of(data) != []


def test_the_walk_reaches_the_settings():
    assert ("models", "x", "api_key") in settings_of(SecretStr)
    assert ("teams", "x", "agents", "x", "mcp", 0, "cwd") in ALL
    assert len(ALL) > 200


def test_every_setting_that_is_an_import_path_is_asked_about():
    paths = [path for path, (_, text) in ALL.items() if text.lower().startswith("import path")]
    assert len(paths) > 8
    for path in paths:
        field = ALL[path][0]
        many = get_origin(field.annotation)
        value = {list: ["mine:part"], dict: {"x": "mine:part"}}.get(many, "mine:part")
        assert is_asked(path, value), path


def test_every_secret_from_a_variable_or_a_file_is_asked_about():
    assert settings_of(SecretStr)
    for path in settings_of(SecretStr):
        *table, name = path
        assert is_asked((*table, f"{name}_env"), "AWS_KEY"), path
        assert is_asked((*table, f"{name}_file"), "/etc/key"), path
        assert is_asked(path, "${AWS_KEY}"), path


def test_every_folder_outside_is_asked_about():
    found = [path for kind in (Path, ConfigPath) for path in settings_of(kind)]
    assert len({*found}) > 5
    for path in dict.fromkeys(found):
        assert is_asked(path, "/etc"), path


def test_every_address_is_asked_about():
    for path, (field, _) in ALL.items():
        if field.annotation is str and path[-1] in ("url", "base_url", "for"):
            assert is_asked(path, "https://x.com"), path


def test_a_watched_config_gets_no_power_that_nobody_agreed_to(folder: Path):
    agreed = powers_here(None)
    assert agreed is not None
    check_powers(agreed)
    (folder / "config.toml").write_text(CONFIG.replace("mine", "yours"))
    check_powers(agreed)
    (folder / "config.toml").write_text(f"{CONFIG}[teams.more]\nfactory = 'os:system'\n")
    with pytest.raises(ConfigNotTrusted, match="names more than you have agreed to") as told:
        check_powers(agreed)
    assert "os:system" in str(told.value)
    assert "foreign_team" not in str(told.value)
    assert powers_here(folder / "config.toml") is None  # who names a config has chosen it
    check_powers(None)
    (folder / "config.toml").unlink()
    check_powers(agreed)
