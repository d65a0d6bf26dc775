"""A `parley serve` that prints its imports.

`python -m tests.gateway.journeys.imports_child CONFIG` prints "connected" and the packages that are
loaded then, and in the end the modules that were imported on the loop since.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

from gateway.app import serve
from gateway.app.load import load_config
from gateway.app.serve import until_signal
from gateway.gateway import Gateway
from gateway.inbound.capabilities import HostHealth


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class _Watched:
    connected = False
    late: ClassVar[list[str]] = []

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if _Watched.connected and threading.current_thread() is threading.main_thread():
            _Watched.late.append(name)


class _WatchedHealth(HostHealth):
    def connection(self, adapter: str, *, is_open: bool) -> None:
        super().connection(adapter, is_open=is_open)
        if is_open and not _Watched.connected:
            _Watched.connected = True
            _say("connected")
            _say(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))


class _WatchedGateway(Gateway):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        health = self.health
        self.health = _WatchedHealth(health.vitals, health.trust, health.store)


if __name__ == "__main__":
    sys.meta_path.insert(0, _Watched)
    serve.Gateway = _WatchedGateway  # pyright: ignore[reportPrivateImportUsage]
    asyncio.run(until_signal(load_config(Path(sys.argv[1]))))
    _say(json.dumps(_Watched.late))
