"""Access: buttons, forms and commands meet the same authority."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator, Message, Person
from gateway.adapter import NOT_ALLOWED
from gateway.config.routes import Route
from gateway.gateway import Gateway
from gateway.inbound.answers import NOT_YOURS
from gateway.registry import ToolRule
from tests.adapters.discord.serving import (
    bot_texts,
    serving,
    thread_of,
    wait_card,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.gateway.scripted import ScriptedTeams, solo

REFUSALS = {NOT_YOURS, NOT_ALLOWED}


class Scene:
    """A team waiting for approval in Alice's thread, and other people.

    A role that a route lets in makes neither a guest nor another bot somebody who may.
    """

    def __init__(self, discord: DiscordSimulator) -> None:
        staff = discord.role("staff")
        self.people = {
            "operator": discord.person("olga"),
            "allowed": discord.person("alice", roles=[staff]),
            "unlisted": discord.person("uma"),
            "guest": discord.person("gus", roles=[staff], guest=True),
            "bot": discord.person("robot", roles=[staff], bot=True),
        }
        self.model = ScriptedModel(calls(("ring", {"bell": "big"})), "It is done.")
        self.rung: list[str] = []
        self._discord = discord
        self._route = Route(adapter="discord", channels=["*"], roles=[str(staff.id)])

    @asynccontextmanager
    async def waiting(self, folder: Path) -> AsyncGenerator[tuple[Gateway, Message]]:
        """The gateway, and the card that asks."""

        def ring(bell: str) -> str:
            """Ring a bell."""
            self.rung.append(bell)
            return f"{bell} rung"

        team = partial(solo, self.model, tools=[ring])
        teams = ScriptedTeams(team, rules={"ring": ToolRule(action="ask")})
        operators = [f"discord:{self.people['operator'].id}"]
        discord = self._discord
        async with serving(
            discord, folder, teams, routes=[self._route], operators=operators
        ) as gateway:
            await wait_commands(discord)
            asked = await self.people["allowed"].mentions(discord.channel("general"), "ring it")
            await discord.until(lambda: asked.thread)
            card = await wait_card(discord, thread_of(asked))
            await wait_delivered(gateway)
            yield gateway, card
            await wait_delivered(gateway)


async def act(discord: DiscordSimulator, who: Person, what: str, card: Message) -> None:
    match what:
        case "click":
            await discord.answered(await who.clicks(card, "Approve"))
        case "form":
            opened = await discord.answered(await who.clicks(card, "Deny with a note"))
            if opened.modal is not None:
                await discord.answered(await who.submits(opened, text="it is late"))
        case "/approve":
            request = card.components[0]["components"][0]["custom_id"].rpartition(":")[2]
            await discord.answered(await who.slash(card.channel, "approve", id=request))
        case _:
            await discord.answered(await who.slash(card.channel, what.removeprefix("/")))


def visible_replies(who: Person, card: Message) -> list[str]:
    """Texts that only this person sees."""
    return [each.content for each in who.sees(card.channel) if each.visible_to is who.user]


@pytest.mark.parametrize("who", ["allowed", "unlisted", "guest", "bot"])
async def test_who_may_not_decides_and_commands_nothing(
    who: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    scene = Scene(discord)
    actor, refusals = scene.people[who], list[str]()
    denied = ["click", "form", "/approve"] + (["/status", "/stop"] if who != "allowed" else [])
    async with scene.waiting(tmp_path) as (gateway, card):
        for what in denied:
            await act(discord, actor, what, card)
            await discord.until(
                partial(lambda n: len(visible_replies(actor, card)) > n, len(refusals))
            )
            *_, refusal = visible_replies(actor, card)
            refusals.append(refusal)
            await wait_delivered(gateway)
            assert refusal in REFUSALS, what
            assert not any(each.modal for each in discord.interactions)
            assert (len(scene.model.requests), scene.rung) == (1, []), what
        await act(discord, scene.people["operator"], "click", card)  # it is open still
        await discord.until(lambda: bot_texts(discord, card.channel)[-1].endswith("It is done."))
    assert (len(scene.model.requests), scene.rung) == (2, ["big"])


@pytest.mark.parametrize(
    ("who", "what"),
    [("operator", what) for what in ("click", "form", "/approve", "/stop")]
    + [("allowed", "/stop")],
)
async def test_who_may_is_heard(
    who: str, what: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    scene = Scene(discord)
    actor = scene.people[who]
    async with scene.waiting(tmp_path) as (_, card):
        await act(discord, actor, what, card)
        await discord.until(lambda: not card.components)
        if what != "/stop":
            await discord.until(
                lambda: bot_texts(discord, card.channel)[-1].endswith("It is done.")
            )
    assert not REFUSALS.intersection(visible_replies(actor, card))
    assert scene.rung == (["big"] if what in ("click", "/approve") else [])
