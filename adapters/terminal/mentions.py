"""Files named in a draft by @PATH. No Textual."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote

ANYWHERE = ("./", "~/", "/", "../")
"""Beginnings of a path that may lead anywhere, also to hidden files."""
BEGUN = re.compile(r'(?:^|(?<=\s))@("[^"\n]*|[^\s"]*)$')
"""A name at the end of a draft, which is still being typed."""

LONGEST_PATH = 4096

_NAMED = re.compile(r'(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"]+))')
_CLOSING = ".,;:!?)\u2026"


def mention_of(path: str) -> str:
    """The path as a draft names it."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def named_files(
    text: str, agents: Collection[str], folder: Path, fence: Path | None = None
) -> list[Path]:
    """The files within the fence that a text names, each once. Blocks.

    An agent at the start is meant itself. Names of hidden files count where the path says that it
    may lead anywhere.
    """
    found: dict[Path, None] = {}
    for name in _names(text, agents):
        path = next((each for each in _paths(name, folder) if is_file(each, fence)), None)
        if path is not None:
            found[path] = None
    return list(found)


def pasted_path(text: str) -> str:
    """The path that a paste is, as terminals write it, or ""."""
    text = text.strip()
    if not 0 < len(text) <= LONGEST_PATH or not text.isprintable():
        return ""
    if text.startswith("file://"):
        host, slash, path = text.removeprefix("file://").partition("/")
        return unquote(slash + path) if host in ("", "localhost") else ""
    if text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    elif "\\" in text:
        text = re.sub(r"\\(.)", r"\1", text)
    return text if text.startswith(("/", "~/")) else ""


def names_any(text: str) -> bool:
    """True if the text may name a file."""
    return _NAMED.search(text) is not None


def _names(text: str, agents: Collection[str]) -> Iterator[str]:
    for match in _NAMED.finditer(text):
        name = match["quoted"] or match["bare"]
        if match.start() == 0 and name.rstrip(_CLOSING).casefold() in _folded(agents):
            continue
        yield name


def _folded(agents: Collection[str]) -> set[str]:
    return {agent.casefold() for agent in agents}


def _paths(name: str, folder: Path) -> Iterator[Path]:
    """The path of a name, and without a sentence's end."""
    for each in dict.fromkeys((name, name.rstrip(_CLOSING))):
        if each.startswith(ANYWHERE):
            yield placed(each, folder)
        elif each and not any(part.startswith(".") for part in each.split("/")):
            yield folder / each


def placed(name: str, folder: Path) -> Path:
    """The path that a person has written."""
    home = name == "~" or name.startswith("~/")
    return Path.home() / name[2:] if home else folder / name


def is_file(path: Path, fence: Path | None = None) -> bool:
    """True for a file that is there, and within the fence. Blocks."""
    try:
        return is_within(path, fence) and path.is_file()
    except (OSError, ValueError):
        return False


def is_within(path: Path, fence: Path | None) -> bool:
    """True below the fence, wherever links lead, or without one. Blocks."""
    try:
        return fence is None or path.resolve().is_relative_to(fence.resolve())
    except (OSError, ValueError, RuntimeError):  # the last: links in a circle
        return False
