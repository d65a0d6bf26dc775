"""Whole runs: teams at work, as people in Slack see them."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client import Histogram

from adapters.slack.testing import Refusal, RenderedMessage, SlackSimulator, TooManyRequests
from gateway.base.clock import sleep
from gateway.client import Answer
from gateway.interactions import Click
from gateway.registry import ToolRule
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.core import FunctionCall
from teams.models import CreateResult, RequestUsage
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import one, relay, running
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.slack_calls import over_tier
from tests.gateway.scripted import calls, model, solo

WORDS = [f"word{n}" for n in range(100)]
LONG = " ".join(WORDS)


def said(shown: list[RenderedMessage], name: str = "solo") -> list[str]:
    """The agent's words in the thread, over all messages."""
    return [
        word
        for each in shown
        if each.name == name
        for block in each.blocks
        if block["type"] == "markdown"
        for word in block["text"].split()
    ]


async def test_a_team_answers_in_the_thread_each_agent_under_its_name(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: relay(slack.clock, f"{LONG} END")) as run,
        advancing(slack),
    ):
        asked = await run.ask("alice", "write it")
        await slack.until(lambda: run.finished(asked))
        (written,) = run.messages(asked)  # the planner said nothing: its hand-off is a line
        assert written.name == "writer"
        assert "planner \u2192 writer" in written.text
        assert said([written], "writer") == [*WORDS, "END"]
        assert written.stream == "stopped"
        assert len(slack.calls("chat.appendStream")) > 3
        assert over_tier(slack) == {}
        assert slack.busy == []


async def test_twenty_threads_of_two_people_are_all_answered_whole(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, LONG)) as run,
        advancing(slack),
    ):
        asked = [await run.ask(("alice", "bob")[n % 2], f"question {n}") for n in range(20)]
        await slack.until(lambda: all(run.finished(each) for each in asked), within=40)
        for each in asked:
            assert said(run.messages(each)) == WORDS
        assert not [call for call in slack.calls() if call.error]
        assert slack.open_streams == []


@pytest.mark.chaos
async def test_one_with_fifty_threads_does_not_keep_another_waiting(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, LONG), parallel=60) as run,
        advancing(slack, 0.02),
    ):
        threads = [await run.ask("alice", f"question {n}") for n in range(50)]
        await slack.until(lambda: len(slack.calls("chat.startStream")) > 10)
        begun = slack.clock.time()
        asked = await run.ask("bob", "and mine?")
        await slack.until(lambda: run.messages(asked), within=40)
        assert float(run.messages(asked)[0].ts) - begun < 5
        assert not all(run.messages(each) for each in threads)
        assert not [call for call in slack.calls() if call.error]


async def test_short_answers_in_one_channel_take_turns(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: solo(model("Yes."))) as run,
        advancing(slack, 0.05),
    ):
        asked = [await run.ask("alice", f"question {n}") for n in range(12)]
        last = await run.ask("bob", "and mine?")
        await slack.until(lambda: run.messages(last), within=40)
        waiting = [each for each in asked if not run.messages(each)]
        await slack.until(lambda: all(map(run.messages, asked)), within=40)
        assert len(waiting) >= 4
        assert not [call for call in slack.calls() if call.error]


async def test_a_stream_that_slack_ends_early_loses_nothing(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, LONG, pause=0.2)) as run,
        advancing(slack, 0.03),  # a busy machine begins the stream while the text grows
    ):
        slack.world.stream_life = 6
        asked = await run.ask("alice", "write it")
        # The session rests whenever a stream has ended early, so it does not say that all is told.
        await slack.until(lambda: said(run.messages(asked)) == WORDS and run.finished(asked))
        assert len(run.messages(asked)) > 1
        assert slack.open_streams == []


async def test_a_long_answer_goes_on_in_new_messages(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, LONG, pause=6)) as run,
        advancing(slack, 1.0),
    ):
        asked = await run.ask("alice", "write it")
        done = f"{slack.person('alice').mention} Done."  # it has taken more than two minutes
        await slack.until(lambda: run.finished(asked) and run.messages(asked)[-1].text == done)
        answer = run.messages(asked)[:-1]
        assert said(answer) == WORDS
        assert len(answer) >= 3
        assert [each.stream for each in answer] == ["stopped"] * len(answer)


async def test_tool_calls_that_outlive_their_message_are_not_left_running_in_it(
    tmp_path: Path,
) -> None:
    async with SlackSimulator() as slack:

        async def dig(depth: int) -> str:
            """Dig."""
            await sleep(slack.clock, depth * 45)
            return "found"

        digs = CreateResult(
            finish_reason="function_calls",
            content=[
                FunctionCall(id=f"c{n}", name="dig", arguments=f'{{"depth": {n}}}')
                for n in range(1, 9)
            ],
            usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
            cached=False,
        )

        def team() -> Team:
            return one(slack.clock, digs, "It is all dug up.", tools=[dig])

        async with running(slack, tmp_path, team) as run, advancing(slack, 1.0):
            asked = await run.ask("alice", "dig")
            await slack.until(
                lambda: run.finished(asked) and "dug up" in run.messages(asked)[-2].text, within=40
            )
            shown = run.messages(asked)
            assert len(slack.calls("chat.startStream")) > 1
            assert "in_progress" not in str([each.tasks for each in shown])
            assert ":hourglass" not in str([each.text for each in shown])


async def test_tool_calls_that_outlive_their_message_are_settled_before_any_text_follows(
    tmp_path: Path,
) -> None:
    async with SlackSimulator() as slack:

        async def dig() -> str:
            """Dig."""
            await sleep(slack.clock, 100)
            return "found"

        async def drill() -> str:
            """Drill."""
            await sleep(slack.clock, 200)
            return "found"

        def team() -> Team:
            return one(
                slack.clock, calls("dig", "drill"), "Done.", pause=10_000, tools=[dig, drill]
            )

        async with running(slack, tmp_path, team) as run, advancing(slack, 1.0):
            began = slack.clock.time()
            asked = await run.ask("alice", "dig")
            await slack.until(
                lambda: run.messages(asked) and run.messages(asked)[0].stream == "stopped"
            )
            assert dict(run.messages(asked)[0].tasks) == {
                "dig": "in_progress",
                "drill": "in_progress",
            }
            for tool in ("dig", "drill"):
                settled = f":white_check_mark: {tool}"
                await slack.until(lambda settled=settled: settled in run.messages(asked)[0].text)
            assert slack.clock.time() - began < 1_000


STORMS = {
    "append": ["chat.appendStream"],
    "start and post": ["chat.startStream", "chat.postMessage"],
    "stop and update": ["chat.stopStream", "chat.update"],
    "all of it": ["*"],
}


@pytest.mark.parametrize("methods", STORMS.values(), ids=STORMS)
@pytest.mark.parametrize("plainly", [False, True], ids=["429", "200"])
async def test_a_storm_of_rate_limits_loses_nothing(
    tmp_path: Path, methods: list[str], plainly: bool
) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, LONG)) as run,
        advancing(slack),
    ):
        for method in methods:
            slack.fail(method, TooManyRequests(8, plainly=plainly), times=4)
        asked = await run.ask("alice", "write it")
        await slack.until(lambda: run.finished(asked) and len(said(run.messages(asked))) >= 100)
        assert said(run.messages(asked)) == WORDS
        assert slack.open_streams == []
        assert slack.busy == []


async def test_stop_in_the_middle_ends_the_text_and_posts_nothing_again(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, LONG, pause=0.2)) as run,
        advancing(slack),
    ):
        asked = await run.ask("alice", "write it")
        await slack.until(lambda: len(slack.calls("chat.appendStream")) > 2)
        await slack.person("alice").stops("general", asked)
        await run.say("alice", "/stop", asked)
        await slack.until(
            lambda: run.finished(asked) and "Stopped." in run.messages(asked)[-1].text
        )
        words = said(run.messages(asked))
        assert words == WORDS[: len(words)]
        assert 0 < len(words) < 100
        assert slack.open_streams == []
        assert slack.busy == []


async def test_where_streams_are_refused_the_answer_is_posted_and_updated(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, LONG, pause=0.2)) as run,
        advancing(slack),
    ):
        slack.fail("chat.startStream", Refusal("channel_type_not_supported"), times=99)
        asked = await run.ask("alice", "write it")
        await slack.until(lambda: run.finished(asked) and len(said(run.messages(asked))) == 100)
        assert said(run.messages(asked)) == WORDS
        assert len(run.messages(asked)) == 1
        assert 3 < len(slack.calls("chat.update")) < 30
        assert len(slack.calls("chat.startStream")) == 1


async def test_a_card_waits_is_answered_by_a_click_after_a_restart_and_settled(
    tmp_path: Path,
) -> None:
    ran = asyncio.Event()

    async def pay() -> str:
        """Pay."""
        ran.set()
        return "paid"

    async with SlackSimulator() as slack:

        def before() -> Team:
            return one(slack.clock, calls("pay"), tools=[pay])

        def after() -> Team:
            return one(slack.clock, "It is paid.", tools=[pay])

        rules = {"pay": ToolRule(action="ask")}
        async with running(slack, tmp_path, before, rules=rules) as run, advancing(slack):
            asked = await run.ask("alice", "pay bob")
            await slack.until(lambda: any(each.buttons for each in run.messages(asked)))
        async with running(slack, tmp_path, after, rules=rules) as run, advancing(slack):
            [card] = [each for each in run.messages(asked) if each.buttons]
            [approve, *_] = [
                element
                for block in card.blocks
                for element in block.get("elements", ())
                if element.get("action_id") == "g:approve:0"
            ]
            click = Click(request=approve["value"], answer=Answer(kind="approve"))
            await run.say("alice", "", asked, event="click", click=click)
            await slack.until(
                lambda: run.finished(asked) and "paid" in run.messages(asked)[-1].text
            )
            [settled] = [each for each in run.messages(asked) if each.ts == card.ts]
            assert settled.buttons == ()
            assert "approved" in settled.text.lower()
            assert ran.is_set()
            assert slack.busy == []


@pytest.mark.parametrize("rest", [["m ", "fine, thanks."], []], ids=["next token", "end"])
async def test_a_first_token_that_is_no_word_is_shown_with_what_comes_next(
    tmp_path: Path, rest: list[str]
) -> None:
    more = asyncio.Event()
    model = ScriptedModel(["I'", more, *rest])
    agent = AssistantAgent("solo", model, model_client_stream=True)
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: RoundRobinGroupChat([agent], max_turns=1)) as run,
    ):
        asked = await run.ask("alice", "how are you?")
        await slack.until(lambda: counted(run.gateway.vitals.first_text))
        assert run.messages(asked) == []
        more.set()
        await slack.until(lambda: run.messages(asked))  # time stands still: nothing waits
        async with advancing(slack):
            await slack.until(lambda: run.finished(asked))
            await slack.until(lambda: counted(run.gateway.vitals.first_visible_text))
        (answer,) = run.messages(asked)
    assert said([answer]) == "".join(["I'", *rest]).split()
    assert counted(run.gateway.vitals.first_visible_text) == {"slack": 1.0}


def counted(histogram: Histogram) -> dict[str, float]:
    """Number of observations by label."""
    samples = [each for metric in histogram.collect() for each in metric.samples]
    counts = [each for each in samples if each.name.endswith("_count")]
    return {label: each.value for each in counts for label in each.labels.values()}
