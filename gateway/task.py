"""What people's messages are to a team: text with its origin, images, or the way back from a
hand-off.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from gateway.conversation import Author, ConversationKey
from gateway.store.protocols import QueuedMessage
from gateway.transcript import USER
from teams.core import Image
from teams.messages import BaseChatMessage, HandoffMessage, MultiModalMessage, TextMessage
from teams.models import UserMessage

NAME = 40
"""Characters of a person's name that the team sees."""


def task_of(
    messages: Sequence[QueuedMessage], key: ConversationKey, *, shared: bool, handoff_to: str
) -> list[BaseChatMessage]:
    """The messages as the team's task.

    In a `shared` thread each says who wrote it. `handoff_to` is the agent that handed the work to
    the user and now gets it back.
    """
    return [_message(message, key, shared, handoff_to) for message in messages]


def _message(
    message: QueuedMessage, key: ConversationKey, shared: bool, handoff_to: str
) -> BaseChatMessage:
    text = f"{speaker_line(message.author)}\n{message.text}" if shared else message.text
    images = [image for _, data in message.images if (image := _image(data)) is not None]
    metadata = _metadata(message, key)
    if handoff_to:
        content: list[str | Image] = [*images]
        return HandoffMessage(
            source=USER,
            target=handoff_to,
            content=text,
            context=[UserMessage(content=content, source=USER)] if images else [],
            metadata=metadata,
        )
    if images:
        return MultiModalMessage(source=USER, content=[text, *images], metadata=metadata)
    return TextMessage(source=USER, content=text, metadata=metadata)


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
    """`[Name · id-suffix]`: the name can't end the line, nor look like another person's."""
    printable = "".join(
        character if unicodedata.category(character)[0] in "LMNPSZ" else " "
        for character in author.name
    )
    name = " ".join(re.sub(r"[\[\]\u00b7]", " ", printable).split())[:NAME]
    suffix = re.sub(r"[^A-Za-z0-9]", "", author.id)[-4:]
    return f"[{name or 'somebody'} \u00b7 {suffix}]"


def _image(data: bytes) -> Image | None:
    try:
        return Image.from_bytes(data)
    except (ValueError, ImportError):
        return None
