"""Instructions for all agents of a team, from files.

They are read at each turn. The text of a config that nobody has trusted yet is foreign, and told as
such.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from errno import EFBIG
from hashlib import blake2b
from pathlib import Path

from gateway.base.describe import describe
from gateway.base.paths import read_bounded
from gateway.content.task import OURS, quote_block
from gateway.conversation import Quote
from teams.base import Instructions
from teams.models import SystemMessage, UserMessage

LONGEST = 64_000
"""Bytes of all files of a team."""

MISSING = "its instruction file {path} can't be read: {why}"
TOO_LONG = f"a team's instruction files may have {LONGEST:,} bytes together"
OUTSIDE = "it lies outside of the folder of a config that was found there, and is not trusted yet"


class InstructionFiles:
    """Reader of the teams' files.

    `untrusted` is the folder of a config that nobody has trusted yet: nothing outside of it is
    read.
    """

    def __init__(self, untrusted: Path | None = None) -> None:
        self._untrusted = untrusted
        self._secret = secrets.token_bytes(16)

    def read(self, files: Mapping[str, Sequence[Path]]) -> Instructions:
        """The text of each team's files.

        `files` has teams inside first, whose text comes after that of those around them. Raises
        ValueError for a file that can't be read.
        """
        return {team: list(self._parts(paths)) for team, paths in reversed([*files.items()])}

    def _parts(self, paths: Iterable[Path]) -> Iterator[SystemMessage | UserMessage]:
        left = LONGEST
        for path in paths:
            try:
                data = self._data(path, left)
                text = data.decode("utf-8-sig").strip()
            except UnicodeDecodeError as error:
                raise ValueError(MISSING.format(path=path, why="it is not UTF-8 text")) from error
            except OSError as error:
                why = TOO_LONG if error.errno == EFBIG else error.strerror or describe(error)
                raise ValueError(MISSING.format(path=path, why=why)) from error
            left -= len(data)
            if not text:
                continue
            if self._untrusted is None:
                yield SystemMessage(content=text)
                continue
            # The same for the same text, so that a provider's cache knows it, and still no guess.
            mark = blake2b(text.encode(), key=self._secret, digest_size=8).hexdigest()
            quote = Quote(text=text, author=path.name, kind="file")
            yield UserMessage(content=quote_block(quote, mark), source=OURS)

    def _data(self, path: Path, longest: int) -> bytes:
        """The bytes of an ordinary file. Raises OSError."""
        if self._untrusted is not None:
            path = path.resolve()
            if not path.is_relative_to(self._untrusted.resolve()):
                raise OSError(OUTSIDE)
        return read_bounded(path, longest)
