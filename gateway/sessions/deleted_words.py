"""A team's saved state without the words of deleted messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from gateway.content.task import DELETED, INBOX, SIZES, size_of
from gateway.store.protocols import SessionReader
from gateway.store.records import Checkpoint, Thread
from gateway.store.units import aside
from gateway.store.units import gone as gone_units
from teams.base import SavedMessages
from teams.messages import BaseChatMessage, HandoffMessage, MultiModalMessage, TextMessage

NO_PAGE = "(This was a page of a text that was deleted.)"
_SPEAKER = re.compile(r"\[[^\[\]\n]* \u00b7 [^\[\]\n]*\]\n")


async def without_deleted(
    store: SessionReader, thread: Thread, checkpoints: Sequence[Checkpoint]
) -> Checkpoint:
    """The state, with notes in place of deleted messages and their pages.

    Raises ValueError for one that does not tell where their words are.
    """
    saved = SavedMessages([each.data for each in checkpoints])
    gone = await store.run(gone_units.gone_messages, thread.id)
    by_id = {each.message_id: each.inbox for each in gone}
    every = {number for each in gone for number in (each.inbox, each.first)}
    left = {(each.inbox, each.first) for each in gone if each.saved}
    told: dict[str, BaseChatMessage] = {}
    for message in saved.with_metadata():
        numbers = _numbers_in(message["metadata"], by_id)
        if not every.isdisjoint(numbers):
            told[message["id"]] = _told_anew(message, numbers, every)
            left = {each for each in left if {*each}.isdisjoint(numbers)}
    if left:
        raise ValueError("The state has no message of a person that was deleted.")
    pages = {
        page: NO_PAGE
        for page in saved.results_of(aside.READ_MORE)
        if (file := aside.file_of(page))
        and await store.run(aside.kept_text, thread.id, file) is None
    }
    return Checkpoint(kind="snapshot", data=saved.replace(told, pages))


def _numbers_in(metadata: Mapping[str, str], by_id: Mapping[str, int]) -> list[int]:
    """The numbers of the messages that a task was made of.

    An earlier version noted only the platform's id of the first.
    """
    if INBOX in metadata:
        return [int(each) for each in metadata[INBOX].split() if each.isdecimal()]
    number = by_id.get(metadata.get("message_id", ""))
    return [] if number is None else [number]


class _Piece(NamedTuple):
    """A message's part of a task: foreign texts, its own, and images."""

    quotes: Sequence[Any]
    text: str
    images: Sequence[Any]


def _told_anew(
    told: Mapping[str, Any], numbers: Sequence[int], gone: Collection[int]
) -> BaseChatMessage:
    """A task without the deleted ones among its messages.

    The others stay as they were told, shortened or not.
    """
    pieces = None if all(each in gone for each in numbers) else _pieces(told)
    if pieces is None or len(pieces) != len(numbers):  # it has been replaced as a whole
        pieces = [_deleted(next(filter(_SPEAKER.match, _texts(told["content"])), ""))]
    else:
        pieces = [
            _deleted(piece.text) if number in gone else piece
            for number, piece in zip(numbers, pieces, strict=True)
        ]
    text = "\n\n".join(each.text for each in pieces)
    metadata = dict(told["metadata"])
    if SIZES in metadata:
        metadata[SIZES] = " ".join(size_of(*each) for each in pieces)
    known = {"id": told["id"], "source": told["source"], "metadata": metadata}
    if "target" in told:
        beside = [part for each in pieces for part in (*each.quotes, *each.images)]
        context = [{**each, "content": beside} for each in told["context"][:1] if beside]
        data = {**known, "target": told["target"], "content": text, "context": context}
        return HandoffMessage.load(data)
    if any(each.quotes or each.images for each in pieces):
        parts = [part for each in pieces for part in (*each.quotes, each.text, *each.images)]
        return MultiModalMessage.load({**known, "content": parts})
    return TextMessage.load({**known, "content": text})


def _deleted(text: str) -> _Piece:
    """The note, after the line that says who spoke."""
    line = _SPEAKER.match(text)
    return _Piece((), f"{line[0] if line else ''}{DELETED}", ())


def _texts(content: str | Sequence[Any]) -> Iterator[str]:
    parts = [content] if isinstance(content, str) else content
    return (part for part in parts if isinstance(part, str))


def _pieces(told: Mapping[str, Any]) -> list[_Piece] | None:
    """The parts of a task of several messages; None for another text.

    Raises ValueError where it was not noted, as in earlier versions.
    """
    if SIZES not in told["metadata"]:
        raise ValueError("The state does not tell which words are whose.")
    sizes = [[*map(int, each.split(":"))] for each in told["metadata"][SIZES].split()]
    content, found = told["content"], list[_Piece]()
    whole = isinstance(content, str)
    parts = [part for each in told.get("context", ()) for part in each["content"]]
    left = iter(parts if whole else content)
    start = 0
    for quotes, length, images in sizes:
        before = [*islice(left, quotes)]
        text = content[start : start + length] if whole else next(left, "")
        found.append(_Piece(before, text, [*islice(left, images)]))
        start += length + 2
    same = [size_of(*each) for each in found] == told["metadata"][SIZES].split()
    ended = start - 2 == len(content) if whole else next(left, None) is None
    return found if same and ended else None
