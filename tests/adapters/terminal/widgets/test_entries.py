"""Rows of a transcript: what happened, in words."""

from collections.abc import Iterable
from dataclasses import replace

from adapters.terminal.widgets.entries import Entry, TextEntry, entry_for, show_item
from gateway import events
from gateway.events import SessionEvent
from gateway.picture import Picture
from tests.adapters.terminal.running import approval, began, called, ended, returned, speaker

CALL = called("coder", "c1", "shell", '{"command": "rm -r build"}')
ASK = approval("coder", "r1", "shell", '{"command": "rm -r build"}', call="c1")


class Rows:
    """The rows of what has happened, drawn as in a transcript."""

    def __init__(self) -> None:
        self._picture = Picture()
        self._entries: dict[str, Entry] = {}

    async def after(self, *happened: SessionEvent) -> list[str]:
        for event in happened:
            self._picture.apply(replace(event, seq=self._picture.last_seq + 1))
        for key in self._picture.keys:
            item = self._picture.items[key]
            entry = self._entries.setdefault(key, entry_for(item))
            await show_item(entry, item)
        return list(texts(self._entries.values()))


def texts(entries: Iterable[Entry]) -> Iterable[str]:
    return (str(entry.content) for entry in entries if isinstance(entry, TextEntry))


async def test_hand_offs_thoughts_and_notices_have_rows_of_their_own():
    shown = await Rows().after(
        began("go"),
        speaker("planner"),
        events.Thought(thread="", agent="planner", text="First this.\nThen that."),
        events.WorkHandedOff(thread="", agent="planner", target="coder", text="fix it"),
        events.Notice(thread="", text="Model unreachable.", level="error", incident="ab12"),
        ended("failed", "no answer"),
    )
    assert shown == [
        "you\ngo",
        "▸ planner thinks  First this. Then that.",
        "→ planner hands over to coder  fix it",
        "✗ Model unreachable.  (parley log ab12)",
        "✗ failed: no answer",
    ]


async def test_a_message_names_its_files():
    files = ("plan.md", "\x1b[31ma\nb.png")
    said = events.HumanText(inbox=1, author="you", text="look", files=files)
    alone = events.HumanText(inbox=2, author="you", text="", files=("plan.md",))
    shown = await Rows().after(events.TurnStarted(thread="", messages=(said, alone)))
    assert shown == ["you\nlook\nAttached: plan.md, a b.png", "you\nAttached: plan.md"]


async def test_a_failed_tool_opens_by_itself():
    rows = Rows()
    running = called("coder", "c", "shell", '{"command": "x"}')
    assert await rows.after(speaker("coder"), running) == ["● coder  shell running  x"]
    failed = returned("coder", "c", "shell", "no such program", failed=True, duration=2)
    assert await rows.after(failed) == [
        "✗ coder  shell failed after 2.0s\n  command: x\n  no such program"
    ]


async def test_the_call_tells_of_its_approval():
    rows = Rows()
    asking = "? coder  shell waits for you  rm -r build"
    assert await rows.after(CALL, ASK, ended("waiting")) == [asking]
    approved = events.InputResolved(thread="", request="r1", outcome="approved", by="you")
    assert await rows.after(approved) == ["● coder  shell running · approved  rm -r build"]


async def test_a_refused_call_is_shown_as_refused_not_as_failed():
    refused = events.InputResolved(thread="", request="r1", outcome="denied: no", by="you")
    result = returned("coder", "c1", "shell", "A person denied this: no", failed=True)
    shown = await Rows().after(CALL, ASK, refused, result)
    assert shown == ["✗ coder  shell denied: no  rm -r build"]


async def test_of_a_long_message_both_ends_are_shown():
    lines = "\n".join(f"row {number}" for number in range(3000))
    shown = await Rows().after(began(f"look:\n{lines}\nand why?"))
    rows = shown[0].splitlines()
    assert rows[:3] == ["you", "look:", "row 0"]
    assert rows[9] == "… 2,990 more lines, Enter shows all"
    assert rows[-2:] == ["row 2999", "and why?"]
