"""Long transcripts follow the end, or stay where the reader is."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from adapters.terminal.widgets.bars import NewItemsBar
from gateway import events
from gateway.items import Item
from tests.adapters.terminal.running import Chat, began, chatting, delta, ended, said, speaker
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


async def long_thread(client: ScriptedClient, turns: int) -> str:
    thread = client.add_thread("Long")
    for turn in range(turns):
        answer = f"answer {turn}\n\n- one\n- two\n\nend of {turn}"
        await client.happen(
            thread,
            began(f"question {turn}", first=1000 + turn),
            speaker("helper"),
            said("helper", f"m{turn}", answer),
            ended(),
        )
    return thread


def notice(text: str) -> events.Notice:
    return events.Notice(thread="", level="info", text=text)


def top_line(chat: Chat) -> str:
    """The first line of the transcript that says something."""
    return next(line for line in chat.text().splitlines()[1:] if line.strip(" ▌▁▂▃▄▅▆▇█"))


@pytest.mark.chaos
async def test_only_the_end_of_a_long_thread_is_mounted(tmp_path: Path):
    client = ScriptedClient()
    await long_thread(client, 70)
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("end of 69")
        assert len(chat.transcript.mounted) <= 60
        assert len(list(chat.transcript.query("*"))) < 250


@pytest.mark.chaos
async def test_more_is_loaded_at_the_top_and_the_view_keeps_its_place(tmp_path: Path):
    client = ScriptedClient()
    await long_thread(client, 40)
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("end of 39")
        first = chat.transcript.mounted[0]
        chat.transcript.scroll_to(y=4, animate=False)
        await chat.until_shown("End to follow")
        lines = [line[:75].rstrip() for line in chat.text().splitlines()[1:14]]
        chat.transcript.scroll_relative(y=-2, animate=False)
        await chat.until(lambda: chat.transcript.mounted[0] != first)
        await chat.until(lambda: chat.transcript.scroll_y > 10)
        await chat.pilot.pause()
        assert [line[:75].rstrip() for line in chat.text().splitlines()[3:16]] == lines


@pytest.mark.chaos
@pytest.mark.nightly
async def test_the_whole_thread_can_be_walked_with_a_bounded_number_of_widgets(tmp_path: Path):
    client = ScriptedClient()
    await long_thread(client, 30)
    async with chatting(client, tmp_path, size=(80, 60)) as chat:
        await chat.until_shown("end of 29")
        most = 0
        while "question 0" not in chat.text():
            await chat.press("pageup")
            most = max(most, len(list(chat.transcript.query("*"))))
        assert most < 400
        while "end of 29" not in chat.text():
            await chat.press("pagedown")
        await chat.until(lambda: chat.transcript.following)


@pytest.mark.chaos
async def test_what_comes_while_the_reader_is_up_is_counted_and_end_goes_there(tmp_path: Path):
    client = ScriptedClient()
    await long_thread(client, 10)
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("end of 9")
        assert not chat.screen.query_one(NewItemsBar).display
        await chat.press("pageup")
        await chat.until_shown("End to follow")
        top = top_line(chat)
        await chat.happen(began("more", first=5), speaker("helper"), said("helper", "x", "news"))
        await chat.until_shown("2 new, End to follow")
        assert top_line(chat) == top
        await chat.press("end")
        await chat.until_shown("news")
        await chat.until(lambda: not chat.screen.query_one(NewItemsBar).display)


@pytest.mark.chaos
async def test_a_growing_message_does_not_move_the_view_of_a_reader_who_is_up(tmp_path: Path):
    client = ScriptedClient()
    await long_thread(client, 10)
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("end of 9")
        await chat.happen(began("more", first=5), delta("helper", "x", "start\n\n"))
        await chat.until_shown("start")
        await chat.press("pageup", "pageup")
        await chat.until_shown("End to follow")
        top = top_line(chat)
        for number in range(20):
            await chat.happen(delta("helper", "x", f"paragraph {number}\n\n"))
        await chat.press("end")
        await chat.until_shown("paragraph 19")
        await chat.press("pageup", "pageup")
        assert top not in chat.text().splitlines()[:2]


@pytest.mark.chaos
async def test_scrolling_down_to_the_end_follows_again(tmp_path: Path):
    client = ScriptedClient()
    await long_thread(client, 10)
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("end of 9")
        await chat.press("pageup")
        await chat.until(lambda: not chat.transcript.following)
        await chat.press("pagedown", "pagedown")
        await chat.until(lambda: chat.transcript.following)
        await chat.happen(began("more", first=5), said("helper", "x", "news"))
        await chat.until_shown("news")


async def test_sending_goes_to_the_end(tmp_path: Path):
    client = ScriptedClient()
    await long_thread(client, 5)
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("end of 4")
        await chat.press("pageup")
        await chat.until(lambda: not chat.transcript.following)
        await chat.type("and now?")
        await chat.until_shown("and now?")
        assert chat.transcript.following


async def test_streaming_draws_far_less_often_than_text_comes(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True, alive=True) as chat:
        await chat.type("go")
        await chat.until_shown("working")
        draws = 0
        draw = chat.transcript.draw

        async def counted(items: Sequence[Item]) -> None:
            nonlocal draws
            draws += 1
            await draw(items)

        chat.transcript.draw = counted
        for number in range(500):
            await chat.happen(delta("helper", "m", f"word{number} "))
        await chat.until_shown("word499")
        assert draws < 50


@pytest.mark.chaos
async def test_of_a_long_open_code_block_the_last_lines_follow_until_it_is_closed(tmp_path: Path):
    client = ScriptedClient()
    lines = [f"line_{number} = {number}" for number in range(300)]
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("write a long program")
        await chat.happen(speaker("coder"), delta("coder", "m", "```python\n" + "\n".join(lines)))
        await chat.until_shown("… 101 more lines, formatted once", "line_299 = 299")
        await chat.happen(delta("coder", "m", "\nline_300 = 300\n```\nThat is all."))
        await chat.until_shown("That is all.", "line_300 = 300")
        assert "more lines, formatted" not in chat.text()
        fence = chat.transcript.query_one("MarkdownFence")
        assert getattr(fence, "code", "").splitlines() == [*lines, "line_300 = 300"]


async def test_a_code_block_goes_on_after_a_first_piece_of_several_lines(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("write a program")
        await chat.happen(speaker("coder"), delta("coder", "m", "```python\none = 1\ntwo = 2\n"))
        await chat.until_shown("two = 2")
        await chat.happen(delta("coder", "m", "three = 3\n"))
        await chat.until_shown("three = 3")
        fence = chat.transcript.query_one("MarkdownFence")
        assert getattr(fence, "code", "").splitlines() == ["one = 1", "two = 2", "three = 3"]


@pytest.mark.chaos
async def test_a_message_is_seen_whole_when_something_else_comes_with_it(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("go")
        for number in range(5):
            message = said("planner", f"m{number}", f"step {number}\n\nis next")
            await chat.happen(message, notice(f"notice {number}"))
            await chat.until_shown(f"step {number}", f"notice {number}")
