"""A message that is too long: three buttons, also after a restart."""

from pathlib import Path

import pytest

from adapters.slack.simulator.state import Message
from adapters.slack.testing import RenderedMessage, SlackSimulator
from gateway.errors import TOO_LONG
from gateway.events import AsideWay
from gateway.inbound.replies import ASIDE_REPLIES, DECIDED
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.model_context import AutoChatCompletionContext
from teams.models.openai import OpenAIChatCompletionClient
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import running
from tests.adapters.slack.serving import served
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.openai_script import Fail, Reply, Request, content_text
from tests.fakes.openai_server import FakeOpenAI

LONG = "A word. " * 1_000
BUTTONS = ("Summarise it", "Attach as a file", "Drop it")


def narrow(model: NarrowModel) -> Team:
    return RoundRobinGroupChat([AssistantAgent("solo", model)], max_turns=1)


def answers(slack: SlackSimulator, asked: Message) -> list[RenderedMessage]:
    return list(slack.messages(asked.channel, asked)[1:])


@pytest.mark.parametrize(
    ("button", "way", "heard"),
    [
        ("Summarise it", "summarise", "Words."),
        ("Attach as a file", "attach", "read_more reads on"),
    ],
)
async def test_a_button_after_a_restart_has_it_answered(
    tmp_path: Path, button: str, way: AsideWay, heard: str
) -> None:
    model = NarrowModel("I see.", most=7_000, summary="Words.")
    async with SlackSimulator() as slack:
        ann = slack.person("ann")
        async with served(slack, tmp_path, lambda _: narrow(model)) as run:
            asked = await ann.asks("general", LONG)
            await run.until(lambda: bool(answers(slack, asked)))
            await run.delivered()
        async with served(slack, tmp_path, lambda _: narrow(model)) as run:
            (offer,) = answers(slack, asked)
            await ann.clicks(offer.ts, button)
            await run.until(lambda: "I see." in str(answers(slack, asked)))
            await run.delivered()
            shown = answers(slack, asked)
            await ann.says("general", "!aside drop", thread=asked)
            await run.until(lambda: DECIDED in str(slack.private(ann)))
    assert TOO_LONG["message"] in offer.text
    assert offer.buttons == BUTTONS
    assert ASIDE_REPLIES[way] in shown[1].text
    assert shown[0].buttons == ()
    assert heard in model.texts()[-1]


async def test_what_is_dropped_has_no_buttons_any_more(tmp_path: Path) -> None:
    model = NarrowModel("I see.", most=7_000)
    async with SlackSimulator() as slack, served(slack, tmp_path, lambda _: narrow(model)) as run:
        ann = slack.person("ann")
        asked = await ann.asks("general", LONG)
        await run.until(lambda: bool(answers(slack, asked)))
        await ann.clicks(answers(slack, asked)[0].ts, "Drop it")
        await run.until(lambda: len(answers(slack, asked)) == 2)
        await run.delivered()
        offer, dropped = answers(slack, asked)
        await ann.says("general", "well?", thread=asked)
        await run.until(lambda: "I see." in str(answers(slack, asked)))
    assert offer.buttons == ()
    assert ASIDE_REPLIES["drop"] in dropped.text


async def test_a_thread_with_summaries_goes_on_after_a_message_that_is_too_long(
    tmp_path: Path, openai_server: FakeOpenAI
) -> None:
    def answer(request: Request) -> Reply | Fail:
        if sum(map(len, map(content_text, request.messages))) > 4_000:
            said = "This model's maximum context length is 1000 tokens."
            return Fail(status=400, message=said, code="context_length_exceeded")
        if "keep the memory" in request.system:
            return Reply(text="A fox: Reinhard.")
        return Reply(text="Words." if "Summarise the text" in request.system else "I see.")

    openai_server.rule(answer)
    model = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="sk-x", base_url=openai_server.url, max_retries=0
    )

    def summarising() -> Team:
        context = AutoChatCompletionContext(model)
        return RoundRobinGroupChat(
            [AssistantAgent("solo", model, model_context=context)], max_turns=1
        )

    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, summarising) as run,
        advancing(slack),
    ):

        async def shown(text: str, times: int = 1) -> None:
            await slack.until(
                lambda: (
                    "\n".join(each.text for each in run.messages(asked)).count(text) == times
                    and run.finished(asked)
                )
            )

        asked = await run.ask("alice", "The fox is called Reinhard.")
        for number in range(1, 5):
            await shown("I see.", number)
            await run.say("alice", f"Story {number}: {'and so on ' * 120}", asked)
        await shown("I see.", 5)
        await shown("summarised in what solo reads.")
        await run.say("alice", LONG, asked)
        await shown(TOO_LONG["message"])
        assert run.messages(asked)[-1].buttons == BUTTONS
        await run.say("alice", "!aside summarise", asked)
        await shown("I see.", 6)
        await run.say("alice", "Its name?", asked)
        await shown("I see.", 7)
    await model.close()
    heard = "\n".join(map(content_text, openai_server.requests[-1].messages))
    assert all(each in heard for each in ("A fox: Reinhard.", "Words.", "Its name?"))
    assert "A word. A word." not in heard
