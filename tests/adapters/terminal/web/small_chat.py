"""A program that speaks to textual-serve as a chat does."""

import json
import os
import select
import sys
import time
from pathlib import Path


def show(kind: bytes, payload: bytes) -> None:
    os.write(1, kind + len(payload).to_bytes(4, "big") + payload)


def flood(full: Path) -> None:
    """Write for ever; tell when nobody takes it."""
    while True:
        if not select.select([], [1], [], 0.2)[1]:
            full.touch()
        show(b"D", b"x" * 1000)


def main() -> None:
    if "--fails" in sys.argv:
        sys.exit("\x1b[31mno such config")
    os.write(1, b"__GANGLION__\n")
    about = ("COLUMNS", "ROWS", "HTTP_", "X_")
    names = sorted(name for name in os.environ if name.startswith(about))
    started = [sys.argv[1:], {name: os.environ[name] for name in names}]
    show(b"D", f"started {json.dumps(started)}".encode())
    while len(head := sys.stdin.buffer.read(5)) == 5:
        payload = sys.stdin.buffer.read(int.from_bytes(head[1:], "big"))
        if head[:1] == b"M" and json.loads(payload)["type"] == "quit":
            time.sleep(0.3 * ("--slow-end" in sys.argv))
            return
        if payload == b"exit":
            show(b"M", b'{"type": "exit"}')
        if payload.startswith(b"flood "):
            flood(Path(os.fsdecode(payload[6:])))
        if payload == b"link":
            show(b"M", b'{"type": "open_url", "url": "https://example.com", "new_tab": true}')
        show(b"D", b"got " + head[:1] + b" " + payload)


main()
