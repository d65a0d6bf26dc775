"""Seen, working and done as one reaction."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.slack.outbound.progress import EMOJI
from adapters.slack.testing import SlackSimulator
from tests.adapters.slack.serving import served
from tests.gateway.scripted import calls, solo


@pytest.mark.parametrize("scope", [True, False])
async def test_a_message_is_marked_and_answered_without_the_scope_too(
    tmp_path: Path, scope: bool
) -> None:
    marked = asyncio.Event()

    async def hold() -> str:
        """Hold the answer until the message is marked."""
        if scope:
            await marked.wait()
        return "held"

    async with SlackSimulator(rates=False) as slack:
        if not scope:
            app = slack.world.app
            await slack.use_app(replace(app, scopes=app.scopes - {"reactions:write"}))
        async with served(
            slack,
            tmp_path,
            lambda client: solo(client, tools=[hold]),
            answers=[calls("hold"), "fine"],
            settings={"show_progress": True},
        ) as run:
            asked = await slack.person("ann").asks("general", "hello")
            if scope:
                await run.until(lambda: asked.reactions)
                marked.set()
            await run.until(lambda: "fine" in str(slack.messages("general", asked)[1:]))
            if scope:
                await run.until(lambda: [*asked.reactions] == [EMOJI["done"]])
            await run.delivered()
        assert bool(asked.reactions) == scope


async def test_each_message_has_its_own_mark_and_a_failed_turn_none(tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def hold() -> str:
        """Hold the answer."""
        await goes_on.wait()
        return "held"

    async with (
        SlackSimulator(rates=False) as slack,
        served(
            slack,
            tmp_path,
            lambda client: solo(client, tools=[hold]),
            answers=[calls("hold"), "fine", "better"],
            settings={"show_progress": True},
        ) as run,
    ):
        ann, working, done = slack.person("ann"), [EMOJI["working"]], [EMOJI["done"]]
        first = await ann.asks("general", "one")
        await run.until(lambda: [*first.reactions] == working)
        second = await ann.asks("general", "two", thread=first)
        await run.until(lambda: [*second.reactions] == [EMOJI["seen"]])
        goes_on.set()
        await run.until(lambda: [*first.reactions] == done and [*second.reactions] == done)
        third = await ann.asks("general", "three", thread=first)  # there are no more answers
        await run.until(lambda: "went wrong" in str(slack.messages("general", first)))
        await run.until(lambda: not third.reactions)
        assert [*first.reactions] == done


async def test_nothing_is_marked_by_default(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        asked = await slack.person("ann").asks("general", "hello")
        await run.until(lambda: "fine" in str(slack.messages("general", asked)[1:]))
        await run.delivered()
        assert not asked.reactions
