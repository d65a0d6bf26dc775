"""Files for a message: bounds, sentences, and the question who gets them."""

import os
from pathlib import Path

import pytest

from adapters.terminal import files
from adapters.terminal.files import question, read_file, who_gets
from gateway.client import SentFile, ThreadInfo
from gateway.errors import GatewayError

NOTES = SentFile(name="notes.txt", media_type="text/plain", data=b"hi")
KEY = SentFile(name="id_rsa", media_type="", data=b"key")


def thread(**facts) -> ThreadInfo:
    return ThreadInfo(id="t", title="", team="d", state="idle", updated_at=0, **facts)


OWN = thread(platform="local")
CHANNEL = thread(platform="slack", channel="C1", place="#general", members=12)


async def test_a_file_is_read_with_its_name_and_type(tmp_path: Path, monkeypatch):
    (tmp_path / "notes.txt").write_text("hi")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("notes.txt", "~/notes.txt", f"'{tmp_path}/notes.txt'", "./notes.txt"):
        assert await read_file(name, []) == NOTES


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing.txt", "can't be read: No such file or directory."),
        ("folder", "can't be read: it is a folder, not a file."),
        ("pipe", "it is a pipe, not a file."),
        ("loop", "can't be read: Too many levels of symbolic links."),
        ("/dev/null", "it is a device, not a file."),
        ("a\0b", "no file has such a name."),
        ("x" * 5000, "can't be read: File name too long."),
        ("large", "has 11 bytes. The chat sends at most 10 bytes with a message."),
    ],
)
async def test_what_is_no_file_gets_a_sentence(tmp_path: Path, monkeypatch, name, said):
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"12345678901")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    with pytest.raises(GatewayError) as caught:
        await read_file(name, [])
    assert said in str(caught.value)


async def test_number_and_size_of_all_files_have_bounds(tmp_path: Path, monkeypatch):
    (tmp_path / "a").write_bytes(b"123")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GatewayError, match="at most 10 files"):
        await read_file("a", [NOTES] * 10)
    monkeypatch.setattr(files, "MOST_BYTES", 4)
    with pytest.raises(GatewayError, match="with the others 5 bytes"):
        await read_file("a", [NOTES])


def test_it_is_asked_who_gets_a_file_and_about_keys():
    assert question([NOTES], OWN) == question([NOTES], None) == question([], CHANNEL) == ""
    assert who_gets(CHANNEL) == "the 12 members of #general on Slack"
    assert question([NOTES], CHANNEL) == (
        "notes.txt (2 bytes) will go to the 12 members of #general on Slack."
    )
    assert question([NOTES, KEY], OWN) == (
        "notes.txt (2 bytes), id_rsa (3 bytes) will go to the team and its models. "
        "By its name, id_rsa holds a key or credentials."
    )


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../outside.txt", "~/outside.txt", "link.txt", "way/out.txt", "loop", "a\0b"],
)
async def test_in_a_browser_only_files_below_the_folder_are_attached(
    tmp_path: Path, monkeypatch, name
):
    folder, outside = tmp_path / "config", tmp_path / "outside.txt"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "notes.txt").write_text("hi")
    outside.write_text("secret")
    (tmp_path / "out.txt").write_text("secret")
    (folder / "link.txt").symlink_to(outside)
    (folder / "way").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    monkeypatch.setenv("HOME", str(tmp_path))
    for inside in ("sub/notes.txt", f"{folder}/sub/notes.txt", "way/config/sub/notes.txt"):
        assert await read_file(inside, [], folder) == NOTES
    with pytest.raises(GatewayError, match=r"only files below .*config can be attached"):
        await read_file(name, [], folder)
