"""A `parley serve` that prints what it imports once it is connected.

`python -m tests.gateway.app.imports_child CONFIG` prints "connected", and in the end the modules.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from gateway.app import serve
from gateway.app.load import load_config
from gateway.app.serve import until_signal
from gateway.gateway import Gateway
from gateway.inbound.capabilities import HostHealth


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class _Watched:
    before: frozenset[str] = frozenset()


class _WatchedHealth(HostHealth):
    def connection(self, adapter: str, *, is_open: bool) -> None:
        super().connection(adapter, is_open=is_open)
        if is_open and not _Watched.before:
            _Watched.before = frozenset(sys.modules)
            _say("connected")


class _WatchedGateway(Gateway):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        health = self.health
        self.health = _WatchedHealth(health.vitals, health.trust, health.store)


if __name__ == "__main__":
    serve.Gateway = _WatchedGateway  # pyright: ignore[reportPrivateImportUsage]
    asyncio.run(until_signal(load_config(Path(sys.argv[1]))))
    _say(json.dumps(sorted(frozenset(sys.modules) - _Watched.before)))
