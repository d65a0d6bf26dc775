"""A layer between Python's SQLite and its files, for disk faults.

    with watched(disk): ...        # every file that SQLite opens meanwhile goes through `disk`

It is the default VFS with four functions of each file replaced (sqlite.org/vfs.html).
"""

from __future__ import annotations

import _sqlite3
import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_int64, c_void_p, cast
from typing import Any, Protocol

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


class Disk(Protocol):
    """The fate of file operations below a folder.

    A code other than OK is what SQLite is told of a call, which then reaches no file.
    """

    def opens(self, path: bytes) -> bool:
        """True if a file to be opened is to be watched."""
        ...

    def writes(self, path: bytes, offset: int, data: bytes | None) -> int:
        """A write; without data, the file is cut off at `offset`."""
        ...

    def syncs(self, path: bytes) -> int:
        """All of the file shall be on disk."""
        ...

    def removed(self, path: bytes) -> None:
        """The file is gone, on disk, too."""
        ...


def dynamic() -> bool:
    """True if Python's SQLite is a shared library."""
    return hasattr(ctypes.CDLL(_sqlite3.__file__), "sqlite3_vfs_find")


_KEPT: list[Any] = []
"""Callbacks that SQLite may call later, when a file is closed."""


@contextmanager
def watched(disk: Disk) -> Generator[None]:
    """Let `disk` see all files that are opened in this context."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = POINTER(Vfs)
    usual = library.sqlite3_vfs_find(None).contents
    shim = Vfs()
    ctypes.memmove(byref(shim), byref(usual), ctypes.sizeof(Vfs))
    _KEPT.append([shim, _Files(disk).replace(shim, usual)])
    shim.zName, shim.pNext = b"watched", None
    library.sqlite3_vfs_register(byref(shim), 1)
    try:
        yield
    finally:
        library.sqlite3_vfs_unregister(byref(shim))
        library.sqlite3_vfs_register(byref(usual), 1)


class _Files:
    """The open files, by their addresses, with the methods they had."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._paths: dict[int, bytes] = {}
        self._methods: dict[int, Methods] = {}
        self._tables: dict[int, Methods] = {}

    def replace(self, shim: Vfs, usual: Vfs) -> list[Any]:
        """Watch what `shim` opens; what is returned is to be kept."""
        disk = self._disk

        @OpenFile
        def open_file(vfs: int, name: int | None, file: int, flags: int, out: int) -> int:
            path = ctypes.string_at(name) if name else b""
            seen = bool(path) and disk.opens(path)
            result = usual.xOpen(vfs, name, file, flags, out)
            if result == OK and seen:
                self._watch(file, path)
            return result

        @Delete
        def delete(vfs: int, name: bytes, sync_folder: int) -> int:
            result = usual.xDelete(vfs, name, sync_folder)
            if result == OK and sync_folder:
                disk.removed(name)
            return result

        shim.xOpen, shim.xDelete = open_file, delete
        return [open_file, delete, self, *self._replacements()]

    def _watch(self, file: int, path: bytes) -> None:
        opened = cast(file, POINTER(File)).contents
        address = ctypes.addressof(opened.pMethods.contents)
        original = Methods()
        ctypes.memmove(byref(original), address, ctypes.sizeof(Methods))
        self._methods[file], self._paths[file] = original, path
        if address not in self._tables:
            table = Methods()
            ctypes.memmove(byref(table), address, ctypes.sizeof(Methods))
            table.xClose, table.xWrite, table.xTruncate, table.xSync = self._own
            self._tables[address] = table
        opened.pMethods = ctypes.pointer(self._tables[address])

    def _replacements(self) -> tuple[Any, ...]:
        disk, methods, paths = self._disk, self._methods, self._paths

        @Close
        def close(file: int) -> int:
            del paths[file]
            return methods.pop(file).xClose(file)

        @Write
        def write(file: int, data: int, amount: int, offset: int) -> int:
            code = disk.writes(paths[file], offset, ctypes.string_at(data, amount))
            return code or methods[file].xWrite(file, data, amount, offset)

        @Truncate
        def truncate(file: int, size: int) -> int:
            code = disk.writes(paths[file], size, None)
            return code or methods[file].xTruncate(file, size)

        @Sync
        def sync(file: int, flags: int) -> int:
            # What a real disk takes its time for is not done: nothing here outlives the machine.
            return disk.syncs(paths[file])

        self._own = (close, write, truncate, sync)
        return self._own
