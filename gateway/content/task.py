"""Task of a team, made of people's messages.

Text with its origin, images, foreign text in parts of its own, or the way back from a hand-off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.content.images import image_head
from gateway.content.untrusted import fenced, genuine, new_mark, plain_name
from gateway.conversation import Author, ConversationKey
from gateway.store.turn_records import QueuedMessage
from teams.core import Image
from teams.messages import BaseChatMessage, HandoffMessage, MultiModalMessage, TextMessage
from teams.models import UserMessage

USER = "user"
"""The source of a team's messages that people wrote."""


def task_of(
    messages: Sequence[QueuedMessage], key: ConversationKey, *, shared: bool, handoff_to: str
) -> list[BaseChatMessage]:
    """One task message made of the messages.

    People take them for one question, and so conditions count one. Its metadata are those of the
    first.

    In a `shared` thread each says who wrote it. `handoff_to` is the agent that handed the work to
    the user and now gets it back. Foreign text stands before what its sender says about it.
    """
    if not messages:
        return []
    mark = new_mark() if any(message.quotes for message in messages) else ""
    said = [_message_text(message, mark, shared) for message in messages]
    text, metadata = "\n\n".join(each.text for each in said), _metadata(messages[0], key)
    if handoff_to:
        content = [part for each in said for part in (*each.quotes, *each.images)]
        return [
            HandoffMessage(
                source=USER,
                target=handoff_to,
                content=text,
                context=[UserMessage(content=content, source=USER)] if content else [],
                metadata=metadata,
            )
        ]
    if any(each.images or each.quotes for each in said):
        parts = [part for each in said for part in (*each.quotes, each.text, *each.images)]
        return [MultiModalMessage(source=USER, content=parts, metadata=metadata)]
    return [TextMessage(source=USER, content=text, metadata=metadata)]


@dataclass(frozen=True, slots=True)
class _MessageText:
    """Text of one message, with what came with it."""

    text: str
    quotes: Sequence[str]
    images: Sequence[Image]


def _message_text(message: QueuedMessage, mark: str, shared: bool) -> _MessageText:
    text = genuine(message.text)
    return _MessageText(
        text=f"{speaker_line(message.author)}\n{text}" if shared else text,
        quotes=[f"{fenced(quote, mark)}\n" for quote in message.quotes],
        images=[image for _, data in message.images if (image := _image(data)) is not None],
    )


def _metadata(message: QueuedMessage, key: ConversationKey) -> dict[str, str]:
    facts = {
        "platform": key.platform,
        "author_id": message.author.id,
        "author_name": message.author.name,
        "timezone": message.author.timezone,
        "message_id": message.message_id,
        "link": message.link,
    }
    return {name: fact for name, fact in facts.items() if fact}


def speaker_line(author: Author) -> str:
    """`[Name · id-suffix]`, safe against imitation.

    The name can't end the line, nor look like another person's.
    """
    suffix = re.sub(r"[^A-Za-z0-9]", "", author.id)[-4:]
    return f"[{plain_name(author.name)} \u00b7 {suffix}]"


def _image(data: bytes) -> Image | None:
    """The image, or None if it had to be decoded first."""
    return None if image_head(data) is None else Image.from_bytes(data)
