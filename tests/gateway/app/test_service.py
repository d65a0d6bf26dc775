"""The systemd unit that `parley install-service` writes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.app import service
from gateway.cli import main

CONFIG = """
[adapters.discord]
token = "${A_BOT_TOKEN}"

[[routes]]
adapter = "discord"
dm = true
users = ["42424242424242424"]
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    path = tmp_path / "100% ours" / "config.toml"
    path.parent.mkdir()
    path.write_text(CONFIG)
    return path


@pytest.fixture
def systemctl(tmp_path, monkeypatch):
    """A systemctl that notes its arguments."""
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/told\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    return tmp_path / "told"


def called(config: Path, *options: str):
    return CliRunner().invoke(main, ["--config", str(config), "install-service", *options])


def settings(unit: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in unit.splitlines() if re.match(r"\w+=", line))


def test_a_users_unit_is_written_and_systemd_is_told(config, systemctl, tmp_path):
    said = called(config)
    path = tmp_path / "settings" / "systemd" / "user" / "parley.service"
    assert said.exit_code == 0, said.output
    assert systemctl.read_text() == "--user daemon-reload\n"
    found = settings(path.read_text())
    escaped = str(config).replace("%", "%%")
    assert found["Environment"] == f'"PARLEY_CONFIG={escaped}"'
    assert found["ExecStart"] == f"{Path(sys.executable).with_name('parley')} serve"
    assert found["WantedBy"] == "default.target"
    assert "User" not in found
    assert f"put A_BOT_TOKEN into {config.parent / 'environment'}" in said.output
    assert "systemctl --user enable --now parley" in said.output


def test_it_is_written_again_but_never_over_somebody_elses(config, systemctl, tmp_path):
    path = tmp_path / "settings" / "systemd" / "user" / "parley.service"
    assert called(config).exit_code == 0
    assert called(config).exit_code == 0
    path.write_text("[Unit]\nDescription=mine\n")
    said = called(config)
    assert said.exit_code == 1
    assert "Move it away first" in said.output
    assert path.read_text() == "[Unit]\nDescription=mine\n"


def test_printing_changes_nothing(config, systemctl, tmp_path):
    said = called(config, "--print")
    assert said.output.startswith("# Written by `parley install-service`.\n[Unit]\n")
    assert not systemctl.exists()
    assert not (tmp_path / "settings").exists()


def test_without_systemd_it_says_what_to_use(config, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = called(config)
    assert said.exit_code == 1
    assert "no systemd on this machine" in said.output


def test_a_config_without_platforms_has_nothing_to_serve(config, systemctl):
    config.write_text("[models.m]\nmodel = 'gpt-4o'\n")
    said = called(config)
    assert said.exit_code == 1
    assert "no platform to serve" in said.output


def test_the_machines_unit_keeps_every_limit_and_its_store_can_be_written(config):
    config.write_text(f'{CONFIG}\n[store]\nfolder = "kept here"\n')
    made = service.Service(config, machine=True, program=Path("/usr/local/lib/parley/bin/parley"))
    unit = made.unit(config.parent / "kept here")
    ours = settings((Path(__file__).parents[3] / "deploy/systemd/parley.service").read_text())
    own = {"Environment", "EnvironmentFile", "ExecStart", "WorkingDirectory", "ReadWritePaths"}
    assert {k: v for k, v in settings(unit).items() if k not in own} == {
        k: v for k, v in ours.items() if k not in own
    }
    escaped = str(config.parent).replace("%", "%%")
    assert settings(unit)["ReadWritePaths"] == f'"{escaped}/kept here"'
    unit = made.unit(Path("/var/lib/parley"), backups=Path("/mnt/disk/backups"))
    assert settings(unit)["ReadWritePaths"] == "-/mnt/disk/backups"  # the disk may be away


def test_the_machines_unit_can_write_the_log_and_says_whose_the_folders_are(
    config, systemctl, monkeypatch, tmp_path
):
    monkeypatch.setattr(service, "SYSTEM_FOLDER", tmp_path)
    monkeypatch.setattr(sys, "executable", "/usr/local/lib/parley/bin/python")
    config.write_text(f'{CONFIG}\n[logging]\nfile = "logs/parley.log"\n')
    said = called(config, "--system")
    assert said.exit_code == 0, said.output
    found = settings((tmp_path / "parley.service").read_text())
    escaped = str(config.parent).replace("%", "%%")
    assert found["ReadWritePaths"] == f'"{escaped}/logs"'
    assert "make the folders of ReadWritePaths=" in said.output


@pytest.mark.parametrize("hidden", [Path("/home", "ann", "parley"), Path("/root", "parley")])
def test_the_machines_unit_is_not_made_for_a_program_in_somebodys_home(config, hidden):
    made = service.Service(config, machine=True, program=hidden)
    with pytest.raises(service.ServiceError, match="in somebody's home"):
        made.unit(Path("/var/lib/parley"))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
@pytest.mark.parametrize("machine", [True, False], ids=["machine", "user"])
@pytest.mark.parametrize("folder", ["some where", "a$b ${HOME}"])
def test_systemd_reads_the_unit_without_a_complaint(config, tmp_path, monkeypatch, machine, folder):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    program = tmp_path / folder / "parley"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "parley.service"
    unit.write_text(service.Service(config, machine, program).unit(Path("/var/lib/parley")))
    scope = [] if machine else ["--user"]
    command = ["systemd-analyze", *scope, "verify", "--man=no", str(unit)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    complaints = [e for e in checked.stderr.splitlines() if "parley" in e or "Failed" in e]
    assert complaints == []


@pytest.mark.parametrize("name", ["it's", 'a "b"', "a\\b", "a\tb"])
def test_a_program_that_systemd_would_refuse_gets_no_unit(config, name):
    made = service.Service(config, machine=False, program=Path("/usr/local/lib", name, "parley"))
    with pytest.raises(service.ServiceError, match="systemd starts no program"):
        made.unit(Path("/var/lib/parley"))


@pytest.mark.parametrize("name", ["ends in \\", "ends in ", "in two\nlines"])
def test_a_folder_that_no_unit_can_hold_is_refused(config, name):
    odd = config.parent / name / "config.toml"
    made = service.Service(odd, machine=False, program=Path("/usr/local/lib/parley/bin/parley"))
    with pytest.raises(service.ServiceError, match="no unit can hold"):
        made.unit(Path("/var/lib/parley"))
