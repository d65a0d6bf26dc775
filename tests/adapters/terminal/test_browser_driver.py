"""A chat whose terminal is a browser: packets, sizes, and its end."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapters.terminal.browser_driver import packet, packets

PATIENCE = 20.0


class Browser:
    """The other end of a chat, as `parley web` is."""

    def __init__(self, folder: Path, *words: str) -> None:
        command = [sys.executable, "-P", "-m", "gateway.cli", "chat", "--in-browser", *words]
        pipe = subprocess.PIPE
        # A store of its own: HOME is the test's.
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._typed, self._output = self.process.stdin, self.process.stdout
        self.shown = b""
        self.told: list[dict] = []
        self._held = bytearray()
        assert self._output.readline() == b"__GANGLION__\n"

    def type(self, text: str) -> None:
        self._send(packet(b"D", text.encode()))

    def tell(self, **said: object) -> None:
        self._send(packet(b"M", json.dumps(said).encode()))

    def _send(self, data: bytes) -> None:
        for at in range(0, len(data), 3):  # cut anywhere
            self._typed.write(data[at : at + 3])
            self._typed.flush()

    def until(self, text: str) -> None:
        until = time.monotonic() + PATIENCE
        while text.encode() not in self.shown:
            assert time.monotonic() < until, (text, self.shown[-1500:], self.process.poll())
            self._read()

    def _read(self) -> bool:
        if not select.select([self._output], [], [], 0.1)[0]:
            return True
        data = os.read(self._output.fileno(), 1 << 16)
        self._held += data
        for kind, payload in packets(self._held):
            if kind == "D":
                self.shown += payload
            else:
                self.told.append(json.loads(payload))
        return bool(data)

    def ended(self) -> int:
        while self._read():
            pass
        assert not self._held
        return self.process.wait(PATIENCE)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self._typed, self._output, self.process.stderr):
            assert stream is not None
            stream.close()


def test_a_chat_in_a_browser_answers_and_ends_with_its_browser(tmp_path: Path):
    with Browser(tmp_path) as browser:
        browser.until("ready")
        browser.type("hello")
        browser.until("hello")
        browser.type("\r")
        browser.until("demo model")
        browser.tell(type="resize", width=40, height=20)
        browser.type("\x07")  # the editor
        browser.until("editor")
        browser.type("\x1a")  # no shell to go back to
        browser.tell(type="quit")
        assert browser.ended() == 129
    assert browser.told == [{"type": "exit"}]


@pytest.mark.chaos
def test_a_chat_ends_when_parley_web_is_killed(tmp_path: Path):
    with Browser(tmp_path) as browser:
        browser.until("ready")
        assert browser.process.stdin is not None
        browser.process.stdin.close()
        assert browser.ended() == 129


@pytest.mark.parametrize("size", [1, 4, 5, 6, 100])
def test_packets_are_read_whatever_their_pieces(size):
    sent = [(b"D", b"hello"), (b"M", b"{}"), (b"D", b""), (b"D", b"x" * 70_000)]
    data = b"".join(packet(*each) for each in sent)
    held, found = bytearray(), []
    for at in range(0, len(data), size):
        held += data[at : at + size]
        found += packets(held)
    assert found == [(kind.decode(), payload) for kind, payload in sent]
    assert not held


SHELL = """
import os
import subprocess

from teams import RoundRobinGroupChat
from teams.agents import BaseChatAgent
from teams.base import Response
from teams.messages import TextMessage


class Shell(BaseChatAgent):
    produced_message_types = (TextMessage,)

    async def on_messages(self, messages, cancellation_token):
        os.system("echo D1234 to the output; cat > input")
        read = subprocess.run(["cat"], stdout=subprocess.PIPE).stdout
        said = f"programs have read {len(read) + os.stat('input').st_size} bytes"
        return Response(chat_message=TextMessage(content=said, source=self.name))

    async def on_reset(self, cancellation_token):
        pass


def make():
    return RoundRobinGroupChat([Shell("shell", "Runs programs.")], max_turns=1)
"""


def test_programs_of_tools_have_no_part_in_the_packets(tmp_path: Path):
    (tmp_path / "made.py").write_text(SHELL)
    (tmp_path / "config.toml").write_text('[teams.main]\nfactory = "made:make"\n')
    with Browser(tmp_path, "--trust-config") as browser:
        browser.until("ready")
        browser.type("begin")
        browser.until("begin")
        browser.type("\r")
        browser.until("programs have read 0 bytes")
        browser.type("typed after")
        browser.until("after")
        browser.tell(type="quit")
        assert browser.ended() == 129
        assert browser.process.stderr is not None
        assert b"D1234 to the output\n" in browser.process.stderr.read()
