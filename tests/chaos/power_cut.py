"""A power cut: unsynced writes are lost, in part and reordered.

Files are read and written as ever; beside that it is remembered what a disk would surely hold. When
the power goes, a disk is written as it may be found then, and the process ends.
"""

from __future__ import annotations

import os
import random
import threading
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.sqlite_layer import OK

SECTOR = 512


@dataclass
class Contents:
    """One file: its synced content and the later writes."""

    synced: bytearray = field(default_factory=bytearray)
    there: bool = False
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and data; None cuts the file off there."""

    def sync(self) -> None:
        """All of it is on disk from now on."""
        for offset, data in self.unsynced:
            apply(self.synced, offset, data)
        self.unsynced.clear()
        self.there = True

    def survivor(self, chance: random.Random) -> bytes | None:
        """The file as found after the cut; None without a synced name."""
        if not self.there and chance.random() < 0.5:
            return None
        image = bytearray(self.synced)
        kept = chance.choice([0.0, 0.2, 0.5, 0.9])
        survived = [each for each in self.unsynced if chance.random() < kept]
        chance.shuffle(survived)
        for offset, data in survived:
            torn = data is not None and len(data) > SECTOR and chance.random() < 0.3
            end = chance.randrange(SECTOR, len(data), SECTOR) if torn and data else None
            apply(image, offset, data if data is None else data[:end])
        return bytes(image)


def apply(image: bytearray, offset: int, data: bytes | None) -> None:
    """Write, or cut off, as the file system would."""
    if data is None:
        del image[offset:]
        return
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


class Disk:
    """The files below one folder, cut off after `writes` writes.

    `survivors` then holds what is left.
    """

    def __init__(self, folder: Path, survivors: Path, *, seed: int, writes: int) -> None:
        self._folder = os.fsencode(folder.resolve())
        self._survivors = survivors
        self._chance = random.Random(seed)
        self._left = writes
        self._files: dict[bytes, Contents] = {}
        self._lock = threading.Lock()

    def opens(self, path: bytes) -> bool:
        """True if the file is on this disk."""
        if not path.startswith(self._folder):
            return False
        with self._lock:
            if path not in self._files:
                self._files[path] = contents = Contents()
                if os.path.exists(path):
                    contents.synced[:] = Path(os.fsdecode(path)).read_bytes()
                    contents.there = True
        return True

    def writes(self, path: bytes, offset: int, data: bytes | None) -> int:
        """Record a write; the power goes after the last allowed one."""
        with self._lock:
            self._files[path].unsynced.append((offset, data))
            self._left -= 1
            if self._left == 0:
                self._cut()
        return OK

    def syncs(self, path: bytes) -> int:
        """Remember that a file is on disk."""
        with self._lock:
            self._files[path].sync()
        return OK

    def removed(self, path: bytes) -> None:
        """Forget a file."""
        with self._lock:
            self._files.pop(path, None)

    def _cut(self) -> None:
        for path, contents in self._files.items():
            image = contents.survivor(self._chance)
            if image is not None:
                name = os.fsdecode(os.path.relpath(path, self._folder))
                target = self._survivors / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(image)
        os._exit(0)
