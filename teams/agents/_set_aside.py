"""Set aside what a provider refuses, so that later requests pass."""

from __future__ import annotations

from teams._base.history import History
from teams._base.image import Image
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)

NO_FILES = "(The images of this message are left out: the model's provider did not take them.)"
NO_MESSAGE = "(This message was set aside: the model's provider did not take it.)"
NO_RESULT = "(The result is left out: the model's provider did not take it.)"


def set_aside(history: History[LLMMessage], *, files: bool) -> None:
    """Replace the newest content that can be to blame.

    Of `files`, that are the images of the newest message that has some. Else it is what came after
    the last answer: first the results of tools, then a message.
    """
    for place in reversed(range(len(history))):
        message = history[place]
        put = _without_images(message) if files else _without_content(message)
        if put is not None:
            history.replace([*history[:place], put, *history[place + 1 :]])
            return
        if not files and isinstance(message, AssistantMessage) and isinstance(message.content, str):
            return


def _without_images(message: LLMMessage) -> LLMMessage | None:
    if not isinstance(message, UserMessage) or isinstance(message.content, str):
        return None
    texts = [part for part in message.content if not isinstance(part, Image)]
    return _said_instead(message, "\n".join([*texts, NO_FILES]))


def _without_content(message: LLMMessage) -> LLMMessage | None:
    match message:
        case FunctionExecutionResultMessage(content=results):
            if all(result.content == NO_RESULT for result in results):
                return None
            told = [result.model_copy(update={"content": NO_RESULT}) for result in results]
            return FunctionExecutionResultMessage(content=told)
        case UserMessage() if message.content != NO_MESSAGE:
            return _said_instead(message, NO_MESSAGE)
        case _:
            return None


def _said_instead(message: UserMessage, text: str) -> UserMessage:
    put = UserMessage(content=text, source=message.source)
    put.stem_from(message.origin())
    return put
