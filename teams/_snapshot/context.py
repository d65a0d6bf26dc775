"""A model context in the compact state format: as a growing history, where it is nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from teams.model_context._contexts import ChatCompletionContext

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter


async def write_context(context: ChatCompletionContext, path: str, writer: SnapshotWriter) -> None:
    """Write what the context gained since it was last written under this path."""
    if not _is_plain(context):
        writer.value(path, await context.save_state())
    elif not (
        (unread := context.unread) and writer.has(path, unread.history, len(unread.messages))
    ):
        writer.items(path, context.history, writer.llm_message)


async def read_context(context: ChatCompletionContext, path: str, reader: SnapshotReader) -> None:
    """Take over what `write_context` wrote."""
    if _is_plain(context):
        context.read_later(reader.llm_messages_later(path))
    elif (saved := reader.value(path)) is not None:
        await context.load_state(cast("Mapping[str, Any]", saved))


def _is_plain(context: ChatCompletionContext) -> bool:
    # One that overrides save_state has more to remember than its messages.
    return type(context).save_state is ChatCompletionContext.save_state
