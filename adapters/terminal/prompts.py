"""Prompts of the person: files that commands send. No Textual."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from gateway.base.paths import read_bounded, user_config
from gateway.errors import GatewayError
from gateway.render.sanitize import one_line, sanitize

ARGUMENTS = "$ARGUMENTS"
"""Stands for the arguments, which otherwise follow the text."""
LONGEST = 64_000
"""Bytes of a prompt."""
MOST = 200
"""Files of the folder that are looked at."""
DESCRIPTION = 80
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
BAD_NAME = "a name has up to 40 letters a-z, digits, - and _"


class Prompt(NamedTuple):
    """A prompt's file, its first line, and if it takes arguments."""

    path: Path
    description: str
    takes_arguments: bool

    def expanded(self, arguments: str) -> str:
        """The text of now with the arguments. Raises GatewayError."""
        try:
            text = _text(self.path)
        except OSError as error:
            raise GatewayError(_trouble(self.path, error)) from error
        if ARGUMENTS in text:
            return text.replace(ARGUMENTS, arguments).strip()
        return f"{text}\n\n{arguments}".strip()


class Prompts(NamedTuple):
    """The prompts by name, and sentences on those that can't be used."""

    usable: dict[str, Prompt]
    troubles: list[str]


def prompts_folder() -> Path:
    """The folder of the person's prompts."""
    return user_config().with_name("prompts")


def find_prompts(taken: Collection[str]) -> Prompts:
    """The prompts that are there now; `taken` are names of commands."""
    found = Prompts({}, [])
    for path in _files(prompts_folder()):
        name = path.stem
        try:
            _check_name(name, taken)
            text = _text(path)
        except OSError as error:
            found.troubles.append(_trouble(path, error))
        else:
            first = next(filter(None, (line.strip("# \t") for line in text.splitlines())), "")
            told = one_line(sanitize(first))[:DESCRIPTION]
            found.usable[name] = Prompt(path, told, ARGUMENTS in text)
    return found


def _trouble(path: Path, error: OSError) -> str:
    return f"The prompt {path.name!r} can't be used: {error.strerror or error}."


def _check_name(name: str, taken: Collection[str]) -> None:
    """Raise OSError for a name that no prompt can have."""
    if name in taken:
        raise OSError(f"/{name} is a command")
    if not NAME.fullmatch(name):
        raise OSError(BAD_NAME)


def _files(folder: Path) -> Iterator[Path]:
    with suppress(OSError):  # there is none
        yield from sorted(islice(folder.glob("*.md"), MOST))


def _text(path: Path) -> str:
    """The text of a prompt. Raises OSError."""
    try:
        return read_bounded(path, LONGEST).decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise OSError("it is not UTF-8 text") from error
