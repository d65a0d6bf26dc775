"""The hostile code: writes outside, fills its folder, swaps folders for links.

It runs in a container. Where no Docker runs, the tests' engine runs it as a process in the thread's
work folder; then only what the host does in that folder is put to the test.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from teams.code_executors.docker import engine_problem
from tests.fakes.docker_engine import Handler, docker_engine
from tests.security.redteam.chats import Chat, until
from tests.security.redteam.moved import Moved
from tests.security.redteam.scripts import Say, Scripts, named
from tests.security.redteam.words import HOSTILE, OUTSIDE

WORK_MB = 20
"""Megabytes of a work folder that the operator allows."""
FULL = 5 * WORK_MB * 1_000_000
"""Bytes that the code wants to write there."""
SECONDS = 3
"""Seconds for which the code goes on swapping."""

SWAP = f"""
import ctypes, os, time
os.makedirs("sub", exist_ok=True)
for name in ("link", "functions.py", "report.txt"):
    if not os.path.lexists(name):
        os.symlink({{outside!r}} + ("" if name == "link" else "/" + name), name)
print("{HOSTILE} swaps")
if os.fork() == 0:
    os.setsid()
    for each in (0, 1, 2):
        os.close(each)
    libc, ends = ctypes.CDLL(None), time.monotonic() + {SECONDS}
    while time.monotonic() < ends:
        libc.renameat2(-100, b"sub", -100, b"link", 2)
    os._exit(0)
"""
WRITE = f'open("{OUTSIDE}.own", "w").write("mine")\nprint("{HOSTILE} {OUTSIDE}")'
ESCAPE = f"""
for path in ({{outside!r}}, "/etc", "/", "/workspace/..", "/proc/1/root/tmp"):
    try:
        open(path + "/{OUTSIDE}.txt", "w").write("{OUTSIDE}")
    except OSError as error:
        print(error)
"""
FILL = f"""
with open("full", "wb") as file:
    for _ in range({FULL // 1_000_000}):
        file.write(bytes(1_000_000))
        file.flush()
        __import__("time").sleep(0.05)
print("{HOSTILE} filled")
"""


STEAL = f"""
import os
pid = os.getpid()
while pid > 1 and (os.geteuid() or pid == os.getpid()):  # root may read all processes
    try:
        with open(f"/proc/{{{{pid}}}}/environ", "rb") as file:
            found = file.read()
    except OSError:
        found = b""
    if any(name in found for name in {{names!r}}):
        open({{outside!r}} + "/{OUTSIDE}.secrets", "w").close()
    with open(f"/proc/{{{{pid}}}}/stat") as file:
        pid = int(file.read().rpartition(")")[2].split()[1])
print("{HOSTILE} looked")
"""
SECRET_NAMES = ("SLACK_BOT", "LLM_ACCESS")
"""Variables that the config names; a filter by usual names does not know them."""


NAMES = ("swap", "write", "climb", "fill", "steal")
"""Its scripts."""


def scripts(outside: str, *, contained: bool) -> Scripts:
    """The code that the model writes.

    It tries its own container's walls only if there are any.
    """
    swap = _block(SWAP.format(outside=outside))
    written = "".join(_block(WRITE, f"{name}/{OUTSIDE}.py") for name in ("sub", "link") * 8)
    steal = STEAL.format(outside=outside, names=[name.encode() for name in SECRET_NAMES])
    escape = _block(ESCAPE.format(outside=outside)) if contained else ""
    return {
        "swap": [Say(f"{HOSTILE}\n{swap}"), Say(f"{HOSTILE}\n{written}")],
        "write": [Say(f"{HOSTILE}\n{written}")],
        "climb": [Say(f"{HOSTILE}\n{_block(WRITE, f'../../../../../..{outside}/{OUTSIDE}.py')}")],
        "steal": [Say(f"{HOSTILE}\n{_block(steal)}")],
        "fill": [Say(f"{HOSTILE}\n{escape}{_block(FILL)}")],
    }


def _block(code: str, name: str = "") -> str:
    return f"```python\n{f'# filename: {name}' if name else ''}\n{code.strip()}\n```\n"


async def run(chat: Chat, moved: Moved) -> None:
    """Have the lab run it, and the den on this machine."""
    stealing = await chat.ask("cody", f"{HOSTILE} {named('steal')}", "den")
    swapping = await chat.ask("cody", f"{HOSTILE} {named('swap')}", "lab")
    await chat.ask("cody", f"{HOSTILE} {named('climb')}", "lab")
    await chat.ask("cody", f"{HOSTILE} {named('fill')}", "lab")
    await until(lambda: any(f"{HOSTILE} swaps" in each for each in chat.answers(swapping)))
    for _ in range(3):
        await chat.reply("cody", swapping, f"{HOSTILE} {named('write')}")
    looked = await until(
        lambda: any(f"{HOSTILE} looked" in each for each in chat.answers(stealing))
    )
    moved.check("red team", f"on {chat.name} no code ran on this machine", moved=not looked)


@contextmanager
def engine(folder: Path) -> Generator[tuple[str, bool]]:
    """The address of an engine, and whether it has real containers."""
    if engine_problem() is None:
        yield os.environ.get("DOCKER_HOST", ""), True
        return
    socket = folder / "engine.sock"
    with docker_engine(socket, _RunningHandler):
        try:
            yield f"unix://{socket}", False
        finally:
            _RunningHandler.end_all()


class _RunningHandler(Handler):
    """Runs the scripts of the work folder as processes in it."""

    running: ClassVar[dict[subprocess.Popen[bytes], str]] = {}
    """The processes, by the folder that they stand in."""
    folders: ClassVar[dict[str, str]] = {}
    guard = threading.Lock()

    def answer(self, status: int, body: Any = None) -> None:
        """Answer; the served process may have ended meanwhile."""
        with suppress(ConnectionError):
            super().answer(status, body)

    def do_POST(self) -> None:
        """Remember whose container a command is for."""
        parts = self.path.split("?")[0].removeprefix("/v1.41").split("/")[1:]
        if parts[0] != "containers" or parts[-1] != "exec":
            return super().do_POST()
        created = self.engine.created[int(parts[1].removeprefix("c")) - 1]
        with self.guard:
            number = str(len(self.engine.commands))
            self.folders[number] = created["HostConfig"]["Binds"][0].partition(":")[0]
            return super().do_POST()

    def execute(self, number: str, command: list[str]) -> None:
        """Run a command, or end all that runs in its folder."""
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.docker.raw-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wait_until_read()
        folder = self.folders[number]
        if command[-1] == "kill -9 -1":
            self.end_all(folder)
            self.engine.exit_codes[number] = 137
            return
        script = Path(command[-1].replace("/workspace", folder, 1))
        with subprocess.Popen(
            [sys.executable, str(script)],
            cwd=folder,
            env={"PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            self.running[process] = folder
            output, _ = process.communicate()
        del self.running[process]
        self.engine.exit_codes[number] = process.returncode % 256
        self.send_output(output.decode(errors="replace"))

    @classmethod
    def end_all(cls, folder: str = "") -> None:
        """End what this engine has started; in one folder, or everywhere."""
        for process, place in list(cls.running.items()):
            if process.poll() is None and folder in ("", place):
                os.killpg(process.pid, signal.SIGKILL)
