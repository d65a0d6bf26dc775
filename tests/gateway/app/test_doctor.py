"""`parley doctor`: parts that are well, and advice for others."""

import asyncio
import importlib
import json
import os
import socket
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.app.doctor import clashes, clock, extras
from gateway.app.findings import Finding
from gateway.app.load import load_config
from gateway.app.start import check_health
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from tests.fakes.scripted_platform import Platform, installed
from tests.gateway.app.test_plugins import brings

pytestmark = pytest.mark.usefixtures("fresh_imports")

ROOT = Path(__file__).parents[3]
CONFIG = """
store = {{ folder = "{store}" }}
[models.m]
provider = "demo"
[teams.t]
type = "round_robin"
max_turns = 1
agents.a = {{}}
"""
SERVED = """
[adapters.scripted]
bot_token = "x"
[[routes]]
adapter = "scripted"
channels = "C1"
users = "members"
"""


def examined(config: Path) -> tuple[int, dict[str, str]]:
    result = CliRunner().invoke(main, ["doctor", "--config", str(config)])
    lines = (each.split(maxsplit=3) for each in result.stdout.splitlines() if each[0] != " ")
    return result.exit_code, {name: f"{good} {text}" for _, name, good, text in lines}


def write_config(folder: Path, text: str = CONFIG, store: str = "store") -> Path:
    path = folder / "config.toml"
    path.write_text(text.format(store=store))
    return path


def test_a_sound_installation_is_told_part_by_part(tmp_path: Path):
    code, found = examined(write_config(tmp_path))
    assert code == ExitCode.DONE
    assert [*found] == ["python", "extras", "sqlite", "clock", "config", "store"]
    assert "mcp" in found["extras"]
    assert found["config"] == f"ok {tmp_path / 'config.toml'}"
    assert found["store"] == f"ok {tmp_path / 'store'}"
    assert not (tmp_path / "store").exists()


def test_a_plugin_a_store_and_a_config_that_fail_are_told(tmp_path: Path):
    brings(tmp_path, module="1 / 0")
    (tmp_path / "file").write_text("")
    code, found = examined(write_config(tmp_path, store="file/store"))
    assert code == ExitCode.FAILED
    assert found["parrot"].startswith("FAILED parley-birds 1.0: ")
    assert found["store.folder"].startswith("FAILED the store ")
    code, found = examined(write_config(tmp_path, "unheard_of = 1"))
    assert code == ExitCode.FAILED
    assert found["config"].endswith("one mistake; `parley check` lists them")


@pytest.mark.parametrize(
    ("owners", "told"),
    [
        ({"adapters": ["parley-gateway"]}, []),
        ({"adapters": ["adapters", "parley-gateway"]}, ["adapters"]),
        ({"adapters": ["parley-gateway"], "teams": ["teams", "more"]}, ["teams"]),
        ({"gateway": ["gateway"]}, ["gateway"]),
        ({"other": ["other"]}, []),
        ({}, []),
    ],
)
def test_packages_among_parleys_own_are_named(owners: dict[str, list[str]], told: list[str]):
    found = list(clashes(owners, "parley-gateway"))
    assert [each.name for each in found] == told
    for each in found:
        assert "pip uninstall" in each.text
        again = "pip install --force-reinstall --no-deps"  # the rest of the environment stays
        assert f"{again} parley-gateway (in a clone: {again} .)" in each.text
        assert not each.good


def distribution(folder: Path, name: str, *needed: str) -> Distribution:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    lines = [f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {each}" for each in needed)]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    return Distribution.at(info)


def test_extras_are_told_with_those_that_are_missing_and_the_command(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    ours = distribution(
        tmp_path,
        "parley-gateway",
        "click>=8",
        "bird>=1,<2; extra == 'birds'",
        "bird[songs,nests]>=1; extra == 'songs'",
        "fish>=1; extra == 'fish'",
    )
    distribution(tmp_path, "bird", "notes>=1 ; extra == 'songs'", "cage; extra == 'cages'")
    found = extras(ours)
    assert found.text == (
        "installed: birds; not installed: fish, songs. pip install 'parley-gateway[NAME]' adds one"
    )
    distribution(tmp_path, "notes")
    distribution(tmp_path, "fish")
    importlib.invalidate_caches()
    assert extras(ours).text == "installed: birds, fish, songs"
    assert found.good


@pytest.mark.filterwarnings("ignore:Implicit None:DeprecationWarning")
@pytest.mark.parametrize(
    "files",
    [
        {"adapters.egg-info/top_level.txt": "adapters\n"},
        {"adapters-1.0.dist-info/RECORD": "adapters/__init__.py,,\n"},
        {"adapters-1.0.dist-info/entry_points.txt": "[parley.kinds]\nagent.x = adapters.x\n"},
    ],
    ids=["egg", "record", "entry points"],
)
def test_a_package_without_a_name_ends_no_doctor(tmp_path, monkeypatch, files: dict[str, str]):
    site = tmp_path / "site"
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True)
        (site / name).write_text(text)
    monkeypatch.syspath_prepend(site)
    _, found = examined(write_config(tmp_path))
    assert found["store"].startswith("ok ")
    assert "None" not in str(found)


@pytest.mark.parametrize(
    ("command", "foreign"),
    [
        ("run hi", "adapters/__init__.py"),
        pytest.param("run hi", "adapters.py", marks=pytest.mark.chaos),
        pytest.param("run hi", "adapters/terminal/__init__.py", marks=pytest.mark.chaos),
        pytest.param("chat", "adapters/__init__.py", marks=pytest.mark.chaos),
        ("chat", "adapters.py"),
        ("chat", "adapters/terminal/__init__.py"),
        ("slack manifest", "adapters/slack/__init__.py"),
    ],
)
def test_a_command_in_need_of_a_hidden_package_says_where_the_other_is(
    tmp_path: Path, command: str, foreign: str
):
    file = tmp_path / "theirs" / foreign
    file.parent.mkdir(parents=True)
    file.write_text("")
    if foreign.count("/") == 2:
        file.parent.with_name("__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", "from gateway.cli import main; main()", *command.split()],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "theirs"), str(ROOT)])},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = f"parley: 'adapters' is imported from {tmp_path / 'theirs'}, and not from Parley's"
    assert (bool(done.returncode), done.stdout) == (True, "")
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1


COMMANDS = """
import json, sys
from click.testing import CliRunner
from gateway.cli import main

for command in sys.argv[1:]:
    done = CliRunner().invoke(main, [command])
    failed = not isinstance(done.exception, SystemExit | None)
    print(json.dumps([command, done.exit_code, done.stdout, repr(done.exception) * failed]))
"""


def test_a_foreign_package_of_one_of_our_names_ends_no_command(tmp_path: Path):
    foreign = tmp_path / "theirs" / "adapters"
    foreign.mkdir(parents=True)
    (foreign / "__init__.py").write_text("import torch_that_is_not_here\n")
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, "--help", "schema", "doctor"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(foreign.parent), str(ROOT)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    ran = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(command, failure) for command, _, _, failure in ran] == [
        ("--help", ""),
        ("schema", ""),
        ("doctor", ""),
    ]
    _, code, told, _ = ran[-1]
    assert f"imported from {foreign.parent}" in told
    assert code == ExitCode.FAILED


def ports_of(config: Path) -> list[Finding]:
    """Findings about ports, which doctor tells last."""
    return asyncio.run(check_health(load_config(config)))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_that_another_program_has_is_told(tmp_path: Path, host: str):
    with installed(Platform()), socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        text = f'health = {{{{ host = "{host}", port = {port} }}}}{CONFIG}'
        assert ports_of(write_config(tmp_path, text)) == []  # the terminal alone has none
        text += SERVED
        code, found = examined(write_config(tmp_path, text))
        assert found[port].startswith("ok warning: Parley can't listen at ")
        assert found["store"].startswith("ok ")
        assert code == ExitCode.DONE
        taken.close()
        assert ports_of(write_config(tmp_path, text)) == []


@pytest.mark.parametrize(("ahead", "good"), [(-10 * 86_400, False), (-60, True), (0, True)])
def test_a_clock_before_the_installation_is_wrong(ahead: float, good: bool):
    assert clock(1_700_000_000 + ahead, 1_700_000_000).good == good
