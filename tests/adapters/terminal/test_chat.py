"""The chat as a real process on a real terminal."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.fakes.pty_process import ROOT, PtyProcess

PARLEY = ("gateway.cli",)
SCRIPT = str(Path(__file__).with_name("scripted_chat.py"))
WATCHED = str(Path(__file__).with_name("watched_chat.py"))
ALT_SCREEN_OFF = b"\x1b[?1049l"
MOUSE_OFF = b"\x1b[?1003l"
CURSOR_ON = b"\x1b[?25h"
PASTE_OFF = b"\x1b[?2004l"

CONFIG = """
[models.m]
model = "gpt-4o"
base_url = "{url}"
api_key = "sk-good"
[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.a]
"""

pytestmark = [pytest.mark.timeout(60), pytest.mark.chaos]


@contextmanager
def openai_config(folder: Path, *, silent: bool = False) -> Generator[str]:
    """A config for a running server of one answer, or none."""
    script, config = folder / "answers.json", folder / "openai.toml"
    script.write_text(json.dumps([{"text": "It is FINE.", "gate": silent}]))
    command = [sys.executable, "-m", "tests.fakes.openai_server", "--script", script]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
            config.write_text(CONFIG.format(url=url))
            yield str(config)
        finally:
            server.kill()


def is_sane(terminal: PtyProcess) -> bool:
    left = terminal.output.rfind(ALT_SCREEN_OFF)
    off = all(code in terminal.output for code in (MOUSE_OFF, CURSOR_ON, PASTE_OFF))
    return left >= 0 and off and terminal.restored()


def test_a_person_chats_with_the_demo_team_and_comes_back_to_it(tmp_path: Path):
    with PtyProcess(*PARLEY, "chat", folder=tmp_path) as terminal:
        terminal.until("ready")
        terminal.type("hello\n")  # ctrl+j: a new line in the draft
        terminal.type("there\r")
        terminal.until("demo model")
        terminal.forget()
        terminal.resize(120, 40)
        terminal.until("enter open")
        terminal.type("what is 6*7?\r")
        terminal.until("42")
        terminal.type("\x03")
        terminal.until("Press ctrl+c again to quit.")
        terminal.type("\x03")
        assert terminal.ended() == 0
        assert is_sane(terminal)
    with PtyProcess(*PARLEY, "chat", folder=tmp_path) as terminal:
        terminal.until("42")
        terminal.until("ready")
        terminal.type("/quit\r")
        assert terminal.ended() == 0


def test_pasted_lines_with_escapes_stay_in_the_draft(tmp_path: Path):
    with PtyProcess(*PARLEY, "chat", folder=tmp_path) as terminal:
        terminal.until("ready")
        terminal.type("\x1b[200~" + "\r".join(f"\x1b[31m{n}*{n}\x1b" for n in range(90)))
        terminal.type("\x1b[201~")
        terminal.until("Pasted text #1: 90 lines")
        terminal.type("\t")
        terminal.until("89*89")
        terminal.type(" ends")
        terminal.until("ends")
        assert b"working" not in terminal.output
        assert b"queued" not in terminal.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_in_the_middle_of_a_stream_leaves_a_sane_terminal(
    tmp_path: Path, number: signal.Signals
):
    with PtyProcess(SCRIPT, str(tmp_path), "stream", folder=tmp_path) as terminal:
        terminal.until("word word")
        terminal.signal(number)
        assert terminal.ended(within=5) == 128 + number
        assert is_sane(terminal)
        assert (tmp_path / "closed").exists()


def test_a_terminal_that_goes_away_lets_the_chat_close_its_gateway(tmp_path: Path):
    with PtyProcess(SCRIPT, str(tmp_path), "stream", folder=tmp_path) as terminal:
        terminal.until("word word")
        terminal.hang_up()
        assert terminal.ended(within=5) == 128 + signal.SIGHUP
        assert (tmp_path / "closed").exists()


def test_a_terminal_that_takes_no_output_holds_up_neither_the_team_nor_the_end(tmp_path: Path):
    with PtyProcess(SCRIPT, str(tmp_path), "flood", folder=tmp_path) as terminal:
        terminal.until("word _")
        terminal.wait(lambda: (tmp_path / "flooded").exists())  # nobody reads meanwhile
        terminal.signal(signal.SIGTERM)
        assert terminal.ended(within=5, reading=False) == 128 + signal.SIGTERM
        assert (tmp_path / "closed").exists()


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param(True, id="it blocks", marks=pytest.mark.nightly),
        pytest.param(False, id="it does not block"),
    ],
)
def test_a_terminal_that_takes_output_again_shows_how_things_stand(tmp_path: Path, blocks: bool):
    with PtyProcess(SCRIPT, str(tmp_path), "flood", folder=tmp_path) as terminal:
        if not blocks:
            terminal.refuse_to_block()
        terminal.until("word _")
        terminal.wait(lambda: (tmp_path / "flooded").exists())
        terminal.until("high tide")
        terminal.type("typed by hand")
        terminal.until("typed by hand")


def test_bytes_that_are_no_text_do_not_end_the_chat(tmp_path: Path):
    with PtyProcess(*PARLEY, "chat", folder=tmp_path) as terminal:
        terminal.until("ready")
        terminal.type(b"caf\xe9 \xff\xc3")
        terminal.type("after all")
        terminal.until("after all")


def test_the_draft_is_written_in_the_persons_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    editor = tmp_path / "editor.sh"
    editor.write_text('cat "$1"\nread line\nprintf "$line by hand\\nand more\\n" > "$1"\n')
    monkeypatch.setenv("VISUAL", f"sh {editor}")
    with PtyProcess(*PARLEY, "chat", folder=tmp_path) as terminal:
        terminal.until("ready")
        terminal.type("begun\x07")
        terminal.until(lambda: ALT_SCREEN_OFF in terminal.output)
        terminal.until("begun")
        terminal.signal(signal.SIGINT)  # for the editor, where it is in the foreground
        terminal.forget()
        terminal.type("written\n")
        terminal.until("written by hand")
        terminal.until("and more")
        terminal.until("ready")
        terminal.type("\x03")
        terminal.until("Draft cleared")
        terminal.type("\x03\x03")
        assert terminal.ended() == 0
        assert is_sane(terminal)


def test_the_end_of_the_chat_is_the_end_of_the_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    editor, started = tmp_path / "editor.sh", tmp_path / "started"
    editor.write_text(f"echo $$ > {started}.new; mv {started}.new {started}; exec sleep 1000\n")
    monkeypatch.setenv("VISUAL", f"sh {editor}")
    with PtyProcess(*PARLEY, "chat", folder=tmp_path) as terminal:
        terminal.until("ready")
        terminal.type("begun\x07")
        terminal.until(started.exists)
        terminal.hang_up()
        assert terminal.ended(within=5) == 128 + signal.SIGHUP
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_an_editor_that_is_not_there_is_said_in_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("VISUAL", "no-such-editor -w")
    with PtyProcess(*PARLEY, "chat", folder=tmp_path) as terminal:
        terminal.until("ready")
        terminal.type("kept\x07")
        terminal.until("no-such-editor did not start")
        terminal.until("kept")


def test_a_chat_that_is_stopped_and_goes_on_leaves_a_sane_terminal(tmp_path: Path):
    with PtyProcess(*PARLEY, "chat", folder=tmp_path) as terminal:
        terminal.until("ready")
        terminal.signal(signal.SIGSTOP)
        terminal.forget()
        terminal.signal(signal.SIGCONT)
        terminal.until("ready")
        terminal.type("what is 6*7?\r")
        terminal.until("42")
        terminal.type("/quit\r")
        assert terminal.ended() == 0
        assert is_sane(terminal)


def test_a_gateway_that_does_not_close_does_not_hold_the_process(tmp_path: Path):
    with PtyProcess(SCRIPT, str(tmp_path), "hangs", folder=tmp_path) as terminal:
        terminal.until("ctrl+t")
        began = time.monotonic()
        terminal.signal(signal.SIGTERM)
        terminal.until(lambda: ALT_SCREEN_OFF in terminal.output)
        assert time.monotonic() - began < 2
        assert terminal.ended(within=5.5) == 128 + signal.SIGTERM


def test_hostile_text_never_reaches_the_terminal_raw(tmp_path: Path):
    with PtyProcess(SCRIPT, str(tmp_path), "ask", folder=tmp_path, size=(120, 40)) as terminal:
        terminal.until("[/nope]")
        terminal.until("⟨U+202E⟩")
        terminal.type("\x14\x1b[1;5A\r\x13\x0f")  # ctrl+t, ctrl+up, enter, ctrl+s, ctrl+o
        terminal.type("\x1b\x1b")
        terminal.type("\x03")
        terminal.until("ctrl+c again")
        for raw in (b"\x1b]52;c;aGk=", b"\x1b]0;title", "\x9b31m".encode(), "\u202e".encode()):
            assert raw not in terminal.output
        terminal.type("\x03")
        assert terminal.ended() == 0


def test_what_keeps_the_chat_from_starting_is_said_on_the_restored_terminal(tmp_path: Path):
    with PtyProcess(SCRIPT, str(tmp_path), "refused", folder=tmp_path) as terminal:
        assert terminal.ended() == 1
        assert is_sane(terminal)
        said = terminal.output.rpartition(ALT_SCREEN_OFF)[2]
        assert b"The folder can't be written." in said


def test_a_mistake_of_our_own_does_not_end_the_chat_and_shows_no_variables(tmp_path: Path):
    with PtyProcess(SCRIPT, str(tmp_path), "mistake", folder=tmp_path) as terminal:
        terminal.until("Something went wrong in Parley")
        terminal.type("\x03\x03")
        assert terminal.ended() == 0
        assert is_sane(terminal)
        assert b"sk-value" not in terminal.output


@pytest.mark.parametrize("model", ["the demo's", "OpenAI's"])
def test_the_composer_is_painted_first_and_no_import_holds_it_up_later(tmp_path: Path, model: str):
    out, options, answer = tmp_path / "imported.json", [], "42"
    with ExitStack() as stack:
        if model == "OpenAI's":
            options, answer = ["--config", stack.enter_context(openai_config(tmp_path))], "FINE"
        terminal = stack.enter_context(
            PtyProcess(WATCHED, str(out), "chat", *options, folder=tmp_path)
        )
        terminal.until("Message the team")
        terminal.type("what is 6*7?")  # while everything is imported
        terminal.until("what is 6*7?")
        terminal.type("\r")
        terminal.until("sending")
        terminal.until(answer)
        terminal.type("/quit\r")
        assert terminal.ended() == 0
    imported = json.loads(out.read_text())
    heavy = {"gateway.events", "gateway.client", "openai", "pydantic", "aiosqlite", "markdown_it"}
    slow = {"gateway.items", "gateway.app.trust", "secrets"}
    assert not (heavy | slow) & set(imported["painted"])
    roots = {name.partition(".")[0] for name in imported["on the loop"]}
    assert roots <= {"concurrent", "importlib"}, imported["on the loop"]


def test_esc_stops_the_first_message_also_while_the_models_sdk_is_imported(tmp_path: Path):
    with (
        openai_config(tmp_path, silent=True) as config,
        PtyProcess("-m", *PARLEY, "chat", "--config", config, folder=tmp_path) as terminal,
    ):
        terminal.until("Message the team")
        terminal.type("what is 6*7?\r")
        terminal.until("working")
        terminal.type("\x1b")
        terminal.until("esc again to stop")
        terminal.type("\x1b")
        terminal.until("! stopped")


def test_a_pipe_gets_the_line_mode(tmp_path: Path):
    run = subprocess.run(
        [sys.executable, "-m", *PARLEY, "chat", "--new"],
        input="what is 6*7?\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=30,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "reviewer: `6*7` = **42**" in run.stdout
    assert "\x1b" not in run.stdout


def test_a_dumb_terminal_gets_the_line_mode_and_ctrl_c_twice_leaves(tmp_path: Path):
    with PtyProcess(*PARLEY, "chat", folder=tmp_path, term="dumb") as terminal:
        terminal.until("in line mode")
        terminal.type("what is 6*7?\n")
        terminal.until("reviewer: `6*7` = **42**")
        terminal.forget()
        terminal.until("> ")
        terminal.type("\x03")
        terminal.until("Press ctrl+c again to quit.")
        terminal.type("\x03")
        assert terminal.ended() == 0
        assert b"\x1b" not in terminal.output


def test_a_chat_attached_to_another_goes_on_by_itself_when_the_other_ends(tmp_path: Path):
    with PtyProcess(*PARLEY, "chat", folder=tmp_path) as owner:
        owner.until("ready")
        owner.type("what is 6*7?\r")
        owner.until("42")
        with PtyProcess(*PARLEY, "chat", folder=tmp_path) as attached:
            attached.until("42")
            owner.type("/quit\r")
            assert owner.ended() == 0
            attached.until("Parley is not running")
            attached.forget()
            attached.until("ready")
            attached.type("what is 5*5?\r")
            attached.until("25")
            attached.type("/quit\r")
            assert attached.ended() == 0
