"""Many write in a pause; each gets an answer or card."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator, Message
from tests.adapters.discord.journeys.test_crash import ServedGateway
from tests.adapters.discord.serving import bot_messages

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(120)]

QUARTER_OF_AN_HOUR = 900.0
CONTINUES = "was interrupted. It continues"
HISTORY = "/channels/{channel_id}/messages"


@pytest.mark.parametrize(
    ("in_threads", "in_all"),
    [(12, 18), pytest.param(60, 80, marks=pytest.mark.nightly)],
)
async def test_many_people_who_wrote_within_two_minutes_are_all_answered_over_a_kill(
    discord: DiscordSimulator, tmp_path: Path, in_threads: int, in_all: int
) -> None:
    for route in ("POST", "PATCH"):  # the test is about reading: writing has its own
        discord.limits.set(f"{route} {HISTORY}", 200, 1.0)
    served, general = ServedGateway(discord, tmp_path, "echoes"), discord.channel("general")
    people = [discord.person(f"person{n}") for n in range(in_all)]
    threads = [
        await person.starts_thread(await person.says(general, "about it"), f"talk {n}")
        for n, person in enumerate(people[:in_threads])
    ]
    async with served.process():
        for person, thread in zip(people, threads, strict=False):
            await person.mentions(thread, "begin")
        await discord.until(
            lambda: all(bot_messages(discord, each) for each in threads), seconds=60
        )
    discord.advance(60.0)  # beyond what is read again in any case
    served.ahead = 60.0 + QUARTER_OF_AN_HOUR
    asked: dict[int, Message] = {}
    for n in [*range(0, len(people), 2), *range(1, len(people), 2)]:
        if n == 1:
            discord.advance(QUARTER_OF_AN_HOUR)  # those before get a card, the others an answer
        if n < in_threads:
            asked[n] = await people[n].says(threads[n], f"question {n}")
        else:
            asked[n] = await people[n].mentions(general, f"question {n}")
    replies = lambda: [replies_to(discord, each) for each in asked.values()]  # noqa: E731
    async with served.process():
        await discord.until(lambda: sum(map(bool, replies())) > len(people) // 3, seconds=60)
    discord.gateway.forget()
    async with served.process():
        await discord.until(lambda: all(replies()), seconds=60)
        alice = discord.person("alice")
        last = await alice.mentions(general, "are you done?")
        await discord.until(lambda: replies_to(discord, last), seconds=60)
    for n, message in asked.items():
        (reply,) = replies_to(discord, message)
        assert f"question {n}" in reply.content if n % 2 else reply.components
    assert discord.avoidable_429s == []
    assert discord.gateway.resumes == 0


def replies_to(discord: DiscordSimulator, asked: Message) -> list[Message]:
    """The answers to a message and the cards below it.

    Who was answered when the process was killed is told that the answer continues: no reply.
    """
    cards = [each for each in bot_messages(discord, asked.channel) if each.referenced is asked]
    place = asked.channel if asked.channel.is_thread else asked.thread
    said = bot_messages(discord, place) if place else []
    answers = [each for each in said if CONTINUES not in each.content]
    return [*cards, *(each for each in answers if each.id > asked.id and each not in cards)]
