"""`/memory` in Slack: its sender alone sees it, wherever it is typed."""

from pathlib import Path

from adapters.slack.testing import SlackSimulator
from gateway.inbound.replies import NO_MEMORY
from teams.base import Team
from tests.adapters.slack.serving import served
from tests.fakes.remembering_team import remembering_teams


def remembers(_client: object) -> Team:
    return remembering_teams().make()


async def test_a_person_alone_sees_and_deletes_what_is_remembered_of_them(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, served(slack, tmp_path, remembers) as run:
        ann, bob = slack.person("ann"), slack.person("bob")
        asked = await ann.asks("general", "remember I like tea")
        await run.until(lambda: "Remembered as number 1" in str(slack.messages("general", asked)))
        await run.delivered()
        before = len(slack.messages("general", asked))

        await ann.says("general", "!memory", thread=asked)
        await run.until(lambda: slack.private(ann))
        (told,) = slack.private(ann)
        assert "I like tea" in told.text
        assert not slack.private(bob)
        assert len(slack.messages("general", asked)) == before + 1  # hers

        typed = await (await ann.commands("general", "/parley", "memory")).answered()
        assert (typed["response_type"], "I like tea" in typed["text"]) == ("ephemeral", True)
        of_bob = await (await bob.commands("general", "/parley", "memory")).answered()
        assert of_bob["text"] == NO_MEMORY
        gone = await (await ann.commands("general", "/parley", "memory forget all")).answered()
        assert "deleted: 1." in gone["text"]
        typed = await (await ann.commands("general", "/parley", "memory")).answered()
        assert typed["text"] == NO_MEMORY


async def test_an_entry_is_data_in_the_reply(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, served(slack, tmp_path, remembers) as run:
        ann = slack.person("ann")
        asked = await ann.asks("general", "remember *x* <!channel> [a](https://evil.example) `")
        await run.until(lambda: "Remembered as number 1" in str(slack.messages("general", asked)))
        typed = await (await ann.commands("general", "/parley", "memory")).answered()
        entry = typed["text"].splitlines()[0]
        assert entry.count("`") == 2
        assert "<!" not in entry
        assert "<https" not in entry
