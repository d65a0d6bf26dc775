"""Files of a message: attached, named, taken off, asked about."""

import asyncio
from pathlib import Path

import pytest
from textual.events import Paste

from adapters.terminal import clipboard, desktop
from adapters.terminal.screens.attaching import HELD_BACK
from gateway.client import SentFile
from gateway.events import FileMade
from tests.adapters.terminal.running import Chat, chatting
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "notes.txt").write_text("hi")
    (work / "plan.md").write_text("a plan")
    (work / "coder").write_text("no agent")
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def prompts(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    found = tmp_path / "config" / "parley" / "prompts"
    found.mkdir(parents=True)
    return found


def told(chat: Chat) -> str:
    """All texts on the screen, as if no line broke.

    Where lines break depends on the length of the test's folder.
    """
    lines = chat.text().splitlines()
    return " ".join(" ".join([*lines, *(line.partition("▌")[2] for line in lines)]).split())


def names(client: ScriptedClient) -> list[list[str]]:
    return [[file.name for file in files] for files in client.files]


async def test_a_file_is_attached_taken_off_and_sent_once(tmp_path: Path, folder: Path):
    client = ScriptedClient()
    client.faults = ["The team does not see it."]
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("/attach nothing.txt")
        await chat.until(lambda: "can't be read" in told(chat))
        assert chat.composer.text == "/attach nothing.txt"
        await chat.press("ctrl+c")
        await chat.type("/attach notes.txt")
        await chat.until_shown("files: notes.txt (2 bytes)", "The team does not see it.")
        await chat.type("/attach plan.md")
        await chat.until_shown("plan.md (6 bytes)")
        await chat.press("backspace")
        await chat.until(lambda: "plan.md (6" not in chat.text())
        await chat.type("read this")
        await chat.until(lambda: client.files)
        await chat.until(lambda: "notes.txt (2 bytes)" not in chat.text())
        await chat.type("and now")
        await chat.until(lambda: len(client.sent) == 2)
        assert names(client) == [["notes.txt"]]
        assert client.files[0][0].data == b"hi"
        await chat.type("/attach notes.txt")
        await chat.until_shown("files: notes.txt")
        await chat.type("/detach")
        await chat.until(lambda: "files: notes" not in chat.text())


async def test_a_file_that_is_attached_while_connecting_stays_and_is_looked_at_then(
    tmp_path: Path, folder: Path
):
    client, there = ScriptedClient(), asyncio.Event()
    client.faults = ["The team does not see it."]
    async with chatting(client, tmp_path, new=True, there=there) as chat:
        await chat.type("/attach notes.txt")
        await chat.until_shown("files: notes.txt (2 bytes)")
        there.set()
        await chat.until_shown("files: notes.txt (2 bytes)", "The team does not see it.")
        await chat.type("read this")
        await chat.until(lambda: names(client) == [["notes.txt"]])


async def test_agents_come_first_and_a_named_file_goes_with_its_message(
    tmp_path: Path, folder: Path
):
    client = ScriptedClient()
    client.team_agents = {"coder": "gpt-small"}
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.until(lambda: chat.screen.conversation and chat.screen.conversation.agents)
        await chat.press(*"@co")
        await chat.until_shown("▸ @coder", "gpt-small")
        await chat.press("ctrl+c")
        await chat.press(*"see @no")
        await chat.until_shown("▸ @notes.txt")
        await chat.press("enter")
        assert chat.composer.text == "see @notes.txt "
        await chat.until_shown("files: notes.txt (2 bytes)")
        await chat.press("enter")
        await chat.until(lambda: client.sent)
        await chat.type("@coder look at @plan.md, not at @nothing")
        await chat.until(lambda: len(client.sent) == 2)
        assert names(client) == [["notes.txt"], ["plan.md"]]
        assert client.sent[1][1] == "@coder look at @plan.md, not at @nothing"


async def test_a_first_message_names_files(tmp_path: Path, folder: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True, first="read @notes.txt") as chat:
        await chat.until(lambda: client.sent)
        assert names(client) == [["notes.txt"]]


async def test_in_a_channel_the_first_enter_only_asks(tmp_path: Path, folder: Path):
    client = ScriptedClient()
    client.add_thread(id="s", platform="slack", channel="C1", place="#general", members=12)
    async with chatting(client, tmp_path, thread="s") as chat:
        await ask(chat, "read @notes.txt")
        await chat.until_shown("Enter again sends: notes.txt (2 bytes) will go to the 12 members")
        assert client.sent == []
        assert chat.composer.text == "read @notes.txt"
        await chat.press("enter")  # a key that bounces is no answer
        await chat.until(lambda: chat.composer.text)
        assert client.sent == []
        chat.clock.advance(HELD_BACK)
        await chat.press("enter")
        await chat.until(lambda: client.sent)
        assert names(client) == [["notes.txt"]]
        await chat.type("no file")
        await chat.until(lambda: len(client.sent) == 2)


async def test_a_prompt_that_names_a_file_asks_and_goes(tmp_path: Path, folder: Path, prompts):
    (prompts / "review.md").write_text("Review $ARGUMENTS carefully.")
    client = ScriptedClient()
    client.add_thread(id="s", platform="slack", channel="C1", place="#general", members=12)
    async with chatting(client, tmp_path, thread="s") as chat:
        await ask(chat, "/review @notes.txt")
        await chat.until_shown("Enter again sends: notes.txt (2 bytes) will go to the 12 members")
        chat.clock.advance(HELD_BACK)
        await chat.pilot.pause(0.1)
        assert "Enter again sends" in chat.text()
        await chat.press("enter")
        await chat.until(lambda: client.sent)
        assert names(client) == [["notes.txt"]]
        assert client.sent[0][1] == "Review @notes.txt carefully."


async def ask(chat: Chat, text: str) -> None:
    await chat.type(text)
    await chat.until(lambda: chat.composer.text)


async def test_a_pasted_path_becomes_a_file_after_a_yes(tmp_path: Path, folder: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        chat.composer.insert("look ")
        chat.app.post_message(Paste(f"{folder}/notes.txt"))
        await chat.until(lambda: "Attach it to your message?" in told(chat))
        await chat.press("n")
        await chat.until(lambda: chat.composer.has_focus)
        assert chat.composer.text == f"look {folder}/notes.txt"
        chat.app.post_message(Paste(f"'{folder}/plan.md' "))
        await chat.until(lambda: "Attach it to your message?" in told(chat))
        chat.clock.advance(5)
        await chat.press("y")
        await chat.until_shown("files: plan.md (6 bytes)")
        await chat.until(lambda: "plan.md" not in chat.composer.text)
        chat.app.post_message(Paste("/no/such/file"))
        await chat.press("enter")
        await chat.until(lambda: client.sent)
        assert names(client) == [["plan.md"]]
        assert client.sent[0][1].endswith("notes.txt/no/such/file")


async def test_ctrl_v_attaches_an_image_or_says_why_not(tmp_path: Path, folder: Path, monkeypatch):
    image = SentFile(name="image.webp", media_type="image/webp", data=b"i")
    found: list[SentFile | str] = ["There is none.", image]

    async def read_image(terminal: object, most: int) -> SentFile | str:
        return found.pop(0)

    monkeypatch.setattr(clipboard, "read_image", read_image)
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        await chat.press("ctrl+v")
        await chat.until_shown("There is none.")
        await chat.press("ctrl+v")
        await chat.until_shown("files: image-1.webp (1 byte)")


async def test_a_made_file_is_saved_and_one_that_may_run_opened_after_a_yes(
    tmp_path: Path, folder: Path, monkeypatch
):
    opened: list[Path] = []
    monkeypatch.setattr(desktop, "find_opener", lambda: "/usr/bin/xdg-open")
    monkeypatch.setattr(desktop, "open_file", lambda _, path: not opened.append(path))
    client = ScriptedClient()
    client.made = {"plot.png": b"1234", "run.sh": b"true"}
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("/files")
        await chat.until(lambda: "has made no file" in told(chat))
        await chat.type("go")
        await chat.until(lambda: client.sent)
        await chat.happen(*(FileMade(thread="", path=path, size=4) for path in client.made))
        await chat.until_shown("New file: run.sh")
        await chat.type("/files open plot.png")
        await chat.until(lambda: opened == [folder / "plot.png"])
        await chat.type("/files open run.sh")
        await chat.until(lambda: "may run as a program" in told(chat))
        await chat.press("n")
        await chat.until(lambda: chat.composer.has_focus)
        assert not (folder / "run.sh").exists()
        await chat.type("/files open run.sh")
        await chat.until(lambda: "may run as a program" in told(chat))
        chat.clock.advance(5)
        await chat.press("y")
        await chat.until(lambda: opened[1:] == [folder / "run.sh"])


async def test_in_a_browser_only_files_of_the_folder_are_taken(tmp_path: Path, folder: Path):
    (folder / "config").mkdir()
    (folder / "config" / "notes.txt").write_text("inside")
    client, fence = ScriptedClient(), folder / "config"
    async with chatting(client, tmp_path, new=True, files_below=fence) as chat:
        await chat.type(f"/attach {folder}/plan.md")
        await chat.until(lambda: "only files below" in told(chat))
        await chat.press("ctrl+c")
        await chat.type("/attach notes.txt")
        await chat.until_shown("files: notes.txt (6 bytes)")
        await chat.press("ctrl+v")
        await chat.until(lambda: "/attach PATH attaches a file" in told(chat))
        await chat.type(f"read @{folder}/plan.md")
        await chat.until(lambda: client.sent)
    assert names(client) == [["notes.txt"]]
