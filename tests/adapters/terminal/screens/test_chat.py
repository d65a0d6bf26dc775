"""The chat under a Pilot: writing, stopping, threads and resizing."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.widgets import OptionList, Static

from adapters.terminal.commands import Commands
from adapters.terminal.deletions import UNDO
from adapters.terminal.key_guard import INERT, QUIET
from adapters.terminal.screens.arguments import ArgumentsScreen
from adapters.terminal.widgets.bars import QueueBar
from adapters.terminal.widgets.dialogs import QuestionDialog
from adapters.terminal.widgets.palette import ROWS
from adapters.terminal.widgets.thread_list import ThreadsScreen
from gateway import events
from gateway.errors import StoreFull
from gateway.events import NoticeLevel
from tests.adapters.terminal.running import (
    PATIENCE,
    Chat,
    approval,
    began,
    called,
    chatting,
    delta,
    ended,
    returned,
    said,
    speaker,
)
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


async def test_a_message_goes_to_the_team_and_its_answer_streams_in(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("what is 6 times 7?")
        await chat.until_shown("what is 6 times 7?", "working")
        assert client.sent == [(chat.thread, "what is 6 times 7?")]
        await chat.happen(speaker("helper"), delta("helper", "m", "It **is** "))
        await chat.until_shown("helper  demo-model", "It is")
        await chat.happen(delta("helper", "m", "forty-two."))
        await chat.until_shown("It is forty-two.")
        usage = events.Usage(thread="", agent="helper", prompt_tokens=1200, completion_tokens=34)
        await chat.happen(said("helper", "m", "It **is** forty-two."), usage, ended())
        await chat.until_shown("ready", "in 1.2k  out 34")


async def test_an_empty_thread_is_made_by_its_first_message_only(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.until_shown("Write to the team below")
        assert client.all == {}
        await chat.type("hello")
        await chat.until(lambda: len(client.all) == 1)


async def test_enter_sends_and_ctrl_j_breaks_the_line(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.press("a", "ctrl+j", "b")
        assert chat.composer.text == "a\nb"
        assert chat.composer.size.height == 2
        await chat.press("enter")
        await chat.until(lambda: client.sent)
        assert client.sent[0][1] == "a\nb"
        assert chat.composer.text == ""


async def test_many_lines_are_undone_and_done_again(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        await chat.press("a")
        chat.app.post_message(Paste("\n" * 9 + "b"))
        await chat.until(lambda: "b" in chat.composer.text)
        await chat.press("ctrl+z")
        assert (chat.composer.text, chat.composer.cursor_location) == ("a", (0, 1))
        await chat.press("ctrl+y")
        assert chat.composer.text == "a" + "\n" * 9 + "b"


async def test_ctrl_q_quits_when_it_is_repeated_only(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        await chat.press("ctrl+q")
        await chat.until_shown("Press ctrl+q again to quit.")
        chat.clock.advance(3)
        await chat.press("ctrl+q", "x")
        assert chat.composer.text == "x"


async def test_the_composer_grows_to_a_cap(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        chat.composer.insert("\n" * 40)
        await chat.pilot.pause()
        assert chat.composer.outer_size.height == 10


async def test_prompts_are_walked_with_up_and_down_also_after_a_restart(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("first")
        await chat.type("second\nline")
        await chat.until(lambda: len(client.sent) == 2)
    async with chatting(client, tmp_path, new=True) as chat:
        chat.composer.insert("draft")
        await chat.press("up")
        assert chat.composer.text == "second\nline"
        await chat.press("up", "up")
        assert chat.composer.text == "first"
        await chat.press("down", "down", "down")
        assert chat.composer.text == "draft"


async def test_messages_to_a_busy_team_wait_visibly_and_can_be_taken_back(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("start")
        await chat.until_shown("working")
        await chat.type("also this")
        await chat.type("and that")
        await chat.until_shown("queued: also this", "queued: and that", "up edits a queued message")
        await chat.press("up")
        await chat.until(lambda: chat.composer.text == "and that")
        await chat.until(lambda: "queued: and that" not in chat.text())
        chat.composer.set_draft("")
        await chat.press("backspace")
        await chat.until(lambda: not chat.screen.query_one(QueueBar).display)
        await chat.until(lambda: "up edits" not in chat.text())
        assert chat.composer.text == ""
        assert client.all[chat.thread].queued == {}


async def test_a_queued_message_leaves_the_queue_when_its_turn_starts(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("start")
        await chat.until_shown("working")
        await chat.type("next")
        await chat.until_shown("queued: next")
        await chat.happen(ended(), began("next", first=2))
        await chat.until(lambda: not chat.screen.query_one(QueueBar).display)
        await chat.until_shown("next")


async def test_a_message_on_its_way_is_shown_as_such(tmp_path: Path):
    client = ScriptedClient()
    client.gate.clear()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("hello")
        await chat.until_shown("Ann  sending…", "hello")
        client.gate.set()
        await chat.until(lambda: "hello" in (text := chat.text()) and "sending" not in text)
        assert chat.text().count("hello") == 1
        client.gate.clear()
        await chat.type("more")
        await chat.until_shown("sending: more")
        client.gate.set()
        await chat.until_shown("queued: more")


async def test_a_message_is_shown_before_there_is_a_gateway_and_can_be_taken_back(tmp_path: Path):
    client, there = ScriptedClient(), asyncio.Event()
    async with chatting(client, tmp_path, new=True, there=there, operator="Ann") as chat:
        await chat.type("first")
        await chat.until_shown("Ann  sending…", "first", "connecting")
        await chat.type("sec\x1b[31mond")
        await chat.until_shown("second")
        await chat.press("escape")
        assert chat.composer.text == "sec\x1b[31mond"
        await chat.until(lambda: "second" not in chat.text())
        there.set()
        await chat.until_shown("working", "first")
        await chat.until(lambda: "sending" not in chat.text())
        assert chat.text().count("first") == 1
        assert [text for _, text in client.sent] == ["first"]


async def test_a_first_message_is_on_its_way_from_the_first_paint_on(tmp_path: Path):
    client, there = ScriptedClient(), asyncio.Event()
    client.add_thread("older")
    how: dict[str, Any] = {"new": True, "team": "writers", "first": "hello you", "there": there}
    async with chatting(client, tmp_path, **how) as chat:
        await chat.until_shown("sending…", "hello you", "connecting")
        there.set()
        await chat.until_shown("working", "hello you", "writers")
        assert client.sent == [("t2", "hello you")]
        assert client.all["t2"].info.team == "writers"
        await chat.press("up")
        assert chat.composer.text == "hello you"


async def test_a_first_message_that_could_not_be_sent_is_the_draft(tmp_path: Path):
    client = ScriptedClient()
    client.refuse = "Not now."
    async with chatting(client, tmp_path, new=True, first="hello you") as chat:
        await chat.until(lambda: chat.composer.text == "hello you")


async def test_a_line_from_no_thread_stands_in_the_open_one(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("older")
    notices: asyncio.Queue[tuple[str, NoticeLevel]] = asyncio.Queue()
    notices.put_nowait(("config.toml [/changed", "info"))  # before there is a transcript
    async with chatting(client, tmp_path, notices=notices) as chat:
        await chat.until_shown("config.toml [/changed")
        notices.put_nowait(("tools.py can't be used", "error"))
        await chat.until_shown("✗ tools.py can't be used")


async def test_a_team_alone_opens_an_empty_thread_for_it(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("older")
    async with chatting(client, tmp_path, team="writers") as chat:
        await chat.until_shown("writers")
        assert "older" not in chat.text()
        assert len(client.all) == 1  # the thread begins with the first message


async def test_what_could_not_be_sent_is_a_draft_again(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("a")
    async with chatting(client, tmp_path) as chat:
        client.fail = StoreFull()
        client.gate.clear()
        await chat.type("precious words")
        chat.composer.insert("and more")
        client.gate.set()
        await chat.until(lambda: chat.composer.text == "precious words\nand more")
        await chat.until_shown("The disk is full")
        await chat.until(lambda: "sending" not in chat.text())


async def test_what_was_refused_is_a_draft_again(tmp_path: Path):
    client = ScriptedClient()
    client.refuse = "Only Ann may write here."
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("precious words")
        await chat.until_shown("Only Ann may write here.")
        assert chat.composer.text == "precious words"


async def test_a_mistake_in_the_gateway_does_not_end_the_chat(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("a")
    async with chatting(client, tmp_path) as chat:
        client.fail = ZeroDivisionError("secret")
        await chat.type("precious words")
        await chat.until_shown("Something went wrong in Parley")
        assert chat.composer.text == "precious words"
        client.fail = None
        await chat.press("enter")
        await chat.until(lambda: client.sent)


async def test_esc_esc_stops_the_team_and_one_esc_does_not(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("start")
        await chat.until_shown("esc esc stop")
        await chat.press("escape")
        await chat.until_shown("esc again to stop")
        chat.clock.advance(1.5)
        await chat.until_shown("esc esc stop")
        await chat.press("escape")
        assert client.stopped == []
        await chat.press("escape")
        await chat.until_shown("stopped", "ready")
        assert client.stopped == [chat.thread]


async def test_esc_never_clears_a_draft(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        chat.composer.insert("half a thought")
        await chat.press("escape", "escape", "escape")
        assert chat.composer.text == "half a thought"


async def test_the_slash_palette_describes_completes_and_runs(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.press("/")
        await chat.until_shown("/new [team]", "Start an empty thread")
        await chat.press("s", "t")
        await chat.until_shown("/stop", "/status")
        await chat.press("down", "tab")
        assert chat.composer.text == "/status"
        await chat.press("enter")
        await chat.until_shown("· /status", "    did /status")
        assert client.sent[0][1] == "/status"


async def test_the_palette_counts_what_it_has_no_room_for(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True, size=(60, 24)) as chat:
        await chat.press("/")
        more = len(list(Commands(chat.client.commands()))) - ROWS
        await chat.until_shown("/new [team]", f"↓ {more} more")
        assert "/status" not in chat.text()
        await chat.press("up")
        await chat.until_shown("▸ /status", "What the team is doing", f"↑ {more} more")


async def test_an_agent_is_named_behind_an_at_sign(tmp_path: Path):
    client = ScriptedClient()
    client.team_agents = {"planner": "gpt-large", "coder": "gpt-small", "reviewer": ""}
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.press(*"ask @")
        await chat.until_shown("@planner", "@coder", "gpt-small", "@reviewer")
        await chat.press("c")
        await chat.until(lambda: "@planner" not in chat.text())
        await chat.press("enter")
        assert chat.composer.text == "ask @coder "
        assert client.sent == []
        await chat.press(*"x@c")
        await chat.press("enter")
        await chat.until(lambda: client.sent)
        assert client.sent[0][1] == "ask @coder x@c"


async def test_a_command_typed_faster_than_the_screen_follows_is_the_one_that_runs(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Old", id="old")
    async with chatting(client, tmp_path) as chat:
        for character in "/status":
            chat.composer.post_message(Key(character, character))
        chat.composer.post_message(Key("enter", "\r"))
        await chat.until_shown("did /status")
        assert chat.thread == "old"


async def test_esc_closes_the_palette_first(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        await chat.press("/")
        await chat.until_shown("Start an empty thread")
        await chat.press("escape")
        await chat.until(lambda: "Start an empty thread" not in chat.text())
        assert chat.composer.text == "/"
        await chat.press("n")
        await chat.until_shown("Start an empty thread")


async def test_the_last_thread_reopens_with_its_transcript(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Old", ago=1000)
    last = client.add_thread("Trip to Lisbon")
    await client.happen(last, began("plan a trip"), speaker("guide"))
    await client.happen(last, said("guide", "m", "Take the train."), ended())
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("Trip to Lisbon", "plan a trip", "Take the train.", "ready")


async def test_a_named_thread_is_opened(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Newer")
    old = client.add_thread("Older", ago=1000)
    async with chatting(client, tmp_path, thread=old) as chat:
        assert chat.thread == old


@pytest.mark.chaos
async def test_the_thread_list_opens_renames_deletes_and_searches(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Apples", id="a")
    client.add_thread("Bananas", id="b", ago=60)
    client.add_thread("Cherries", id="c", ago=7200)
    await client.happen("b", began("yellow?"), ended())
    async with chatting(client, tmp_path) as chat:
        assert chat.thread == "a"
        await chat.press("ctrl+s")
        await chat.until(lambda: isinstance(chat.app.screen, ThreadsScreen))
        await chat.until_shown("Apples", "1m Bananas", "2h Cherries")
        await chat.press("down", "enter")
        await chat.until_shown("yellow?")
        assert chat.thread == "b"

        await chat.press("ctrl+s", "r")
        await chat.until_shown("Title")
        await chat.press(*"Plums", "enter")
        await chat.until(lambda: client.all["b"].info.title == "Plums")
        await chat.press("delete")
        await chat.until_shown("“Plums” is deleted")
        await chat.until(lambda: "1m Plums" not in chat.text())
        await chat.press("u")
        await chat.until_shown("1m Plums", "“Plums” is kept")
        chat.clock.advance(UNDO)
        assert "b" in client.all
        await chat.press("delete")
        await chat.until(lambda: "1m Plums" not in chat.text())
        chat.clock.advance(UNDO)
        await chat.until(lambda: "b" not in client.all)

        await chat.press("slash", "c", "h")
        await chat.until(lambda: "Apples" not in chat.text() and "Cherries" in chat.text())
        await chat.press("escape")
        await chat.until_shown("Write to the team below")


async def test_resuming_lists_this_config_s_threads_first_and_opens_one(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Theirs", foreign=True, config="/b/config.toml")
    client.add_thread("Apples", id="a", ago=60)
    client.add_thread("Bananas", id="b", ago=120)
    async with chatting(client, tmp_path, resume=True) as chat:
        await chat.until_shown("Apples", "Theirs", "of /b")
        shown = chat.text()
        assert shown.index("Apples") < shown.index("Bananas") < shown.index("Theirs")
        await chat.press("down", "enter")
        await chat.until(lambda: chat.screen.conversation and chat.screen.conversation.thread)
        assert chat.thread == "b"
        await chat.press("ctrl+s")
        await chat.until_shown("Threads")
        assert chat.text().index("Theirs") < chat.text().index("Apples")


async def test_leaving_the_list_to_resume_from_begins_a_thread(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Apples", id="a")
    async with chatting(client, tmp_path, resume=True) as chat:
        await chat.until_shown("Apples")
        await chat.press("escape")
        await chat.type("hello")
        await chat.until(lambda: client.sent)
        assert client.sent[0][0] != "a"


@pytest.mark.parametrize("key", ["y", "n", "escape"])
async def test_going_on_in_another_config_s_thread_is_asked(tmp_path: Path, key: str):
    client = ScriptedClient()
    client.add_thread("Theirs", id="theirs", foreign=True)
    async with chatting(client, tmp_path, thread="theirs") as chat:
        await chat.type("hi")
        await chat.press("enter")
        await chat.until_shown("All of it is sent to gpt (models.example).", "y goes on here   n")
        await chat.press("y")  # somebody still types
        assert isinstance(chat.app.screen, QuestionDialog)
        chat.clock.advance(QUIET)
        await chat.press(key)
        if key == "y":
            await chat.until(lambda: client.sent == [("theirs", "hi")])
        else:
            await chat.until(lambda: chat.composer.text == "hi")
            assert client.sent == []
        assert client.all["theirs"].info.foreign == (key != "y")


async def test_a_long_thread_list_is_fetched_by_pages(tmp_path: Path):
    client = ScriptedClient()
    for number in range(120):
        client.add_thread(f"Thread {number}", ago=60 * number)
    async with chatting(client, tmp_path) as chat:
        await chat.press("ctrl+s")
        await chat.until_shown("Thread 0")
        await chat.press("end")
        await chat.until_shown("Thread 49")
        await chat.press("end", "end")
        await chat.until_shown("Thread 119")
        await chat.press("up", "enter")
        await chat.until_shown("Thread 118", "Write to the team below")


async def test_the_list_beside_the_chat_marks_the_open_thread(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Apples", id="a")
    async with chatting(client, tmp_path, size=(120, 40)) as chat:
        await chat.until_shown("now Apples")
        await chat.type("/new")
        await chat.type("hello")
        await chat.until_shown("● now New thread")
        await chat.until(lambda: chat.screen.query_one(OptionList).highlighted == 1)


async def test_a_wide_terminal_has_the_threads_beside_the_chat(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Apples", id="a")
    client.add_thread("Bananas", id="b", ago=60)
    async with chatting(client, tmp_path, size=(120, 40)) as chat:
        await chat.until_shown("Apples", "1m Bananas", "enter open")
        await chat.press("ctrl+s", "down", "enter")
        await chat.until(lambda: chat.thread == "b")
        assert chat.composer.has_focus


async def test_the_threads_stand_beside_the_chat_as_soon_as_it_is_wide_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("adapters.terminal.screens.chat.SIDE_REFRESH", 3600.0)
    client = ScriptedClient()
    client.add_thread("Quarterly report", id="old")
    async with chatting(client, tmp_path, new=True) as chat:
        assert "Quarterly report" not in chat.text()
        await chat.pilot.resize_terminal(120, 40)
        await chat.until_shown("Quarterly report")


TYPED = "did, nrpuy"
"""The keys of the list of threads, of cards and of tools."""


async def test_what_is_typed_after_ctrl_up_is_the_drafts_and_deletes_nothing(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Apples")
    await client.happen(
        thread,
        began("go"),
        speaker("coder"),
        called("coder", "c1", "shell", '{"command": "ls"}'),
        returned("coder", "c1", "shell", "a\nb", duration=1),
        ended(),
    )
    async with chatting(client, tmp_path, size=(120, 40)) as chat:
        await chat.until_shown("Apples", "shell")
        for key, times in itertools.product(("ctrl+up", "tab"), (1, 2, 4)):
            await chat.press(*[key] * times)
            chat.at_once(*TYPED)
            await chat.until(lambda: TYPED in chat.composer.text)
            await chat.press("escape", "ctrl+c")
        assert client.all[thread].info.title == "Apples"
        assert not isinstance(chat.app.screen, ThreadsScreen)


async def test_the_list_beside_the_chat_takes_keys_that_were_meant_for_it(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Apples", id="a")
    client.add_thread("Bananas", id="b", ago=60)
    async with chatting(client, tmp_path, size=(120, 40)) as chat:
        await chat.until_shown("Bananas")
        await chat.press("ctrl+s", "x", "down", "delete")
        await chat.until(lambda: "1m Bananas" not in chat.text())
        assert chat.composer.text == ""
        await chat.press("escape", *"d")
        assert chat.composer.text == "d"
        chat.clock.advance(UNDO)
        await chat.until(lambda: list(client.all) == ["a"])


async def test_what_was_deleted_is_gone_when_the_chat_ends(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Apples", id="a")
    client.add_thread("Bananas", id="b", ago=60)
    async with chatting(client, tmp_path) as chat:
        await chat.type("/delete")
        await chat.until_shown("“Apples” is deleted")
        assert len(client.all) == 2
    assert list(client.all) == ["b"]


async def test_commands_begin_rename_and_delete_a_thread(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Apples", id="a")
    async with chatting(client, tmp_path) as chat:
        await chat.type("/rename Pears")
        await chat.until(lambda: client.all["a"].info.title == "Pears")
        await chat.until_shown("Pears")
        await chat.type("/delete")
        await chat.until_shown("“Pears” is deleted", "Write to the team below")
        chat.clock.advance(UNDO)
        await chat.until(lambda: not client.all)
        await chat.type("/new")
        await chat.type("hello")
        await chat.until(lambda: client.sent)


async def test_a_tool_card_shows_what_was_called_and_opens(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Tools")
    long = "\n".join(f"row {number}" for number in range(60))
    await client.happen(
        thread,
        began("go"),
        speaker("coder"),
        called("coder", "c1", "shell", '{"command": "ls -la"}'),
        returned("coder", "c1", "shell", long, duration=1.42),
    )
    async with chatting(client, tmp_path, size=(80, 40)) as chat:
        await chat.until_shown("✓ coder  shell 1.4s  ls -la")
        assert "row 0" not in chat.text()
        await chat.press("ctrl+up", "enter")
        await chat.until_shown("command: ls -la", "row 19", "… 40 more lines")
        await chat.press("enter")
        await chat.until_shown("esc goes back", "row 0")
        await chat.press("escape", "escape")
        assert chat.composer.has_focus


async def test_a_failed_turn_is_told_in_the_provider_s_words_and_f5_tries_again(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Trouble")
    words = "No credit. Top up \x1b[2J[models.m]."
    async with chatting(client, tmp_path) as chat:
        await chat.press("f5")
        await chat.until_shown("There is no turn to try again.")
        await client.happen(
            thread,
            began("go"),
            events.Notice(
                thread="", text="Fixed.", level="error", incident="ab12", for_operator=words
            ),
            ended("failed", "Fixed."),
        )
        await chat.until_shown("✗ No credit. Top up [models.m].  (parley log ab12)", "F5 try again")
        assert "Fixed." not in chat.text()
        await chat.press("f5")
        await chat.until(lambda: client.sent == [(thread, "/retry")])
        await client.happen(thread, began(), ended())
        await chat.until_shown("ready")


async def test_the_terminal_opens_its_own_thread_and_says_who_hears_another_one(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("Apples", ago=60)
    waits: dict[str, Any] = {"state": "waiting", "asks": "coder", "asked": "Bob", "queued": 2}
    client.add_thread("Pears", platform="slack", channel="C1", **waits)
    async with chatting(client, tmp_path, size=(120, 40)) as chat:
        await chat.until_shown("Message the team as Ann…", "coder waits for Bob", "2 queued")
        assert chat.text().splitlines()[0].startswith(" Apples")
        await chat.press("ctrl+s", "home", "enter")
        await chat.until_shown(
            "Slack C1 (everyone there)  Pears",
            "Message C1 as Ann…",
            "to everyone in C1 on Slack, as Ann",
        )
        await chat.type("Hello")
        await chat.until(lambda: client.sent == [("t2", "Hello")])
        await chat.press("ctrl+s", "p")
        await chat.until_shown("search in terminal")
        await chat.until(lambda: "coder waits for Bob" not in chat.text())
        await chat.press("p")
        await chat.until_shown("search in Slack", "coder waits for Bob")


HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m[/nope] [bold]x[/] \u202egnp.exe <b>tag</b>"


ESCAPED = '{"a": "\\u001b]52;c;aGk=\\u0007", "b": "\\u202e\\u009b2J"}'


async def test_hostile_text_is_shown_as_text_and_steers_nothing(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread(f"T {HOSTILE}")
    name = f"coder {HOSTILE}"
    await client.happen(
        thread,
        began(HOSTILE),
        speaker(name, HOSTILE),
        events.Thought(thread="", agent=name, text=HOSTILE),
        delta(name, "m0", HOSTILE),
        said(name, "m1", HOSTILE),
        called(name, "c1", HOSTILE, HOSTILE),
        called(name, "c2", "escaped", ESCAPED),
        returned(name, "c1", HOSTILE, HOSTILE, failed=True),
        events.WorkHandedOff(thread="", agent=name, target=HOSTILE, text=HOSTILE),
        events.Notice(thread="", text=HOSTILE, level="error", incident=HOSTILE),
        events.InputRequested(
            thread="",
            request="r",
            request_kind="approval",
            agent=name,
            prompt=HOSTILE,
            tool=HOSTILE,
            arguments=ESCAPED,
        ),
        events.MessageQueued(
            thread="", message=events.HumanText(inbox=900, author=HOSTILE, text=HOSTILE)
        ),
        ended("waiting", HOSTILE),
    )
    async with chatting(client, tmp_path, size=(120, 60)) as chat:
        await chat.until_shown("[/nope]", "<b>tag</b>", "⟨U+202E⟩", "queued:")
        await chat.press("ctrl+t", "escape", "ctrl+s")
        shown = chat.text()
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
        await chat.press("escape", "ctrl+o")
        chat.screen.show_help()
        await chat.pilot.pause()


async def test_the_arguments_of_a_request_close_when_somebody_else_has_decided(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Asks")
    asked = approval("coder", "r1", "write_file", '{"path": "a.txt", "content": "one"}')
    await client.happen(thread, began("go"), asked, ended("waiting"))
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("write_file")
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("enter")
        await chat.until(lambda: isinstance(chat.app.screen, ArgumentsScreen))
        resolved = events.InputResolved(thread=thread, request="r1", outcome="approved", by="Eve")
        await client.happen(thread, resolved)
        await chat.until(lambda: not isinstance(chat.app.screen, ArgumentsScreen))
        await chat.until_shown("coder asks to run write_file: somebody else has decided.")
        assert client.answers == []


@pytest.mark.chaos
@pytest.mark.parametrize("size", [(1, 1), (20, 5), (40, 10), (300, 100)], ids=str)
async def test_any_size_of_terminal_is_survived(tmp_path: Path, size: tuple[int, int]):
    client = ScriptedClient()
    thread = client.add_thread("Small")
    await client.happen(
        thread, began("go"), speaker("a"), said("a", "m", "- x\n- y\n\n|a|b|\n|-|-|")
    )
    async with chatting(client, tmp_path, size=size) as chat:
        await chat.pilot.resize_terminal(80, 24)
        await chat.until_shown("go", "Small")
        await chat.pilot.resize_terminal(*size)
        await chat.pilot.pause()
        await chat.type("still here")
        await chat.until(lambda: client.sent)


async def test_resizing_keeps_following_the_end(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Long")
    for number in range(30):
        await client.happen(thread, began(f"question {number}", first=10 * number + 1))
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("question 29")
        await chat.pilot.resize_terminal(120, 40)
        await chat.until_shown("question 29", "enter open")
        await chat.pilot.resize_terminal(60, 16)
        await chat.until_shown("question 29")


async def test_ctrl_c_twice_leaves_and_the_client_is_closed(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.press("ctrl+c")
        await chat.until_shown("Press ctrl+c again to quit.")
        assert not chat.app._exit
        await chat.press("ctrl+c")
        await chat.until(lambda: chat.app._exit)
    assert chat.app.return_value == 0
    assert client.closed


@pytest.mark.parametrize("events_before", [1, 40, 90])
async def test_who_leaves_while_the_team_streams_is_told_of_no_mistake(
    tmp_path: Path, events_before: int
):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("go")
        await chat.happen(speaker("a"))
        for number in range(events_before):
            text = "word *it*\n\n- x\n- y\n"
            await chat.happen(delta("a", f"m{number % 7}", text), called("b", f"c{number}", "t"))
        chat.app.exit(0)
        await chat.happen(said("a", "m0", "the last"), ended())
        await chat.until(lambda: not chat.app.is_running)
        assert (chat.app.return_value, chat.app.failure) == (0, "")


async def test_ctrl_c_clears_the_draft_first_and_up_brings_it_back(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        chat.composer.insert("a long\nthought")
        await chat.press("ctrl+c")
        await chat.until_shown("Draft cleared")
        assert chat.composer.text == ""
        await chat.press("up")
        assert chat.composer.text == "a long\nthought"
        await chat.press("ctrl+c", "ctrl+c", "ctrl+c")
        await chat.until(lambda: not chat.app.is_running)
        assert chat.app.return_value == 0


@pytest.mark.chaos
async def test_one_agent_can_be_shown_alone(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("go")
        await chat.happen(speaker("planner"), said("planner", "m1", "a plan"))
        await chat.happen(speaker("coder"), said("coder", "m2", "some code"), ended())
        await chat.until_shown("a plan", "some code")
        await chat.type("/only @coder")
        await chat.until_shown("only coder, /only shows all", "go", "some code")
        await chat.until(lambda: "a plan" not in chat.text())
        await chat.type("/only somebody")
        await chat.until_shown("no agent 'somebody'", "coder.")
        assert chat.composer.text == "/only somebody"
        await chat.press("ctrl+c")
        await chat.type("/only")
        await chat.until_shown("a plan", "some code")
        assert "shows all" not in chat.text()


async def test_the_demo_team_says_in_an_empty_thread_what_to_try(tmp_path: Path):
    client = ScriptedClient()
    client.team_agents = {"front_desk": "demo", "specialist": "demo"}
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.until_shown("Write to the team below", "what is 12*7+1?", "OPENAI_API_KEY")
        assert "front_desk  specialist" in chat.text().splitlines()[0]
        client.team_agents = {"front_desk": "gpt-large"}
        await chat.type("/new")
        await chat.until(lambda: "12*7" not in chat.text())
        await chat.until_shown("Write to the team below")


async def test_ctrl_o_copies_the_last_reply(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Copy")
    await client.happen(thread, began("go"), said("a", "m", "the *reply*"), ended())
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("the reply")
        await chat.press("ctrl+o")
        await chat.until(lambda: chat.app.clipboard == "the *reply*")


async def test_help_lists_keys_and_commands(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        await chat.press("f1")
        await chat.until_shown("ctrl+j", "stop the team")
        await chat.press("end")
        await chat.until_shown("/status")
        await chat.press("escape")
        await chat.until_shown("Write to the team below")


async def test_a_link_is_copied_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    client = ScriptedClient()
    thread = client.add_thread("Links")
    await client.happen(thread, began("go"), said("a", "m", "[a bank](https://evil.example/)"))
    async with chatting(client, tmp_path) as chat:
        opened: list[str] = []
        monkeypatch.setattr(chat.app, "open_url", lambda url, **_: opened.append(url))
        await chat.until_shown("a bank")
        async with asyncio.timeout(PATIENCE):  # the first clicks may fall on what is still laid out
            while chat.app.clipboard != "https://evil.example/":
                await chat.pilot.click("MarkdownParagraph", offset=(2, 0))
        await chat.until_shown("Copied the address")
        assert opened == []


async def test_the_mouse_is_handed_over_and_taken_back(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        await chat.press("f9")
        await chat.until_shown("The terminal uses the mouse")
        await chat.press("f9")
        await chat.until_shown("Parley uses the mouse")


async def test_the_model_is_on_screen_before_and_after_anybody_spoke(tmp_path: Path):
    client = ScriptedClient()
    client.team_agents = {"planner": "gpt-large", "coder": "gpt-small", "critic": "gpt-large"}
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.until_shown("gpt-large +1")
        await chat.type("hello")
        await chat.until_shown("working")
        await chat.happen(speaker("coder", "gpt-small"))
        await chat.until(lambda: "gpt-large" not in chat.text() and "gpt-small" in chat.text())
        await chat.happen(ended())
        await chat.until_shown("gpt-large +1")


async def test_a_second_chat_says_which_process_it_works_through(tmp_path: Path):
    client = ScriptedClient()
    client.pid = 4711
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.until_shown("Process 4711 owns the threads")


async def test_notices_leave_room_for_the_draft_and_stand_there_once(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True, size=(60, 16)) as chat:
        for text in ("first", "second", "third", "third"):
            chat.app.notify(f"The {text} notice.")
        await chat.until(lambda: chat.text().count("The third notice.") == 1)
        assert "The second notice." in chat.text()
        assert "The first notice." not in chat.text()
        assert "Message the team" in chat.text()


@pytest.mark.parametrize("key", ["f6", "shift+tab"])
async def test_a_key_walks_the_modes_of_approval(tmp_path: Path, key: str):
    client = ScriptedClient()
    thread = client.add_thread("Work")
    await client.happen(thread, began("go"), speaker("coder"), said("coder", "m", "hi"), ended())
    async with chatting(client, tmp_path, size=(120, 40)) as chat:
        await chat.until_shown("hi", "ready")
        for mode in ("accept edits", "plan", "ask"):
            await chat.press(key)
            await chat.until(lambda mode=mode: client.sent[-1:] == [(thread, f"/mode {mode}")])
            await chat.until(lambda mode=mode: (shown_mode(chat) == mode) is (mode != "ask"))
        assert chat.composer.has_focus
        await chat.press("f6")
        await chat.until(lambda: shown_mode(chat) == "accept edits")
    assert client.sent[-1] == (thread, "/mode ask")  # the chat was closed


def shown_mode(chat: Chat) -> str:
    """The mode at the right of the status line."""
    return str(chat.app.screen.query_one("#usage", Static).render()).split("  ")[0]


async def test_a_plan_is_carried_out_by_a_key(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True, size=(120, 40)) as chat:
        await chat.press("f7")
        await chat.until_shown("There is no plan to carry out.")
        await chat.press("f6", "f6")
        await chat.until(lambda: len(client.sent) == 2)
        await chat.type("tidy up")
        await chat.happen(speaker("coder"), said("coder", "m", "1. Sweep."), ended())
        await chat.until_shown("1. Sweep.", "ready")
        await chat.press("f7")
        await chat.until(lambda: len(client.sent) == 5)
    assert [text for _, text in client.sent[3:5]] == [
        "/mode ask",
        "Carry out this plan:\n\n1. Sweep.",
    ]
