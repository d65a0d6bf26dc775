"""A person who looks elsewhere is called once for each wait."""

from pathlib import Path

import pytest

from adapters.terminal.attention import MOST, Attention, sequence
from gateway import events
from gateway.picture import Picture
from tests.adapters.terminal.running import approval, asked, ended
from tests.fakes.news import apply_all
from tests.fakes.pty_process import PtyProcess

STARTED = 1000.0


class Thread:
    """A thread, and what its notices say."""

    def __init__(self) -> None:
        self.model = Picture()
        self.model.title = "Plums"
        self.attention = Attention()
        self.at(STARTED)

    def at(self, now: float, *happened: events.SessionEvent) -> str:
        apply_all(self.model, happened)
        return self.attention.notice(self.model, now=now, loading=False)


def started(at: float = STARTED) -> events.TurnStarted:
    return events.TurnStarted(thread="", messages=(), at=at)


def test_each_request_is_told_once():
    thread = Thread()
    first, second = approval("coder", "r1", "shell"), asked("planner", "r2", "Which one?")
    assert thread.at(STARTED, started(), first) == "coder asks to run shell"
    assert thread.at(STARTED) == ""
    assert thread.at(STARTED, second, ended("waiting")) == "planner asks you: Which one?"
    assert thread.at(STARTED + 99) == ""


def test_the_end_of_a_long_turn_and_each_failure_is_told_once():
    thread = Thread()
    assert thread.at(STARTED + 9, started(), ended()) == ""
    assert thread.at(STARTED + 11, started(STARTED + 10)) == ""
    assert thread.at(STARTED + 20, ended()) == "The team has finished: Plums"
    assert thread.at(STARTED + 21) == ""
    again = started(STARTED + 30)
    assert thread.at(STARTED + 31, again, ended("failed")) == "The team did not finish: Plums"


def test_what_was_there_before_is_no_news():
    attention, model = Attention(), Picture()
    apply_all(model, [started(), approval("coder", "r1", "shell")])
    assert attention.notice(model, now=STARTED, loading=False) == ""
    model.apply(ended("failed"))
    assert attention.notice(model, now=STARTED + 99, loading=True) == ""
    assert attention.notice(model, now=STARTED + 99, loading=False) == ""


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color"}, "\a"),
        ({"TERM_PROGRAM": "Apple_Terminal"}, "\a"),
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;Parley: hi\a"),
        ({"LC_TERMINAL": "iTerm2"}, "\x1b]9;Parley: hi\a"),
        ({"TERM_PROGRAM": "WezTerm"}, "\x1b]777;notify;Parley;hi\a"),
        ({"TERM": "xterm-kitty"}, "\x1b]777;notify;Parley;hi\a"),
        ({"TERM": "foot"}, "\x1b]777;notify;Parley;hi\a"),
        ({"TERM": "xterm-ghostty", "STY": "1"}, "\a"),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/t"}, "\a"),
        (
            {"TERM_PROGRAM": "tmux", "TMUX": "/tmp/t", "KITTY_WINDOW_ID": "1"},
            "\a\x1bPtmux;\x1b\x1b]777;notify;Parley;hi\a\x1b\\",
        ),
    ],
)
def test_each_terminal_gets_what_it_shows(environ: dict[str, str], expected: str):
    assert sequence("hi", environ) == expected


def test_nothing_foreign_ends_the_sequence():
    sent = sequence("a\x1b]52;c;x\a\x9c\n\u202eb" + "c" * 500, {"TERM_PROGRAM": "ghostty"})
    said = sent.removeprefix("\x1b]777;notify;Parley;").removesuffix("\a")
    assert said.isprintable()
    assert ";" not in said
    assert len(said) == MOST


@pytest.mark.chaos
def test_a_terminal_without_focus_shows_the_notice_once(tmp_path: Path):
    chat = "from gateway.cli import main; main()"
    with PtyProcess("-c", chat, "chat", folder=tmp_path, term="xterm-kitty") as terminal:
        terminal.until("ready")
        terminal.type("read README.md\r\x1b[O")
        terminal.until(lambda: b"]777;notify;Parley;specialist asks to run" in terminal.output)
        terminal.type("\x1b[I")
        terminal.until("asks to run")
        assert terminal.output.count(b"777;notify") == 1
