"""A team's saved state without the words of deleted messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.content.task import INBOX, speaker_line, task_of
from gateway.store.protocols import SessionReader
from gateway.store.records import Checkpoint, Thread
from gateway.store.turn_records import QueuedMessage
from gateway.store.units import gone as gone_units
from teams.base import SavedMessages
from teams.messages import BaseChatMessage


async def without_deleted(
    store: SessionReader, thread: Thread, checkpoints: Sequence[Checkpoint]
) -> Checkpoint:
    """The state, with a note in place of each deleted message.

    Raises ValueError for one that does not tell where their words are.
    """
    saved = SavedMessages([each.data for each in checkpoints])
    gone = await store.run(gone_units.gone_messages, thread.id)
    by_id = {each.message_id: each.inbox for each in gone}
    every = {each.inbox for each in gone}
    left = {each.inbox for each in gone if each.saved}
    parts: dict[str, tuple[Mapping[str, Any], list[int]]] = {}
    for message in saved.with_metadata():
        numbers = _numbers_in(message["metadata"], by_id)
        if not every.isdisjoint(numbers):
            parts[message["id"]] = message, numbers
            left.difference_update(numbers)
    if left:
        raise ValueError("The state has no message of a person that was deleted.")
    wanted = {number for _, numbers in parts.values() for number in numbers}
    found = await store.run(gone_units.messages, thread.id, wanted)
    told = {
        name: _told_anew(message, [found[each] for each in numbers if each in found], thread)
        for name, (message, numbers) in parts.items()
    }
    return Checkpoint(kind="snapshot", data=saved.replace(told))


def _numbers_in(metadata: Mapping[str, str], by_id: Mapping[str, int]) -> list[int]:
    """The numbers of the messages that a task was made of.

    An earlier version noted only the platform's id of the first.
    """
    if INBOX in metadata:
        return [int(each) for each in metadata[INBOX].split() if each.isdecimal()]
    number = by_id.get(metadata.get("message_id", ""))
    return [] if number is None else [number]


def _told_anew(
    before: Mapping[str, Any], messages: Sequence[QueuedMessage], thread: Thread
) -> BaseChatMessage:
    """A task as it is without the deleted ones among its messages."""
    said = before["content"]
    texts = [said] if isinstance(said, str) else said
    line = speaker_line(messages[0].author)
    shared = any(isinstance(each, str) and each.startswith(line) for each in texts)
    target = before.get("target", "")
    (told,) = task_of(messages, thread.key, shared=shared, handoff_to=target)
    return told.model_copy(update={"id": before["id"], "metadata": before["metadata"]})
