"""The first install: words while pip works, and where it fails."""

import importlib.util
import os
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
