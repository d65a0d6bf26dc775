"""The first install: its progress, and the absence of a network."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[1] / "requirements" / "install.py"
BROKEN = (
    "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('"
    "<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new "
    "connection: [Errno -2] Name or service not known')': /simple/click/"
)
NOT_FOUND = "ERROR: No matching distribution found for click"


@pytest.fixture
def install():
    spec = importlib.util.spec_from_file_location("install", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pip_that(folder: Path, script: str) -> Path:
    """A program in the place of Python, with this script as pip."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("had", "asked", "installed"),
    [
        (["services", "dev", "runtime"], "dev", "services"),
        (["services", "dev", "runtime"], "runtime", "services"),
        (["dev", "runtime"], "runtime", "dev"),
        (["dev", "runtime"], "services", "services"),
        ([], "dev", "dev"),
        (None, "dev", "dev"),
        (["extras/mcp-1"], "extras/mcp-1", "extras/mcp-1"),
    ],
)
def test_an_environment_keeps_its_widest_set(
    install, tmp_path: Path, had: list[str] | None, asked: str, installed: str
):
    if had is not None:
        install.stamp_of(tmp_path).write_text("".join(f"{each} 123\n" for each in had))
    assert install.widest(tmp_path, asked) == installed


@pytest.mark.parametrize(
    ("target", "ci", "installed"),
    [
        (("chat",), "", ["runtime"]),
        (("format",), "", ["dev"]),
        (("test", "ARGS=tests/teams -k swarm"), "", ["dev"]),
        (("test", "ARGS=tests/teams -k swarm"), "1", ["services"]),
        (("test", "ARGS=-k swarm"), "", ["services"]),
        (("test",), "", ["services"]),
        (("lint",), "", ["dev", "services"]),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_a_target_waits_for_the_packages_that_it_needs(
    target: tuple[str, ...], ci: str, installed: list[str]
):
    command = ["make", "-C", str(PATH.parents[1]), "--dry-run", f"CI={ci}", *target]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"--check \S+ (\S+)", printed) == installed


def test_no_network_is_one_sentence_that_says_what_to_do(install, tmp_path, capfd):
    script = f"echo 'Looking in indexes: https://mirror.example/simple'\ncat <<'E'\n{BROKEN}\nE\n"
    python = pip_that(tmp_path, f"{script}cat <<'E'\n{BROKEN}\n{NOT_FOUND}\nE\nexit 1")
    with pytest.raises(install.NoNetwork) as caught:
        install.pip_install(python, "click")
    assert str(caught.value).startswith(
        "No network: https://mirror.example/simple can't be reached (Name or service not known). "
    )
    assert capfd.readouterr().err == (
        "  no connection to https://mirror.example/simple (Name or service not known); "
        "trying again\n"
    )


def test_what_is_done_is_told_while_pip_is_silent(install, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(install, "QUIET", 0.05)
    done = tmp_path / "done"
    os.mkfifo(done)
    said = []

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            done.write_text("go on")

    monkeypatch.setattr(install, "say", say)
    install.pip_install(pip_that(tmp_path, f"echo Collecting click; cat {done}"), "click")
    assert said[-1].startswith("  1 collected, now click (")


def test_any_other_failure_shows_what_pip_said(install, tmp_path, capfd):
    python = pip_that(tmp_path, "echo 'ERROR: no hash of click fits'; exit 1")
    with pytest.raises(install.subprocess.CalledProcessError):
        install.pip_install(python, "click")
    assert "ERROR: no hash of click fits" in capfd.readouterr().err
