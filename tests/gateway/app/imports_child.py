"""A `parley serve` that prints what it imports once it is connected.

`python -m tests.gateway.app.imports_child CONFIG` prints "connected", and in the end the modules.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from gateway.app import serve
from gateway.app.load import load_config
from gateway.app.serve import until_signal
from gateway.gateway import Gateway


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class _WatchedGateway(Gateway):
    before: frozenset[str] = frozenset()

    def connection(self, adapter: str, *, is_open: bool) -> None:
        super().connection(adapter, is_open=is_open)
        if is_open and not _WatchedGateway.before:
            _WatchedGateway.before = frozenset(sys.modules)
            _say("connected")


if __name__ == "__main__":
    serve.Gateway = _WatchedGateway  # pyright: ignore[reportPrivateImportUsage]
    asyncio.run(until_signal(load_config(Path(sys.argv[1]))))
    _say(json.dumps(sorted(frozenset(sys.modules) - _WatchedGateway.before)))
