"""The prompt history: sent messages, kept over restarts."""

import json
import os
from contextlib import suppress
from pathlib import Path

MOST = 1000


class History:
    """Prompts, oldest first, in a private file of JSON lines.

    A history that can't be read or written is one of this run alone: it never gets in the way.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = _read(path)
        self._at = len(self._entries)
        self._draft = ""

    def add(self, prompt: str) -> None:
        """Keep a prompt, and stand behind it."""
        if prompt.strip() and prompt != (self._entries[-1] if self._entries else None):
            self._entries.append(prompt)
            with suppress(OSError):
                self._write(prompt)
        self._at = len(self._entries)

    def older(self, draft: str) -> str | None:
        """The previous prompt, or None; `newer` ends with this `draft`."""
        if not self._at:
            return None
        if self._at == len(self._entries):
            self._draft = draft
        self._at -= 1
        return self._entries[self._at]

    def newer(self) -> str | None:
        """The next prompt, finally the draft, then None."""
        if self._at == len(self._entries):
            return None
        self._at += 1
        return self._entries[self._at] if self._at < len(self._entries) else self._draft

    def matching(self, words: str) -> list[str]:
        """Prompts with these words, newest first, each once."""
        wanted = words.lower()
        found = (prompt for prompt in reversed(self._entries) if wanted in prompt.lower())
        return list(dict.fromkeys(found))

    def _write(self, prompt: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        whole = len(self._entries) >= 2 * MOST
        if whole:
            del self._entries[:-MOST]
        lines = self._entries if whole else [prompt]
        mode = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if whole else os.O_APPEND)
        with open(os.open(self._path, mode, 0o600), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


def _read(path: Path) -> list[str]:
    entries: list[str] = []
    with suppress(OSError):
        for line in path.read_text("utf-8", errors="replace").splitlines():
            with suppress(ValueError, RecursionError):
                entry = json.loads(line)
                if isinstance(entry, str):
                    entries.append(entry)
    return entries[-MOST:]
