"""Set aside what a provider refuses, so that later requests pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from teams._base.image import Image
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import MultiModalMessage, TextMessage
from teams.model_context._auto import PEOPLE
from teams.models._errors import ContentRefused, ContextOverflow, Refusal
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

NO_FILES = "(The images of this message are left out: the model's provider did not take them.)"
NO_MESSAGE = ContentRefused.NOTE
OFFERED = "(This is sent again, without files: the model's provider did not take it before.)"
LEFT_OUT = ContentRefused.AT_LAST
NO_RESULT = "(The result is left out: the model's provider did not take it.)"
TOO_LONG = ContextOverflow.NOTE
LONG_RESULT = "(The result was set aside: it is too long for the model.)"
IMAGE = 4_000
"""Characters of text for which an image counts."""
BLAMED = 1 / 4
"""The part of a request from which on a message is what made it too long."""

Kept: TypeAlias = LLMMessage | BaseAgentEvent | BaseChatMessage


def set_aside(
    kept: list[LLMMessage] | list[BaseChatMessage] | list[BaseAgentEvent | BaseChatMessage],
    refused: Refusal,
    own: str = "",
    start: int = 0,
    sent: Sequence[LLMMessage] = (),
) -> None:
    """Set aside what a request was refused for.

    It was made of what is `kept`, from `start` on, and `sent` so; `own` names who asked, where
    these are the messages of a chat. Nothing is set aside of what is too long as a whole.
    """
    messages = cast("list[Kept]", kept)
    if isinstance(refused, ContextOverflow):
        least = BLAMED * sum(map(_size, sent))
        _set_longest_aside(messages, own, start, refused, least)
    elif not (refused.about_files and _leave_images_out(messages)):
        _set_content_aside(messages, own)


def offer_again(history: list[LLMMessage], messages: Sequence[BaseChatMessage]) -> None:
    """Put back what was set aside of the newest `messages`."""
    heard: set[str] = set()
    for place in _since_answer(history):
        message = history[place]
        if isinstance(message, UserMessage) and message.source not in heard:
            heard.add(message.source)
            said = [each for each in messages if each.source == message.source]
            if said and message.content == NO_MESSAGE:
                _put(cast("list[Kept]", history), place, f"{_words(said[-1])}\n\n{OFFERED}")


def _leave_images_out(kept: list[Kept]) -> bool:
    """Leave the newest images out; False if there are none."""
    for place in reversed(range(len(kept))):
        message = kept[place]
        if isinstance(message, UserMessage | MultiModalMessage) and any(
            isinstance(part, Image) for part in message.content
        ):
            _put(kept, place, f"{_words(message)}\n{NO_FILES}")
            return True
    return False


def _set_content_aside(kept: list[Kept], own: str) -> None:
    """Replace what may be to blame; after a vain try, all."""
    places = _since_answer(kept, own)
    blamed = [place for place in places if _is_blamed_first(kept[place])] or places
    results = blamed and isinstance(kept[blamed[0]], FunctionExecutionResultMessage)
    if not results and any(_is_marked(kept[place]) for place in places):
        for place in places:
            _put(kept, place, LEFT_OUT)
    elif blamed:
        _put(kept, blamed[0], NO_MESSAGE)


def _set_longest_aside(
    kept: list[Kept], own: str, start: int, refused: ContextOverflow, least: float
) -> None:
    """Replace the longest new message or result, and note it.

    Shorter ones than `least` are not to blame.
    """
    places = [place for place in _since_answer(kept, own) if place >= start]
    longest = max(places, key=lambda place: _length(kept[place]), default=None)
    if longest is None or _length(kept[longest]) <= len(TOO_LONG) or _size(kept[longest]) < least:
        return
    if isinstance(found := kept[longest], FunctionExecutionResultMessage):
        results = list(found.content)
        place = max(range(len(results)), key=lambda each: len(results[each].content))
        results[place] = results[place].model_copy(update={"content": LONG_RESULT})
        kept[longest] = FunctionExecutionResultMessage(content=results)
        refused.set_aside = "result"
        return
    refused.set_aside = "message"
    refused.message = found.id if isinstance(found, BaseChatMessage) else _origin(found)
    _put(kept, longest, TOO_LONG)


def _origin(message: Kept) -> str:
    """Id of the chat message that it stands for, or empty."""
    return message.origin() if isinstance(message, UserMessage) else ""


def _length(message: Kept) -> int:
    """Characters, as far as one replacement could save them."""
    match message:
        case FunctionExecutionResultMessage(content=results):
            return max((len(result.content) for result in results), default=0)
        case UserMessage(content=list() as parts) | MultiModalMessage(content=parts):
            return sum(IMAGE if isinstance(part, Image) else len(part) for part in parts)
        case UserMessage() | BaseChatMessage():
            return len(_words(message))
        case _:
            return 0


def _size(message: Kept) -> int:
    """Characters of it all."""
    match message:
        case FunctionExecutionResultMessage(content=results):
            return sum(len(result.content) for result in results)
        case AssistantMessage(content=list() as calls):
            return sum(len(call.arguments) for call in calls)
        case AssistantMessage(content=str(text)) | SystemMessage(content=text):
            return len(text)
        case _:
            return _length(message)


def _since_answer(kept: Sequence[Kept], own: str = "") -> list[int]:
    """The places of what others have said since, the newest first."""
    places: list[int] = []
    for place in reversed(range(len(kept))):
        match kept[place]:
            case AssistantMessage(content=str()):
                break
            case BaseChatMessage(source=source) if source == own:
                break
            case UserMessage() | FunctionExecutionResultMessage() | BaseChatMessage():
                places.append(place)
            case _:
                pass
    return places


def _is_blamed_first(message: Kept) -> bool:
    match message:
        case FunctionExecutionResultMessage(content=results):
            return any(result.content != NO_RESULT for result in results)
        case UserMessage() | BaseChatMessage():
            return message.source == PEOPLE and not _is_marked(message)
        case _:
            return False


def _is_marked(message: Kept) -> bool:
    return isinstance(message, UserMessage | BaseChatMessage) and _words(message).endswith(
        (NO_MESSAGE, OFFERED, LEFT_OUT)
    )


def _words(message: UserMessage | BaseChatMessage) -> str:
    """The text, without images."""
    if not isinstance(message, UserMessage | MultiModalMessage):
        return message.to_model_text()
    parts = [message.content] if isinstance(message.content, str) else message.content
    return "\n".join(part for part in parts if isinstance(part, str))


def _put(kept: list[Kept], place: int, text: str) -> None:
    """Let this be said there; a result keeps its call."""
    put: Kept
    match kept[place]:
        case FunctionExecutionResultMessage(content=results):
            told = [result.model_copy(update={"content": NO_RESULT}) for result in results]
            put = FunctionExecutionResultMessage(content=told)
        case UserMessage() as message:
            put = UserMessage(content=text, source=message.source)
            put.stem_from(message.origin())
        case BaseChatMessage() as message:
            put = TextMessage(content=text, source=message.source, metadata=message.metadata)
        case _:
            return
    kept[place] = put
