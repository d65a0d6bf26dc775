"""Messages of unknown fate are sent again, marked as possible doubles."""

import re
from pathlib import Path

import pytest

from adapters.slack.testing import (
    ConnectionReset,
    Refusal,
    RenderedMessage,
    SlackSimulator,
    TooManyRequests,
)
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import one, running
from tests.gateway.scripted import model, solo

DELIVERY = Path(__file__).resolve().parents[4] / "docs" / "delivery.md"
WORDS = [f"word{n}" for n in range(40)]


def the_mark() -> str:
    """The mark of possible doubles, from docs/delivery.md."""
    slack = DELIVERY.read_text().split("### Slack", 1)[1].split("### Discord", 1)[0]
    found = re.search(r"The mark: \*(.+?)\*", slack, re.DOTALL)
    assert found is not None
    return " ".join(found[1].split())


def words(shown: RenderedMessage) -> list[str]:
    return [word for word in shown.text.split() if word in WORDS]


@pytest.mark.chaos
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.startStream"])
async def test_a_message_that_can_not_be_looked_up_is_sent_again_with_the_mark(
    tmp_path: Path, method: str
) -> None:
    async with SlackSimulator() as slack:
        streams = method == "chat.startStream"
        said = " ".join(WORDS)

        def team():
            return one(slack.clock, said) if streams else solo(model(said))

        slack.fail(method, ConnectionReset(applied=True))
        slack.fail("conversations.replies", Refusal("missing_scope"), times=99)
        async with running(slack, tmp_path, team) as run, advancing(slack):
            asked = await run.ask("alice", "write it")
            await slack.until(
                lambda: len(run.messages(asked)) == 2 and words(run.messages(asked)[1]) == WORDS,
                within=9,
            )
            await slack.until(lambda: not slack.open_streams and not slack.busy, within=40)
            first, second = run.messages(asked)
        assert the_mark() not in first.text
        assert second.text.count(the_mark()) == 1
        assert words(first) == WORDS[: len(words(first))]
        assert words(second) == WORDS


async def test_where_reading_is_scarce_one_waits_and_the_others_bear_the_mark(
    tmp_path: Path,
) -> None:
    async with SlackSimulator() as slack:
        slack.fail("chat.postMessage", ConnectionReset(applied=True), times=2)
        slack.fail("conversations.replies", TooManyRequests(60), times=2)
        async with (
            running(slack, tmp_path, lambda: solo(model(*["Yes."] * 2))) as run,
            advancing(slack),
        ):
            asked = [await run.ask(name, "well?") for name in ("alice", "bob")]
            await slack.until(lambda: slack.calls("conversations.replies")[2:], within=40)
            await slack.until(lambda: not slack.busy, within=40)
            shown = sorted((run.messages(each) for each in asked), key=len)
        assert [[the_mark() in each.text for each in thread] for thread in shown] == [
            [False],
            [False, True],
        ]
        assert all("Yes." in each.text for thread in shown for each in thread)
