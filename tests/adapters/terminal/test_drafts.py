"""Drafts: saved as they are typed, private, each with its thread."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.terminal.drafts import Drafts
from adapters.terminal.screens.draft_keeper import SOON
from tests.adapters.terminal.running import asked, chatting, ended
from tests.fakes.pty_process import PtyProcess
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)

SCRIPT = str(Path(__file__).parent / "scripted_chat.py")


def test_each_thread_has_its_draft_which_its_owner_alone_reads(tmp_path: Path):
    drafts = Drafts(tmp_path / "drafts")
    drafts.write("slack:T1/C2/3.4", "one\nünï\u2028code")
    drafts.write("", "for a new thread")
    drafts.close()
    drafts = Drafts(tmp_path / "drafts")
    assert drafts.read("slack:T1/C2/3.4") == "one\nünï\u2028code"
    assert drafts.read("") == "for a new thread"
    assert drafts.read("another") == ""
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    drafts.write("", "")
    assert drafts.read("") == ""
    drafts.close()


def test_two_terminals_on_one_thread_keep_both_drafts(tmp_path: Path):
    first, second = Drafts(tmp_path), Drafts(tmp_path)
    first.write("t", "mine")
    second.write("t", "yours")
    assert (first.read("t"), second.read("t")) == ("mine", "yours")
    first.close()
    first = Drafts(tmp_path)
    assert first.read("t") == "mine"
    first.close()
    second.close()


def test_a_folder_that_cannot_be_used_is_no_obstacle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").write_text("")
    drafts = Drafts(tmp_path / "file")
    drafts.write("t", "text")
    assert drafts.read("t") == ""
    drafts.close()
    assert "drafts are not kept" in caplog.text


def test_the_log_says_once_that_drafts_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    drafts = Drafts(tmp_path)
    (tmp_path / "1" / "t.new").mkdir()  # in the place of what is written first
    drafts.write("t", "text")
    drafts.write("t", "texts")
    assert drafts.read("t") == ""
    drafts.close()
    assert caplog.text.count("drafts are not kept") == 1


def test_a_killed_process_leaves_its_drafts_to_the_next(tmp_path: Path):
    program = (
        "import os, sys; from pathlib import Path; from adapters.terminal.drafts import Drafts\n"
        f"Drafts(Path({str(tmp_path)!r})).write('t', 'half a thought'); os.kill(os.getpid(), 9)"
    )
    process = subprocess.run([sys.executable, "-c", program], cwd=os.getcwd(), check=False)
    assert process.returncode == -signal.SIGKILL
    drafts = Drafts(tmp_path)
    assert drafts.read("t") == "half a thought"
    drafts.close()


async def test_a_draft_is_there_again_in_its_thread_alone(tmp_path: Path):
    client = ScriptedClient()
    one, two = client.add_thread("one", ago=1.0), client.add_thread("two")
    async with chatting(client, tmp_path, thread=one) as chat:
        await chat.press("h", "i")
        conversation = chat.screen.conversation
        assert conversation is not None
        conversation.open(client.all[two].info)
        assert chat.composer.text == ""
        conversation.open(client.all[one].info)
        assert chat.composer.text == "hi"
    async with chatting(client, tmp_path, thread=two) as chat:
        assert chat.composer.text == ""
    async with chatting(client, tmp_path, thread=one) as chat:
        assert chat.composer.text == "hi"
        await chat.press("enter")
        await chat.until(lambda: client.sent)
    async with chatting(client, tmp_path, thread=one) as chat:
        assert chat.composer.text == ""


async def test_a_draft_is_saved_soon_though_typing_goes_on(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        for key in "abc":
            await chat.press(key)
            chat.clock.advance(SOON / 2)
        assert _saved(tmp_path) == ["ab"]
        await chat.press("enter", "d")
        await chat.until(lambda: client.sent)
        chat.clock.advance(SOON)
        assert _saved(tmp_path) == ["d"]


async def test_an_answer_and_the_draft_behind_it_are_both_kept(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("one")
    async with chatting(client, tmp_path) as chat:
        await chat.press("h", "i")
        await chat.happen(asked("helper", "r", "Which one?"), ended("waiting"), thread=thread)
        await chat.until_shown("Which one?")
        await chat.press("ctrl+t", "y", "o")
        assert (chat.composer.text, chat.composer.purpose is None) == ("yo", False)
    async with chatting(client, tmp_path) as chat:
        assert chat.composer.text == "hi\nyo"


async def test_a_deleted_thread_leaves_its_draft_to_the_person_alone(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("one")
    async with chatting(client, tmp_path) as chat:
        await chat.press("h", "i")
        chat.clock.advance(SOON)
        assert chat.screen.conversation is not None
        await chat.screen.conversation.delete(thread)
        assert chat.composer.text == "hi"
    drafts = Drafts(tmp_path / "drafts")
    assert (drafts.read(thread), drafts.read("")) == ("", "hi")
    drafts.close()


@pytest.mark.chaos
def test_a_draft_outlives_kill_9(tmp_path: Path):
    with PtyProcess(SCRIPT, str(tmp_path), "ask", folder=tmp_path) as terminal:
        terminal.until("ctrl+t")
        terminal.type("half a thought")
        terminal.wait(lambda: "half a thought" in _saved(tmp_path))
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.process.wait()
    with PtyProcess(SCRIPT, str(tmp_path), "ask", folder=tmp_path) as terminal:
        terminal.until("half a thought")


def _saved(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.rglob("*.draft")]
