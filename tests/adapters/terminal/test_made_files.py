"""Files that the team has made are listed, and saved beside others."""

from pathlib import Path

import pytest

from adapters.terminal import desktop, made_files
from adapters.terminal.conversation import Conversation
from adapters.terminal.made_files import NO_OPENER, NONE, SAVING
from gateway.errors import GatewayError, NotFound
from gateway.events import FileMade
from tests.fakes.news import apply_all
from tests.fakes.scripted_client import ScriptedClient


def nothing() -> None: ...


async def list_or_save(
    conversation: Conversation, words: str, folder: Path, *, opener: str = "", yes: bool = False
) -> str:
    async def agrees(told: str) -> bool:
        assert "may run" in told
        return yes

    return await made_files.list_or_save(conversation, words, folder, opener=opener, agrees=agrees)


def opened(client: ScriptedClient, *paths: str) -> Conversation:
    conversation = Conversation(client, changed=nothing, opened=nothing, lost=nothing)
    conversation.thread = client.all[client.add_thread()].info
    made = [
        FileMade(thread="", path=path, size=len(client.made[path]), seq=seq)
        for seq, path in enumerate(paths, 1)
    ]
    apply_all(conversation.model, made)
    return conversation


async def test_what_was_made_is_listed_and_saved_beside_what_is_there(tmp_path: Path):
    client = ScriptedClient()
    client.made = {"out/plot.png": b"1234", "a.txt": b"hi"}
    conversation = opened(client, "out/plot.png", "a.txt")
    assert await list_or_save(conversation, "", tmp_path) == (
        f"out/plot.png (4 bytes)\na.txt (2 bytes)\n{SAVING}"
    )
    (tmp_path / "plot.png").write_bytes(b"mine")
    for name in ("plot.png", "out/plot.png"):
        assert "Saved" in await list_or_save(conversation, name, tmp_path)
    assert [(tmp_path / f"plot{each}.png").read_bytes() for each in ("", "-2", "-3")] == [
        b"mine",
        b"1234",
        b"1234",
    ]
    assert (tmp_path / "plot-2.png").stat().st_mode & 0o777 == 0o600


async def test_the_file_that_was_made_last_has_the_name(tmp_path: Path):
    client = ScriptedClient()
    client.made = {"a/x.txt": b"of a", "b/x.txt": b"of b"}
    conversation = opened(client, "a/x.txt", "b/x.txt", "a/x.txt")
    await list_or_save(conversation, "x.txt", tmp_path)
    assert (tmp_path / "x.txt").read_bytes() == b"of a"


async def test_another_name_and_a_folder_that_is_gone_get_a_sentence(tmp_path: Path):
    client = ScriptedClient()
    client.made = {"a.txt": b"hi"}
    assert await list_or_save(opened(client), "", tmp_path) == NONE
    conversation = opened(client, "a.txt")
    with pytest.raises(NotFound, match="There is no file"):
        await list_or_save(conversation, "b.txt", tmp_path)
    with pytest.raises(GatewayError, match="can't be saved"):
        await list_or_save(conversation, "a.txt", tmp_path / "gone")
    client.made = {}
    with pytest.raises(NotFound, match="in the thread's folder"):
        await list_or_save(conversation, "a.txt", tmp_path)


def does(program: Path, line: str) -> None:
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)


@pytest.fixture
def opener(tmp_path: Path, monkeypatch) -> Path:
    """A program that writes down what it is to open."""
    found = tmp_path / "bin" / "xdg-open"
    found.parent.mkdir()
    does(found, f'printf "%s|" "$#" "$@" >> {tmp_path}/opened')
    monkeypatch.setenv("PATH", f"{found.parent}:/bin:/usr/bin")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", ":0")
    return found


@pytest.mark.parametrize("name", ["a b.png", "-rf.pdf", "$(id);.md", "open x.txt", "%s.csv"])
async def test_a_file_is_opened_by_its_path_alone(tmp_path: Path, opener: Path, name: str):
    client = ScriptedClient()
    client.made = {f"out/{name}": b"hi"}
    conversation = opened(client, f"out/{name}")
    told = await list_or_save(conversation, f"open {name}", tmp_path, opener=desktop.find_opener())
    assert told == f"Saved {tmp_path / name}."
    assert (tmp_path / "opened").read_text() == f"1|{tmp_path / name}|"


@pytest.mark.parametrize("name", ["a.sh", "a.desktop", "a", "a.PNG.html", "a.png\u202e.exe"])
async def test_what_may_run_is_opened_and_saved_only_after_a_yes(
    tmp_path: Path, opener: Path, name: str
):
    client = ScriptedClient()
    client.made = {name: b"hi"}
    conversation, words = opened(client, name), f"open {name}"
    assert await list_or_save(conversation, words, tmp_path, opener=str(opener)) == ""
    assert not (tmp_path / name).exists()
    assert "Saved" in await list_or_save(
        conversation, words, tmp_path, opener=str(opener), yes=True
    )
    assert (tmp_path / "opened").exists()


async def test_without_a_display_or_with_a_failing_program_a_sentence_says_where_it_is(
    tmp_path: Path, opener: Path, monkeypatch
):
    client = ScriptedClient()
    client.made = {"a.sh": b"hi", "open b.txt": b"hi"}
    conversation = opened(client, *client.made)
    does(opener, "exit 3")
    for found in (str(opener), str(tmp_path), ""):
        told = await list_or_save(conversation, "open a.sh", tmp_path, opener=found, yes=True)
        assert told.startswith(f"Saved {tmp_path}/a")
        assert told.endswith(NO_OPENER)
    assert (await list_or_save(conversation, "open b.txt", tmp_path)).endswith("open b.txt.")
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert desktop.find_opener() == ""
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert desktop.find_opener() == str(opener)
    monkeypatch.setattr("sys.platform", "darwin")
    opener.with_name("open").symlink_to(opener)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    assert desktop.find_opener() == str(opener.with_name("open"))
    monkeypatch.setenv("SSH_CONNECTION", "1")
    assert desktop.find_opener() == ""


def test_a_viewer_that_stays_open_is_not_waited_for(tmp_path: Path, opener: Path, monkeypatch):
    monkeypatch.setattr(desktop, "OPENING", 0.05)
    does(opener, "exec sleep 0.2")
    assert desktop.open_file(str(opener), tmp_path / "a")
