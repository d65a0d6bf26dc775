"""A rate in the store is asked while there are other nodes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.errors import StoreUnreachable
from gateway.rates import DrawnTokens, RateLimit
from gateway.runtime.shared_rates import AGAIN, SharedRates
from tests.fakes.tested_store import ChangedStore

LIMIT = RateLimit(name="x", per_minute=2400, burst=100)


class LostStore(ChangedStore):
    """A store that can't be reached."""

    async def write(self, *args: Any, **more: Any) -> Any:
        raise StoreUnreachable("gone")


async def test_a_rate_is_shared_while_there_are_others(tmp_path) -> None:
    others = [False]
    rate = SharedRates(ChangedStore.of(tmp_path), lambda: others[0]).rate(LIMIT)
    assert not rate.is_shared
    others[0] = True
    assert rate.is_shared


async def test_no_more_than_a_portion_is_drawn_at_once(tmp_path) -> None:
    store = ChangedStore.of(tmp_path, clock=lambda: 4e9)
    async with store.own():
        rates = SharedRates(store, lambda: True)
        rate = rates.rate(LIMIT)
        assert (await rate.draw(99)).tokens == LIMIT.portion
        assert (await rate.draw(3)).tokens == 3
        rate.close(7)
        drawn = await rate.draw(1)
        assert (drawn.tokens, drawn.wait) == (0, pytest.approx(7))
        await rates.close()


async def test_without_the_store_there_are_no_tokens_for_a_while(tmp_path, caplog) -> None:
    rate = SharedRates(LostStore.of(tmp_path), lambda: True).rate(LIMIT)
    rate.close(5)
    assert await rate.draw(1) == DrawnTokens(tokens=0, wait=AGAIN, level=0.0)
    assert "other nodes were not told" in caplog.text


async def test_a_gateway_that_ends_leaves_no_question_behind(tmp_path) -> None:
    class Silent(ChangedStore):
        async def write(self, *args: Any, **more: Any) -> Any:
            await asyncio.Event().wait()

    rates = SharedRates(Silent.of(tmp_path), lambda: True)
    asked = rates.rate(LIMIT).draw(1)
    await asyncio.sleep(0)
    await rates.close()
    assert asked.cancelled()
