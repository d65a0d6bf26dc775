"""A message that could not be taken is not forgotten."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.slack.testing import Delay, MalformedAnswer, Refusal, ServerError, SlackSimulator
from adapters.slack.testing.faults import Fault
from gateway.backfill.pauses import CONNECTED
from gateway.errors import GatewayClosed, GatewayError
from gateway.gateway import Gateway
from gateway.missed import DAY, Gap
from gateway.store.units import adapters as adapter_units
from gateway.store.units import gaps
from tests.adapters.slack.inbound.test_catch_up import away, offers, root_key, serve_once
from tests.adapters.slack.serving import served
from tests.fakes.new_store import new_store


async def test_a_message_that_slack_gave_up_while_a_look_up_failed_is_taken(
    tmp_path: Path,
) -> None:
    async with SlackSimulator(rates=False) as slack:
        await serve_once(slack, tmp_path)
        zoe = slack.person("zoe")
        slack.join("general", zoe)
        slack.fail("users.info", ServerError(), times=-1)
        async with served(slack, tmp_path) as run:
            await zoe.asks("general", "is anybody there?")
            await run.until(lambda: any(call.status == 500 for call in slack.calls("users.info")))
        await away(slack, 600)  # Slack gives up
        slack.faults.clear()
        store = new_store(tmp_path)
        async with store.own():  # the app was connected for as long
            await store.run(adapter_units.mark, "slack", "alive", f"{slack.clock.time():.3f}")
        async with served(slack, tmp_path) as run:
            await run.until(lambda: run.asked)
            assert "is anybody there?" in await run.inbox("text")


async def test_a_message_that_slack_gave_up_while_it_took_too_long_is_answered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SlackSimulator(rates=False) as slack:
        await serve_once(slack, tmp_path)
        zoe = slack.person("zoe")
        slack.join("general", zoe)
        slack.fail("users.info", Delay(DAY), times=-1)
        with monkeypatch.context() as patched:
            patched.setattr("adapters.slack.inbound.handler.ACCEPT_SECONDS", 0.05)
            async with served(slack, tmp_path) as run:
                before = len(slack.deliveries)
                asked = await zoe.asks("general", "is anybody there?")
                await run.noted()
        lost = slack.deliveries[before:]
        await away(slack, 600)  # Slack gives up
        slack.faults.clear()
        store = new_store(tmp_path)
        async with store.own():  # the app was connected for as long
            await store.run(adapter_units.mark, "slack", "alive", f"{slack.clock.time():.3f}")
        async with served(slack, tmp_path) as run:
            await run.until(lambda: slack.messages("general", asked)[1:])
            again = [slack.repeat(delivery) for delivery in lost]
            await run.until(lambda: all(each.acked for each in again))
            await run.delivered()
            assert (await run.inbox("text")).count("is anybody there?") == 1
        assert len(slack.messages("general", asked)) == 2


@pytest.mark.parametrize("fault", [ServerError(), MalformedAnswer()], ids=str)
async def test_a_list_that_keeps_failing_holds_up_no_channel(tmp_path: Path, fault: Fault) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        await away(slack, 60)
        await slack.person("ann").says("general", "are you there?", thread=asked)
        await away(slack, 500)
        slack.fail("users.conversations", fault, times=-1)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: slack.clock.advance(1) or run.asked)
            assert "are you there?" in await run.inbox("text")


@pytest.mark.parametrize("fault", [ServerError(status=403), Refusal("unheard_of")], ids=str)
async def test_what_is_refused_in_passing_is_read_again(tmp_path: Path, fault: Fault) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        await away(slack, 60)
        await slack.person("ann").says("general", "are you there?", thread=asked)
        await away(slack, 500)
        for method in ("conversations.history", "conversations.replies"):
            slack.fail(method, fault)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: slack.clock.advance(1) or run.asked)
            assert "are you there?" in await run.inbox("text")


async def test_a_list_whose_cursor_has_expired_is_read_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.slack.inbound.missed_pages.PAGE", 1)
    async with SlackSimulator(rates=False) as slack:
        await serve_once(slack, tmp_path)
        await away(slack, 60)
        slack.add_channel("fresh")
        await slack.person("ann").asks("fresh", "are you here, too?")
        await away(slack, 500)
        slack.fail("users.conversations", Refusal("invalid_cursor"), skip=1)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: slack.clock.advance(1) or run.asked)
            assert "are you here, too?" in await run.inbox("text")


@pytest.mark.parametrize("ago", [500, 7200])
async def test_a_message_whose_look_up_or_card_is_refused_in_passing_is_not_lost(
    tmp_path: Path, ago: int
) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        await away(slack, 60)
        await slack.person("ann").says("general", "are you there?", thread=asked)
        await away(slack, ago)
        slack.fail("users.info" if ago < 900 else "chat.postMessage", ServerError(status=403))
        async with served(slack, tmp_path) as run:
            await run.until(lambda: slack.clock.advance(1) or run.asked or offers(slack, asked))
            assert ("are you there?" in await run.inbox("text")) == (ago < 900)


@pytest.mark.parametrize("error", [GatewayClosed(), GatewayError("not now")], ids=repr)
async def test_a_page_that_the_gateway_refuses_is_read_again(
    tmp_path: Path, error: GatewayError
) -> None:
    refused = asyncio.Event()

    async def refuse(_: Gateway) -> None:
        refused.set()
        raise error

    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        await away(slack, 60)
        await slack.person("ann").says("general", "are you there?", thread=asked)
        await away(slack, 500)
        async with served(slack, tmp_path, meanwhile=refuse) as run:
            await run.until(refused.is_set)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: slack.clock.advance(1) or run.asked)
            assert "are you there?" in await run.inbox("text")


@pytest.mark.parametrize("page", [200, 2])
@pytest.mark.parametrize("known", [1, 2])
async def test_a_card_hides_nothing_that_was_written_before_what_it_offers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int, known: int
) -> None:
    """Its gap began later: the store lost those before."""
    monkeypatch.setattr("adapters.slack.inbound.missed_pages.PAGE", page)
    async with SlackSimulator(rates=False) as slack:
        asked, ann = await serve_once(slack, tmp_path), slack.person("ann")
        said = []
        for text in ("first", "second", "third"):
            await away(slack, 60)
            said.append(await ann.says("general", text, thread=asked))
        await away(slack, 7200)
        now = slack.clock.time()
        late, whole = [
            Gap(place=replace(root_key(asked), root=asked.ts), since=since - 1, until=now)
            for since in (float(said[known].ts), float(said[0].ts))
        ]
        store = new_store(tmp_path, clock=slack.clock.time)
        async with store.own():
            await store.run(
                gaps.add_gaps, "slack", [late], {"alive": f"{now:.3f}", CONNECTED: f"{now:.3f}"}
            )
        async with served(slack, tmp_path) as run:
            await run.until(lambda: offers(slack, asked))
            await run.gateway.store.run(gaps.add_gaps, "slack", [whole], {})
            slack.clock.advance(60)  # it is looked for what others noted
            for _ in range(2):  # the second time, its own card says it all
                old = slack.sockets.live
                slack.sockets.disconnect()
                await run.until(lambda old=old: len({*slack.sockets.live} - {*old}) == 2)
                await run.until(lambda old=old: not {*slack.sockets.live} & {*old})
                await run.caught_up()
            *_, card = offers(slack, asked)
            assert len(offers(slack, asked)) == 2
            assert "3 messages were written here" in card.text
            await ann.clicks(card.ts, "Answer now")
            await run.accepted(4)
            assert sorted(await run.inbox("text")) == ["first", "hello", "second", "third"]
