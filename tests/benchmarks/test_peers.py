"""Counts, the scripted model and the sides of the suite `peers`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.testing import SlackSimulator
from benchmarks.peers.scenarios import outcomes
from benchmarks.peers.served import answer_to, live_mentions, model, whole
from benchmarks.peers.sides import HERE, PARLEY, SIDES, Place, Side
from tests.fakes.openai_script import Reply, Request

SHORT, SLOW = "short-1", "slow-2"


@pytest.fixture
async def slack() -> AsyncIterator[SlackSimulator]:
    async with SlackSimulator() as simulator:
        yield simulator


def asked(text: str, *tools: str, role: str = "user") -> Request:
    messages = [{"role": "user", "content": text}]
    if role != "user":
        messages.append({"role": role, "content": "removed"})
    named = [{"type": "function", "function": {"name": name}} for name in tools]
    return Request(body={"messages": messages, "tools": named}, path="", query={}, headers={})


def test_an_answer_counts_if_it_stands_whole_in_one_message() -> None:
    text = answer_to(SLOW)
    assert whole([text.replace(" ", "\n"), f"*helper* {text}"], SLOW) == 2
    assert whole([text[:-9], text[-9:], answer_to("slow-20")], SLOW) == 0


def test_questions_are_answered_lost_or_answered_twice() -> None:
    said = [answer_to(each) for each in ("short-1", "short-1", "short-2")]
    found = outcomes(said, [f"short-{number}" for number in range(1, 5)])
    assert found == {"answered": 2, "lost": 2, "doubled": 1}


@pytest.mark.parametrize(
    ("blocks", "live"),
    [
        ([{"type": "markdown", "text": "<!channel> <@U0BOB>"}], {"!channel", "@U0BOB"}),
        ([{"type": "section", "text": {"type": "mrkdwn", "text": "<!here|all>"}}], {"!here"}),
        ([{"type": "markdown", "text": "&lt;!channel&gt; @channel"}], set[str]()),
        ([{"type": "rich_text", "elements": [{"type": "text", "text": "<!here>"}]}], set[str]()),
        (
            [
                {"type": "broadcast", "range": "channel"},
                {"type": "user", "user_id": "U0BOB"},
            ],
            {"!channel", "@U0BOB"},
        ),
    ],
)
async def test_mentions_are_live_where_slack_reads_them(
    slack: SlackSimulator, blocks: list[dict[str, Any]], live: set[str]
) -> None:
    await slack.bot_says("other", "general", "<!everyone>", blocks=blocks)
    assert live_mentions(slack.messages("general")[-1]) == live


async def test_a_text_without_blocks_is_read_itself(slack: SlackSimulator) -> None:
    said = await slack.bot_says("other", "general", "<!here>")
    said.blocks = []
    assert live_mentions(slack.messages("general")[-1]) == {"!here"}


def test_the_model_calls_the_tool_and_then_answers() -> None:
    answer = model(PARLEY)
    match answer(asked("please answer tool-1", "remove")):
        case Reply(calls=[call]):
            assert (call.name, call.arguments) == ("remove", {"name": "kept"})
        case other:
            pytest.fail(f"no call: {other}")
    for request in (asked("tool-1", "remove", role="tool"), asked("tool-1")):
        assert answer(request) == Reply(text=answer_to("tool-1"), chunks=5)


def test_a_note_of_a_peer_after_the_question_changes_no_answer() -> None:
    messages = [{"role": "user", "content": each} for each in (f"answer {SLOW}", "Go on.")]
    request = Request(body={"messages": messages}, path="", query={}, headers={})
    answer = model(PARLEY)(request)
    assert isinstance(answer, Reply)
    assert answer.text == answer_to(SLOW)


def test_the_model_takes_its_time_for_a_slow_answer() -> None:
    answer = model(PARLEY)(asked(f"before short-3, now {SLOW}"))
    assert isinstance(answer, Reply)
    assert answer.text == answer_to(SLOW)
    assert answer.delay * answer.chunks == pytest.approx(2)


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.name)
def test_a_side_is_started_with_its_places(tmp_path: Path, side: Side) -> None:
    place = Place(
        folder=tmp_path,
        bot_token="xoxb-1",
        app_token="xapp-1",
        signing_secret="secret",
        api_url="http://127.0.0.1:1/api/",
        model_url="http://127.0.0.1:2/v1",
        port=3,
    )
    given = " ".join([*side.prepare(place), *side.variables(place).values()])
    written = [each.read_text() for each in tmp_path.rglob("*") if each.is_file()]
    for needed in (place.api_url, place.model_url, place.bot_token):
        assert needed in "".join([given, *written])


@pytest.mark.parametrize("side", [each for each in SIDES if each.lock], ids=lambda side: side.name)
def test_an_environment_is_pinned_by_hashes_and_names_no_host(side: Side) -> None:
    lock = (HERE / f"{side.lock}.txt").read_text()
    package, version = side.name.split()
    assert re.search(rf"^{package}(\[.*\])?=={re.escape(version)}", lock, re.MULTILINE)
    requirements = re.findall(r"^[a-z].*\n.*", lock, re.MULTILINE | re.IGNORECASE)
    assert all(re.search(r"==\S+ .*\\\n    --hash=sha256:", each) for each in requirements)
    assert "://" not in lock
