"""A folder that was given, or a temporary one."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any


class WorkFolder:
    """The given folder, or a temporary one that is removed with this object."""

    def __init__(self, given: Path | str | None) -> None:
        self.given = None if given is None else Path(given)
        self._temporary: tuple[Path, weakref.finalize[Any, Any]] | None = None

    @property
    def path(self) -> Path:
        """The folder, made if missing."""
        if self.given is not None:
            self.given.mkdir(parents=True, exist_ok=True)
            return self.given.resolve()
        if self._temporary is None:
            folder = Path(tempfile.mkdtemp(prefix="parley-code-")).resolve()
            removal = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._temporary = folder, removal
        return self._temporary[0]

    def remove(self) -> bool:
        """Remove a temporary folder; False if there is none."""
        if self._temporary is None:
            return False
        self._temporary[1]()
        self._temporary = None
        return True
