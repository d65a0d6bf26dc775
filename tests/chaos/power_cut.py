"""A power cut under the SQLite that Python itself uses: what was not synced is lost, in part and
out of order.

`install` puts a layer between SQLite and its files: the default VFS with four functions of each
open file watched. Files are read and written as ever; beside that, it is remembered what a disk
would surely hold. `cut` writes a disk as it may look after the power is gone, and ends the process.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import os
import random
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_int64, c_void_p, cast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECTOR = 512
OK = 0

# SQLite reads on behind a file's name, and keeps it: the very pointer has to be passed on.
OpenFile = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
Delete = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
Close = CFUNCTYPE(c_int, c_void_p)
Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
Sync = CFUNCTYPE(c_int, c_void_p, c_int)


class Vfs(ctypes.Structure):
    """`struct sqlite3_vfs`, see sqlite.org/c3ref/vfs.html."""

    _fields_ = [
        ("iVersion", c_int),
        ("szOsFile", c_int),
        ("mxPathname", c_int),
        ("pNext", c_void_p),
        ("zName", c_char_p),
        ("pAppData", c_void_p),
        ("xOpen", OpenFile),
        ("xDelete", Delete),
        ("others", c_void_p * 14),
    ]


class Methods(ctypes.Structure):
    """`struct sqlite3_io_methods`, see sqlite.org/c3ref/io_methods.html."""

    _fields_ = [
        ("iVersion", c_int),
        ("xClose", Close),
        ("xRead", c_void_p),
        ("xWrite", Write),
        ("xTruncate", Truncate),
        ("xSync", Sync),
        ("others", c_void_p * 13),
    ]


class File(ctypes.Structure):
    """`struct sqlite3_file`: what follows it is the VFS's own."""

    _fields_ = [("pMethods", POINTER(Methods))]


@dataclass
class Contents:
    """One file: what is surely on disk, and what was written since, in order."""

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
        """The file as it may be found again; None if its name was never on disk."""
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
    """The files below one folder. After `writes` writes the power is cut: `survivors` then holds
    what is left.
    """

    def __init__(self, folder: Path, survivors: Path, *, seed: int, writes: int) -> None:
        self._folder = os.fsencode(folder.resolve())
        self._survivors = survivors
        self._chance = random.Random(seed)
        self._left = writes
        self._files: dict[bytes, Contents] = {}
        self._lock = threading.Lock()

    def of(self, path: bytes) -> Contents | None:
        """What is known of a file; None for one elsewhere."""
        if not path.startswith(self._folder):
            return None
        with self._lock:
            if path not in self._files:
                self._files[path] = contents = Contents()
                if os.path.exists(path):
                    contents.synced[:] = Path(os.fsdecode(path)).read_bytes()
                    contents.there = True
            return self._files[path]

    def wrote(self, contents: Contents, offset: int, data: bytes | None) -> None:
        """Remember a write; the last one that is allowed cuts the power."""
        with self._lock:
            contents.unsynced.append((offset, data))
            self._left -= 1
            if self._left == 0:
                self._cut()

    def synced(self, contents: Contents) -> None:
        """Remember that a file is on disk."""
        with self._lock:
            contents.sync()

    def removed(self, path: bytes) -> None:
        """Forget a file whose removal is on disk."""
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


def dynamic() -> bool:
    """Whether Python's SQLite is a library that can be reached."""
    return hasattr(ctypes.CDLL(_sqlite3.__file__), "sqlite3_vfs_find")


def install(disk: Disk) -> list[Any]:
    """Watch all files that SQLite opens from now on; keep what is returned as long as it does."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = POINTER(Vfs)
    usual = library.sqlite3_vfs_find(None).contents
    watched: dict[int, Contents] = {}
    methods: dict[int, Methods] = {}

    def of(address: int) -> Methods:
        return methods[address]

    @Close
    def close(file: int) -> int:
        original = of(file)
        watched.pop(file, None)
        del methods[file]
        return original.xClose(file)

    @Write
    def write(file: int, data: int, amount: int, offset: int) -> int:
        result = of(file).xWrite(file, data, amount, offset)
        if result == OK:
            disk.wrote(watched[file], offset, ctypes.string_at(data, amount))
        return result

    @Truncate
    def truncate(file: int, size: int) -> int:
        result = of(file).xTruncate(file, size)
        if result == OK:
            disk.wrote(watched[file], size, None)
        return result

    @Sync
    def sync(file: int, flags: int) -> int:
        # What a real disk would take seconds for is not waited for: nothing here is that disk.
        disk.synced(watched[file])
        return OK

    tables: dict[int, Methods] = {}

    def watching(address: int) -> Methods:
        """The methods of a kind of file, with four of them watched."""
        if address not in tables:
            table = Methods()
            ctypes.memmove(byref(table), address, ctypes.sizeof(Methods))
            table.xClose, table.xWrite = close, write
            table.xTruncate, table.xSync = truncate, sync
            tables[address] = table
        return tables[address]

    @OpenFile
    def open_file(vfs: int, name: int | None, file: int, flags: int, out: int) -> int:
        contents = disk.of(ctypes.string_at(name)) if name else None
        result = usual.xOpen(vfs, name, file, flags, out)
        if result != OK or contents is None:
            return result
        opened = cast(file, POINTER(File)).contents
        address = ctypes.addressof(opened.pMethods.contents)
        original = Methods()
        ctypes.memmove(byref(original), address, ctypes.sizeof(Methods))
        methods[file], watched[file] = original, contents
        opened.pMethods = ctypes.pointer(watching(address))
        return result

    @Delete
    def delete(vfs: int, name: bytes, sync_folder: int) -> int:
        result = usual.xDelete(vfs, name, sync_folder)
        if result == OK and sync_folder:
            disk.removed(name)
        return result

    shim = Vfs()
    ctypes.memmove(byref(shim), byref(usual), ctypes.sizeof(Vfs))
    shim.zName, shim.pNext = b"power-cut", None
    shim.xOpen, shim.xDelete = open_file, delete
    library.sqlite3_vfs_register(byref(shim), 1)
    return [shim, tables, open_file, delete, close, write, truncate, sync, usual]
