"""The open file or folder of a FileSurfer, in pages."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.base import run_hooks
from teams.conditions import MaxMessageTermination
from teams.core import CancellationToken
from teams.tools import ToolResult
from tests.gateway.content.made_documents import docx, encrypted_pdf
from tests.teams.agents.surfed_files import calls, look, made_folder, number, reply, surfer

PAGE = 5120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_folder(tmp_path)


async def test_a_folder_is_one_table(folder: Path):
    (folder / "a|b.md").write_text("x")
    (folder / "link.txt").symlink_to(folder / "long.txt")
    head, _, table = (await look(folder, ("open_path", "."))).partition("=\n")
    assert head.startswith("Path: .\nTitle: All files\nViewport position: Showing page 1 of 1.\n")
    assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", table).splitlines() == [
        "| Name | Bytes | Changed |",
        "|---|---|---|",
        "| a b.md | 1 | TIME |",
        f"| long.txt | {2000 * 11} | TIME |",
        "| sub/ |  |  |",
    ]


async def test_pages_are_turned_to_the_ends_and_no_further(folder: Path):
    steps = ["page_up", *["page_down"] * 5, "page_up"]
    agent = surfer(folder, calls(("open_path", "long.txt")), *(calls((step, "")) for step in steps))
    pages = [await reply(agent) for _ in range(8)]
    numbers = [number(page).partition(" ")[0] for page in pages]
    assert numbers == ["1", "1", "2", "3", "4", "5", "5", "4"]
    text = "".join(pages[at].partition("=\n")[2] for at in (0, 2, 3, 4, 5))
    assert text == (folder / "long.txt").read_text()
    assert len(pages[2].partition("=\n")[2]) == PAGE


@pytest.mark.parametrize(
    ("search", "page"),
    [
        ("line 00700", 2),
        ("LINE 00700", 2),
        ("00700 line 00701", 2),
        ("*0700", 2),
        ("l*e 007*0", 2),
        ("0070", None),  # a part of a word
        ("line line", None),
        ("* * *", 1),
        ("...", None),
        ("*" * 5000, 1),
    ],
)
async def test_words_are_searched(folder: Path, search: str, page: int | None):
    found = await look(folder, ("open_path", "long.txt"), ("find_on_page_ctrl_f", search))
    assert number(found) == f"{page or 1} of 5"
    assert ("was not found." in found) is (page is None)


async def test_a_search_goes_on_to_the_next_page_and_begins_anew_after_the_last(folder: Path):
    (folder / "found.txt").write_text("sum" + " x" * PAGE + " sum sum" + " x" * PAGE + " sum")
    first, *others = ("find_on_page_ctrl_f", "sum"), *[("find_next", "")] * 3
    agent = surfer(folder, *map(calls, (("open_path", "found.txt"), first, *others)))
    await reply(agent)
    assert [number(await reply(agent))[0] for _ in range(4)] == ["1", "3", "5", "1"]
    nothing = await look(folder, ("open_path", "found.txt"), ("find_next", ""))
    assert nothing == "ValueError: Nothing was searched in this file yet."


@pytest.mark.timeout(60)
async def test_a_document_is_read_as_text(folder: Path):
    (folder / "plan.docx").write_bytes(docx("Buy milk"))
    assert (await look(folder, ("open_path", "plan.docx"))).endswith("=\nBuy milk")


@pytest.mark.chaos
@pytest.mark.timeout(60)
async def test_a_document_that_can_t_be_read_is_named_with_the_reason(folder: Path):
    (folder / "plan.pdf").write_bytes(encrypted_pdf())
    assert await look(folder, ("open_path", "plan.pdf")) == (
        "ValueError: 'plan.pdf' was not read: it is encrypted, or of an old format."
    )


async def test_other_bytes_are_no_text(folder: Path):
    (folder / "data.bin").write_bytes(b"\0\1\2")
    (folder / "latin.txt").write_bytes("für".encode("latin-1"))
    assert "neither a text nor a document" in await look(folder, ("open_path", "data.bin"))
    assert (await look(folder, ("open_path", "latin.txt"))).endswith("f\N{REPLACEMENT CHARACTER}r")


OUTSIDE = {
    "up": lambda base: "../secret.txt",
    "up and down": lambda base: f"sub/../../{base.name}/../secret.txt",
    "absolute": lambda base: str(base.parent / "secret.txt"),
    "folder": lambda base: "..",
    "root": lambda base: "/",
    "link": lambda base: "link.txt",
    "link to a folder": lambda base: "out/secret.txt",
    "second name": lambda base: "hard.txt",
    "no path": lambda base: "sub\0/note.txt",
    "address": lambda base: "file:///etc/passwd",
}


@pytest.mark.parametrize("way", OUTSIDE)
async def test_the_folder_is_never_left(folder: Path, way: str):
    secret = folder.parent / "secret.txt"
    (folder / "link.txt").symlink_to(secret)
    (folder / "out").symlink_to(folder.parent)
    (folder / "hard.txt").hardlink_to(secret)
    agent = surfer(folder, calls(("open_path", OUTSIDE[way](folder))), calls(("page_down", "")))
    refused = await reply(agent)
    assert re.match("(UnsafePath|FileNotFound|Value)Error: ", refused), refused
    assert "secret words" not in refused
    assert str(folder.parent) not in refused.replace(OUTSIDE[way](folder), "")
    assert "Path: .\n" in await reply(agent)  # it stands where it stood


async def test_an_absolute_path_inside_is_as_good(folder: Path):
    inside = str(folder / "sub" / "note.txt")
    assert (await look(folder, ("open_path", inside))).endswith("A note.")


async def test_a_file_that_is_swapped_for_a_link_is_not_followed(folder: Path):
    agent = surfer(folder, calls(("open_path", "long.txt")), calls(("page_down", "")))
    await reply(agent)
    state = await agent.save_state()
    os.remove(folder / "long.txt")
    (folder / "long.txt").symlink_to(folder.parent / "secret.txt")
    other = surfer(folder, calls(("page_up", "")))
    await other.load_state(state)
    assert "UnsafePathError" in await reply(other)


async def test_the_open_page_and_the_search_come_back_with_the_state(folder: Path):
    opened = calls(("open_path", "long.txt"))
    agent = surfer(folder, opened, calls(("find_on_page_ctrl_f", "00700 line")))
    team = RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))
    await team.run(task="Open.")
    await team.run(task="Find.")
    state = json.loads(json.dumps(await team.save_state()))

    other = surfer(folder, calls(("page_down", "")), calls(("find_next", "")))
    again = RoundRobinGroupChat([other], termination_condition=MaxMessageTermination(2))
    await again.load_state(state)
    assert number((await again.run(task="On.")).messages[-1].to_text()) == "3 of 5"
    assert number((await again.run(task="On.")).messages[-1].to_text()) == "2 of 5"
    await other.on_reset(CancellationToken())
    assert (await other.save_state())["viewer"] == {"path": ".", "page": 0, "search": ""}


async def test_a_call_that_ran_before_a_crash_is_not_run_but_its_page_is_open(folder: Path):
    """The journal has its result, the state is from before the call."""
    agent = surfer(folder, calls(("open_path", "long.txt"), ("page_down", "")))
    results: dict[str, ToolResult] = {}

    async def journal(call: Any, proceed: Any) -> ToolResult:
        results[call.name] = await proceed(call)
        return results[call.name]

    with run_hooks(intercept=journal):
        await agent.run(task="Open.")

    async def recorded(call: Any, proceed: Any) -> ToolResult:
        return results[call.name] if call.key in before else await proceed(call)

    other = surfer(
        folder, calls(("open_path", "long.txt"), ("page_down", "")), calls(("page_down", ""))
    )
    before: set[str] = set()

    async def first(call: Any, proceed: Any) -> ToolResult:
        before.add(call.key)
        return results[call.name]

    with run_hooks(intercept=first):
        assert number(await reply(other)) == "2 of 5"
    with run_hooks(intercept=recorded):
        assert number(await reply(other)) == "3 of 5"
