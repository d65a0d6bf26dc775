"""Files in line mode: attached, asked about, and made by the team."""

from pathlib import Path

from adapters.terminal import desktop, files
from gateway.events import FileMade
from tests.adapters.terminal.running import ended
from tests.adapters.terminal.test_plain import Team, chat


async def test_attached_files_go_with_the_next_message(tmp_path: Path, monkeypatch):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("hi")
    monkeypatch.chdir(tmp_path)
    client = Team([ended()], [ended()])
    client.faults = ["The team does not see it."]
    lines = ("/attach a.txt", "/attach b.txt", "/detach b.txt", "read b.txt", "more")
    code, out, err = await chat(client, *lines, new=True)
    assert (code, err) == (0, "")
    assert [[file.name for file in files] for files in client.files] == [["a.txt"]]
    assert client.files[0][0].data == b"hi"
    assert "The team does not see it." in out
    assert "Your next message goes with a.txt (2 bytes), b.txt (2 bytes)." in out
    assert "Sent with a.txt (2 bytes)." in out
    code, _, err = await chat(client, "/attach nothing")
    assert "can't be read: No such file or directory." in err
    assert code != 0


async def test_a_message_names_files_and_agents(tmp_path: Path, monkeypatch):
    for name in ("a.txt", "coder", "b c.txt"):
        (tmp_path / name).write_text("hi")
    monkeypatch.chdir(tmp_path)
    client = Team([ended()], [ended()], [ended()])
    client.team_agents = {"coder": "gpt-small"}
    lines = ("@coder mail me@a.txt, @nothing", '@"b c.txt" and @./coder')
    code, out, err = await chat(client, *lines, first="first @a.txt, please", new=True)
    assert (code, err) == (0, "")
    assert [[file.name for file in files] for files in client.files] == [
        ["a.txt"],
        ["b c.txt", "coder"],
    ]
    assert [text for _, text in client.sent] == ["first @a.txt, please", *lines]
    assert "Sent with b c.txt (2 bytes), coder (2 bytes)." in out


async def test_a_named_file_that_can_not_be_read_is_told_of_first(tmp_path: Path, monkeypatch):
    (tmp_path / "a.txt").write_text("hi")
    monkeypatch.setattr(files, "MOST_BYTES", 1)
    monkeypatch.chdir(tmp_path)
    client = Team([ended()])
    _, out, _ = await chat(client, "read @a.txt", "yes", new=True)
    assert "The chat sends at most 1 byte with a message. Type y to send your message." in out
    assert ([text for _, text in client.sent], client.files) == (["read @a.txt"], [])


async def test_others_get_a_file_only_after_a_yes(tmp_path: Path, monkeypatch):
    (tmp_path / "a.txt").write_text("hi")
    monkeypatch.chdir(tmp_path)
    client = Team([ended()], [ended()])
    client.add_thread(id="s", platform="slack", channel="C1", place="#general", members=12)
    lines = ("/attach a.txt", "look", "look again", "y")
    _, out, _ = await chat(client, *lines, thread="s")
    assert out.count("a.txt (2 bytes) will go to the 12 members of #general on Slack.") == 2
    assert client.sent == [("s", "look again")]
    assert len(client.files) == 1


async def test_made_files_are_listed_saved_and_opened_after_a_yes(tmp_path: Path, monkeypatch):
    opened: list[Path] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(desktop, "find_opener", lambda: "/usr/bin/xdg-open")
    monkeypatch.setattr(desktop, "open_file", lambda _, path: not opened.append(path))
    client = Team()
    client.made = {"out/run.sh": b"rm -rf ~", "a.txt": b"hi"}
    thread = client.add_thread(id="s")
    made = [FileMade(thread="", path=path, size=2) for path in client.made]
    await client.happen(thread, *made)
    lines = ("/files", "/files open a.txt", "/files open run.sh", "/files nothing")
    _, out, err = await chat(client, *lines, thread="s")
    assert "out/run.sh (2 bytes)" in out
    assert opened == [tmp_path / "a.txt"]
    assert "may run as a program" in out
    assert "Type “/files open run.sh yes” to open it." in out
    assert "There is no file" in err
    for unasked in ("/files open run.sh yes", "/files open out/run.sh yes"):
        await chat(client, unasked, thread="s")
    await chat(client, "/files open run.sh", "/files open out/run.sh yes", thread="s")
    assert opened[1:] == []
    await chat(client, "/files open run.sh", "/files open run.sh yes", thread="s")
    assert opened[1:] == [tmp_path / "run.sh"]
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o600


async def test_a_file_whose_name_ends_like_a_yes_is_opened_after_one(tmp_path: Path, monkeypatch):
    opened: list[Path] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(desktop, "find_opener", lambda: "/usr/bin/xdg-open")
    monkeypatch.setattr(desktop, "open_file", lambda _, path: not opened.append(path))
    client = Team()
    client.made = {"run": b"rm -rf ~", "run yes": b"true"}
    thread = client.add_thread(id="s")
    await client.happen(thread, *(FileMade(thread="", path=path, size=2) for path in client.made))
    _, out, _ = await chat(client, "/files open run yes", thread="s")
    assert opened == []
    assert "Type “/files open run yes yes” to open it." in out
    await chat(client, "/files open run yes", "/files open run yes yes", thread="s")
    assert opened == [tmp_path / "run yes"]
