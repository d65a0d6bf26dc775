"""Search for an id in the log files, rotated ones included."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from gateway.base.logging import LOG_FILE
from gateway.base.paths import store_folder
from gateway.config.root import Config
from gateway.errors import GatewayError, NotFound

_ROTATED = re.compile(r"\.(\d+)")
_BEGINS = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ")
"""The beginning of a record for people; what does not begin so goes on with the one above."""
_SAMPLED = "Turns that went well may be left out ([logging] sample). "
_NOT_IN_FILES = "`parley serve` writes to standard error unless [logging] names a file: look there."


def find_records(config: Config, ident: str) -> str:
    """All records of an error, turn or thread, oldest first.

    Raises NotFound, which says where it looked, and GatewayError for an unreadable log.
    """
    files = [each for base in _bases(config) for each in _with_rotated(base)]
    records = [each for file in files for each in _records_about(file, ident)]
    if records:
        return "\n\n".join(records)
    looked = ", ".join(map(str, files or _bases(config)))
    where = f"Looked in {looked}" if files else f"There is no log yet: {looked}"
    sampled = _SAMPLED if config.logging.sample < 1 else ""
    raise NotFound(f"The log has no line about {ident!r}. {where}. {sampled}{_NOT_IN_FILES}")


def _bases(config: Config) -> list[Path]:
    """The log that the config names, and that beside the store."""
    beside = (config.store.folder or store_folder()) / LOG_FILE
    return list(dict.fromkeys((config.logging.file or beside, beside)))


def _with_rotated(file: Path) -> list[Path]:
    """The files of this log that exist, the oldest first."""
    rotated = {
        int(number[1]): each
        for each in file.parent.glob(f"{file.name}.*")
        if (number := _ROTATED.fullmatch(each.name[len(file.name) :]))
    }
    older = [rotated[number] for number in sorted(rotated, reverse=True)]
    return [*older, file] if file.exists() else older


def _records_about(file: Path, ident: str) -> Iterator[str]:
    named = re.compile(rf"\b{re.escape(ident)}\b")
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for record in _records(lines):
                if named.search(record.partition("\n")[0]):
                    yield record
    except OSError as error:
        raise GatewayError(f"The log {str(file)!r} can't be read: {error.strerror}.") from error


def _records(lines: Iterable[str]) -> Iterator[str]:
    """The records of a log of text lines, JSON, or both."""
    record: list[str] = []
    for line in lines:
        told = _told(line) if line.startswith("{") else None
        if told is not None or _BEGINS.match(line):
            if record:
                yield "".join(record).rstrip()
            record = []
        record.append(line if told is None else told)
    if record:
        yield "".join(record).rstrip()


def _told(line: str) -> str | None:
    """A JSON record as text for people; None for other lines."""
    try:
        read: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(read, dict) or not {"time", "message"} <= read.keys():
        return None
    fields = cast("dict[str, Any]", read)
    level, logger = str(fields.pop("level", "")).upper(), fields.pop("logger", "")
    error = f"\n{fields.pop('error')}" if fields.get("error") else ""
    said = f"{fields.pop('time')} {level} {logger}  {fields.pop('message')}"
    return " ".join([said, *(f"{name}={value}" for name, value in fields.items())]) + f"{error}\n"
