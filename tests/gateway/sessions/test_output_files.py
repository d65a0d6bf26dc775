"""Agents' output files, announced once when their turn ends or waits."""

import os
import shutil
from base64 import b64decode
from pathlib import Path

import pytest

from gateway.config.settings import Attachments
from gateway.events import FileMade, InputRequested, Notice, TurnFinished
from gateway.gateway import Limits
from gateway.registry import ToolRule
from gateway.sessions.output_files import MOST_SEEN, OutputFiles
from teams import RoundRobinGroupChat
from teams.agents import CodeExecutorAgent
from teams.code_executors.jupyter import JupyterCodeExecutor
from tests.databases import STORE
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tested_store import rows_in
from tests.gateway.scripted import ScriptedTeams, calls, ends, kinds, of, opened, solo, turn, until

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"


class Scribe:
    """A team whose tool `write` puts files into its own folder."""

    def __init__(self, *answers, ask: bool = False, messages: int = 2) -> None:
        self.to_write: dict[str, bytes] = {}
        self._answers = answers or (calls("write"), "written")
        rules = {"confirm": ToolRule(action="ask")} if ask else {}
        self.teams = ScriptedTeams(lambda: self._team(messages), rules=rules)

    @property
    def folder(self) -> Path:
        return self.teams.workdirs[-1]

    def _team(self, messages: int):
        async def write() -> str:
            """Write."""
            self.write(**self.to_write)
            return "done"

        async def confirm() -> str:
            """Confirm."""
            return "confirmed"

        return solo(*self._answers, tools=[write, confirm], messages=messages)

    def write(self, **files: bytes) -> None:
        for name, data in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def made(events) -> dict[str, int]:
    return {event.path: event.size for event in of(FileMade, events)}


async def test_files_are_told_of_with_the_end_of_the_turn_that_made_or_changed_them(tmp_path):
    scribe = Scribe(*[calls("write"), "one"] * 3, messages=3)
    async with opened(tmp_path, scribe.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        scribe.to_write = {"report.md": b"12345", "deep/down/plot.png": b"123"}
        first = await turn(gateway, thread, "go")
        assert made(first) == {"report.md": 5, "deep/down/plot.png": 3}
        assert kinds(first)[-2:] == ["file_made", "turn_finished"]
        scribe.to_write = {}
        assert made(await turn(gateway, thread, "go")) == {}
        scribe.to_write = {"report.md": b"longer than before"}
        assert made(await turn(gateway, thread, "go")) == {"report.md": 18}


async def test_what_nobody_made_on_purpose_is_left_out(tmp_path):
    scribe = Scribe()
    scribe.to_write = {
        ".hidden": b"1",
        ".cache/entry": b"1",
        "code_0123456789ab.py": b"1",
        "functions.py": b"1",
        "__pycache__/a.pyc": b"1",
        "code_review.py": b"1",
    }
    async with opened(tmp_path, scribe.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        assert made(await turn(gateway, thread, "go")) == {"code_review.py": 1}


async def test_links_lead_nowhere(tmp_path):
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (secret / "secret.txt").write_text("secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.txt").symlink_to(secret / "secret.txt")
    (folder / "inside").symlink_to(secret)
    events, at = await OutputFiles(folder, 0, largest=100).look("t", "u")
    assert (events, at) == ([], None)


async def test_ten_files_of_a_turn_are_told_of_and_the_rest_is_counted(tmp_path):
    scribe = Scribe()
    scribe.to_write = {f"{n:02}.txt": b"x" for n in range(13)} | {"large.bin": b"x" * 2_000}
    limits = Limits(attachments=Attachments(file_mb=0.001))
    async with opened(tmp_path, scribe.teams, limits=limits) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
    assert list(made(events)) == [f"{n:02}.txt" for n in range(10)]
    assert [notice.text for notice in of(Notice, events)] == [
        "Files in the thread's folder that are not shown: 3 more, 1 of more than 0.001 MB."
    ]


async def test_a_name_that_is_no_text_is_counted_and_ends_no_turn(tmp_path):
    scribe = Scribe(*[calls("write"), "one"] * 2)
    scribe.to_write = {"good.txt": b"1", "bad\udcff.txt": b"1", "deep\udcfe/good.txt": b"1"}
    async with opened(tmp_path, scribe.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
        assert made(events) == {"good.txt": 1}
        assert [notice.text for notice in of(Notice, events)][-1] == (
            "Files in the thread's folder that are not shown: 2 whose name is no text."
        )
        assert of(TurnFinished, events)[-1].outcome == "done"
        assert of(TurnFinished, await turn(gateway, thread, "go"))[-1].outcome == "done"


async def test_they_are_told_of_before_the_team_waits_and_not_again_after_it(tmp_path):
    scribe = Scribe(calls("write"), calls("confirm"), "ready", ask=True)
    scribe.to_write = {"draft.md": b"draft"}
    async with opened(tmp_path, scribe.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        waiting = await turn(gateway, thread, "go")
        assert of(TurnFinished, waiting)[-1].outcome == "waiting"
        assert made(waiting) == {"draft.md": 5}
        (asked,) = of(InputRequested, waiting)
        await gateway.client.send(thread, f"/approve {asked.request}")
        rest = await until(gateway, thread, ends, waiting[-1].seq)
        assert made(rest) == {}


async def test_files_of_a_turn_that_was_cut_short_are_told_of_once_it_goes_on(tmp_path):
    scribe = Scribe("one", "two", "three")
    async with opened(tmp_path, scribe.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        scribe.write(**{"late.txt": b"late"})
        # As after a crash between the file and the end of its turn.
        events = await turn(gateway, thread, "go")
        assert made(events) == {"late.txt": 4}
    async with opened(tmp_path, scribe.teams) as gateway:
        assert made(await turn(gateway, thread, "go")) == {}
    ((at,),) = rows_in(tmp_path, "SELECT files_at FROM threads")
    assert at == (scribe.folder / "late.txt").stat().st_ctime_ns


async def test_a_file_with_an_old_date_is_new_all_the_same(tmp_path):
    (tmp_path / "old.txt").write_text("old")
    os.utime(tmp_path / "old.txt", (1, 1))
    events, _ = await OutputFiles(tmp_path, 10**18, largest=100).look("t", "u")
    assert [event.kind for event in events] == ["file_made"]


async def test_after_a_clock_that_went_back_files_are_told_of_again(tmp_path):
    files = OutputFiles(tmp_path, 2**62, largest=100)
    path = tmp_path / "new.txt"
    while True:  # until the file system's clock, which is coarse, has moved
        path.write_text("new")
        events, _ = await files.look("t", "u")
        if events:
            break
    assert [event.kind for event in events] == ["file_made"]


async def test_files_that_were_loaded_from_the_database_are_not_told_of_again(
    tmp_path, monkeypatch, new_database
):
    monkeypatch.setenv(STORE, "postgres")
    scribe = Scribe(*[calls("write"), "one"] * 2)
    async with opened(tmp_path, scribe.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        scribe.to_write = {"report.md": b"12345"}
        assert made(await turn(gateway, thread, "go")) == {"report.md": 5}
    shutil.rmtree(tmp_path / "work")  # as on another machine
    async with opened(tmp_path, scribe.teams) as gateway:
        scribe.to_write = {"new.md": b"123"}
        assert made(await turn(gateway, thread, "go")) == {"new.md": 3}
        assert (scribe.folder / "report.md").read_bytes() == b"12345"


async def test_an_enormous_folder_is_looked_through_only_so_far(tmp_path, monkeypatch):
    monkeypatch.setattr("gateway.sessions.output_files.MOST_SEEN", 50)
    for number in range(200):
        (tmp_path / f"{number}.txt").touch()
    events, _ = await OutputFiles(tmp_path, 0, largest=100).look("t", "u")
    assert len(of(FileMade, events)) == 10
    assert "40 more" in of(Notice, events)[0].text
    assert MOST_SEEN == 10_000


@pytest.mark.parametrize("exists", [True, False])
async def test_a_thread_without_files_costs_one_look(tmp_path, exists):
    folder = tmp_path / "folder"
    if exists:
        folder.mkdir()
    assert await OutputFiles(folder, 0, largest=100).look("t", "u") == ([], None)


@pytest.mark.timeout(40)  # a kernel is started
async def test_a_plot_of_a_notebook_is_a_file_of_the_thread_and_an_image_for_the_model(tmp_path):
    code = f"from IPython.display import display\ndisplay({{'image/png': {PIXEL!r}}}, raw=True)"
    model = ScriptedModel(f"```python\n{code}\n```", "A dot.", "And 2.", vision=True)

    def team():
        executor = JupyterCodeExecutor(output_dir=teams.workdirs[-1])
        agent = CodeExecutorAgent("artist", executor, model_client=model)
        return RoundRobinGroupChat([agent], max_turns=1)

    teams = ScriptedTeams(team, rules={"execute_code": ToolRule(action="allow")})
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        [(name, size)] = made(await turn(gateway, thread, "draw")).items()
        assert (teams.workdirs[-1] / name).stat().st_size == size == len(b64decode(PIXEL))
        shown = model.messages()[-1]["content"]
        assert shown == [f"image/png saved as {name}\n", {"data": PIXEL}]


@pytest.mark.chaos
@pytest.mark.timeout(40)  # a kernel is started
async def test_a_thread_is_told_that_its_kernel_is_another_after_a_restart(tmp_path):
    model = ScriptedModel("```python\nx = 1\n```", "1", "```python\nx\n```", "gone")

    def team():
        executor = JupyterCodeExecutor(output_dir=teams.workdirs[-1])
        agent = CodeExecutorAgent("artist", executor, model_client=model)
        return RoundRobinGroupChat([agent], max_turns=1)

    teams = ScriptedTeams(team, rules={"execute_code": ToolRule(action="allow", output="trusted")})
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
    async with opened(tmp_path, teams) as gateway:
        await turn(gateway, thread, "go on")
    assert "The kernel was started anew: variables" in model.texts()[-1]
    assert "NameError" in model.texts()[-1]
