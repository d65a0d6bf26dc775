"""The open file or folder of a FileSurfer, in pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from fnmatch import translate
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated, Any

from teams._base.documents import DocumentError, document_kind, read_document
from teams._base.safe_files import UnsafePathError, list_folder, read_file
from teams._base.workers import in_daemon_worker

PAGE = 5120
"""Characters of a page."""
LONGEST_FILE, LONGEST_SEARCH, MOST_WORDS, MOST_ENTRIES = 10_000_000, 200, 20, 10_000

_HEAD = re.compile(
    r"^Path: (?P<path>.*)\nTitle: .*\nViewport position: Showing page (?P<page>\d+) of ", re.M
)


class FileViewer:
    """Shows files and folders below `base`, a page at a time.

    Its public coroutines are tools; each returns a page, or raises an error for the model.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._path, self._page, self._search = ".", 0, ""
        self._text: str = ""  # read again when it is needed

    async def open_path(
        self, path: Annotated[str, 'Path of a file or folder; "." is the folder of all files.']
    ) -> str:
        """Open a file, or list a folder, and show the first page."""
        self._text = await self._read(path)
        self._path, self._page, self._search = path, 0, ""
        return self._shown(self._text)

    async def page_up(self) -> str:
        """Show the page before this one."""
        return await self._move(lambda _: self._page - 1)

    async def page_down(self) -> str:
        """Show the page after this one."""
        return await self._move(lambda _: self._page + 1)

    async def find_on_page_ctrl_f(
        self, search_string: Annotated[str, "Words to find; * stands for any letters of a word."]
    ) -> str:
        """Show the first page with these words, from this one on."""
        self._search = search_string
        return await self._move(lambda text: find_page(text, search_string, self._page))

    async def find_next(self) -> str:
        """Show the next page with the words that were searched last."""
        if not self._search:
            raise ValueError("Nothing was searched in this file yet.")
        return await self._move(lambda text: find_page(text, self._search, self._page + 1))

    async def _move(self, page_of: Callable[[str], int | None]) -> str:
        text = self._text = self._text or await self._read(self._path)
        page = await in_daemon_worker(partial(page_of, text), name="search of a file")
        missing = "" if page is not None else f"{self._search!r} was not found.\n"
        last = max(0, len(text) - 1) // PAGE
        self._page = min(max(self._page if page is None else page, 0), last)
        return missing + self._shown(text)

    def _shown(self, text: str) -> str:
        pages = max(0, len(text) - 1) // PAGE + 1
        return (
            f"Path: {self._path}\nTitle: {PurePath(self._path).name or 'All files'}\n"
            f"Viewport position: Showing page {self._page + 1} of {pages}.\n"
            f"=======================\n{text[self._page * PAGE :][:PAGE]}"
        )

    async def _read(self, path: str) -> str:
        try:
            found = await in_daemon_worker(partial(_load, self._base, path), name="read of a file")
            if isinstance(found, str):
                return found
            if kind := document_kind(path, data=found):
                return await read_document(kind, found)
        except OSError as error:
            raise FileNotFoundError(f"{path!r} was not found, or can't be opened.") from error
        except DocumentError as error:
            raise ValueError(f"{path!r} was not read: {error}.") from error
        if b"\0" in found:
            raise ValueError(f"{path!r} is neither a text nor a document.")
        return found.decode(errors="replace")

    def follow(self, shown: str) -> None:
        """Go to a page that was shown, perhaps before a crash."""
        if head := _HEAD.search(shown):
            if head["path"] != self._path:
                self._path, self._search, self._text = head["path"], "", ""
            self._page = int(head["page"]) - 1

    async def save_state(self) -> Mapping[str, Any]:
        return {"path": self._path, "page": self._page, "search": self._search}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self._path, self._page = str(state.get("path", ".")), int(state.get("page", 0))
        self._search, self._text = str(state.get("search", "")), ""


def find_page(text: str, search: str, start: int) -> int | None:
    """The first page with the words, from `start` round to it."""
    found = re.findall(r"[\w*]+", search[:LONGEST_SEARCH].lower())
    wanted = [re.compile(translate(word)) for word in found[:MOST_WORDS]]
    words = [(word[0].lower(), word.start()) for word in re.finditer(r"\w+", text)]
    pages = [
        words[at][1] // PAGE
        for at in range(len(words) - len(wanted) + 1)
        if wanted and all(each.match(words[at + i][0]) for i, each in enumerate(wanted))
    ]
    return next((page for page in pages if page >= start), pages[0] if pages else None)


def _load(base: Path, path: str) -> str | bytes:
    """The table of a folder, or the contents of a file."""
    try:
        entries = list_folder(base, path, most=MOST_ENTRIES)
    except UnsafePathError:  # no folder
        return read_file(base, path, longest=LONGEST_FILE)
    rows = ["| Name | Bytes | Changed |", "|---|---|---|"]
    for entry in entries:
        name, changed = re.sub(r"[|\n]", " ", entry.path), entry.changed / 1e9
        facts = f"{entry.size} | {datetime.fromtimestamp(changed, UTC):%Y-%m-%d %H:%M}"
        rows.append(f"| {name} | {' | ' if name.endswith('/') else facts} |")
    return "\n".join(rows)
