"""A thread as a file: a document, or its events."""

from pathlib import Path

import pytest

from adapters.terminal.export import EVENTS, export
from gateway.errors import GatewayError
from gateway.events import TextDelta, dump_event, load_event
from gateway.transcript import markdown
from tests.adapters.terminal.running import began, ended, said
from tests.fakes.scripted_client import ScriptedClient


async def thread_of(client: ScriptedClient, title: str = "Two words") -> str:
    """A thread with a turn, and a message that grows."""
    thread = client.add_thread(title)
    await client.happen(thread, began("hello"), said("desk", "m", "Good *day*"), ended())
    grows = TextDelta(thread=thread, turn="t", agent="desk", message="n", text="more")
    await client.happen(thread, grows)
    return thread


async def test_a_document_has_what_the_command_of_the_shell_shows(tmp_path: Path):
    client = ScriptedClient()
    thread = await thread_of(client)
    path = await export(client, thread, "", tmp_path)
    stored = [event for event in client.all[thread].events if event.seq]
    assert path == tmp_path / "two-words.md"
    assert path.read_text("utf-8") == markdown(client.all[thread].info, stored)
    assert "Good *day*" in path.read_text("utf-8")
    assert path.stat().st_mode & 0o777 == 0o600
    assert client.exported == [thread]


async def test_events_are_the_lines_that_were_stored(tmp_path: Path):
    client = ScriptedClient()
    thread = await thread_of(client)
    path = await export(client, thread, EVENTS, tmp_path)
    stored = [event for event in client.all[thread].events if event.seq]
    assert path.suffix == ".jsonl"
    lines = path.read_text("utf-8").splitlines()
    assert [load_event(line) for line in lines] == stored
    assert lines == [dump_event(event).decode() for event in stored]


async def test_no_file_is_written_over(tmp_path: Path):
    client = ScriptedClient()
    thread = await thread_of(client)
    paths = [await export(client, thread, "", tmp_path) for _ in range(3)]
    assert [path.name for path in paths] == ["two-words.md", "two-words-2.md", "two-words-3.md"]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("", "t1.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("-rf /", "rf.md"),
        ("/", "t1.md"),
        ("\x1b[2J \n.hidden", "2j-hidden.md"),
        ("Übung 1", "übung-1.md"),
        ("x" * 300, f"{'x' * 60}.md"),
    ],
)
async def test_a_title_names_the_file_and_nothing_else(tmp_path: Path, title: str, name: str):
    client = ScriptedClient()
    path = await export(client, await thread_of(client, title), "", tmp_path)
    assert path.relative_to(tmp_path) == Path(name)


async def test_an_empty_thread_is_a_document_with_its_title(tmp_path: Path):
    client = ScriptedClient()
    path = await export(client, client.add_thread("Empty"), "", tmp_path)
    assert path.read_text("utf-8") == "# Empty\n\nTeam: demo\n"


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    client = ScriptedClient()
    thread = await thread_of(client)
    with pytest.raises(
        GatewayError, match=r"two-words\.md can't be saved in .*/gone: No such file"
    ):
        await export(client, thread, "", tmp_path / "gone")


async def test_a_document_counts_the_ratings_of_its_answers(tmp_path: Path):
    client = ScriptedClient()
    client.rated = {"good": 2, "bad": 1}
    path = await export(client, await thread_of(client), "", tmp_path)
    assert "Rated answers: 1 bad, 2 good\n" in path.read_text("utf-8")
