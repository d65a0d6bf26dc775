"""Another user of the machine: reads files, the environment, sockets; holds connections.

Only root can become somebody else: without, it is skipped aloud.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

import aiohttp

from tests.security.redteam.moved import Moved

NOBODY = 65_534
HALF_OPEN = 2_200
"""Connections with a part of a request: at each port more than a limit of 1,024 descriptors."""
HELD = 8.0
"""Seconds."""

PROGRAM = f"""
import contextlib, encodings.idna, glob, os, resource, socket, sys, time
pid, store, *ports = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
kept = glob.glob(store + "/**", recursive=True)
for path in [f"/proc/{{pid}}/environ", f"/proc/{{pid}}/mem", *kept]:
    with contextlib.suppress(OSError):
        open(path, "rb").read(1)
        print("reads", path.replace(pid, "PID"))
began = os.stat(f"/proc/{{pid}}").st_ctime
new = [path for path in glob.glob("/tmp/parley*") if os.stat(path).st_ctime >= began]
for path in [store, *({{*new}} - {{os.path.dirname(store)}})]:
    with contextlib.suppress(OSError):
        print("lists", path, os.listdir(path))
for path in [each for place in (store, *new) for each in glob.glob(place + "/*.sock")]:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as found:
        found.connect(path)
        print("connects to", path)
held = []
for number in range({HALF_OPEN}):
    with contextlib.suppress(OSError):
        port = int(ports[number % len(ports)])
        held.append(socket.create_connection(("127.0.0.1", port), 1))
        held[-1].sendall(b"GET / HTTP/1.1\\r\\n")
print("holds", len(held), flush=True)
time.sleep({HELD})
"""


async def trespass(pid: int, store: Path, ports: Sequence[int], moved: Moved) -> None:
    """Let them try everything, and look whether the process still answers."""
    if os.geteuid() != 0:
        sys.stdout.write("Another local user was skipped: only root can become one.\n")
        return
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, str(pid), str(store), *map(str, ports)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    moved.look("neighbour")
    async for line in program.stdout:
        said = line.decode().strip()
        if said.startswith("holds "):
            for port in ports:
                silent = not await _answers(port)
                moved.check("neighbour", "half-open connections silence a port", moved=silent)
        else:
            moved.note("neighbour", said)
    await program.wait()


async def _answers(health: int) -> bool:
    """True if the port answers while the connections are held."""
    ends = time.monotonic() + HELD
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=HELD)) as session:
        while time.monotonic() < ends:
            try:
                async with session.get(f"http://127.0.0.1:{health}/healthz") as answer:
                    return answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
            except (TimeoutError, aiohttp.ClientError):
                await asyncio.sleep(0.2)
    return False
