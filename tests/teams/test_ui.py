import asyncio
import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from teams._messages.factory import stream_chunk
from teams.agents import UserProxyAgent
from teams.base import InputRequired, PendingInput, Response, TaskResult
from teams.core import CancellationToken, Image
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    MultiModalMessage,
    TextMessage,
    ThoughtEvent,
    UserInputRequestedEvent,
)
from teams.models import RequestUsage
from teams.ui import Console, RichConsole, UserInputManager

PIXEL = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="


async def stream(*items: Any) -> AsyncGenerator[Any, None]:
    for item in items:
        yield item


def text(content: str, source: str = "writer", usage: RequestUsage | None = None) -> TextMessage:
    return TextMessage(content=content, source=source, models_usage=usage)


def result(
    *messages: BaseAgentEvent | BaseChatMessage, stop_reason: str | None = None
) -> TaskResult:
    return TaskResult(messages=messages, stop_reason=stop_reason)


async def test_each_message_is_printed_under_its_type_and_source(
    capsys: pytest.CaptureFixture[str],
) -> None:
    messages = [text("Write.", "user"), ThoughtEvent(content="Hm", source="writer"), text("Done.")]
    final = result(*messages)
    assert await Console(stream(*messages, final)) is final
    assert capsys.readouterr().out == (
        "---------- TextMessage (user) ----------\nWrite.\n"
        "---------- ThoughtEvent (writer) ----------\nHm\n"
        "---------- TextMessage (writer) ----------\nDone.\n"
    )


async def test_streamed_text_is_printed_once_and_as_it_comes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    message = text("Hello you.")

    async def watched() -> AsyncGenerator[Any, None]:
        yield stream_chunk("Hello", "writer", message.id)
        assert capsys.readouterr().out == (
            "---------- ModelClientStreamingChunkEvent (writer) ----------\nHello"
        )
        yield stream_chunk(" you.", "writer", message.id)
        assert capsys.readouterr().out == " you."
        yield message
        assert capsys.readouterr().out == "\n"
        yield text("Next.")
        yield result(message)

    await Console(watched())
    assert capsys.readouterr().out == "---------- TextMessage (writer) ----------\nNext.\n"


async def test_chunks_of_two_speakers_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    chunks = [stream_chunk("a", "one", "1"), stream_chunk("b", "two", "2")]
    await Console(stream(*chunks, result()))
    assert capsys.readouterr().out == (
        "---------- ModelClientStreamingChunkEvent (one) ----------\na\n"
        "---------- ModelClientStreamingChunkEvent (two) ----------\nb\n"
    )


async def test_stats_are_printed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    messages = [text("a", usage=RequestUsage(3, 1)), text("b", usage=RequestUsage(4, 2))]
    await Console(stream(*messages, result(*messages, stop_reason="Enough")), output_stats=True)
    printed = capsys.readouterr().out
    assert "[Prompt tokens: 3, Completion tokens: 1]\n" in printed
    assert (
        "---------- Summary ----------\n"
        "Number of messages: 2\n"
        "Finish reason: Enough\n"
        "Total prompt tokens: 7\n"
        "Total completion tokens: 3\n"
        "Duration: "
    ) in printed


async def test_an_agents_stream_ends_with_its_response(capsys: pytest.CaptureFixture[str]) -> None:
    response = Response(chat_message=text("Done."), inner_messages=[text("Inner.")])
    assert await Console(stream(text("Inner."), response), output_stats=True) is response
    printed = capsys.readouterr().out
    assert "---------- TextMessage (writer) ----------\nDone.\n" in printed
    assert "Number of inner messages: 1\n" in printed


async def test_open_questions_of_a_suspended_run_get_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    question = PendingInput(
        request_id="r1", agent=("team", "user"), kind="approval", prompt="Delete it?"
    )
    await Console(stream(TaskResult(messages=[], pending=[question])))
    assert capsys.readouterr().out == "Waiting for approval (team/user, r1): Delete it?\n"


@pytest.mark.parametrize(
    ("terminal", "no_inline_images", "inline"),
    [
        ("iTerm.app", False, True),
        ("iTerm.app", True, False),
        ("other", False, False),
    ],
)
async def test_images_are_inlined_in_iterm_only(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: str,
    no_inline_images: bool,
    inline: bool,
) -> None:
    monkeypatch.setenv("TERM_PROGRAM", terminal)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    message = MultiModalMessage(content=["see", Image.from_base64(PIXEL)], source="a")
    await Console(stream(message, result(message)), no_inline_images=no_inline_images)
    printed = capsys.readouterr().out
    assert (PIXEL in printed) is inline
    assert ("<image>" in printed) is not inline


async def test_a_stream_without_a_result_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a TaskResult or Response"):
        await Console(stream(text("hi")))


async def test_the_stream_is_closed_when_its_result_is_there() -> None:
    closed = asyncio.Event()

    async def watched() -> AsyncGenerator[Any, None]:
        try:
            yield result()
            yield text("never taken")
        finally:
            closed.set()

    await Console(watched())
    assert closed.is_set()


class TestUserInputManager:
    async def asked(self, manager: UserInputManager, request_id: str) -> asyncio.Task[str]:
        wrapped = manager.get_wrapped_callback()

        async def ask() -> str:
            with UserProxyAgent.InputRequestContext.populate_context(request_id):
                return await wrapped("Well?", CancellationToken())

        return asyncio.get_running_loop().create_task(ask(), name="asker")

    async def test_a_prompt_waits_until_console_has_come_to_it(self) -> None:
        prompts: list[str] = []

        async def answer(prompt: str, cancellation_token: CancellationToken | None) -> str:
            prompts.append(prompt)
            return "yes"

        manager = UserInputManager(answer)
        asker = await self.asked(manager, "r1")

        async def run() -> AsyncGenerator[Any, None]:
            await asyncio.sleep(0)
            assert prompts == []
            yield UserInputRequestedEvent(request_id="r1", source="user")
            assert await asker == "yes"
            yield result()

        await Console(run(), user_input_manager=manager)
        assert prompts == ["Well?"]

    async def test_a_request_that_is_asked_again_is_not_shown_again(self) -> None:
        manager = UserInputManager(lambda prompt: "yes")
        manager.notify_event_received("r1")
        for _ in range(2):
            assert await (await self.asked(manager, "r1")) == "yes"

    async def test_a_plain_function_serves_too(self) -> None:
        manager = UserInputManager(lambda prompt: f"{prompt} yes")
        manager.notify_event_received("r1")
        assert await (await self.asked(manager, "r1")) == "Well? yes"


# In panels


async def test_a_rich_console_shows_whole_messages_in_panels(
    capsys: pytest.CaptureFixture[str],
) -> None:
    usage = RequestUsage(prompt_tokens=3, completion_tokens=4)
    message = text("Done.", usage=usage)
    chunk = stream_chunk("Do", "writer", message.id)
    final = result(message, stop_reason="enough")
    assert await RichConsole(stream(chunk, message, final), output_stats=True) is final
    printed = capsys.readouterr().out
    first, second, *rest = printed.splitlines()
    assert first.startswith("╭─ TextMessage (writer) ──")
    assert second.startswith("│ Done. ")
    assert printed.count("Do") == 1
    assert "[Prompt tokens: 3, Completion tokens: 4]" in rest
    assert "Finish reason: enough" in rest


async def test_a_rich_console_prints_no_escapes_and_no_markup_of_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hostile = text("\x1b[2Jgone \x9b31m[bold]kept[/bold]\u202e :smile:", "w\x07")
    response = Response(chat_message=hostile)
    assert await RichConsole(stream(response)) is response
    printed = capsys.readouterr().out
    assert "│ [2Jgone 31m[bold]kept[/bold] :smile: " in printed
    assert not set("\x1b\x9b\x07\u202e") & set(printed)


async def test_a_rich_console_inlines_images_in_iterm_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = MultiModalMessage(content=["Look", Image.from_base64(PIXEL)], source="user")
    await RichConsole(stream(picture, result(picture)))
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setenv("TERM_PROGRAM", "iTerm.app")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    await RichConsole(stream(picture, result(picture)))
    assert f"\x1b]1337;File=inline=1:{PIXEL}" in capsys.readouterr().out
    await RichConsole(stream(picture, result(picture)), no_inline_images=True)
    assert "1337" not in capsys.readouterr().out


async def test_an_agent_that_waits_for_a_person_is_no_result(capsys: pytest.CaptureFixture[str]):
    def ask(prompt: str) -> str:
        raise InputRequired("Go on?")

    stream = UserProxyAgent("user", input_func=ask).on_messages_stream(
        [TextMessage(content="hi", source="bot")], CancellationToken()
    )
    with pytest.raises(InputRequired):
        await Console(stream)
