"""Several accounts on Slack, in two workspaces and in one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.slack.adapter import SlackAdapter
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.testing import SlackSimulator
from adapters.slack.testing.rendered_message import RenderedMessage
from gateway.access.authority import Access
from gateway.config.routes import Route
from gateway.gateway import Gateway
from gateway.store.units import outbox
from tests.adapters.accounts import rows, thread_keys
from tests.adapters.slack.serving import EVERYWHERE, connected
from tests.adapters.slack.serving import config_of as of
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, model, solo

CRITIC = AppSettings(name="critic", id="A0CRITIC")
BOTS = ["U0PARLEY", "U0CRITIC", "B0PARLEY", "B0CRITIC"]
OPEN = {**EVERYWHERE, "mention": "always", "bots": BOTS}


@asynccontextmanager
async def serving(
    folder: Path,
    accounts: dict[str, SlackSimulator],
    *,
    route: dict[str, Any] = EVERYWHERE,
    answers: Sequence[str] = ("fine",) * 20,
) -> AsyncGenerator[Gateway]:
    """A gateway with an adapter for each account, once all are connected."""
    teams = ScriptedTeams(lambda: solo(model(*answers)))
    routes = [Route.model_validate({**route, "adapter": name}) for name in accounts]
    gateway = Gateway(new_store(folder), teams, access=Access(routes=routes))
    async with gateway, asyncio.TaskGroup() as group:
        running = [
            group.create_task(
                SlackAdapter(of(slack).named(name), clock=slack.world.clock).run(gateway)
            )
            for name, slack in accounts.items()
        ]
        for slack in accounts.values():
            await slack.until(connected(slack))
        yield gateway
        await delivered(gateway, accounts)
        for task in running:
            task.cancel()
    for slack in accounts.values():
        await slack.until(lambda slack=slack: not slack.sockets.live)


async def delivered(gateway: Gateway, accounts: dict[str, SlackSimulator]) -> None:
    async with asyncio.timeout(20):
        for name, slack in accounts.items():
            await slack.until(lambda slack=slack: not slack.unacknowledged)
            while await gateway.store.run(outbox.undelivered_threads, name):  # noqa: ASYNC110 (in the store)
                await asyncio.sleep(0.01)


def bots_in(slack: SlackSimulator, thread: Any) -> list[tuple[str, str]]:
    found: list[RenderedMessage] = slack.messages("general", thread)
    return [(each.author, each.text) for each in found if each.author in BOTS]


async def test_two_workspaces_with_the_same_ids_do_not_meet(tmp_path: Path) -> None:
    async with SlackSimulator() as one, SlackSimulator() as two:
        accounts = {"slack": one, "support": two}
        async with serving(tmp_path, accounts) as gateway:
            first = await one.person("alice").asks("general", "Here?")
            second = await two.person("alice").asks("general", "There?")
            assert first.ts == second.ts
            await one.until(lambda: bots_in(one, first))
            await two.until(lambda: bots_in(two, second))
            keys = {*await thread_keys(gateway)}
            assert keys == {
                f"slack/T0HOME/C0GENERAL/{first.ts}/",
                f"support/T0HOME/C0GENERAL/{first.ts}/",
            }
            assert await rows(gateway, "author") == ["slack:T0HOME:U0ALICE"] * 2
        async with serving(tmp_path, accounts) as gateway:
            await two.person("alice").says("general", "And now?", thread=second)
            await two.until(lambda: len(bots_in(two, second)) == 2)
            assert len(await rows(gateway, "id")) == 3
        assert bots_in(one, first) == [("U0PARLEY", "fine")]


async def test_a_message_that_mentions_both_bots_is_a_message_to_each(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, SlackSimulator(CRITIC, beside=slack) as other:
        accounts = {"slack": slack, "critic": other}
        async with serving(tmp_path, accounts) as gateway:
            text = f"<@{slack.bot.id}> and <@{other.bot.id}>, well?"
            asked = await slack.person("alice").says("general", text)
            await slack.until(lambda: len(bots_in(slack, asked)) == 2)
            assert sorted(bots_in(slack, asked)) == [("U0CRITIC", "fine"), ("U0PARLEY", "fine")]
            assert await rows(gateway, "outcome") == ["turn", "turn"]


async def test_one_bot_that_is_called_answers_alone_and_is_not_answered(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, SlackSimulator(CRITIC, beside=slack) as other:
        accounts = {"slack": slack, "critic": other}
        async with serving(tmp_path, accounts) as gateway:
            asked = await slack.person("alice").says("general", f"<@{other.bot.id}> well?")
            await slack.until(lambda: bots_in(slack, asked))
            await delivered(gateway, accounts)
            assert bots_in(slack, asked) == [("U0CRITIC", "fine")]
            (key,) = await thread_keys(gateway)
            assert key.startswith("critic/")


async def test_bots_never_answer_each_other_though_a_route_names_them(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, SlackSimulator(CRITIC, beside=slack) as other:
        accounts = {"slack": slack, "critic": other}
        calls = (f"<@{other.bot.id}> I call you",) * 20
        async with serving(tmp_path, accounts, route=OPEN, answers=calls) as gateway:
            asked = await slack.person("alice").says("general", "Hello, both")
            await slack.until(lambda: len(bots_in(slack, asked)) == 2)
            await delivered(gateway, accounts)
            assert await rows(gateway, "author") == ["slack:T0HOME:U0ALICE"] * 2


async def test_an_existing_store_goes_on_with_its_keys(tmp_path: Path) -> None:
    async with SlackSimulator() as slack:
        async with serving(tmp_path, {"slack": slack}) as gateway:
            asked = await slack.person("alice").asks("general", "Before?")
            await slack.until(lambda: bots_in(slack, asked))
            (before,) = await gateway.client.threads()
        async with (
            SlackSimulator(CRITIC, beside=slack) as other,
            serving(tmp_path, {"slack": slack, "critic": other}) as gateway,
        ):
            await slack.person("alice").says("general", "After?", thread=asked)
            await slack.until(lambda: len(bots_in(slack, asked)) == 2)
            (after,) = await gateway.client.threads()
            assert after.id == before.id
            assert bots_in(slack, asked) == [("U0PARLEY", "fine")] * 2
