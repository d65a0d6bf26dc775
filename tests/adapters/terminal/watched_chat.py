"""`parley` that notes what its first thread imports: `watched_chat.py FILE ARGUMENTS`.

FILE gets the names of the modules that were there at the first paint, and of those that the event
loop's thread imported later.
"""

import atexit
import json
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from gateway.base import background
from gateway.base.background import import_in_background
from gateway.cli import main

FILE = Path(sys.argv.pop(1))
painted: list[str] = []
on_the_loop: list[str] = []


class Watch:
    """Sees each import first, and finds nothing."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if threading.current_thread() is threading.main_thread():
            on_the_loop.append(name)
        return None


async def import_later(*modules: str) -> None:
    """The chat's first wait after its first paint."""
    if not painted:
        painted.extend(sorted(sys.modules))
        sys.meta_path.insert(0, Watch)
    await import_in_background(*modules)


background.import_in_background = import_later
atexit.register(
    lambda: FILE.write_text(json.dumps({"painted": painted, "on the loop": on_the_loop}))
)
main(prog_name="parley")
