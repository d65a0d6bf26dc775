"""The line mode, for pipes, screen readers and dumb terminals."""

import asyncio
import fcntl
import io
import os
import re
import struct
import termios
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.terminal.commands import LOCAL
from adapters.terminal.lines import LineTranscript
from adapters.terminal.plain import PlainChat
from adapters.terminal.settings import Settings
from gateway import events
from gateway.client import Answer, Choice, Receipt, SentFile
from gateway.errors import StoreFull
from gateway.events import BROKE_OFF, NoticeLevel
from gateway.picture import Picture
from tests.adapters.terminal.running import (
    approval,
    asked,
    began,
    called,
    delta,
    ended,
    returned,
    said,
    speaker,
)
from tests.fakes.news import apply_all
from tests.fakes.scripted_client import ScriptedClient

UNUSED = Path("unused")
"""The folder of a history, which the line mode does not have."""


class Team(ScriptedClient):
    """A client whose team plays one scene per message or answer."""

    def __init__(self, *scenes: list[events.SessionEvent]) -> None:
        super().__init__()
        self.scenes = list(scenes)

    async def send(self, thread: str, text: str, *, files: Sequence[SentFile] = ()) -> Receipt:
        receipt = await super().send(thread, text, files=files)
        if receipt.outcome == "turn":
            await self._play(thread)
        return receipt

    async def answer(self, request: str, answer: Answer) -> str | None:
        refusal = await super().answer(request, answer)
        await self._play(next(iter(self.all)))
        return refusal

    async def _play(self, thread: str) -> None:
        if self.scenes:
            await self.happen(thread, *self.scenes.pop(0))


async def chat(client: ScriptedClient, *lines: str, **how: Any) -> tuple[int, str, str]:
    """Exit code, output and errors of a chat with piped lines."""
    err = io.StringIO()
    out, stdin = how.pop("stdout", io.StringIO()), how.pop("stdin", io.StringIO("\n".join(lines)))
    plain = PlainChat(Settings(data_dir=UNUSED, **how), stdin=stdin, stdout=out, stderr=err)

    @asynccontextmanager
    async def connect() -> AsyncGenerator[ScriptedClient, None]:
        yield client
        await client.aclose()

    async with asyncio.timeout(8):
        code = await plain.run(connect)
    return code, out.getvalue(), err.getvalue()


async def test_a_first_message_comes_before_the_lines_of_a_pipe():
    client = Team([speaker("a"), said("a", "m", "One."), ended()], [ended()])
    client.add_thread("older")
    code, out, err = await chat(client, "second", first="first", team="writers")
    assert (code, err) == (0, "")
    assert out.splitlines() == ["you: first", "a: One.", "you: second"]
    assert client.sent == [("t2", "first"), ("t2", "second")]
    assert client.all["t2"].info.team == "writers"


class Printed(io.StringIO):
    """Output on which a reader of the input can wait."""

    def __init__(self) -> None:
        super().__init__()
        self._said = threading.Condition()

    def write(self, text: str) -> int:
        with self._said:
            self._said.notify_all()
            return super().write(text)

    def wait_for(self, text: str) -> None:
        with self._said:
            assert self._said.wait_for(lambda: text in self.getvalue(), 8)


class Typist(io.StringIO):
    """Input that types a line once a text is printed."""

    def __init__(self, out: Printed, **lines: str) -> None:
        super().__init__()
        self._out, self._lines = out, iter(lines.items())

    def __next__(self) -> str:
        line, after = next(self._lines)
        self._out.wait_for(after)
        return f"{line}\n"


async def test_a_line_from_no_thread_is_printed_once():
    notices: asyncio.Queue[tuple[str, NoticeLevel]] = asyncio.Queue()
    notices.put_nowait(("config.toml changed", "info"))
    out = Printed()
    code, _, _ = await chat(
        Team([ended()]), stdin=Typist(out, go="changed"), stdout=out, new=True, notices=notices
    )
    assert code == 0
    assert out.getvalue().splitlines() == ["note: config.toml changed", "you: go"]


async def test_the_help_has_what_line_mode_can_do():
    _, out, _ = await chat(Team(), "/help")
    offered = re.findall(r"^/(\w+)", out, re.MULTILINE)
    others = [each.name for each in LOCAL if each.name not in offered]
    client = Team([ended()])
    client.add_thread("One")
    for name in others:
        _, out, _ = await chat(client, f"/{name}")
        assert f"/{name} needs an argument or the full screen." in out
    assert not {"implement", "files", "attach", "find", "fork", "undo"} & set(others)
    assert {"answer", "code", "prompts", "previous", "next", "follow", "commands"} < set(others)


async def test_a_plan_is_carried_out_in_line_mode():
    client = Team([said("a", "m", "1. Write it."), ended()], [ended()])
    lines = ("/implement", "/mode plan", "think", "/implement")
    code, out, err = await chat(client, *lines, new=True)
    assert "There is no plan to carry out." in err
    task = "Carry out this plan:\n\n1. Write it."
    assert [text for _, text in client.sent] == ["/mode plan", "think", "/mode ask", task]
    assert "you: Carry out this plan:" in out
    assert code == 1  # of the first line


async def test_a_turn_is_printed_as_lines_with_roles():
    client = Team(
        [
            speaker("planner"),
            events.Thought(thread="", agent="planner", text="Hm.\nYes."),
            delta("planner", "m", "First "),
            delta("planner", "m", "line.\n\nSecond"),
            said("planner", "m", "First line.\n\nSecond line.\n"),
            events.WorkHandedOff(thread="", agent="planner", target="coder", text="go"),
            called("coder", "c", "shell", '{"command": "ls"}'),
            returned("coder", "c", "shell", "a\nb", duration=0.42),
            called("coder", "d", "shell", '{"command": "rm"}'),
            returned("coder", "d", "shell", "no", failed=True, duration=3),
            called("coder", "e", "shell"),
            returned("coder", "e", "shell", "cut", failed=True, stopped=True, duration=5),
            events.Notice(thread="", text="Careful.", level="warning", incident="ab"),
            ended(),
        ]
    )
    code, out, err = await chat(client, "hello")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "you: hello",
        "planner thinks: Hm. Yes.",
        "planner: First line.",
        "",
        "  Second line.",
        "hand-off: planner to coder: go",
        "tool: coder runs shell ls",
        "tool: coder shell done in 0.4s",
        "tool: coder runs shell rm",
        "tool: coder shell failed after 3.0s: no",
        "tool: coder runs shell",
        "tool: coder shell stopped after 5.0s",
        "warning: Careful. (parley log ab)",
    ]
    assert client.closed


async def test_each_line_of_a_pipe_has_its_turn_and_a_backslash_goes_on():
    client = Team([said("a", "m1", "one"), ended()], [said("a", "m2", "two"), ended()])
    code, out, _ = await chat(client, "first", "", "second\\", "line")
    assert code == 0
    assert [text for _, text in client.sent] == ["first", "second\nline"]
    assert out.splitlines() == ["you: first", "a: one", "you: second", "  line", "a: two"]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("approve", Answer(kind="approve")),
        ("Approve always", Answer(kind="approve_always")),
        ("approve same", Answer(kind="approve_same")),
        ("deny", Answer(kind="deny")),
        ("deny too risky", Answer(kind="deny", text="too risky")),
    ],
)
async def test_an_approval_is_given_by_typed_words(typed: str, answer: Answer):
    ask = approval("coder", "r", "rm", '{"path": "a\u202e"}', prompt="Deletes.")
    client = Team([ask, ended("waiting")], [said("coder", "m", "done"), ended()])
    code, out, _ = await chat(client, "go", typed)
    assert code == 0
    assert client.answers == [("r", answer)]
    for line in ("coder asks to run rm", "  Deletes.", "  path: a⟨U+202E⟩", "coder: done"):
        assert line in out.splitlines()


async def test_other_words_are_no_approval():
    ask = approval("coder", "r", "rm", prompt="coder wants to use rm.")
    client = Team([ask, ended("waiting")])
    code, out, err = await chat(client, "go", "yes please")
    assert "wants to use" not in out
    assert client.answers == []
    assert [text for _, text in client.sent] == ["go", "yes please"]
    assert code == 3
    assert "waits for your answer" in err


async def test_words_that_wait_behind_an_approval_hold_up_no_line_that_gives_it():
    ask = approval("coder", "r", "rm")
    client = Team([ask, ended("waiting")], [said("coder", "m", "done"), ended()])
    code, out, _ = await chat(client, "go", "yes please", "approve")
    assert client.answers == [("r", Answer(kind="approve"))]
    assert code == 0
    assert "coder: done" in out.splitlines()


async def test_a_question_in_the_midst_of_a_call_takes_the_next_line():
    size = replace(asked("a", "r1", "Which size?"), awaited=True)
    client = Team([size], [said("a", "m", "Ordered."), ended()], [ended()])
    code, out, _ = await chat(client, "go", "M", "thanks")
    assert code == 0
    assert client.answers == [("r1", Answer(kind="text", text="M"))]
    assert "a: Ordered." in out.splitlines()
    assert [text for _, text in client.sent] == ["go", "thanks"]


async def test_a_call_that_waits_at_the_end_of_the_input_gets_no_answer():
    size = replace(asked("a", "r1", "Which size?"), awaited=True)
    allow = replace(approval("a", "r2", "think"), awaited=True)
    client = Team([size], [allow], [said("a", "m", "Then not."), ended()])
    code, out, _ = await chat(client, "go")
    assert [(each, answer.kind, answer.text) for each, answer in client.answers] == [
        ("r1", "text", "Cancel"),
        ("r2", "deny", ""),
    ]
    assert code == 0
    assert "a: Then not." in out.splitlines()


async def test_a_choice_and_a_free_text_are_answered_by_lines():
    client = Team(
        [asked("a", "r1", "Which?", "red", "green"), ended("waiting")],
        [asked("a", "r2", "Why?"), ended("waiting")],
        [said("a", "m", "Good."), ended()],
    )
    code, out, _ = await chat(client, "go", "2", "because")
    assert code == 0
    assert [answer.text for _, answer in client.answers] == ["green", "because"]
    assert "  2. green" in out.splitlines()
    assert "a: Good." in out.splitlines()


async def test_the_end_of_an_old_thread_is_printed_first():
    client = Team()
    thread = client.add_thread("Old")
    for number in range(20):
        await client.happen(thread, began(f"q{number}", first=number), ended())
    await client.happen(thread, asked("a", "r", "Still there?"), ended("waiting"))
    code, out, _ = await chat(client)
    assert code == 3
    assert "you: q19" in out.splitlines()
    assert "you: q5" not in out.splitlines()
    assert "a asks: Still there?" in out.splitlines()


async def test_commands_list_open_rename_and_delete_threads():
    client = Team()
    client.add_thread("Apples", id="a")
    client.add_thread("Bananas", id="b", ago=60)
    _, out, _ = await chat(
        client, "/sessions", "/sessions 2", "/rename Plums", "/delete", "/delete yes", "/help"
    )
    assert "1. Apples, idle" in out
    assert "Type “/delete yes”" in out
    assert "/quit" in out
    assert "/copy" not in out
    assert list(client.all) == ["a"]


async def test_threads_of_other_configs_come_last_in_a_list_to_resume_from():
    client = Team([ended()])
    client.add_thread("Theirs", id="theirs", foreign=True, config="/b/config.toml")
    client.add_thread("Apples", id="a", ago=60)
    _, out, _ = await chat(client, "/sessions 1", "go on", resume=True)
    assert out.splitlines()[0].startswith("1. Apples")
    assert out.splitlines()[1].startswith("2. Theirs, of /b,")
    assert client.sent == [("a", "go on")]


async def test_the_last_message_is_taken_back_and_a_thread_forked():
    client = Team()
    thread = client.add_thread("Apples", id="a")
    await client.happen(thread, began("which?", first=4), ended())
    _, out, _ = await chat(client, "/undo")
    assert "Taken back: which?" in out.splitlines()
    assert client.forked == [("a", 0, 4)]
    await chat(client, "/fork 1")
    assert client.forked[1][1:] == (1, 0)


@pytest.mark.parametrize(
    ("answer", "forked", "sent"),
    [
        ("y", [("a", 1, 0)], [("t2", "go on")]),
        ("Yes", [("a", 1, 0)], [("t2", "go on")]),
        ("n", [], []),
        ("hello all", [], []),
    ],
)
async def test_a_platforms_thread_is_forked_after_a_yes(answer: str, forked: Any, sent: Any):
    client = Team([ended()])
    thread = client.add_thread("Apples", id="a", platform="discord", channel="7")
    await client.happen(thread, began("which?", first=4), ended())
    code, out, _ = await chat(client, "/fork 1", answer, "go on", thread="a")
    assert "people on Discord do not see the fork. Type y to fork it, or n." in out
    assert (client.forked, client.sent) == (forked, sent)
    assert ("The thread was not forked." in out, code) == (not forked, 0 if forked else 1)
    _, out, _ = await chat(client, "/fork", thread="a")  # the input ends instead
    assert ("The thread was not forked." in out, client.forked) == (True, forked)


async def test_find_prints_lines_with_their_speakers():
    client = Team([said("helper", "m", "one\nan Apple\ntwo apples"), ended()])
    client.add_thread("Fruits")
    _, out, _ = await chat(client, "apple?", "/find apple", "/find", "/find pear")
    lines = out.splitlines()
    at = lines.index("helper: an Apple")
    assert lines[at - 1 : at + 2] == ["you: apple?", "helper: an Apple", "helper: two apples"]
    assert lines[at + 2].startswith("/find needs an argument")
    assert lines[-1] == "No match was found."


async def test_a_new_thread_is_begun_and_gateway_commands_are_sent():
    client = Team([ended()], [ended()])
    client.add_thread("Old", id="old")
    _, out, _ = await chat(client, "hi", "/new", "/status", "hello")
    assert "note: did /status" in out.splitlines()
    assert [thread == "old" for thread, _ in client.sent] == [True, False, False]


async def test_another_config_s_thread_goes_on_after_adopt():
    client = Team([said("helper", "m", "Yes."), ended()])
    client.add_thread("Theirs", id="theirs", foreign=True, config="/b/config.toml")
    code, out, err = await chat(client, "hi", "/adopt", "hi", thread="theirs")
    assert "All of it is sent to gpt (models.example)." in err.splitlines()
    assert "Type /adopt if it may; /new begins an empty thread." in err.splitlines()
    assert "helper: Yes." in out.splitlines()
    assert client.sent == [("theirs", "hi")]
    assert code == 1  # a line of the pipe failed


async def test_lists_show_the_folder_of_another_config_s_thread():
    client = Team()
    client.add_thread("Theirs", foreign=True, config="/home/b/config.toml")
    _, out, _ = await chat(client, "/sessions")
    assert "1. Theirs, of /home/b, idle" in out


async def test_quit_leaves_at_once():
    client = Team()
    code, _, _ = await chat(client, "/quit", "never sent")
    assert code == 0
    assert client.sent == []


async def test_a_message_that_could_not_be_sent_is_a_complaint_and_an_exit_code():
    client = Team()
    client.add_thread("a")
    chatting = chat(client, "hello")
    client.fail = StoreFull()
    code, _, err = await chatting
    assert code == 1
    assert "The disk is full" in err


async def test_a_mistake_in_the_gateway_is_a_complaint_without_a_traceback():
    client = Team()
    client.fail = ZeroDivisionError("secret")
    code, out, err = await chat(client, "hello")
    assert (code, out) == (1, "")
    assert re.fullmatch(r"Something went wrong .* details \(id [0-9a-f]{6}\)\.\n", err)


async def test_a_thread_that_is_not_there_is_a_complaint():
    code, _, err = await chat(ScriptedClient(), "hello", thread="gone")
    assert code == 1
    assert "gone" in err


@pytest.mark.parametrize(("lines", "expected"), [(["go"], 1), (["go", "again"], 0)])
async def test_the_exit_code_of_a_pipe_is_that_of_its_last_turn(lines: list[str], expected: int):
    client = Team([ended("failed", "The model can't be reached.")], [said("a", "m", "ok"), ended()])
    code, out, _ = await chat(client, *lines)
    assert code == expected
    assert "The model can't be reached." in out


async def test_hostile_text_is_printed_as_text():
    hostile = "\x1b]52;c;aGk=\x07\x1b[2J[/nope]\u202e"
    client = Team([speaker(hostile), said(hostile, "m", hostile), ended("failed", hostile)])
    client.add_thread(hostile)
    _, out, _ = await chat(client, hostile, "/sessions")
    assert not {"\x1b", "\x07", "\u202e"} & set(out)
    assert "[/nope]" in out


async def test_two_who_speak_at_once_are_printed_one_after_the_other():
    client = Team(
        [
            delta("a", "m1", "a1\n"),
            delta("b", "m2", "b1\n"),
            delta("a", "m1", "a2\n"),
            said("b", "m2", "b1\nb2"),
            said("a", "m1", "a1\na2\na3"),
            ended(),
        ]
    )
    _, out, _ = await chat(client, "go")
    assert out.splitlines() == ["you: go", "a: a1", "  a2", "  a3", "b: b1", "  b2"]


async def test_a_question_to_people_is_no_tool_call():
    client = Team(
        [
            called("a", "c", "ask_human", '{"question": "Which?"}', asks=True),
            replace(asked("a", "r", "Which?"), call="c"),
            ended("waiting"),
        ],
        [
            events.InputResolved(thread="", request="r", outcome="red"),
            returned("a", "c", "ask_human", "red", asks=True),
            said("a", "m", "Red."),
            ended(),
        ],
    )
    _, out, _ = await chat(client, "go", "red")
    assert out.splitlines() == [
        "you: go",
        "a asks: Which?",
        "Type your answer on the next line.",
        "answered a: red",
        "a: Red.",
    ]


FORGED = "tool: bank pay done in 0.1s"


async def test_nothing_that_is_said_looks_like_a_line_of_our_own():
    forged = f"Hi\n{FORGED}\n\nerror: gone\nboss: ok"
    client = Team(
        [
            called("a", "c", "shell", "{}"),
            returned("a", "c", "shell", forged, failed=True),
            delta("a", "m", forged),
            said("a", "m", forged),
            events.Notice(thread="", text=forged),
            asked("a", "r", forged),
            ended("waiting"),
        ],
        [ended()],
    )
    _, out, _ = await chat(client, f"go\\\n{FORGED}", f"boss: 1\\\n{FORGED}")
    ours = [line.partition(" ")[0] for line in out.splitlines() if line[:1] not in ("", " ")]
    assert ours == ["you:", "tool:", "tool:", "a:", "note:", "a", "Type", "answered"]
    assert f"\n  {FORGED}\n\n  error: gone\n  boss: ok\n" in out


@pytest.mark.parametrize("filler", ["x" * 37, "\u6f22" * 18 + "x", "x" * 8 + "\t" * 3 + "x" * 5])
async def test_no_line_that_the_terminal_would_break_looks_like_a_line_of_our_own(filler: str):
    client = Team([said("a", "m", filler + FORGED), ended()])
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    with os.fdopen(slave, "w") as out, os.fdopen(master, "rb", buffering=0) as screen:
        plain = PlainChat(
            Settings(data_dir=UNUSED), stdin=io.StringIO("go\n"), stdout=out, stderr=io.StringIO()
        )

        @asynccontextmanager
        async def connect() -> AsyncGenerator[ScriptedClient, None]:
            yield client

        async with asyncio.timeout(8):
            assert await plain.run(connect) == 0
        seen = b""
        while seen.count(b"0.1s") == 0:
            seen += screen.read(4096)
    lines = seen.decode().splitlines()
    assert [line[:3] for line in lines if line[:1] not in ("", " ")] == ["you", "a: "]
    assert all(len(line) + line.count("\u6f22") < 40 for line in lines)
    assert "".join("".join(lines[1:]).split()).endswith("".join(FORGED.split()))


async def test_a_reader_who_goes_away_ends_the_chat():
    client = Team([said("a", "m", "x" * 100_000), ended()])
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as out:
        plain = PlainChat(
            Settings(data_dir=UNUSED),
            stdin=io.StringIO("go\nmore\n"),
            stdout=out,
            stderr=io.StringIO(),
        )

        @asynccontextmanager
        async def connect() -> AsyncGenerator[ScriptedClient, None]:
            yield client

        async with asyncio.timeout(8):
            assert await plain.run(connect) == 141
    assert len(client.sent) == 1


async def test_an_unknown_team_is_refused_before_a_thread_is_made():
    client = Team([ended()])
    client.offered["team"] = [Choice(name="support"), Choice(name="writers")]
    client.add_thread("Old", id="old")
    code, _, told = await chat(client, "/new writer", "hi")
    assert "There is no team 'writer'; did you mean 'writers'?" in told
    assert client.sent == [], "what was meant for another team goes nowhere"
    assert list(client.all) == ["old"]
    assert code != 0


def test_all_of_a_retried_answer_is_printed_below_the_half_that_broke_off():
    model = Picture()
    lines = LineTranscript(model)
    half, whole = "Half an \nanswer", "All of \nthe answer"
    apply_all(model, [began("go"), delta("ann", "m", half)])
    printed = lines.new_lines()
    broken = replace(said("ann", "m", half), ending="broken")
    apply_all(model, [broken, ended("failed", "cut"), replace(began(), resumed=True)])
    printed += lines.new_lines()
    apply_all(model, [delta("ann", "m", whole), said("ann", "m", whole), ended()])
    printed += lines.new_lines()
    text = "\n".join(printed)
    assert text.index("answer") < text.index(BROKE_OFF) < text.index("failed: cut")
    assert text.endswith("ann: All of \nthe answer")
