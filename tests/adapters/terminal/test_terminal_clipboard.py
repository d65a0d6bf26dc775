"""The terminal hands over its clipboard among what is typed."""

import asyncio
import base64
import re
from pathlib import Path

import pytest

from adapters.terminal import terminal_clipboard
from adapters.terminal.terminal_clipboard import NO_IMAGE, NOT_GIVEN, TerminalClipboard
from tests.fakes.pty_process import PtyProcess
from tests.gateway.content.test_attachments import png

ASKED = re.compile(r"\x1b\]5522;type=read:id=([0-9a-f]+);([A-Za-z0-9+/=]+)\x1b\\")
PICTURE = png(60, 60) + bytes(9000)


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Terminal:
    """A terminal with a clipboard; `answers` are those to requests for data."""

    def __init__(self, *types: str, data: bytes = PICTURE, ends: str = "\x1b\\") -> None:
        self.types = types
        self.data = data
        self.ends = ends
        self.size = 100_000
        """Characters that come at a time."""
        self.refuses = ""
        self.asked: list[str] = []
        self.typed = ""
        self.clipboard = TerminalClipboard(self.write)

    def write(self, text: str) -> None:
        found = ASKED.fullmatch(text)
        assert found
        self.asked.append(base64.b64decode(found[2]).decode())
        asyncio.get_running_loop().call_soon(self.answer, found[1])

    def answer(self, request: str) -> None:
        if not self.types:
            return
        kind = self.asked[-1]
        data = " ".join(self.types).encode() if kind == "." else self.data
        chunks = [data[at : at + 4096] for at in range(0, len(data), 4096)]
        status = [f"DATA:mime={packed(kind.encode())};{packed(each)}" for each in chunks]
        if self.refuses and kind != ".":
            status = [f"{self.refuses};"]
        said = [f"\x1b]5522;type=read:id={request}:status={each}{self.ends}" for each in (
            ["OK", *status, "DONE"] if not (self.refuses and kind != ".") else status
        )]  # fmt: skip
        self.type("a\x1b[A" + "b".join(said) + "c\x1b")

    def type(self, text: str) -> None:
        for at in range(0, len(text), self.size):
            self.typed += self.clipboard.take_out(text[at : at + self.size])
        self.typed += self.clipboard.let_go()


@pytest.mark.parametrize("size", [1, 2, 7, 4096, 100_000])
@pytest.mark.parametrize("ends", ["\x1b\\", "\x07"])
async def test_the_data_come_in_any_pieces_and_the_keys_between_stay(size: int, ends: str):
    terminal = Terminal("text/plain", "image/gif", "image/png", ends=ends)
    terminal.size = size
    assert await terminal.clipboard.read(100_000) == PICTURE
    assert terminal.asked == [".", "image/png"]
    assert re.fullmatch("(a\x1b\\[Ab+c\x1b){2}", terminal.typed)


async def test_a_terminal_that_says_nothing_is_asked_once(monkeypatch):
    monkeypatch.setattr(terminal_clipboard, "TELLING", 0.01)
    terminal = Terminal()
    assert await terminal.clipboard.read(100) is None
    assert await terminal.clipboard.read(100) is None
    assert terminal.asked == ["."]
    late = "\x1b]5522;type=read:status=OK\x1b\\"
    terminal.type(f"x{late}\x1b")
    assert terminal.typed == "x\x1b"


async def test_a_terminal_that_answers_late_is_asked_again(monkeypatch):
    monkeypatch.setattr(terminal_clipboard, "TELLING", 0.01)
    terminal = Terminal()
    assert await terminal.clipboard.read(100) is None
    terminal.type("\x1b]5522;type=read:status=OK\x1b\\")
    monkeypatch.undo()
    terminal.types = ("image/png",)
    assert await terminal.clipboard.read(100_000) == PICTURE


async def test_without_an_image_or_a_permission_a_sentence_says_so(monkeypatch):
    assert await Terminal("text/plain").clipboard.read(100) == NO_IMAGE
    terminal = Terminal("image/png")
    terminal.refuses = "EPERM"
    assert await terminal.clipboard.read(100_000) == NOT_GIVEN
    assert await Terminal("image/png").clipboard.read(100) == NOT_GIVEN
    terminal = Terminal("image/png", data=b"")
    assert await terminal.clipboard.read(100) == NOT_GIVEN
    monkeypatch.setattr(terminal_clipboard, "GIVING", 0.01)
    terminal = Terminal("image/png")
    terminal.refuses = "OK"
    assert await terminal.clipboard.read(100) == NOT_GIVEN


@pytest.mark.parametrize(
    ("sent", "typed"),
    [
        ("\x1b]5522;type=read:status=DATA;aGk=\x1b\\x", "x"),
        ("\x1b]5522;type=read:id=forged:status=DONE\x07x", "x"),
        ("\x1b]5522;;;==::\x1b\\x", "x"),
        ("\x1b]5522;no end\rx", "\rx"),
        ("\x1b]5522;no end\x1b[Bx", "\x1b[Bx"),
        ("\x1b]5522;" + "A" * 50_000 + "\x1b\\x", "x"),
        ("\x1b]52;c;aGk=\x07\x1b]\x1b", "\x1b]52;c;aGk=\x07\x1b]\x1b"),
    ],
    ids=["no id", "another id", "no sense", "cut by enter", "cut by a key", "endless", "others"],
)
@pytest.mark.parametrize("size", [3, 100_000])
async def test_what_is_no_answer_of_ours_does_nothing(sent: str, typed: str, size: int):
    terminal = Terminal("image/png")
    terminal.size = size if len(sent) < 1000 else 4096
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(terminal.clipboard.read(100_000))
        await asyncio.sleep(0)
        terminal.type(sent)
        assert terminal.typed == typed
    assert reading.result() == PICTURE


@pytest.mark.timeout(60)
def test_the_chat_attaches_the_image_of_its_terminal_and_shows_none_of_it(tmp_path: Path):
    with PtyProcess("-c", "from gateway.cli import main; main()", "chat", folder=tmp_path) as chat:
        chat.until("ready")
        chat.type("look \x16")
        for data in (b"text/html image/jpeg image/png", png(60, 60)):
            chat.until(lambda: ASKED.search(chat.output.decode(errors="replace")))
            found = ASKED.findall(chat.output.decode(errors="replace"))[-1]
            chat.forget()
            for status in ("OK", f"DATA:mime=Lg==;{packed(data)}", "DONE"):
                chat.type(f"\x1b]5522;type=read:id={found[0]}:status={status}\x1b\\")
        chat.until("image-1.png")
        assert b"5522" not in chat.output.replace(b"\x1b]5522;", b"")
        assert b"status=" not in chat.output
        chat.type("\x03\x03")
