"""The output of a notebook's cell, as its kernel's messages tell it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from teams._base.code import CodeResult, JupyterCodeResult
from teams._base.image import Image
from teams._base.safe_files import read_file, write_file
from teams._tools.workbench import LARGEST_PICTURE, MOST_PICTURES
from teams.code_executors._output import BoundedOutput

MOST_SHOWN = 20
LARGEST_SHOWN = 20_000_000
"""Pictures and tables kept of one cell, and their characters in all."""

_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg", "text/html": "html"}
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class DataItem:
    """A picture or HTML that code showed; PNG and JPEG in base64."""

    mime_type: str
    data: str

    def save(self, folder: Path) -> Path:
        """Write it as a new file. Raises OSError and ValueError."""
        path = folder / f"output-{uuid4().hex[:8]}.{_SUFFIXES[self.mime_type]}"
        encoded = self.mime_type in ("image/png", "image/jpeg")
        write_file(
            folder, path.name, base64.b64decode(self.data) if encoded else self.data.encode()
        )
        return path


class CellOutput:
    """Collects the output of one request to a kernel, within bounds."""

    def __init__(self, request: str = "") -> None:
        self.request = request
        self.failed = False
        self.items: list[DataItem] = []
        self._text = BoundedOutput()
        self._in_line = False
        self._room = LARGEST_SHOWN

    def take(self, message: Mapping[str, Any]) -> bool:
        """Take a kernel's message; True for the last one of the request."""
        if message["parent_header"].get("msg_id") != self.request:
            return False
        content = message["content"]
        match message["header"]["msg_type"]:
            case "stream":
                self._add(content["text"])
            case "error":
                self.failed = True
                trace = content["traceback"] or [f"{content['ename']}: {content['evalue']}"]
                self.add_line(_COLOURS.sub("", "\n".join(trace)))
            case "display_data" | "update_display_data" | "execute_result":
                self._show(content["data"])
            case "status":
                return content["execution_state"] == "idle"
            case _:
                pass
        return False

    def text(self) -> str:
        """The texts of the cell, shortened in the middle."""
        return self._text.text()

    def add_line(self, text: str) -> None:
        """Add a text as lines of its own."""
        self._add(f"\n{text}\n" if self._in_line else f"{text}\n")

    def _add(self, text: str) -> None:
        self._text.add(text.encode(errors="replace"))
        self._in_line = not text.endswith("\n") if text else self._in_line

    def _show(self, data: Mapping[str, Any]) -> None:
        kind = next((kind for kind in _SUFFIXES if kind in data), None)
        if kind in (None, "text/html") and (text := "".join(data.get("text/plain", ""))):
            self.add_line(text)
        if kind is not None:
            item = DataItem(kind, "".join(data[kind]))
            if len(self.items) < MOST_SHOWN and len(item.data) <= self._room:
                self._room -= len(item.data)
                self.items.append(item)
            else:
                self.add_line(f"[{kind} left out: too much was shown]")


def pictures_of(result: CodeResult) -> list[Image]:
    """The PNG and JPEG files of a result that are still there."""
    found: list[Image] = []
    for path in result.output_files if isinstance(result, JupyterCodeResult) else ():
        if path.suffix in (".jpg", ".png") and len(found) < MOST_PICTURES:
            try:
                data = read_file(path.parent, path.name, longest=LARGEST_PICTURE)
                found.append(Image.from_bytes(data))
            except (OSError, ValueError):  # the result names it all the same
                continue
    return found
